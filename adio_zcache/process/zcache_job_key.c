/* zcache_job_key.c - the job of this process, by the launcher that started it and its variables. */
#include "config.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#include "zc_fd.h"
#include "zc_process.h"
#include "zcache_job_key.h"

enum {
    KEY_SIZE = 256,     /* ZC_MAX_JOB and the NUL */
    VALUE = 160,        /* of a variable: its last bytes, where names differ */
    COMMAND = 64 << 10, /* of a command line is looked at */
    GENERATIONS = 64,   /* ancestors are */
};

static char key[KEY_SIZE];
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* ---- processes ---- */

/* Reads /proc/PID/NAME; what there is of it, NUL-terminated. */
static size_t read_proc(pid_t pid, const char *name, char *buf, size_t size)
{
    char path[64];
    size_t n = 0;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%ld/%s", (long)pid, name);
    f = zc_fopen(path, "re");
    if (f) {
        n = fread(buf, 1, size - 1, f);
        fclose(f);
    }
    buf[n] = 0;
    return n;
}

/* Its parent; 0: it cannot be seen. */
static pid_t parent_of(pid_t pid)
{
    char text[1024], *at;
    long parent = 0;

    read_proc(pid, "stat", text, sizeof text);
    at = strrchr(text, ')'); /* what is before may have blanks */
    if (at)
        sscanf(at, ") %*c %ld", &parent);
    return (pid_t)parent;
}

/* A command line: words, each with a NUL. */
struct command {
    char *words;
    size_t len;
};

static const char *word_after(const struct command *c, const char *option)
{
    const char *end = c->words + c->len;

    for (const char *w = c->words; w < end; w += strlen(w) + 1) {
        const char *next = w + strlen(w) + 1;

        if (!strcmp(w, option) && next < end)
            return next;
    }
    return NULL;
}

/* What its name is without directories, the program's as it was started. */
static bool is_called(const struct command *c, const char *name)
{
    const char *slash = strrchr(c->words, '/');

    return !strcmp(slash ? slash + 1 : c->words, name);
}

/* slurmstepd calls itself "slurmstepd: [12.0]". */
static bool is_slurm(const struct command *c)
{
    return !strncmp(c->words, "slurmstepd", strlen("slurmstepd"));
}

static bool is_launcher(const struct command *c)
{
    static const char *const names[] = {"hydra_pmi_proxy", "prted",  "prterun", "prte",
                                        "orted",           "orterun"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (is_called(c, names[i]))
            return true;
    return is_slurm(c);
}

/* ---- the launcher ---- */

/* The other end of the socket through which the MPI library talks to its launcher; 0: none. */
static pid_t pmi_peer(void)
{
    const char *fd = getenv("PMI_FD");
    struct ucred peer;
    socklen_t len = sizeof peer;

    if (!fd || getsockopt(atoi(fd), SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
        return 0;
    return peer.pid;
}

static bool is_ancestor(pid_t pid)
{
    pid_t p = getpid();

    for (int i = 0; i < GENERATIONS && p > 1; i++) {
        p = parent_of(p);
        if (p == pid)
            return true;
    }
    return false;
}

/* The nearest process that is known to start jobs, with its command line; 0: none. */
static pid_t nearest_launcher(struct command *c)
{
    pid_t p = pmi_peer();

    if (p > 0) {
        c->len = read_proc(p, "cmdline", c->words, COMMAND);
        if (is_launcher(c))
            return p;
    }
    p = parent_of(getpid());
    for (int i = 0; i < GENERATIONS && p > 1; i++) {
        c->len = read_proc(p, "cmdline", c->words, COMMAND);
        if (is_launcher(c))
            return p;
        p = parent_of(p);
    }
    c->len = 0;
    c->words[0] = 0;
    return 0;
}

/* ---- the key ---- */

static void add(const char *text)
{
    size_t n = strlen(key);

    snprintf(key + n, sizeof key - n, "%s ", text);
}

/* "NAME=VALUE", if there is one. */
static bool add_variable(const char *name)
{
    const char *value = getenv(name);
    char text[VALUE + 40];
    size_t n = value ? strlen(value) : 0;

    if (n == 0)
        return false;
    snprintf(text, sizeof text, "%s=%s", name, n > VALUE ? value + n - VALUE : value);
    add(text);
    return true;
}

/* A process of this host, as no other one ever was or will be. */
static void add_process(pid_t pid)
{
    char boot[64] = "", text[128];
    FILE *f = zc_fopen("/proc/sys/kernel/random/boot_id", "re");

    if (f) {
        if (fscanf(f, "%63s", boot) != 1)
            boot[0] = 0;
        fclose(f);
    }
    snprintf(text, sizeof text, "boot %s process %ld started %" PRIu64, boot, (long)pid,
             zc_process_started(pid));
    add(text);
}

/* The MPI library would not make a job of this process but one of its own. */
static bool is_alone(void)
{
    static const char *const names[] = {"PMI_FD", "PMI_PORT", "PMI_RANK", "PMIX_NAMESPACE"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (getenv(names[i]))
            return false;
    return true;
}

static bool on_one_host(void)
{
    const char *here = getenv("MPI_LOCALNRANKS"), *all = getenv("PMI_SIZE");

    return here && all && !strcmp(here, all);
}

/* Proxies number the groups of processes that they start, from 0; those of MPICH 5 serve spawned
 * ones as well and do not say which: these are told from none but by themselves. */
static void add_spawned(const char *group)
{
    if (getenv("PMI_SPAWNED") && (!group || !strcmp(group, "0")))
        add_process(getpid());
}

static bool add_hydra(const struct command *c)
{
    const char *port = word_after(c, "--control-port"), *group = word_after(c, "--pgid");
    char text[VALUE];

    if (!is_called(c, "hydra_pmi_proxy"))
        return false;
    if (port) {
        snprintf(text, sizeof text, "hydra %s group %s", port, group ? group : "0");
        add(text);
        add_spawned(group);
        return true;
    }
    if (!add_variable("I_MPI_HYDRA_UUID"))
        return false;
    add_variable("HYDRA_BSTRAP_PGID");
    add_spawned(getenv("HYDRA_BSTRAP_PGID"));
    return true;
}

/* Of all hosts of a job. */
static bool add_job(const struct command *c)
{
    static const char *const names[] = {"PMIX_NAMESPACE", "PALS_APID", "FLUX_JOB_ID", "PMI_JOBID"};

    if (add_hydra(c))
        return true;
    if (is_slurm(c) && getenv("SLURM_STEP_ID") && add_variable("SLURM_JOB_ID"))
        return add_variable("SLURM_STEP_ID");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (add_variable(names[i]))
            return true;
    return false;
}

static void make_key(void)
{
    struct command c = {malloc(COMMAND), 0};
    char user[40];
    pid_t launcher, peer;
    bool known;

    snprintf(user, sizeof user, "user %lu", (unsigned long)geteuid());
    add(user);
    if (!c.words || is_alone()) {
        add_process(getpid());
        free(c.words);
        return;
    }
    launcher = nearest_launcher(&c);
    known = add_job(&c);
    free(c.words);
    peer = launcher ? launcher : pmi_peer();
    if (!launcher && !is_ancestor(peer))
        peer = 0;
    if (peer && (!known || on_one_host()))
        add_process(peer);
    else if (!known)
        add_process(getpid());
}

const char *zcache_job_key(void)
{
    pthread_once(&once, make_key);
    return key;
}
