/* iod_config.c - command line, help, and what must hold before the daemon may start. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "iod_config.h"
#include "iod_ini.h"
#include "iod_path.h"
#include "zc_cred.h"
#include "zc_journal.h"
#include "zc_log.h"
#include "zc_munge.h"
#include "zc_units.h"
#include "zc_wire.h"

/* ---- help ---- */

static void print_help(void)
{
    printf("zcached - caches files for MPI programs on an I/O node\n"
           "\n"
           "Usage: zcached --root DIR --address-file FILE [option ...]\n"
           "\n"
           "Programs that open \"zcache:/path/file\" send what they write to this daemon, which\n"
           "writes it to the file system in the background, and read through it.\n"
           "\n");
    zc_options_help(stdout, ZC_SCOPE_DAEMON);
    printf(
        "  --help                    print this\n"
        "  --version                 print version and protocol\n"
        "\n"
        "SIZE takes K, M, G, T (powers of 1024), TIME takes ms, s, m, h.  The file of\n"
        "--config holds lines such as \"cache-size = 4G\"; the command line wins.  ZCACHE_LOG\n"
        "says how much is logged: error, warn (the default), info, debug, trace.\n"
        "\n"
        "SIGTERM or SIGINT: accept nothing new, write back everything, exit.  A second one:\n"
        "exit at once and say what is lost.  With --grace SIGTERM begins that time.  SIGPWR: as\n"
        "the first SIGINT, however often.  SIGXCPU: the same near a limit on processor time;\n"
        "from others as SIGTERM with --grace, and as SIGPWR without.  SIGHUP: reopen the log\n"
        "file.  SIGUSR1, SIGUSR2: log more, less.\n"
        "\n"
        "Exit status: 0 all data is in the files; 1 it could not start, or serve; 2 wrong\n"
        "use; 3 ended by a second signal, with nothing left to write; 4 bytes were lost, or\n"
        "not written back at the end: the last messages say how many of which file.\n"
        "\n"
        "Example: 4 GiB of cache in front of /scratch, in the background\n"
        "    mkdir -p ~/zc\n"
        "    zcached --root /scratch --address-file ~/zc/0.addr --cache-size 4G --daemonize\n"
        "    export ZCACHE_DAEMONS=~/zc\n"
        "    zcachectl status\n"
        "    zcachectl stop\n");
}

static void print_version(void)
{
    printf("zcached (zcache) %s, protocol %d\n", PACKAGE_VERSION, ZC_PROTOCOL);
}

/* ---- command line ---- */

enum { OPT_HELP = 'h', OPT_VERSION = 'V', FIRST_ROW = 256 };

/* getopt's view of the table; val is FIRST_ROW + index of the row.  The caller frees. */
static struct option *long_options(void)
{
    static const struct option tail[] = {
        {"help", no_argument, NULL, OPT_HELP}, {"version", no_argument, NULL, OPT_VERSION}, {0}};
    size_t rows = 0, n = 0;
    struct option *list;

    while (zc_options[rows].name)
        rows++;
    list = calloc(rows + sizeof tail / sizeof *tail, sizeof *list);
    if (!list)
        return NULL;
    for (size_t i = 0; i < rows; i++) {
        char spelt[64];

        if (!(zc_options[i].scope & ZC_SCOPE_DAEMON))
            continue;
        zc_option_spell(&zc_options[i], ZC_SCOPE_DAEMON, spelt, sizeof spelt);
        list[n].name = strdup(spelt + 2);
        list[n].has_arg = zc_options[i].type == ZC_OPT_FLAG ? optional_argument : required_argument;
        list[n++].val = FIRST_ROW + (int)i;
    }
    memcpy(list + n, tail, sizeof tail);
    return list;
}

static void free_options(struct option *list)
{
    for (struct option *o = list; o && o->name; o++)
        if (o->val >= FIRST_ROW)
            free((char *)o->name);
    free(list);
}

/* How many options begin with `name`, dashes included. */
static int count_matches(const struct option *list, const char *name)
{
    int n = 0;

    for (; list->name; list++)
        /* NOLINTNEXTLINE(bugprone-not-null-terminated-result): a beginning is compared */
        n += strncmp(list->name, name + 2, strlen(name + 2)) == 0;
    return n;
}

/* Explains an option that getopt_long() refuses. */
static int bad_option(char **argv, int c, const struct option *list, struct zc_settings *s)
{
    const char *arg = argv[optind - 1];
    char name[80];
    int rc;

    if (c == ':')
        return zc_errorf(EINVAL, "%s needs a value", arg);
    if (strncmp(arg, "--", 2) != 0)
        return zc_errorf(EINVAL, "unknown option \"-%c\"", optopt);
    snprintf(name, sizeof name, "%.*s", (int)strcspn(arg, "="), arg);
    if (optopt)
        return zc_errorf(EINVAL, "%s takes no value", name);
    if (count_matches(list, name) > 1)
        return zc_errorf(EINVAL, "more than one option begins with %s", name);
    rc = zc_option_assign(s, ZC_SCOPE_DAEMON, name, ""); /* which fails: it names the nearest */
    return zc_errorf(EINVAL, "%s", zc_error_text(rc));
}

/* Reads the options once.  `only`: sets no other row than this one, and is silent about
 * errors, which the second reading meets again. */
static int read_options(int argc, char **argv, const struct option *list, struct zc_settings *s,
                        const struct zc_option *only)
{
    int c;

    optind = 0; /* getopt_long() begins anew */
    opterr = 0;
    while ((c = getopt_long(argc, argv, "+:hV", list, NULL)) != -1) {
        int rc = 0;

        if (c == OPT_HELP || c == OPT_VERSION) {
            c == OPT_HELP ? print_help() : print_version();
            return 1;
        }
        if (c >= FIRST_ROW) {
            const struct zc_option *o = &zc_options[c - FIRST_ROW];

            if (!only || o == only)
                rc = zc_option_assign(s, ZC_SCOPE_DAEMON, o->name, optarg);
        } else if (!only) {
            rc = bad_option(argv, c, list, s);
        }
        if (rc < 0)
            return rc;
    }
    if (!only && optind < argc)
        return zc_errorf(EINVAL, "unexpected argument \"%.80s\"", argv[optind]);
    return 0;
}

int iod_config_parse(int argc, char **argv, struct zc_settings *s)
{
    struct option *list = long_options();
    int rc = zc_settings_init(s);

    if (!list)
        rc = -ENOMEM;
    if (rc == 0)
        rc = read_options(argc, argv, list, s, zc_option_find("config", ZC_SCOPE_DAEMON));
    if (rc == 0 && s->config)
        rc = iod_ini_read(s->config, s);
    if (rc == 0)
        rc = read_options(argc, argv, list, s, NULL);
    free_options(list);
    return rc;
}

/* ---- checks ---- */

static int check_root(struct zc_settings *s)
{
    struct stat st;

    if (!s->root)
        return zc_errorf(EINVAL, "--root is missing: it names the directory to serve; see "
                                 "zcached --help");
    if (stat(s->root, &st) < 0)
        return zc_errorf(errno, "--root: %s: %s", s->root, strerror(errno));
    if (!S_ISDIR(st.st_mode))
        return zc_errorf(ENOTDIR, "--root: %s is not a directory", s->root);
    if (faccessat(AT_FDCWD, s->root, R_OK | X_OK, AT_EACCESS) < 0)
        return zc_errorf(errno, "--root: user %u may not read in %s: %s", geteuid(), s->root,
                         strerror(errno));
    if (faccessat(AT_FDCWD, s->root, W_OK, AT_EACCESS) < 0) /* input, maybe of another user */
        zc_info("--root: user %u may not create files in %s: %s; those that are there are served",
                geteuid(), s->root, strerror(errno));
    return iod_path_absolute(&s->root);
}

/* Checks a file that will be replaced by renaming, or appended to. */
static int check_file(const char *flag, char **path)
{
    char dir[ZC_MAX_PATH];
    struct stat st;
    int rc = iod_path_absolute(path);

    if (rc < 0)
        return rc;
    rc = iod_path_dirname(*path, dir, sizeof dir);
    if (rc < 0)
        return rc;
    if (stat(*path, &st) == 0 && S_ISDIR(st.st_mode))
        return zc_errorf(EISDIR, "%s: %s is a directory; name a file in it", flag, *path);
    if (faccessat(AT_FDCWD, dir, W_OK | X_OK, AT_EACCESS) < 0)
        return zc_errorf(errno, "%s: cannot create files in %s: %s", flag, dir, strerror(errno));
    return 0;
}

/* A daemon in the background has no terminal for its messages. */
static int default_log_file(struct zc_settings *s)
{
    if (s->log_file || !s->daemonize)
        return 0;
    if (asprintf(&s->log_file, "%s.log", s->address_file) < 0) {
        s->log_file = NULL;
        return -ENOMEM;
    }
    return 0;
}

static int check_files(struct zc_settings *s)
{
    int rc;

    if (!s->address_file)
        return zc_errorf(EINVAL, "--address-file is missing: programs find the daemon by it; see "
                                 "zcached --help");
    rc = check_file("--address-file", &s->address_file);
    if (rc == 0)
        rc = default_log_file(s);
    if (rc == 0 && s->log_file && strcmp(s->log_file, "syslog"))
        rc = check_file("--log-file", &s->log_file);
    if (rc == 0 && s->pid_file)
        rc = check_file("--pid-file", &s->pid_file);
    return rc;
}

static uint64_t host_memory(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);

    return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : UINT64_MAX;
}

static int check_cache(const struct zc_settings *s)
{
    char a[32], b[32], c[32];

    if (s->cache_size && s->cache_size < 2 * s->page_size)
        return zc_errorf(EINVAL,
                         "--cache-size %s holds fewer than 2 pages of --page-size %s: give at "
                         "least %s, or smaller pages",
                         zc_publish_size(s->cache_size, a, sizeof a),
                         zc_publish_size(s->page_size, b, sizeof b),
                         zc_publish_size(2 * s->page_size, c, sizeof c));
    if (zc_option_given(s, zc_option_find("cache_size", ZC_SCOPE_DAEMON)) &&
        s->cache_size > host_memory())
        return zc_errorf(EINVAL, "--cache-size %s is more than this host's memory (%s): give less",
                         zc_publish_size(s->cache_size, a, sizeof a),
                         zc_format_size(host_memory(), b, sizeof b));
    if (s->low_watermark >= s->high_watermark)
        return zc_errorf(EINVAL,
                         "--low-watermark %" PRIu64 "%% must be below --high-watermark %" PRIu64
                         "%%: write-back starts above the high and stops at the low one",
                         s->low_watermark, s->high_watermark);
    if (s->max_io < s->page_size)
        return zc_errorf(EINVAL, "--max-io %s is smaller than a page: give at least %s",
                         zc_publish_size(s->max_io, a, sizeof a),
                         zc_publish_size(s->page_size, b, sizeof b));
    return 0;
}

/* Its root is that of the daemons, whose file system its host need not have; without daemons it is
 * "/", as programs may open any file. */
static int check_aggregator(struct zc_settings *s)
{
    if (s->below && !s->aggregator)
        return zc_errorf(EINVAL, "--store-daemons is for an aggregator: give --aggregator as well, "
                                 "or leave it out");
    if (!s->aggregator)
        return 0;
    if (s->auth != ZC_AUTH_SECRET)
        return zc_errorf(EINVAL, "--aggregator: it serves one job of its own user, so --auth has "
                                 "no use for it: leave one of them out");
    if (s->journal)
        return zc_errorf(EINVAL, "--aggregator: only a daemon keeps a --journal: leave one of them "
                                 "out");
    if (s->cache_size == 0)
        return zc_errorf(EINVAL, "--aggregator: without a cache it would own nothing: give a "
                                 "--cache-size");
    if (!s->root)
        return zc_option_assign(s, ZC_SCOPE_DAEMON, "root", "/");
    return 0;
}

/* The journal checks its directory itself. */
static int check_journal(struct zc_settings *s)
{
    char a[32], b[32];

    if (!s->journal)
        return 0;
    if (s->cache_size == 0)
        return zc_errorf(EINVAL, "--journal: with --cache-size 0 writes are in the file system "
                                 "before they are acknowledged: leave one of them out");
    if (s->journal_size / ZC_JOURNAL_PAGES_MIN < s->page_size)
        return zc_errorf(EINVAL, "--journal-size %s: give at least %d pages of --page-size %s",
                         zc_publish_size(s->journal_size, a, sizeof a), ZC_JOURNAL_PAGES_MIN,
                         zc_publish_size(s->page_size, b, sizeof b));
    return iod_path_absolute(&s->journal);
}

/* Checks that the daemon may act as other users: root may lack that in a unit or a container. */
static int try_nobody(void)
{
    enum { NO_USER = 65534 };
    struct zc_cred *c;
    int rc = zc_cred_make(NO_USER, NO_USER, NULL, 0, &c);

    if (rc < 0)
        return rc;
    zc_cred_use(c);
    rc = zc_cred_enter();
    if (rc == 0)
        zc_cred_leave();
    zc_cred_use(NULL);
    zc_cred_free(c);
    return rc;
}

/* No journal: its replay would run as the daemon's user, on whatever file has the name by then. */
static int check_munge(const struct zc_settings *s)
{
    int rc;

    if (geteuid() != 0)
        return zc_errorf(EPERM, "--auth munge serves all users, for which the daemon has to be "
                                "root; one of your own needs no munge: leave it out");
    if (s->journal)
        return zc_errorf(EINVAL, "--auth munge: a daemon of many users keeps no --journal: leave "
                                 "one of them out");
    if (s->munge_socket)
        setenv("ZCACHE_MUNGE_SOCKET", s->munge_socket, 1);
    rc = zc_munge_load();
    if (rc == 0)
        rc = try_nobody();
    return rc < 0 ? zc_errorf(-rc, "--auth munge: %s", zc_error_text(rc)) : 0;
}

static int check_user(const struct zc_settings *s)
{
    if (s->auth == ZC_AUTH_MUNGE)
        return check_munge(s);
    if (geteuid() != 0 || s->allow_root)
        return 0;
    return zc_errorf(EPERM,
                     "as root, a daemon would hand out root's files to all users that can read its "
                     "address file: start it as the user whose programs it is for, or with "
                     "--auth munge for all users, each with his own rights; --allow-root "
                     "(ZCACHE_ALLOW_ROOT=true) serves root's programs as root");
}

int iod_config_check(struct zc_settings *s)
{
    int rc = check_aggregator(s);

    if (rc == 0)
        rc = check_root(s);
    if (rc == 0)
        rc = check_files(s);
    if (rc == 0)
        rc = check_cache(s);
    if (rc == 0)
        rc = check_journal(s);
    return rc ? rc : check_user(s);
}
