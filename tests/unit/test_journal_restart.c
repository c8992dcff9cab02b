/* test_journal_restart.c - a start of a journal is interrupted, and the next one decides as the
 * first would have: after a reboot of the host, and where the times of files object.
 *
 * Daemons are processes over a directory of real files; a start dies, or fails, at any one of its
 * steps: the calls of its sink, and those by which the journal changes its directory.
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check_main.h"
#include "zc_journal.h"
#include "zc_lock.h"
#include "zc_log.h"
#include "zc_store_journal.h"
#include "zc_store_posix.h"

#define WAIT_FOR(cond)                                                                             \
    do {                                                                                           \
        while (!(cond))                                                                            \
            usleep(50);                                                                            \
    } while (0)

enum { MIB = 1 << 20, SIZE = 8192, PENDING = 4096, FILES = 4 };

/* What happens to a file between the death of its daemon and the next start. */
enum { TOUCHED, REWRITTEN, UNCHANGED, SHORTER };

static char tmp[64], root[128], dir[128], paths[FILES][160];

/* Shared by all processes of a test. */
static struct seen {
    atomic_int steps;
    bool kept[FILES];
} * seen;

/* ---- steps ---- */

static int breaks_at; /* step at which this process breaks off; 0: none */
static bool dies;     /* false: the step fails, and the start with it */

/* Ends this process as a kill does: at once, without a heartbeat more. */
static void __attribute__((noreturn)) die(void)
{
    kill(getpid(), SIGKILL);
    abort();
}

/* Whether a step fails that has come. */
static bool breaks(void)
{
    if (!breaks_at || atomic_fetch_add(&seen->steps, 1) + 1 != breaks_at)
        return false;
    if (dies)
        die();
    errno = EIO;
    return true;
}

/* A step that does not fail: a file that cannot be read is kept back. */
static void passes(void)
{
    if (dies)
        breaks();
}

/* These replace the C library's functions. */
ssize_t pwrite(int fd, const void *p, size_t len, off_t off)
{
    return breaks() ? -1 : syscall(SYS_pwrite64, fd, p, len, off);
}

int fsync(int fd)
{
    (void)fd; /* only processes die */
    return breaks() ? -1 : 0;
}

int mkdirat(int fd, const char *name, mode_t mode)
{
    return breaks() ? -1 : (int)syscall(SYS_mkdirat, fd, name, mode);
}

int renameat(int from, const char *old, int to, const char *name)
{
    return breaks() ? -1 : (int)syscall(SYS_renameat2, from, old, to, name, 0);
}

/* ---- a daemon ---- */

static struct zc_journal *j;
static struct zc_store *store;

static int number_of(const char *path)
{
    for (int i = 0; i < FILES; i++)
        if (strcmp(path, paths[i]) == 0)
            return i;
    ck_abort_msg("no file %s", path);
    return -1;
}

static int sink_stat(void *arg, const char *path, struct zc_attr *attr)
{
    (void)arg;
    passes();
    return zc_store_stat(store, path, attr);
}

static int sink_open(void *arg, const char *path, uint64_t mark, void **file)
{
    struct zc_attr attr = {.mark = mark};
    struct zc_sfile *f;
    int rc = breaks() ? -EIO : zc_store_open_file(store, path, ZC_OPEN_WRITE, 0, &f, &attr);

    (void)arg;
    if (rc == 0)
        *file = f;
    return rc;
}

static ssize_t sink_read(void *arg, const char *path, void *buf, size_t len, uint64_t off)
{
    int fd = open(path, O_RDONLY);
    ssize_t n = pread(fd, buf, len, (off_t)off);

    (void)arg;
    passes();
    close(fd);
    return n;
}

static int sink_write(void *file, const void *buf, size_t len, uint64_t off)
{
    struct iovec iov = {(void *)(uintptr_t)buf, len};

    return breaks() ? -EIO : zc_store_pwritev(file, &iov, 1, off) < 0 ? -EIO : 0;
}

static int sink_close(void *file, uint64_t *number)
{
    *number = 1;
    zc_store_close_file(file, ZC_LEVEL_STAGED); /* nothing is unwritten */
    return breaks() ? -EIO : 0;
}

static void sink_kept(void *arg, const char *path, const struct zc_journal_span *s, unsigned n,
                      uint64_t bytes, const char *why, const char *where)
{
    (void)arg;
    (void)n;
    (void)why;
    (void)where;
    seen->kept[number_of(path)] = s[0].lo == 0 && bytes == PENDING;
}

static void sink_lost(void *arg, const char *path, uint64_t lo, uint64_t hi, uint64_t bytes,
                      const char *why)
{
    (void)arg;
    ck_abort_msg("%s: %llu of %llu-%llu lost: %s", path ? path : "?", (unsigned long long)bytes,
                 (unsigned long long)lo, (unsigned long long)hi, why);
}

static int not_all(void *arg, uint64_t dev, uint64_t ino, uint64_t number)
{
    (void)arg;
    (void)dev;
    (void)ino;
    (void)number;
    return -EAGAIN;
}

/* Starts a daemon in this process. */
static int start(const char *boot, bool sync_too)
{
    const struct zc_journal_config cfg = {
        .dir = dir, .root = root, .size = MIB, .sync = sync_too, .boot = boot};
    static const struct zc_journal_sink sink = {.stat = sink_stat,
                                                .open = sink_open,
                                                .read = sink_read,
                                                .write = sink_write,
                                                .close = sink_close,
                                                .kept = sink_kept,
                                                .lost = sink_lost};
    struct zc_journal_replayed r;
    struct zc_store *below;
    int rc = zc_journal_open(&cfg, &j);

    if (rc < 0)
        return rc;
    ck_assert_int_eq(zc_store_posix_create(root, &below), 0);
    ck_assert_int_eq(zc_store_journal_create(below, j, &store), 0);
    zc_journal_attach(j, NULL, not_all, NULL);
    rc = zc_journal_replay(j, &sink, &r);
    if (rc < 0)
        zc_journal_close(j, false);
    return rc;
}

struct put {
    struct zc_journal_write w;
    atomic_bool done;
};

static void put_done(struct zc_journal_write *w)
{
    atomic_store(&((struct put *)w)->done, true);
}

/* Writes the file, and stages the first PENDING bytes anew. */
static void write_and_put(const char *path)
{
    struct zc_attr attr = {.set.count = 1};
    struct zc_journal_ticket ticket = {0};
    struct zc_range r = {0, PENDING};
    char data[SIZE];
    struct iovec iov = {data, SIZE};
    struct zc_sfile *f;
    struct put p = {.w = {.ticket = &ticket, .data = data, .r = &r, .n = 1, .done = put_done}};

    ck_assert_int_eq(
        zc_store_open_file(store, path, ZC_OPEN_WRITE | ZC_OPEN_CREATE, 0644, &f, &attr), 0);
    memset(data, 's', sizeof data);
    ck_assert_int_eq(zc_store_pwritev(f, &iov, 1, 0), SIZE);
    ck_assert_int_eq(zc_store_getattr(f, &attr), 0);
    memset(data, 'p', sizeof data);
    p.w.file = zc_journal_find(j, attr.dev, attr.ino);
    ck_assert_ptr_nonnull(p.w.file);
    zc_journal_put(j, &p.w);
    WAIT_FOR(atomic_load(&p.done));
    ck_assert_int_eq(p.w.error.rc, 0);
    zc_journal_taken(j, &ticket, 1);
}

/* ---- processes ---- */

/* What the first daemon leaves in `alive`; CHANGING: as RUN, with changes under way, long ago. */
enum { RUN, SYNC, ENDED, CHANGING };

static void leave_intents(void)
{
    struct zc_attr attr;

    for (int i = 0; i < FILES; i++) {
        ck_assert_int_eq(zc_store_stat(store, paths[i], &attr), 0);
        zc_journal_intent_begin(j, zc_journal_find(j, attr.dev, attr.ino),
                                ZC_JOURNAL_NOT_TRUNCATED);
    }
}

/* Lets the last heartbeat of the dead daemon be long ago. */
static void make_heartbeat_old(void)
{
    const struct timespec old[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    char alive[192];

    snprintf(alive, sizeof alive, "%s/alive", dir);
    ck_assert_int_eq(utimensat(AT_FDCWD, alive, old, 0), 0);
}

static void join(pid_t pid)
{
    int status;

    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL); /* no check has failed in it */
}

/* The daemon that stages bytes, and ends or dies with them. */
static void first_daemon(int state)
{
    pid_t pid = fork();

    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        breaks_at = 0;
        ck_assert_int_eq(start("one", state == SYNC), 0);
        for (int i = 0; i < FILES; i++)
            write_and_put(paths[i]);
        if (state != CHANGING)
            zc_journal_freeze(j);
        if (state == ENDED)
            zc_journal_close(j, false);
        if (state == CHANGING)
            leave_intents();
        die();
    }
    join(pid);
    if (state == CHANGING)
        make_heartbeat_old();
}

/* A start that breaks off at step `at`, unless it has fewer; 0: at none.  The daemon dies after
 * it. */
static void later_daemon(const char *boot, int state, int at)
{
    pid_t pid = fork();

    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        zc_log_level(ZC_LOG_ERROR);
        breaks_at = at;
        ck_assert(start(boot, state == SYNC) == 0 || at);
        die();
    }
    join(pid);
}

/* ---- the files ---- */

static void make_dirs(void)
{
    snprintf(tmp, sizeof tmp, "/tmp/zcache-restart.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(tmp));
    snprintf(root, sizeof root, "%s/root", tmp);
    snprintf(dir, sizeof dir, "%s/journal", tmp);
    ck_assert_int_eq(mkdir(root, 0700), 0);
    for (int i = 0; i < FILES; i++)
        snprintf(paths[i], sizeof paths[i], "%s/f%d", root, i);
}

static void delete_dir(const char *name)
{
    char full[512];
    const struct dirent *e;
    DIR *d = opendir(name);

    ck_assert_ptr_nonnull(d);
    while ((e = readdir(d))) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        snprintf(full, sizeof full, "%.200s/%.255s", name, e->d_name);
        if (unlink(full) < 0)
            delete_dir(full);
    }
    closedir(d);
    ck_assert_int_eq(rmdir(name), 0);
}

/* The host reboots: it has lost a size and times, and another program has written to a file, with
 * leave, as the note that its bytes were stored is lost. */
static void change_files(int state, int foreign)
{
    const struct timespec old[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    char data[PENDING];
    int fd;

    memset(data, foreign, sizeof data);
    for (int i = 0; i < FILES; i++) /* not written to since, as far as times say */
        if (i == TOUCHED || state == CHANGING)
            ck_assert_int_eq(utimensat(AT_FDCWD, paths[i], old, 0), 0);
    fd = open(paths[REWRITTEN], O_WRONLY);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, data, sizeof data), sizeof data);
    close(fd);
    ck_assert_int_eq(truncate(paths[SHORTER], PENDING), 0);
}

static void check_file(int i, bool kept, int foreign)
{
    char data[PENDING];
    int fd = open(paths[i], O_RDONLY), want = !kept ? 'p' : i == REWRITTEN ? foreign : 's';

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(pread(fd, data, sizeof data, 0), sizeof data);
    close(fd);
    for (int x = 0; x < PENDING; x++)
        if (data[x] != want)
            ck_abort_msg("break at %d: file %d, byte %d: %c, not %c", breaks_at, i, x, data[x],
                         want);
    if (!dies && !kept)
        return; /* it may be kept back as well: the note that it was stored has failed */
    ck_assert_msg(seen->kept[i] == kept, "break at %d: file %d is %s", breaks_at, i,
                  kept ? "not kept back" : "kept back");
}

/* One run; returns whether there was such a step. */
static bool break_off(int state, const char *again, int at)
{
    int foreign = state == CHANGING ? 0 : 'f'; /* zeros, as a file has that was made anew */

    make_dirs();
    memset(seen, 0, sizeof *seen);
    first_daemon(state);
    change_files(state, foreign);
    later_daemon(state == CHANGING ? "one" : "two", state, at);
    later_daemon(again, state, 0);
    breaks_at = at; /* for messages */
    for (int i = 0; i < FILES; i++)
        check_file(i, state == RUN || i == REWRITTEN || (state == CHANGING && i == SHORTER),
                   foreign);
    breaks_at = 0;
    delete_dir(tmp);
    return atomic_load(&seen->steps) >= at;
}

static void break_off_everywhere(int state, const char *again)
{
    int at = 1;

    seen = mmap(NULL, sizeof *seen, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(seen, MAP_FAILED);
    while (break_off(state, again, at))
        at += FEWER > 1 ? 5 : 1; /* no multiple of what a file takes */
    ck_assert_int_ge(at, 10);
}

/* The boot id of the host at the next start is the second one's, or another one's again. */
START_TEST(the_first_start_after_a_reboot_breaks_off)
{
    dies = _i / 2 % 2 == 0;
    break_off_everywhere(_i / 4, _i % 2 ? "three" : "two");
}
END_TEST

/* All files are later than the last heartbeat, and that of the start which breaks off is later than
 * all files. */
START_TEST(a_start_that_finds_later_times_breaks_off)
{
    dies = _i == 0;
    break_off_everywhere(CHANGING, "one");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("journal_restart");
    TCase *tc = tcase_create("reboot");

    tcase_set_timeout(tc, stretched(120));
    tcase_add_loop_test(tc, the_first_start_after_a_reboot_breaks_off, 0, 12);
    tcase_add_loop_test(tc, a_start_that_finds_later_times_breaks_off, 0, 2);
    suite_add_tcase(s, tc);
    return run_suite(s);
}
