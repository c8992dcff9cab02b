/* sweep.c - makes the Nth call fail, for N = 1, 2, 3 ... until a small job runs without a failure,
 * and some more, since threads do not make the same number of calls each time.  The calls are those
 * of the store below a daemon's cache, messages and transfers of either side, and allocations.
 *
 *     sweep [-j TRIALS-AT-A-TIME] [KIND [N]]
 *
 * A job is an aggregator's cache, its connection to a daemon, the daemon's cache and a store; all
 * in one process, a new one for each trial.  It writes, overwrites, reads and flushes stamped
 * chunks; no error ends it.  Then the faults end, and the file is flushed and closed once more.
 * The result of a trial is one of
 *
 *     right        no call failed, and every byte is the last one written
 *     told         a call failed; if the last flush and the close succeed, every byte that was
 *                  written without an error is right all the same
 *     wrong        a read or the file has other bytes, without an error
 *     crash, hang
 *
 * Prints a line for each kind, "KIND TRIALS RIGHT TOLD WRONG CRASH HANG", and one for each trial
 * that is neither right nor told.  The status is 0 if there is none.
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../fuzz/fuzz_rig.h"
#include "zc_addrfile.h"
#include "zc_store_remote.h"
#include "zc_tp_fault.h"

enum {
    CHUNK = 12000,
    CHUNKS = 16,
    PAGE = 16384,
    TIMEOUT_MS = 400,
    HANG_S = 120,
    MAX_AT_A_TIME = 64,
    ENOUGH = 5, /* consecutive trials without a failure */
    RIGHT = 0,  /* exit statuses of a trial */
    TOLD = 1,
    WRONG = 2,
    UNTOUCHED = 16, /* no call failed: N is beyond the last */
};

enum where { STORE, SERVER, CLIENT, MEMORY };

static const struct kind {
    const char *name;
    enum where where;
    unsigned ops;
    int how; /* an errno, or enum zc_tp_fault_how */
    uint64_t count;
} kinds[] = {
    {"store-once", STORE, ZC_FAULT_ALL, EIO, 1},
    {"store-full", STORE, ZC_FAULT_WRITE | ZC_FAULT_TRUNCATE, ENOSPC, 4},
    {"store-from-then-on", STORE, ZC_FAULT_ALL, EIO, UINT32_MAX},
    {"daemon-message-lost", SERVER, ZC_TP_FAULT_SEND, ZC_TP_FAULT_DROP, 1},
    {"daemon-send-fails", SERVER, ZC_TP_FAULT_SEND, ZC_TP_FAULT_FAIL, 1},
    {"daemon-send-breaks", SERVER, ZC_TP_FAULT_SEND, ZC_TP_FAULT_BREAK, 1},
    {"daemon-transfer-fails", SERVER, ZC_TP_FAULT_PULL | ZC_TP_FAULT_PUSH, ZC_TP_FAULT_FAIL, 1},
    {"daemon-transfer-breaks", SERVER, ZC_TP_FAULT_PULL | ZC_TP_FAULT_PUSH, ZC_TP_FAULT_BREAK, 1},
    {"client-message-lost", CLIENT, ZC_TP_FAULT_SEND, ZC_TP_FAULT_DROP, 1},
    {"client-answer-lost", CLIENT, ZC_TP_FAULT_RECV, ZC_TP_FAULT_DROP, 1},
    {"client-send-fails", CLIENT, ZC_TP_FAULT_SEND, ZC_TP_FAULT_FAIL, 1},
    {"client-send-breaks", CLIENT, ZC_TP_FAULT_SEND, ZC_TP_FAULT_BREAK, 1},
    {"no-memory-once", MEMORY, 0, 0, 1},
    {"no-memory-for-a-while", MEMORY, 0, 0, 20},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* ---- allocations: the linker replaces the C library's by these ---- */

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
char *__real_strdup(const char *s);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
char *__wrap_strdup(const char *s);

/* Of all threads, once counting has begun. */
static atomic_ulong calls, fails_from = ULONG_MAX, fails_to, failures;

static bool no_memory(void)
{
    unsigned long n;

    if (atomic_load(&fails_from) == ULONG_MAX)
        return false;
    n = atomic_fetch_add(&calls, 1) + 1;
    if (n < atomic_load(&fails_from) || n >= atomic_load(&fails_to))
        return false;
    atomic_fetch_add(&failures, 1);
    errno = ENOMEM;
    return true;
}

void *__wrap_malloc(size_t n)
{
    return no_memory() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return no_memory() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t n)
{
    return no_memory() ? NULL : __real_realloc(p, n);
}

char *__wrap_strdup(const char *s)
{
    return no_memory() ? NULL : __real_strdup(s);
}

/* ---- the environment of a trial ---- */

static struct rig rig;
static struct zc_store *shared; /* the store, which survives the job */
static struct zc_tp *server_end;
static const struct kind *kind; /* of this trial */
static uint64_t nth;
static char dir[64], address_file[80];

/* Makes the first endpoint fail, and not its successors. */
static int open_client_end(const struct zc_tp_config *cfg, struct zc_tp **out)
{
    static bool armed;
    int rc = zc_tp_fault_open(cfg, out);

    if (rc == 0 && kind->where == CLIENT && !armed)
        zc_tp_fault_set(*out, kind->ops, (enum zc_tp_fault_how)kind->how, nth, kind->count);
    armed = true;
    return rc;
}

static void announce(void)
{
    struct zc_addrfile a = {.protocol = ZC_PROTOCOL,
                            .provider = "loop",
                            .pid = getpid(),
                            .boot_id = rig_boot_id,
                            .secret = rig_secret,
                            .root = "/"};

    strcpy(dir, "/tmp/zc-sweep-XXXXXX");
    REQUIRE(mkdtemp(dir), "a directory");
    sprintf(address_file, "%s/addr", dir);
    gethostname(a.host, sizeof a.host - 1);
    memcpy(a.address, rig.addr, rig.addr_len);
    a.address_len = rig.addr_len;
    REQUIRE(zc_addrfile_write(address_file, &a) == 0, "an address file");
}

static void arm(void)
{
    if (kind->where == STORE)
        zc_store_fault_set(rig.store, kind->ops, nth, kind->count, kind->how);
    else if (kind->where == SERVER)
        zc_tp_fault_set(server_end, kind->ops, (enum zc_tp_fault_how)kind->how, nth, kind->count);
    else if (kind->where == MEMORY) {
        atomic_store(&fails_to, nth + kind->count);
        atomic_store(&fails_from, nth);
    }
}

/* Ends the faults; returns whether any call failed. */
static bool disarm(void)
{
    if (kind->where == STORE) {
        zc_store_fault_set(rig.store, 0, 0, 0, 0);
        return zc_store_fault_raised(rig.store) > 0;
    }
    if (kind->where == MEMORY) {
        atomic_store(&fails_from, ULONG_MAX);
        return atomic_load(&failures) > 0;
    }
    if (kind->where == SERVER)
        zc_tp_fault_set(server_end, 0, ZC_TP_FAULT_DROP, 1, 0);
    return zc_tp_fault_raised_by_all() > 0; /* the client's may be closed by now */
}

/* ---- the job ---- */

static unsigned sure[CHUNKS];  /* generations; 0: not written */
static unsigned maybe[CHUNKS]; /* of later writes that failed, bit by bit */
static bool told, wrong;

static void note(int rc)
{
    told = told || rc < 0;
}

static void write_chunk(struct zc_handle *h, unsigned i, unsigned gen)
{
    unsigned char buf[CHUNK];
    ssize_t n;

    fill(buf, CHUNK, (uint64_t)i * CHUNK, gen);
    n = zc_cache_write(h, buf, CHUNK, (uint64_t)i * CHUNK);
    told = told || n != CHUNK;
    if (n == CHUNK) {
        sure[i] = gen;
        maybe[i] = 0;
    } else {
        maybe[i] |= 1u << gen;
    }
}

static bool may_be(unsigned i, unsigned char byte, uint64_t off)
{
    for (unsigned gen = 0; gen < 8; gen++)
        if ((gen == sure[i] || maybe[i] & 1u << gen) && byte == (gen ? stamp(off, gen) : 0))
            return true;
    return false;
}

static void look_at(unsigned i, const unsigned char *buf, unsigned len, const char *where)
{
    for (unsigned b = 0; b < len; b++)
        if (!may_be(i, buf[b], (uint64_t)i * CHUNK + b)) {
            fprintf(stderr, "%s %llu: byte %u is wrong in the %s\n", kind->name,
                    (unsigned long long)nth, i * CHUNK + b, where);
            wrong = true;
            return;
        }
}

static void read_all(struct zc_handle *h)
{
    for (unsigned i = 0; i < CHUNKS; i++) {
        unsigned char buf[CHUNK] = {0};
        ssize_t n = zc_cache_read(h, buf, CHUNK, (uint64_t)i * CHUNK);

        told = told || n < CHUNK; /* bytes read before the error count */
        if (n > 0)
            look_at(i, buf, (unsigned)n, "cache");
    }
}

static void write_every(struct zc_handle *h, unsigned step, unsigned gen)
{
    for (unsigned i = 0; i < CHUNKS; i += step)
        write_chunk(h, i, gen);
}

static void work(struct zc_handle *h)
{
    write_every(h, 1, 1);
    note(zc_cache_flush(h, ZC_LEVEL_STAGED));
    write_every(h, 2, 2);
    note(zc_cache_flush(h, ZC_LEVEL_STORED));
    read_all(h);
    write_every(h, 3, 3);
    note(zc_cache_refresh(h));
    note(zc_cache_flush(h, ZC_LEVEL_DURABLE));
    write_every(h, 5, 4);
    read_all(h);
    note(zc_cache_flush(h, ZC_LEVEL_STORED));
}

/* Checks the file after the job. */
static void look_at_file(void)
{
    struct zc_attr attr = {0};
    struct zc_sfile *f;

    if (zc_store_open_file(shared, "/f", ZC_OPEN_READ, 0, &f, &attr))
        return;
    for (unsigned i = 0; i < CHUNKS; i++) {
        unsigned char buf[CHUNK] = {0};
        struct iovec iov = {buf, CHUNK};

        zc_store_preadv(f, &iov, 1, (uint64_t)i * CHUNK);
        look_at(i, buf, CHUNK, "file");
    }
    zc_store_close_file(f, ZC_LEVEL_VISIBLE);
}

/* Runs the job; true: a flush after the faults and the close reported all as stored. */
static bool run_job(struct zc_store *remote, bool *touched)
{
    enum { RW = ZC_OPEN_READ | ZC_OPEN_WRITE | ZC_OPEN_CREATE | ZC_OPEN_REPLAY };
    struct zc_cache_config cfg = ZC_CACHE_CONFIG_DEFAULT;
    struct zc_attr attr = {.block_size = 2 * PAGE};
    struct zc_cache *cache;
    struct zc_handle *h;
    bool good = false;

    cfg.capacity = 8 * PAGE; /* less than the file */
    cfg.page_size = PAGE;
    cfg.replay = ZC_REPLAY_ON;
    cfg.retry_ms = 50;
    if (zc_cache_create(&cfg, remote, &cache)) {
        told = true;
        *touched = disarm();
        return false;
    }
    if (zc_cache_open(cache, "/f", RW, 0600, &h, &attr) == 0) {
        int rc;

        work(h);
        *touched = disarm();
        rc = zc_cache_flush(h, ZC_LEVEL_STORED);
        note(rc);
        good = rc == 0;
        rc = zc_cache_close(h);
        note(rc);
        good = good && rc == 0;
    } else {
        told = true;
        *touched = disarm();
    }
    zc_cache_destroy(cache);
    return good;
}

static void trial(void)
{
    struct zc_net_config net = {
        .open_transport = open_client_end, .timeout_ms = TIMEOUT_MS, .name = "job"};
    bool touched = false, good = false;
    struct zc_store *remote;

    rig_transport = zc_tp_fault_open;
    REQUIRE(zc_store_mem_create(&shared) == 0, "a store");
    rig_up(&rig, NULL, borrow(shared));
    server_end = zc_tp_fault_last();
    announce();
    arm();
    if (zc_store_remote_create(address_file, &net, &remote) == 0) {
        good = run_job(remote, &touched);
        zc_store_destroy(remote);
    } else {
        told = true;
        touched = disarm();
    }
    note(rig_stop(&rig));
    rig_free(&rig);
    if (good)
        look_at_file();
    unlink(address_file);
    rmdir(dir);
    _exit(wrong ? WRONG : (told ? TOLD : RIGHT) | (touched ? 0 : UNTOUCHED));
}

/* ---- trials ---- */

struct tally {
    unsigned trials, right, told, wrong, crash, hang;
};

struct child {
    pid_t pid;
    uint64_t n, began;
};

static struct child begin(uint64_t n)
{
    struct child c = {.n = n, .began = zc_now()};

    fflush(NULL);
    nth = n;
    c.pid = fork();
    REQUIRE(c.pid >= 0, "fork");
    if (c.pid == 0)
        trial();
    return c;
}

/* Counts a trial; false: nothing failed in it. */
static bool count(struct tally *t, const struct child *c, int status, bool hang)
{
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1, seen;

    if (code == (UNTOUCHED | RIGHT))
        return false;
    t->trials++;
    seen = code & ~UNTOUCHED;
    if (hang)
        t->hang++;
    else if (code < 0 || seen > WRONG)
        t->crash++;
    else
        ++*(seen == RIGHT ? &t->right : seen == TOLD ? &t->told : &t->wrong);
    if (hang || code < 0 || seen >= WRONG)
        printf("%s %llu: %s, status %d, signal %d\n", kind->name, (unsigned long long)c->n,
               hang                         ? "hang"
               : code >= 0 && seen == WRONG ? "wrong"
                                            : "crash",
               code, WIFSIGNALED(status) ? WTERMSIG(status) : 0);
    return true;
}

/* Waits for a trial to end or hang; returns its index. */
static unsigned next(const struct child *c, unsigned n, int *status, bool *hang)
{
    *hang = false;
    for (;; usleep(2000))
        for (unsigned i = 0; i < n; i++) {
            if (waitpid(c[i].pid, status, WNOHANG) == c[i].pid)
                return i;
            if (zc_now() - c[i].began > HANG_S * 1000 * ZC_NS_PER_MS) {
                *hang = true;
                kill(c[i].pid, SIGKILL);
                waitpid(c[i].pid, status, 0);
                return i;
            }
        }
}

static struct tally sweep(unsigned at_a_time)
{
    struct child c[MAX_AT_A_TIME];
    struct tally t = {0};
    unsigned running = 0, untouched = 0;
    uint64_t n = 1;

    while (untouched < ENOUGH || running) {
        int status;
        bool hang;
        unsigned i;

        while (untouched < ENOUGH && running < at_a_time)
            c[running++] = begin(n++);
        i = next(c, running, &status, &hang);
        untouched += !count(&t, &c[i], status, hang);
        c[i] = c[--running];
    }
    printf("%s %u %u %u %u %u %u\n", kind->name, t.trials, t.right, t.told, t.wrong, t.crash,
           t.hang);
    fflush(stdout);
    return t;
}

int main(int argc, char **argv)
{
    unsigned at_a_time = 2, bad = 0, ran = 0;
    int opt;

    while ((opt = getopt(argc, argv, "j:")) != -1)
        if (opt == 'j')
            at_a_time = (unsigned)atoi(optarg);
        else
            return 2;
    REQUIRE(at_a_time >= 1 && at_a_time <= MAX_AT_A_TIME, "1 to %d", MAX_AT_A_TIME);
    fuzz_log();
    for (kind = kinds; kind < kinds + KINDS; kind++) {
        struct tally t;

        if (optind < argc && strcmp(argv[optind], kind->name))
            continue;
        ran++;
        if (optind + 1 < argc) {
            nth = strtoull(argv[optind + 1], NULL, 10);
            trial();
        }
        t = sweep(at_a_time);
        bad += t.wrong + t.crash + t.hang;
    }
    if (!ran)
        fprintf(stderr, "sweep: no such kind: %s\n", argv[optind]);
    return bad > 0 || !ran;
}
