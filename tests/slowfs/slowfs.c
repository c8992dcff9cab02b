/* slowfs.c - a directory, seen through a slow shared file system.
 *
 * Models a network file system whose clients do not write back: every write is on the server
 * when it returns, and all clients wait for the one server (model.h).  Stays in the foreground;
 * SIGTERM and SIGINT unmount.
 *
 *   slowfs.c   options, mounting       inode.c  the files the kernel knows
 *   model.c    what a request costs    names.c, data.c  what the kernel asks
 */
#include "config.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "inode.h"
#include "model.h"
#include "ops.h"

enum { REQUEST_MAX = 1 << 20, THREADS = 64 };

static const char help[] =
    "Usage: slowfs [option ...] DIRECTORY MOUNTPOINT\n"
    "Mount DIRECTORY at MOUNTPOINT as a shared network file system would show it: one server\n"
    "for all, and no write-back in the client.\n"
    "\n"
    "  --write-rate RATE  bytes per second that the server takes (200M); k, M and G are\n"
    "                     powers of 1000; 0: no limit\n"
    "  --read-rate RATE   bytes per second that it gives (as --write-rate)\n"
    "  --op-us N          time of the server for each request, microseconds (50)\n"
    "  --latency-us N     round trip of each request, overlapping (200)\n"
    "  --meta-us N        for open, create, remove, rename, truncate, ... (500)\n"
    "  --cached-reads     let the client cache what it has read\n"
    "  --help             this text\n"
    "\n"
    "A request carries up to 1 MiB; longer reads and writes are several, one after the other.\n"
    "MOUNTPOINT/.slowfs tells, as JSON, how many requests and bytes there were and for how long\n"
    "they kept the server busy.  Runs in the foreground; SIGTERM unmounts.\n"
    "\n"
    "Example: slowfs --write-rate 200M --op-us 50 /dev/shm/below /mnt/slow &\n";

struct options {
    struct model_costs costs;
    bool cached_reads;
    const char *backing;
    const char *mountpoint;
};

/* A number that is not negative, and its unit where one is allowed.  False: not that. */
static bool number(const char *text, const char *units, double *out)
{
    char *end;
    const char *unit;

    errno = 0;
    *out = strtod(text, &end);
    if (end == text || errno || !(*out >= 0 && *out <= 1e15))
        return false;
    if (*end == '\0')
        return true;
    unit = strchr(units, *end);
    if (!unit || end[1] != '\0')
        return false;
    for (; unit >= units; unit--)
        *out *= 1000;
    return true;
}

static bool option(struct options *o, int c)
{
    switch (c) {
    case 'w':
        return number(optarg, "kMG", &o->costs.write_rate);
    case 'r':
        return number(optarg, "kMG", &o->costs.read_rate);
    case 'o':
        return number(optarg, "", &o->costs.op_us);
    case 'l':
        return number(optarg, "", &o->costs.latency_us);
    case 'm':
        return number(optarg, "", &o->costs.meta_us);
    default:
        o->cached_reads = true;
        return true;
    }
}

/* Returns 0; or 1 when all is said and done, 2 for bad options. */
static int parse(struct options *o, int argc, char **argv)
{
    static const struct option table[] = {
        {"write-rate", required_argument, NULL, 'w'},
        {"read-rate", required_argument, NULL, 'r'},
        {"op-us", required_argument, NULL, 'o'},
        {"latency-us", required_argument, NULL, 'l'},
        {"meta-us", required_argument, NULL, 'm'},
        {"cached-reads", no_argument, NULL, 'c'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    int c, index;

    *o = (struct options){.costs = {200e6, -1, 50, 200, 500}};
    while ((c = getopt_long(argc, argv, "", table, &index)) != -1) {
        if (c == 'h') {
            fputs(help, stdout);
            return 1;
        }
        if (c == '?')
            return 2;
        if (!option(o, c)) {
            fprintf(stderr, "slowfs: --%s %s: not a number that makes sense; see slowfs --help\n",
                    table[index].name, optarg);
            return 2;
        }
    }
    if (argc - optind != 2) {
        fputs("slowfs: give a directory and a mount point; see slowfs --help\n", stderr);
        return 2;
    }
    if (o->costs.read_rate < 0)
        o->costs.read_rate = o->costs.write_rate;
    o->backing = argv[optind];
    o->mountpoint = argv[optind + 1];
    return 0;
}

static void op_init(void *userdata, struct fuse_conn_info *conn)
{
    (void)userdata;
    conn->max_write = REQUEST_MAX;
    conn->max_background = THREADS;
    conn->want &= ~(unsigned)FUSE_CAP_WRITEBACK_CACHE;
    conn->time_gran = 1;
}

/* The kernel checks permissions; others than the mounting user may come when it is root. */
static struct fuse_session *session_new(struct fs *fs)
{
    struct fuse_lowlevel_ops ops = {.init = op_init};
    char *argv[] = {"slowfs", "-o", "default_permissions,fsname=slowfs,subtype=slowfs",
                    fs->as_root ? "-oallow_other" : NULL, NULL};
    struct fuse_args args = FUSE_ARGS_INIT(fs->as_root ? 4 : 3, argv);
    struct fuse_session *s;

    names_fill(&ops);
    data_fill(&ops);
    s = fuse_session_new(&args, &ops, sizeof(ops), fs);
    fuse_opt_free_args(&args);
    return s;
}

/* A thread waits for each request under way, so there have to be enough. */
static int loop(struct fuse_session *s)
{
    struct fuse_loop_config *config = fuse_loop_cfg_create();
    int rc;

    if (!config)
        return -ENOMEM;
    fuse_loop_cfg_set_max_threads(config, THREADS);
    fuse_loop_cfg_set_idle_threads(config, THREADS);
    rc = fuse_session_loop_mt(s, config);
    fuse_loop_cfg_destroy(config);
    return rc < 0 ? rc : 0; /* a signal that ended it is no failure */
}

static int serve(struct fs *fs, const char *mountpoint)
{
    struct fuse_session *s = session_new(fs);
    int rc = -1;

    if (!s)
        return -1;
    if (fuse_set_signal_handlers(s) == 0) {
        if (fuse_session_mount(s, mountpoint) == 0) {
            rc = loop(s);
            fuse_session_unmount(s);
        }
        fuse_remove_signal_handlers(s);
    }
    fuse_session_destroy(s);
    return rc;
}

/* Every file that the kernel knows holds a descriptor. */
static void raise_limit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

int main(int argc, char **argv)
{
    struct options o;
    struct fs fs = {.as_root = geteuid() == 0};
    int rc = parse(&o, argc, argv);

    if (rc != 0)
        return rc == 1 ? 0 : rc;
    fs.cached_reads = o.cached_reads;
    rc = inode_start(o.backing);
    if (rc != 0) {
        fprintf(stderr, "slowfs: %s: %s\n", o.backing, strerror(rc));
        return 1;
    }
    fs.model = model_create(&o.costs);
    if (!fs.model) {
        fputs("slowfs: out of memory\n", stderr);
        return 1;
    }
    raise_limit();
    umask(0); /* the caller's was applied by the kernel */
    rc = serve(&fs, o.mountpoint);
    model_destroy(fs.model);
    return rc == 0 ? 0 : 1;
}
