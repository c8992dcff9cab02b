/* test_store.c - the guarantees of every store, and how the posix store confines names to its
 * root. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/magic.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "check_main.h"
#include "zc_log.h"
#include "zc_store_example.h"
#include "zc_store_fault.h"
#include "zc_store_mem.h"
#include "zc_store_posix.h"
#include "zc_store_watchdog.h"

enum { RW = ZC_OPEN_READ | ZC_OPEN_WRITE, NEW = RW | ZC_OPEN_CREATE };

static char dir[64]; /* scratch directory of this test */
static struct zc_store *store;

static char *in(const char *name)
{
    static char buf[4][PATH_MAX];
    static unsigned n;
    char *p = buf[n++ % 4];

    snprintf(p, PATH_MAX, "%s%s", dir, name);
    return p;
}

static void make_dir(void)
{
    strcpy(dir, "/tmp/zc-test-store-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    ck_assert_int_eq(mkdir(in("/root"), 0755), 0);
}

static void remove_dir(void)
{
    char cmd[128];

    snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
    ck_assert_int_eq(system(cmd), 0);
}

static void setup_root(void)
{
    make_dir();
    ck_assert_int_eq(zc_store_posix_create(in("/root"), &store), 0);
}

static void teardown(void)
{
    zc_store_destroy(store);
    remove_dir();
}

static bool created; /* by the last open_it() that succeeded */

static int open_it(const char *path, unsigned flags, struct zc_sfile **f)
{
    struct zc_attr attr = {0};
    int rc = zc_store_open_file(store, path, flags, 0644, f, &attr);

    if (rc == 0)
        created = attr.created;
    return rc;
}

static void close_it(struct zc_sfile *f)
{
    ck_assert_int_eq(zc_store_close_file(f, ZC_LEVEL_STORED), 0);
}

static void touch_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");

    ck_assert_ptr_nonnull(f);
    fputs(text, f);
    fclose(f);
}

static ssize_t put(struct zc_sfile *f, const void *buf, size_t len, uint64_t off)
{
    struct iovec iov = {(void *)buf, len};

    return zc_store_pwritev(f, &iov, 1, off);
}

static ssize_t get(struct zc_sfile *f, void *buf, size_t len, uint64_t off)
{
    struct iovec iov = {buf, len};

    return zc_store_preadv(f, &iov, 1, off);
}

/* ---- a file system without fallocate, on which another process writes ---- */

static bool no_fallocate;
static int other_fd = -1; /* writes once, after the next fstat() */

int fallocate(int fd, int mode, off_t off, off_t len)
{
    if (!no_fallocate)
        return (int)syscall(SYS_fallocate, fd, mode, off, len);
    errno = EOPNOTSUPP;
    return -1;
}

int fstat(int fd, struct stat *st)
{
    int rc = fstatat(fd, "", st, AT_EMPTY_PATH), other = other_fd;

    other_fd = -1;
    if (other >= 0)
        ck_assert_int_eq(pwrite(other, "late", 4, 500), 4);
    return rc;
}

/* ---- every store ---- */

static void check_common(const char *path)
{
    struct zc_sfile *f, *g;
    struct zc_attr a, b;
    char buf[64];

    ck_assert_int_eq(open_it(path, RW, &f), -ENOENT);
    ck_assert_ptr_null(f);
    ck_assert_int_eq(open_it(path, NEW | ZC_OPEN_EXCL, &f), 0);
    ck_assert(created);
    ck_assert_int_eq(open_it(path, NEW | ZC_OPEN_EXCL, &g), -EEXIST);
    ck_assert_int_eq(open_it(path, NEW, &g), 0);
    ck_assert(!created);
    ck_assert_int_eq(put(f, "hello", 5, 10), 5);
    ck_assert_int_eq(get(g, buf, 64, 0), 15); /* short at the end, the hole is zero */
    ck_assert_mem_eq(buf, "\0\0\0\0\0\0\0\0\0\0hello", 15);
    ck_assert_int_eq(get(g, buf, 64, 15), 0);
    ck_assert_int_eq(get(g, buf, 64, 1000), 0);
    ck_assert_int_eq(zc_store_getattr(f, &a), 0);
    ck_assert_int_eq(zc_store_getattr(g, &b), 0);
    ck_assert_uint_eq(a.size, 15);
    ck_assert_uint_eq(a.ino, b.ino);
    ck_assert_uint_eq(a.nlink, 1);
    ck_assert_int_eq(zc_store_truncate(f, 12), 0);
    ck_assert_int_eq(zc_store_allocate(f, 0, 14), 0);
    ck_assert_int_eq(get(g, buf, 64, 10), 4);
    ck_assert_mem_eq(buf, "he\0\0", 4);
    ck_assert_int_eq(zc_store_allocate(f, 0, 3), 0); /* does not shrink */
    ck_assert_int_eq(zc_store_sync(f, ZC_LEVEL_DURABLE), 0);
    ck_assert_int_eq(zc_store_stat(store, path, &b), 0);
    ck_assert_uint_eq(b.size, 14);
    ck_assert_uint_eq(b.ino, a.ino);
    ck_assert_int_eq(zc_store_unlink(store, path), 0);
    ck_assert_int_eq(zc_store_unlink(store, path), -ENOENT);
    ck_assert_int_eq(zc_store_stat(store, path, &b), -ENOENT);
    ck_assert_int_eq(zc_store_getattr(f, &a), 0);
    ck_assert_uint_eq(a.nlink, 0);
    ck_assert_int_eq(get(g, buf, 64, 10), 4); /* still there for open handles */
    close_it(g);
    close_it(f);
    ck_assert_int_eq(open_it(path, ZC_OPEN_READ | ZC_OPEN_CREATE, &f), 0);
    ck_assert(created);
    ck_assert_int_lt(put(f, "x", 1, 0), 0);
    close_it(f);
}

START_TEST(memory)
{
    ck_assert_int_eq(zc_store_mem_create(&store), 0);
    check_common("/file");
    zc_store_destroy(store);
}
END_TEST

START_TEST(posix)
{
    check_common(in("/root/file"));
}
END_TEST

START_TEST(example)
{
    make_dir();
    ck_assert_int_eq(zc_store_example_create(in("/root"), &store), 0);
    check_common("/file");
    teardown();
    ck_assert_int_eq(zc_store_example_create("/nowhere", &store), -ENOENT);
}
END_TEST

START_TEST(posix_without_root)
{
    make_dir();
    ck_assert_int_eq(zc_store_posix_create(NULL, &store), 0);
    check_common(in("/file"));
    teardown();
}
END_TEST

START_TEST(fault_in_front)
{
    struct zc_store *mem;

    ck_assert_int_eq(zc_store_mem_create(&mem), 0);
    ck_assert_int_eq(zc_store_fault_create(mem, &store), 0);
    check_common("/file");
    zc_store_destroy(store);
}
END_TEST

/* ---- staying inside the root ---- */

static void refused(const char *path, int err)
{
    struct zc_sfile *f;
    struct zc_attr attr;

    ck_assert_msg(open_it(path, RW, &f) == -err, "open %s: %s", path, zc_error_text(err));
    ck_assert_msg(open_it(path, NEW, &f) == -err, "create %s: %s", path, zc_error_text(err));
    if (err == EACCES) {
        ck_assert_ptr_nonnull(strstr(zc_error_text(EACCES), "leads outside the root"));
        ck_assert_int_eq(zc_store_stat(store, path, &attr), -EACCES);
        ck_assert_int_eq(zc_store_unlink(store, path), -EACCES);
    }
}

static void served(const char *path)
{
    struct zc_sfile *f;
    int rc = open_it(path, RW, &f);

    ck_assert_msg(rc == 0, "open %s: %s", path, rc ? zc_error_text(rc) : "");
    close_it(f);
}

START_TEST(outside_is_refused)
{
    ck_assert_int_eq(mkdir(in("/root2"), 0755), 0);
    touch_file(in("/root2/file"), "secret");
    touch_file(in("/file"), "secret");
    refused(in("/root2/file"), EACCES);
    refused(in("/file"), EACCES);
    refused(in("/root/../file"), EACCES);
    refused(in("/root/../root2/file"), EACCES);
    refused("relative", EACCES);
    refused("", EACCES);
    refused("/etc/passwd", EACCES);
}
END_TEST

START_TEST(links_leading_out_are_refused)
{
    struct zc_sfile *f;
    char name[64];
    int fd, ends[2];

    ck_assert_int_eq(mkdir(in("/root2"), 0755), 0);
    touch_file(in("/root2/file"), "secret");
    ck_assert_int_eq(symlink("../root2", in("/root/rel")), 0);
    ck_assert_int_eq(symlink(in("/root2"), in("/root/abs")), 0);
    refused(in("/root/rel/file"), EACCES);
    refused(in("/root/abs/file"), EACCES);
    refused(in("/root/abs/new"), EACCES);
    ck_assert_int_eq(access(in("/root2/new"), F_OK), -1);
    fd = open(in("/root2/file"), O_RDONLY);
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    ck_assert_int_eq(symlink(name, in("/root/magic")), 0);
    ck_assert_int_eq(open_it(in("/root/magic"), ZC_OPEN_READ, &f), -EACCES);
    close(fd);
    /* Descriptors of unnamed objects, or within the root. */
    ck_assert_int_eq(pipe(ends), 0);
    snprintf(name, sizeof name, "/proc/self/fd/%d", ends[0]);
    ck_assert_int_eq(symlink(name, in("/root/pipe")), 0);
    ck_assert_int_eq(open_it(in("/root/pipe"), ZC_OPEN_READ, &f), -ESPIPE);
    touch_file(in("/root/own"), "own");
    fd = open(in("/root/own"), O_RDONLY);
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    ck_assert_int_eq(symlink(name, in("/root/descriptor")), 0);
    ck_assert_int_eq(open_it(in("/root/descriptor"), ZC_OPEN_READ, &f), -ESPIPE);
    close(fd);
    close(ends[0]);
    close(ends[1]);
}
END_TEST

/* ---- names that change while they are looked up ---- */

static atomic_bool enough;

/* A directory and a link that leads out change places all the time, and another directory moves out
 * of the root and back. */
static void *rename_all_the_time(void *arg)
{
    char here[PATH_MAX], there[PATH_MAX], inside[PATH_MAX], outside[PATH_MAX];

    (void)arg;
    snprintf(here, sizeof here, "%s/root/here", dir);
    snprintf(there, sizeof there, "%s/root/there", dir);
    snprintf(inside, sizeof inside, "%s/root/moving", dir);
    snprintf(outside, sizeof outside, "%s/root2/moving", dir);
    while (!atomic_load(&enough)) {
        renameat2(AT_FDCWD, here, AT_FDCWD, there, RENAME_EXCHANGE);
        rename(inside, outside);
        rename(outside, inside);
    }
    return NULL;
}

/* True: the open succeeded, with the file inside; else refused. */
static bool one_of_ours(const char *path)
{
    struct zc_sfile *f;
    char text[8] = "";
    struct iovec iov = {text, sizeof text - 1};
    int rc = open_it(path, RW, &f);

    if (rc < 0) {
        ck_assert_msg(rc == -EACCES || rc == -ENOENT, "open %s: %s", path, zc_error_text(rc));
        return false;
    }
    ck_assert_int_eq(zc_store_preadv(f, &iov, 1, 0), 4);
    ck_assert_str_eq(text, "data");
    close_it(f);
    return true;
}

START_TEST(renames_under_way)
{
    unsigned opened = 0, refusals = 0, made = 0, dots = 0;
    struct zc_sfile *f;
    pthread_t thread;

    ck_assert_int_eq(mkdir(in("/root2"), 0755), 0);
    ck_assert_int_eq(mkdir(in("/root/here"), 0755), 0);
    ck_assert_int_eq(mkdir(in("/root/moving"), 0755), 0);
    touch_file(in("/root/here/file"), "data");
    touch_file(in("/root/file"), "data");
    touch_file(in("/root2/file"), "secret");
    ck_assert_int_eq(symlink("../root2", in("/root/there")), 0);
    atomic_store(&enough, false);
    ck_assert_int_eq(pthread_create(&thread, NULL, rename_all_the_time, NULL), 0);
    while (opened < 200 || refusals < 200 || made < 50 || dots < 200) {
        *(one_of_ours(in("/root/here/file")) ? &opened : &refusals) += 1;
        dots += one_of_ours(in("/root/moving/../file"));
        if (open_it(in("/root/here/new"), NEW, &f) == 0) {
            made++;
            close_it(f);
        }
        zc_store_unlink(store, in("/root/here/new"));
    }
    atomic_store(&enough, true);
    pthread_join(thread, NULL);
    printf("opened %u and %u times, refused %u, created %u\n", opened, dots, refusals, made);
    ck_assert_int_eq(access(in("/root2/new"), F_OK), -1);
    ck_assert_int_eq(access(in("/root2/file"), F_OK), 0);
}
END_TEST

START_TEST(inside_is_served)
{
    ck_assert_int_eq(mkdir(in("/root/a"), 0755), 0);
    touch_file(in("/root/a/file"), "data");
    ck_assert_int_eq(symlink("a/file", in("/root/rel")), 0);
    ck_assert_int_eq(symlink(in("/root/a"), in("/root/abs")), 0);
    ck_assert_int_eq(symlink(in("/root"), in("/alias")), 0);
    served(in("/root/a/file"));
    served(in("/root/a/../a/file"));
    served(in("/root//a/./file"));
    served(in("/root/rel"));
    served(in("/root/abs/file")); /* absolute, but leads back inside */
    ck_assert_int_eq(zc_store_unlink(store, in("/root/abs/file")), 0);
    ck_assert_int_eq(access(in("/root/a/file"), F_OK), -1);
}
END_TEST

START_TEST(root_through_a_link)
{
    struct zc_store *via;

    touch_file(in("/root/file"), "data");
    ck_assert_int_eq(symlink(in("/root"), in("/alias")), 0);
    ck_assert_int_eq(zc_store_posix_create(in("/alias//"), &via), 0);
    zc_store_destroy(store);
    store = via;
    served(in("/alias/file"));
    served(in("/root/file"));
    refused(in("/file"), EACCES);
}
END_TEST

START_TEST(bad_roots)
{
    struct zc_store *s;

    ck_assert_int_eq(zc_store_posix_create(in("/nowhere"), &s), -ENOENT);
    ck_assert_ptr_null(s);
    touch_file(in("/plain"), "");
    ck_assert_int_eq(zc_store_posix_create(in("/plain"), &s), -ENOTDIR);
    ck_assert_int_eq(zc_store_posix_create("relative", &s), -EINVAL);
}
END_TEST

/* ---- files of other kinds, limits ---- */

START_TEST(only_regular_files)
{
    struct zc_sfile *f;

    ck_assert_int_eq(mkdir(in("/root/dir"), 0755), 0);
    ck_assert_int_eq(mkfifo(in("/root/fifo"), 0644), 0);
    refused(in("/root/dir"), EISDIR);
    refused(in("/root"), EISDIR);
    refused(in("/root/fifo"), ESPIPE);
    ck_assert_int_eq(open_it(in("/root/fifo"), ZC_OPEN_WRITE, &f), -ESPIPE);
    ck_assert_int_eq(open_it(in("/root/fifo"), ZC_OPEN_READ, &f), -ESPIPE);
    ck_assert_int_eq(open_it(in("/root/dir"), ZC_OPEN_READ, &f), -EISDIR);
    ck_assert_int_eq(access(in("/root/fifo"), F_OK), 0);
    ck_assert_int_eq(zc_store_unlink(store, in("/root/dir")), -EISDIR);
    ck_assert_int_eq(zc_store_unlink(store, in("/root")), -EISDIR);
    ck_assert_int_eq(zc_store_unlink(store, in("/root/dir/..")), -EISDIR);
}
END_TEST

START_TEST(links_to_nothing)
{
    struct zc_sfile *f;

    ck_assert_int_eq(symlink("target", in("/root/dangling")), 0);
    ck_assert_int_eq(open_it(in("/root/dangling"), RW, &f), -ENOENT);
    ck_assert_int_eq(open_it(in("/root/dangling"), NEW | ZC_OPEN_EXCL, &f), -EEXIST);
    ck_assert_int_eq(open_it(in("/root/dangling"), NEW, &f), 0);
    ck_assert(!created); /* to undo that would remove the link */
    close_it(f);
    ck_assert_int_eq(access(in("/root/target"), F_OK), 0);
}
END_TEST

static unsigned asked, asked_by_read;

ssize_t pread(int fd, void *buf, size_t len, off_t off)
{
    asked_by_read = asked;
    return (ssize_t)syscall(SYS_pread64, fd, buf, len, off);
}

static void count_questions(void *arg)
{
    ++*(unsigned *)arg;
}

/* Reading the bytes between may take long: the veto is asked after it. */
START_TEST(asked_right_before_a_change)
{
    const struct zc_range r[] = {{0, 10}, {20, 30}};
    char data[30] = {0};
    struct zc_sfile *f;

    zc_store_posix_ask_first(store, count_questions, &asked);
    ck_assert_int_eq(open_it(in("/root/f"), NEW, &f), 0);
    ck_assert_int_eq(put(f, "0123456789012345678901234567890", 30, 0), 30);
    asked = asked_by_read = 0;
    ck_assert_int_eq(zc_store_write_ranges(f, data, r, 2, 0, NULL), 20);
    ck_assert_uint_gt(asked, asked_by_read);
    close_it(f);
}
END_TEST

/* Makes this process's openat2() refused, as by filters of containers; false: no filters here. */
static bool refuse_openat2(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {sizeof code / sizeof *code, code};

    return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
           !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

/* For an immutable file EPERM has another meaning. */
START_TEST(openat2_is_refused)
{
    struct zc_store *s;

    if (!refuse_openat2()) {
        fprintf(stderr, "skipped: no filters of system calls here\n");
        return;
    }
    ck_assert_int_eq(zc_store_posix_create("/tmp", &s), -ENOSYS);
    ck_assert_ptr_nonnull(strstr(zc_error_text(-ENOSYS), "a container that allows openat2"));
}
END_TEST

/* Holes reported by a local file system are not read, and are zeros. */
START_TEST(holes_are_not_read_to_merge)
{
    enum { HOLE = 1 << 20 };
    const struct zc_range r[] = {{0, 10}, {HOLE / 2, HOLE / 2 + 10}};
    char *data = calloc(1, HOLE), got[10];
    struct zc_merge m;
    struct zc_sfile *f;
    struct statfs fs;
    bool known;

    memset(data, 'd', HOLE);
    ck_assert_int_eq(statfs(in("/root"), &fs), 0);
    known = fs.f_type == EXT4_SUPER_MAGIC || fs.f_type == XFS_SUPER_MAGIC ||
            fs.f_type == BTRFS_SUPER_MAGIC || fs.f_type == TMPFS_MAGIC;
    ck_assert_int_eq(open_it(in("/root/f"), NEW, &f), 0);
    ck_assert_int_eq(put(f, data, HOLE, 0), HOLE);
    ck_assert_int_eq(put(f, "end", 3, 4 * (uint64_t)HOLE), 3);
    ck_assert_int_eq(zc_store_write_ranges(f, data, r, 2, 2 * (uint64_t)HOLE, &m), 20);
    if (known)
        ck_assert_uint_eq(m.read, 0);
    ck_assert_int_eq(m.data[9], 'd');
    for (int i = 10; i < HOLE / 2; i++)
        ck_assert_int_eq(m.data[i], 0);
    free(m.data);
    ck_assert_int_eq(get(f, got, 10, 2 * (uint64_t)HOLE + 5), 10);
    ck_assert_mem_eq(got, "ddddd\0\0\0\0", 10);
    ck_assert_int_eq(zc_store_write_ranges(f, data, r, 2, HOLE / 2, &m), 20);
    ck_assert_uint_ge(m.read, HOLE / 2); /* existing data is read, and kept */
    ck_assert_int_eq(m.data[10], 'd');
    free(m.data);
    ck_assert_int_eq(zc_store_write_ranges(f, data, r, 2, 8 * (uint64_t)HOLE, &m), 20);
    ck_assert_uint_eq(m.read, 0);
    free(m.data);
    close_it(f);
    free(data);
}
END_TEST

START_TEST(modes)
{
    struct zc_sfile *f;
    struct stat st;
    char c;

    umask(022);
    ck_assert_int_eq(open_it(in("/root/wo"), ZC_OPEN_WRITE | ZC_OPEN_CREATE, &f), 0);
    ck_assert_int_eq(put(f, "x", 1, 0), 1);
    ck_assert_int_eq(get(f, &c, 1, 0), 1); /* a writer may read, to fill gaps */
    close_it(f);
    ck_assert_int_eq(stat(in("/root/wo"), &st), 0);
    ck_assert_uint_eq(st.st_mode & 0777, 0644);
}
END_TEST

START_TEST(offsets_that_overflow)
{
    struct zc_sfile *f;
    char c = 0;

    ck_assert_int_eq(open_it(in("/root/f"), NEW, &f), 0);
    ck_assert_int_eq(put(f, &c, 1, INT64_MAX), -EFBIG);
    ck_assert_int_eq(put(f, &c, 1, UINT64_MAX), -EFBIG);
    ck_assert_int_eq(get(f, &c, 1, UINT64_MAX), -EFBIG);
    ck_assert_int_eq(zc_store_truncate(f, (uint64_t)INT64_MAX + 1), -EFBIG);
    ck_assert_int_eq(zc_store_allocate(f, INT64_MAX, 1), -EFBIG);
    ck_assert_int_eq(zc_store_allocate(f, UINT64_MAX, UINT64_MAX), -EFBIG);
    close_it(f);
}
END_TEST

/* More pieces than one system call takes, empty ones among them. */
START_TEST(many_pieces)
{
    enum { N = 3 * IOV_MAX + 7 };
    struct iovec *iov = calloc(N, sizeof(*iov));
    unsigned char *a = malloc(N * 3), *b = calloc(N, 3);
    struct zc_sfile *f;
    ssize_t len = 0;

    for (int i = 0; i < N * 3; i++)
        a[i] = (unsigned char)(i * 7 + i / 256);
    for (int i = 0; i < N; i++) {
        iov[i] = (struct iovec){a + len, i % 4};
        len += i % 4;
    }
    ck_assert_int_eq(open_it(in("/root/f"), NEW, &f), 0);
    ck_assert_int_eq(zc_store_pwritev(f, iov, N, 5), len);
    for (int i = 0; i < N; i++)
        iov[i].iov_base = b + ((unsigned char *)iov[i].iov_base - a);
    ck_assert_int_eq(zc_store_preadv(f, iov, N, 5), len);
    ck_assert_mem_eq(a, b, len);
    ck_assert_int_eq(zc_store_preadv(f, iov, N, 6), len - 1);
    ck_assert_int_eq(zc_store_preadv(f, iov, 0, 6), 0);
    ck_assert_int_eq(zc_store_pwritev(f, iov, 1, 6), 0);
    close_it(f);
    free(iov);
    free(a);
    free(b);
}
END_TEST

static atomic_bool holds;
static atomic_int entered;

ssize_t pwritev(int fd, const struct iovec *iov, int n, off_t off)
{
    atomic_fetch_add(&entered, 1);
    while (atomic_load(&holds))
        usleep(50);
    return (ssize_t)syscall(SYS_pwritev, fd, iov, n, (unsigned long)off, 0ul);
}

static void *put_one(void *f)
{
    ck_assert_int_eq(put(f, "x", 1, 0), 1);
    return NULL;
}

/* A second write of a file would spin in the kernel until the first is done: it is not begun, but
 * one of another file is. */
START_TEST(one_write_of_a_file_at_a_time)
{
    struct zc_sfile *f[2];
    pthread_t t[3];
    struct statfs fs;

    ck_assert_int_eq(statfs(dir, &fs), 0);
    if (fs.f_type != EXT4_SUPER_MAGIC && fs.f_type != TMPFS_MAGIC) {
        puts("skipped: one_write_of_a_file_at_a_time: /tmp is neither ext4 nor tmpfs");
        return;
    }
    ck_assert_int_eq(open_it(in("/root/f"), NEW, &f[0]), 0);
    ck_assert_int_eq(open_it(in("/root/g"), NEW, &f[1]), 0);
    atomic_store(&entered, 0);
    atomic_store(&holds, true);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(pthread_create(&t[i], NULL, put_one, f[i / 2]), 0);
    while (atomic_load(&entered) < 2)
        usleep(50);
    usleep(50000); /* in which the third would come */
    ck_assert_int_eq(atomic_load(&entered), 2);
    atomic_store(&holds, false);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    ck_assert_int_eq(atomic_load(&entered), 3);
    close_it(f[0]);
    close_it(f[1]);
}
END_TEST

/* ---- the fault store's guarantees ---- */

static struct zc_sfile *fault_file(void)
{
    struct zc_store *mem;
    struct zc_sfile *f;

    ck_assert_int_eq(zc_store_mem_create(&mem), 0);
    ck_assert_int_eq(zc_store_fault_create(mem, &store), 0);
    ck_assert_int_eq(open_it("/f", NEW, &f), 0);
    return f;
}

START_TEST(nth_call_fails)
{
    struct zc_sfile *f = fault_file();
    char buf[8];

    zc_store_fault_set(store, ZC_FAULT_WRITE, 2, 2, ENOSPC);
    ck_assert_int_eq(put(f, "abcdefgh", 8, 0), 8);
    ck_assert_int_eq(put(f, "ABCDEFGH", 8, 0), -ENOSPC);
    ck_assert_int_eq(get(f, buf, 8, 0), 8);
    ck_assert_mem_eq(buf, "ABCDefgh", 8); /* the first half arrived */
    ck_assert_int_eq(put(f, "x", 1, 0), -ENOSPC);
    ck_assert_int_eq(put(f, "x", 1, 0), 1);
    ck_assert_uint_eq(zc_store_fault_raised(store), 2);
    zc_store_fault_set(store, ZC_FAULT_SYNC | ZC_FAULT_CLOSE, 1, 2, EIO);
    ck_assert_int_eq(zc_store_sync(f, ZC_LEVEL_STORED), -EIO);
    ck_assert_int_eq(zc_store_close_file(f, ZC_LEVEL_STORED), -EIO);
    zc_store_destroy(store);
}
END_TEST

static void *write_one(void *f)
{
    ck_assert_int_eq(put(f, "x", 1, 0), 1);
    return NULL;
}

START_TEST(held_calls_wait)
{
    struct zc_sfile *f = fault_file();
    pthread_t t;
    char c;

    zc_store_fault_hold(store, ZC_FAULT_WRITE);
    pthread_create(&t, NULL, write_one, f);
    while (zc_store_fault_held(store) != 1)
        sched_yield();
    ck_assert_int_eq(get(f, &c, 1, 0), 0);
    zc_store_fault_release(store);
    pthread_join(t, NULL);
    ck_assert_int_eq(get(f, &c, 1, 0), 1);
    ck_assert_uint_eq(zc_store_fault_held(store), 0);
    close_it(f);
    zc_store_destroy(store);
}
END_TEST

START_TEST(growing_without_fallocate)
{
    char path[] = "/tmp/zcache-store.XXXXXX", buf[1000];
    int fd = mkstemp(path);
    struct zc_sfile *f;
    struct zc_attr a;

    ck_assert_int_eq(zc_store_posix_create(NULL, &store), 0);
    ck_assert_int_eq(open_it(path, RW, &f), 0);
    ck_assert_int_eq(put(f, "early", 5, 0), 5);
    no_fallocate = true;
    other_fd = fd;
    ck_assert_int_eq(zc_store_allocate(f, 0, 100), 0);
    ck_assert_int_eq(get(f, buf, sizeof buf, 0), 504); /* nothing was truncated */
    ck_assert_mem_eq(buf + 500, "late", 4);
    ck_assert_int_eq(zc_store_allocate(f, 100, 900), 0);
    ck_assert_int_eq(zc_store_allocate(f, 0, 500), 0);
    ck_assert_int_eq(zc_store_getattr(f, &a), 0);
    ck_assert_uint_eq(a.size, 1000);
    ck_assert_int_eq(get(f, buf, sizeof buf, 0), 1000);
    ck_assert_mem_eq(buf, "early", 5);
    expect_all(buf + 5, 495, 0, "a hole");
    expect_all(buf + 504, 496, 0, "what was added");
    close_it(f);
    zc_store_destroy(store);
    close(fd);
    unlink(path);
}
END_TEST

/* ---- lossy stores ---- */

static struct zc_progress progress_of(struct zc_sfile *f)
{
    struct zc_progress p;

    ck_assert_uint_eq(zc_store_server(f, 12345), 0);
    zc_store_progress(f, 0, &p);
    return p;
}

/* Through the two layers in front; the last one's properties count. */
static struct zc_store *setup_lossy(void)
{
    struct zc_store *mem, *fault;

    ck_assert_int_eq(zc_store_mem_create_lossy(&mem), 0);
    ck_assert_int_eq(zc_store_fault_create(mem, &fault), 0);
    ck_assert_int_eq(zc_store_watchdog_create(fault, 60000, &store), 0);
    return mem;
}

/* The rules of zc_store.h for numbers and verifiers. */
START_TEST(a_lossy_store)
{
    struct zc_attr a = {0};
    struct zc_store *mem = setup_lossy();
    struct zc_sfile *f;
    char buf[8] = "";

    ck_assert(zc_store_lossy(store));
    ck_assert_int_eq(zc_store_open_file(store, "/f", NEW, 0644, &f, &a), 0);
    put(f, "abcd", 4, 0);
    put(f, "efgh", 4, 4);
    ck_assert_uint_eq(progress_of(f).unstable_seq, 2);
    ck_assert_uint_eq(progress_of(f).committed_seq, 0);
    zc_store_mem_store(mem, 1);
    ck_assert_uint_eq(progress_of(f).committed_seq, 1);
    zc_store_mem_die(mem);
    ck_assert_uint_eq(progress_of(f).verifier, 1);
    ck_assert_uint_eq(progress_of(f).unstable_seq + progress_of(f).committed_seq, 0);
    ck_assert_int_eq(get(f, buf, sizeof buf, 0), 4);
    ck_assert_mem_eq(buf, "abcd", 4);
    put(f, "EFGH", 4, 4);
    ck_assert_int_eq(zc_store_sync(f, ZC_LEVEL_STAGED), 0);
    ck_assert_uint_eq(progress_of(f).committed_seq, 0);
    ck_assert_int_eq(zc_store_sync(f, ZC_LEVEL_STORED), 0);
    ck_assert_uint_eq(progress_of(f).committed_seq, progress_of(f).unstable_seq);
    put(f, "late", 4, 100);
    ck_assert_int_eq(zc_store_truncate(f, 6), 0); /* at once, for all */
    zc_store_mem_die(mem);
    ck_assert_int_eq(get(f, buf, sizeof buf, 0), 6);
    ck_assert_mem_eq(buf, "abcdEF", 6);
    close_it(f);
    zc_store_destroy(store);
}
END_TEST

struct watcher {
    struct zc_watch watch;
    pthread_mutex_t lock;
    pthread_cond_t cond;
    int calls;
    bool go;
};

static void moved(struct zc_watch *w)
{
    struct watcher *x = (struct watcher *)w;

    pthread_mutex_lock(&x->lock);
    x->calls++;
    pthread_cond_broadcast(&x->cond);
    while (!x->go)
        pthread_cond_wait(&x->cond, &x->lock);
    pthread_mutex_unlock(&x->lock);
}

static void *tell(void *mem)
{
    zc_store_mem_store(mem, UINT64_MAX);
    return NULL;
}

static void *let_go(void *watcher)
{
    struct watcher *x = watcher;

    pthread_mutex_lock(&x->lock);
    x->go = true;
    pthread_cond_broadcast(&x->cond);
    pthread_mutex_unlock(&x->lock);
    return NULL;
}

/* Its memory may be freed when zc_store_unwatch() has returned: no call is under way then. */
START_TEST(a_watch_ends_after_its_calls)
{
    struct watcher *x = calloc(1, sizeof *x);
    struct zc_store *mem = setup_lossy();
    pthread_t teller, other;

    pthread_mutex_init(&x->lock, NULL);
    pthread_cond_init(&x->cond, NULL);
    x->watch.moved = moved;
    zc_store_watch(store, &x->watch);
    ck_assert_int_eq(pthread_create(&teller, NULL, tell, mem), 0);
    pthread_mutex_lock(&x->lock);
    while (x->calls == 0)
        pthread_cond_wait(&x->cond, &x->lock);
    pthread_mutex_unlock(&x->lock);
    ck_assert_int_eq(pthread_create(&other, NULL, let_go, x), 0);
    zc_store_unwatch(store, &x->watch);
    ck_assert(x->go);
    pthread_join(other, NULL);
    pthread_join(teller, NULL);
    free(x);
    zc_store_mem_store(mem, UINT64_MAX); /* no watcher is left */
    zc_store_destroy(store);
}
END_TEST

/* ---- calls that take long ---- */

static int log_fd;

/* Counts the lines of the log with this text. */
static unsigned said(const char *what)
{
    char text[8192];
    ssize_t n = pread(log_fd, text, sizeof text - 1, 0);
    unsigned count = 0;

    text[n > 0 ? n : 0] = '\0';
    for (const char *at = text; (at = strstr(at, what)); at++)
        count++;
    return count;
}

static struct zc_store_watchdog_stats slow_stats(void)
{
    struct zc_store_watchdog_stats st;

    zc_store_watchdog_stats(store, &st);
    return st;
}

#define AWAIT(cond)                                                                                \
    while (!(cond))                                                                                \
    sched_yield()

static struct zc_store *setup_slow(uint64_t report_ms)
{
    struct zc_store *mem, *fault;

    log_fd = fileno(tmpfile());
    zc_log_to_fd(log_fd);
    ck_assert_int_eq(zc_store_mem_create(&mem), 0);
    ck_assert_int_eq(zc_store_fault_create(mem, &fault), 0);
    ck_assert_int_eq(zc_store_watchdog_create(fault, report_ms, &store), 0);
    return fault;
}

static void *write_a_byte(void *f)
{
    ck_assert_int_eq(put(f, "x", 1, 0), 1);
    return NULL;
}

START_TEST(slow_in_front)
{
    setup_slow(60000);
    check_common("/file");
    ck_assert_uint_eq(slow_stats().hangs, 0);
    zc_store_destroy(store);
    ck_assert_uint_eq(said("store"), 0);
}
END_TEST

START_TEST(calls_that_hang_are_told_by_path_and_once)
{
    struct zc_store *fault = setup_slow(20);
    struct zc_sfile *f, *g;
    pthread_t t[4];

    ck_assert_int_eq(open_it("/f", NEW, &f), 0);
    ck_assert_int_eq(open_it("/g", NEW, &g), 0);
    zc_store_fault_hold(fault, ZC_FAULT_WRITE);
    for (int i = 0; i < 4; i++)
        pthread_create(&t[i], NULL, write_a_byte, i < 3 ? f : g);
    AWAIT(slow_stats().hung == 4);
    ck_assert_uint_ge(slow_stats().longest_ms, 20);
    AWAIT(said("and goes on") == 2);
    ck_assert_uint_eq(said("/f: a call to the store (write) has taken 0 s and goes on"), 1);
    ck_assert_uint_eq(said("/g: a call to the store (write) has taken 0 s and goes on"), 1);
    ck_assert_uint_eq(said("answers"), 0);
    zc_store_fault_release(fault);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
    ck_assert_uint_eq(said("/f: the store answers again, after 0 s"), 1);
    ck_assert_uint_eq(said("/g: the store answers again, after 0 s"), 1);
    ck_assert_uint_eq(said("\n"), 4);
    ck_assert_uint_eq(slow_stats().hung, 0);
    ck_assert_uint_eq(slow_stats().hangs, 4);
    close_it(f);
    close_it(g);
    zc_store_destroy(store);
}
END_TEST

/* Operations that the store below lacks are not added. */
START_TEST(slow_hides_nothing)
{
    struct zc_store *mem;
    struct zc_store_watchdog_stats st;

    ck_assert_int_eq(zc_store_mem_create(&mem), 0);
    zc_store_watchdog_stats(mem, &st);
    ck_assert_uint_eq(st.longest_ms, 0);
    ck_assert_int_eq(zc_store_watchdog_create(mem, 1000, &store), 0);
    ck_assert_int_eq(zc_store_writes_ranges(store), zc_store_writes_ranges(mem));
    ck_assert_int_eq(zc_store_has_backlog(store), zc_store_has_backlog(mem));
    ck_assert_str_eq(store->ops->name, mem->ops->name);
    zc_store_destroy(store);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("stores");
    TCase *root = tcase_create("root");

    CASE(s, "common", 20, memory, example, fault_in_front, posix_without_root, nth_call_fails,
         growing_without_fallocate, held_calls_wait);
    CASE(s, "lossy", 20, a_lossy_store, a_watch_ends_after_its_calls);
    CASE(s, "slow", 20, slow_in_front, calls_that_hang_are_told_by_path_and_once,
         slow_hides_nothing);
    tcase_add_checked_fixture(root, setup_root, teardown);
    tcase_set_timeout(root, stretched(20));
    tcase_add_test(root, posix);
    tcase_add_test(root, outside_is_refused);
    tcase_add_test(root, links_leading_out_are_refused);
    tcase_add_test(root, renames_under_way);
    tcase_add_test(root, inside_is_served);
    tcase_add_test(root, root_through_a_link);
    tcase_add_test(root, bad_roots);
    tcase_add_test(root, only_regular_files);
    tcase_add_test(root, links_to_nothing);
    tcase_add_test(root, asked_right_before_a_change);
    tcase_add_test(root, openat2_is_refused);
    tcase_add_test(root, holes_are_not_read_to_merge);
    tcase_add_test(root, modes);
    tcase_add_test(root, offsets_that_overflow);
    tcase_add_test(root, many_pieces);
    tcase_add_test(root, one_write_of_a_file_at_a_time);
    suite_add_tcase(s, root);
    return run_suite(s);
}
