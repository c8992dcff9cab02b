/* zcachectl.c - the command line: queries, watches and controls running daemons.
 *
 * Exit status: 0 every daemon did it; 1 one did not; 2 wrong use; 3 one had not by --timeout.
 */
#include "config.h"

#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ctl_journal.h"
#include "ctl_print.h"
#include "ctl_progress.h"
#include "ctl_prometheus.h"
#include "ctl_top.h"
#include "zc_fd.h"
#include "zc_log.h"
#include "zc_options.h"
#include "zc_thread.h"
#include "zc_units.h"
#include "zc_wire.h"

enum { EXIT_OK, EXIT_FAILED, EXIT_USAGE, EXIT_LATE };
enum { DEFAULT_TIMEOUT_S = 10, DEFAULT_INTERVAL_S = 1 };
enum { MIN_TIME_MS = 100, MAX_TIME_MS = 24 * 3600 * 1000 }; /* of both */
enum { GRACE_MS = 5000 }; /* requests end at --timeout with a better message; this is later */

static const struct ctl_command commands[] = {
    {"status", false, CTL_STATUS, false, NULL, "one line a daemon; with -v all it says of itself"},
    {"stats", false, CTL_STATS, false, NULL,
     "counters, a column a daemon; with -v what they count"},
    {"files", false, CTL_FILES, false, NULL, "the files in the cache and what is dirty of them"},
    {"top", false, CTL_TOP, false, NULL, "rates and busy files, renewed every second; q ends it"},
    {"flush", true, ZC_CONTROL_FLUSH, false, "everything is written back",
     "write back everything, and wait for it"},
    {"evict", true, ZC_CONTROL_EVICT, true, "dropped from the cache",
     "flush, then drop what is cached"},
    {"drain", true, ZC_CONTROL_DRAIN, false, "everything is written back; opens are refused",
     "flush, and refuse new opens until resume"},
    {"resume", true, ZC_CONTROL_RESUME, false, "opens files again",
     "open files again, after drain"},
    {"stop", true, ZC_CONTROL_STOP, false, "everything is written back; stopped",
     "drain, and end the daemon; returns when it is gone"},
    {"journal", false, CTL_JOURNAL, false, NULL,
     "list, show, replay or drop the journal of a daemon that does not run"},
    {0},
};

struct args {
    const struct ctl_command *command;
    const char *daemons;
    uint64_t timeout_ms; /* 0: not given */
    bool json, verbose, prometheus;
    const char *textfile;
    const char *action, *dir; /* of journal */
    bool force;
    uint64_t interval_ms, count; /* of top; 0: not given */
    char wrong[512];             /* the first error of the command line; empty: none */
};

static void print_help(void)
{
    printf("zcachectl - looks into running zcached daemons and controls them\n"
           "\n"
           "Usage: zcachectl [--daemons FILE|DIR,...] [--json] [-v] COMMAND\n"
           "       zcachectl [--json] journal list|show|replay|drop DIR\n"
           "\n"
           "Commands:\n");
    for (const struct ctl_command *c = commands; c->name; c++)
        printf("  %-8s  %s\n", c->name, c->help);
    printf(
        "\n"
        "Options:\n"
        "  --daemons LIST  address files, or directories of them (*.addr), separated by\n"
        "                  commas (default: $ZCACHE_DAEMONS)\n"
        "  --json          print one JSON object, sizes in bytes\n"
        "  -v, --verbose   print more\n"
        "  -n, --interval TIME\n"
        "                  top: renew so often (default %ds)\n"
        "  -c, --count N   top: end after so many pictures\n"
        "  --prometheus    stats: print them in Prometheus' text format\n"
        "  --textfile FILE\n"
        "                  stats: write that to FILE, all at once, for a collector\n"
        "  --timeout TIME  give up on what is not done after so long, writing back included;\n"
        "                  what was begun goes on (default: on a daemon that is silent for %ds)\n"
        "  --force         journal replay: write also what was kept back, over newer bytes\n"
        "  --help          print this\n"
        "  --version       print version and protocol\n"
        "\n"
        "Exit status: 0 every daemon did it; 1 one did not, its reason is on standard\n"
        "error; 2 wrong use; 3 one had not done it by --timeout.\n"
        "\n"
        "Examples:\n"
        "    zcachectl --daemons /run/zcache status\n"
        "    zcachectl --json stats | jq '.daemons[].stats.dirty_bytes'\n"
        "    zcachectl top -n 5s\n",
        DEFAULT_INTERVAL_S, DEFAULT_TIMEOUT_S);
}

/* Keeps the first error. */
static void usage(struct args *a, const char *fmt, const char *what)
{
    if (!*a->wrong)
        snprintf(a->wrong, sizeof a->wrong, fmt, what);
}

#define WRONG_TIME "\"%s\" is not allowed; it takes a time from 100ms to 24h"

/* `wrong` is the message for a bad value. */
static void parse_time(const char *s, uint64_t *ms, struct args *a, const char *wrong)
{
    if (zc_parse_time(s, ms) < 0 || *ms < MIN_TIME_MS || *ms > MAX_TIME_MS)
        usage(a, wrong, s);
}

static void parse_count(const char *s, struct args *a)
{
    if (zc_parse_count(s, &a->count) < 0 || a->count == 0)
        usage(a, "--count: \"%s\" is not allowed; it takes a number from 1 on", s);
}

/* Refuses options of other commands. */
static void check_options(struct args *a)
{
    uint32_t what = a->command && !a->command->control ? a->command->what : 0;

    if (a->command && what != CTL_TOP && (a->interval_ms || a->count))
        usage(a, "%s is for top", a->interval_ms ? "--interval" : "--count");
    if (a->command && what != CTL_STATS && a->prometheus)
        usage(a, "%s is for stats", a->textfile ? "--textfile" : "--prometheus");
    if (a->json && a->prometheus)
        usage(a, "%s is another format than --json", a->textfile ? "--textfile" : "--prometheus");
    if (a->textfile && !*a->textfile)
        usage(a, "%s needs a value", "--textfile");
}

/* journal ACTION DIR asks no daemon. */
static void parse_journal(int argc, char **argv, struct args *a)
{
    if (optind + 1 >= argc || !ctl_journal_knows(argv[optind + 1]))
        usage(a, "%s needs list, show, replay or drop, and a directory", "journal");
    else if (optind + 2 >= argc)
        usage(a, "journal %s needs a directory", argv[optind + 1]);
    else if (optind + 3 < argc)
        usage(a, "unexpected argument \"%s\"", argv[optind + 3]);
    if (*a->wrong)
        return;
    a->action = argv[optind + 1];
    a->dir = argv[optind + 2];
    if (a->force && strcmp(a->action, "replay") != 0)
        usage(a, "%s is for journal replay", "--force");
}

static void parse_command(int argc, char **argv, struct args *a)
{
    if (optind == argc) {
        usage(a, "%s is missing", "a command");
        return;
    }
    for (const struct ctl_command *c = commands; c->name; c++)
        if (strcmp(c->name, argv[optind]) == 0)
            a->command = c;
    if (!a->command)
        usage(a, "unknown command \"%s\"", argv[optind]);
    if (a->command && a->command->what == CTL_JOURNAL && !a->command->control) {
        parse_journal(argc, argv, a);
        check_options(a);
        return;
    }
    if (a->force)
        usage(a, "%s is for journal replay", "--force");
    if (optind + 1 < argc)
        usage(a, "unexpected argument \"%s\"", argv[optind + 1]);
    if (!a->daemons)
        a->daemons = getenv("ZCACHE_DAEMONS");
    if (!a->daemons || !*a->daemons)
        usage(a, "no daemon to ask: give %s or set ZCACHE_DAEMONS", "--daemons");
    check_options(a);
}

/* Returns 0; 1 if --help or --version was answered; or a negative errno with a->wrong.  Continues
 * after an error, as --json may follow. */
static int parse(int argc, char **argv, struct args *a)
{
    static const struct option options[] = {
        {"daemons", required_argument, NULL, 'd'},  {"json", no_argument, NULL, 'j'},
        {"verbose", no_argument, NULL, 'v'},        {"interval", required_argument, NULL, 'n'},
        {"count", required_argument, NULL, 'c'},    {"prometheus", no_argument, NULL, 'p'},
        {"textfile", required_argument, NULL, 'f'}, {"timeout", required_argument, NULL, 't'},
        {"force", no_argument, NULL, 'F'},          {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'V'},        {0},
    };
    int c;

    opterr = 0;
    while ((c = getopt_long(argc, argv, ":vhVn:c:", options, NULL)) != -1) {
        switch (c) {
        case 'd':
            a->daemons = optarg;
            break;
        case 'j':
            a->json = true;
            break;
        case 'v':
            a->verbose = true;
            break;
        case 'n':
            parse_time(optarg, &a->interval_ms, a, "--interval: " WRONG_TIME);
            break;
        case 'c':
            parse_count(optarg, a);
            break;
        case 'f':
            a->textfile = optarg;
            a->prometheus = true;
            break;
        case 'p':
            a->prometheus = true;
            break;
        case 't':
            parse_time(optarg, &a->timeout_ms, a, "--timeout: " WRONG_TIME);
            break;
        case 'F':
            a->force = true;
            break;
        case 'h':
            print_help();
            return 1;
        case 'V':
            printf("zcachectl (zcache) %s, protocol %d\n", PACKAGE_VERSION, ZC_PROTOCOL);
            return 1;
        case ':':
            usage(a, "%s needs a value", argv[optind - 1]);
            break;
        default:
            usage(a, "unknown option \"%s\"", argv[optind - 1]);
        }
    }
    parse_command(argc, argv, a);
    return *a->wrong ? -EINVAL : 0;
}

static int complain(const struct args *a, int status, const char *why, const char *more)
{
    fprintf(stderr, "zcachectl: %s%s\n", why, more);
    if (a->json)
        ctl_print_json_error(a->command, why);
    return status;
}

/* Ends a command whose file system hangs: that of address files, or of --textfile.  Requests to
 * daemons have time limits of their own. */
static void *end_late(void *args)
{
    const struct args *a = args;
    uint64_t ms = a->timeout_ms + GRACE_MS;
    struct timespec t = {(time_t)(ms / 1000), (long)(ms % 1000 * 1000000)};
    char time[32], why[128];

    while (nanosleep(&t, &t))
        ;
    snprintf(why, sizeof why, "not done within %s: waiting for the file system",
             zc_publish_time(a->timeout_ms, time, sizeof time));
    fprintf(stderr, "zcachectl: %s\n", why);
    if (a->json && ftrylockfile(stdout) == 0) {
        ctl_print_json_error(a->command, why);
        fflush(stdout);
    }
    _exit(EXIT_LATE);
}

static int limit_time(struct args *a)
{
    pthread_t thread;
    int rc = 0;

    if (a->timeout_ms && a->command->what != CTL_TOP)
        rc = zc_thread_start(&thread, "limit", end_late, a);
    return rc < 0 ? complain(a, EXIT_FAILED, zc_error_text(rc), "") : EXIT_OK;
}

static int end_output(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return EXIT_OK;
    fprintf(stderr, "zcachectl: cannot write: %s\n", strerror(errno));
    return EXIT_FAILED;
}

static int run_journal(const struct args *a)
{
    const struct ctl_journal c = {
        .action = a->action, .dir = a->dir, .json = a->json, .force = a->force};
    int status = ctl_journal_run(&c);

    return end_output() == EXIT_OK && status == 0 ? EXIT_OK : EXIT_FAILED;
}

static uint64_t silence(const struct args *a)
{
    return a->timeout_ms ? a->timeout_ms : DEFAULT_TIMEOUT_S * 1000;
}

static int run_top(const struct args *a)
{
    struct ctl_top top = {.daemons = a->daemons,
                          .timeout_ms = silence(a),
                          .interval_ms =
                              a->interval_ms ? a->interval_ms : DEFAULT_INTERVAL_S * 1000,
                          .count = a->count,
                          .json = a->json};
    int rc = ctl_top_run(&top);

    if (rc < 0)
        return complain(a, EXIT_FAILED, zc_error_text(rc), "");
    return rc == 0 ? EXIT_OK : EXIT_FAILED;
}

/* Writes --textfile also without daemons: its old content is not true any more. */
static int no_daemons(const struct args *a, int rc)
{
    int status = complain(a, EXIT_FAILED, zc_error_text(rc), "");

    if (a->textfile && (rc = ctl_write_prometheus(a->textfile, NULL, 0)) < 0)
        complain(a, EXIT_FAILED, zc_error_text(rc), "");
    return status;
}

static int print(const struct args *a, struct ctl_daemon *daemons, int n)
{
    int rc = 0;

    if (a->textfile)
        rc = ctl_write_prometheus(a->textfile, daemons, n);
    else if (a->prometheus)
        ctl_print_prometheus(daemons, n);
    else if (a->json)
        ctl_print_json(a->command, daemons, n);
    else
        ctl_print(a->command, daemons, n, a->verbose);
    if (a->prometheus)
        ctl_print_failures(daemons, n);
    if (rc < 0)
        return complain(a, EXIT_FAILED, zc_error_text(rc), "");
    return end_output();
}

static void draw_progress(void *progress)
{
    ctl_progress_step(progress);
}

/* Returns false if the process must end by _exit(). */
static bool ask(const struct args *a, struct ctl_daemon *daemons, int n)
{
    struct ctl_progress progress = {.daemons = a->daemons};
    struct ctl_wait wait = {.silence_ms = silence(a), .until_ms = a->timeout_ms};
    bool over;

    if (a->command->control && a->command->what != ZC_CONTROL_RESUME && !a->json) {
        wait.tick = draw_progress;
        wait.arg = &progress;
    }
    over = ctl_daemons_run(daemons, n, a->command, &wait);
    return ctl_progress_end(&progress) && over;
}

static int status_of(const struct args *a, const struct ctl_daemon *d)
{
    if (d->error.rc == 0)
        return EXIT_OK;
    return d->error.rc == -ETIMEDOUT && a->timeout_ms ? EXIT_LATE : EXIT_FAILED;
}

static int run(const struct args *a)
{
    struct ctl_daemon *daemons;
    int n = ctl_daemons_find(a->daemons, &daemons), status;
    bool over;

    if (n < 0)
        return no_daemons(a, n);
    over = ask(a, daemons, n);
    status = print(a, daemons, n);
    for (int i = 0; i < n; i++)
        if (status == EXIT_OK || status_of(a, &daemons[i]) == EXIT_FAILED)
            status = status_of(a, &daemons[i]);
    if (!over) {
        fflush(stdout);
        _exit(status);
    }
    ctl_daemons_free(daemons, n);
    return status;
}

int main(int argc, char **argv)
{
    struct args a = {0};
    int rc;

    zc_fd_fill();
    zc_log_init(NULL);
    rc = parse(argc, argv, &a);
    if (rc < 0)
        return complain(&a, EXIT_USAGE, a.wrong, "; see zcachectl --help");
    if (rc > 0)
        return EXIT_OK;
    rc = limit_time(&a);
    if (rc)
        return rc;
    if (a.command->control)
        return run(&a);
    return a.command->what == CTL_JOURNAL ? run_journal(&a)
           : a.command->what == CTL_TOP   ? run_top(&a)
                                          : run(&a);
}
