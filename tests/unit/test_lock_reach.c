/* test_lock_reach.c - how far fcntl locks of a file system reach, and what is written where they
 * do not reach every writer.
 *
 * statfs(), fcntl() and pread() of this program are its own: a test says which file system a file
 * is on, whether its locks keep the writers out, and sees what is read.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "check_main.h"
#include "zc_lock_reach.h"
#include "zc_log.h"
#include "zc_store_posix.h"

enum {
    FUSE = 0x65735546,
    LUSTRE = 0x0bd00bd0,
    GPFS = 0x47504653,
    CEPH = 0x00c36400,
    BEEGFS = 0x19830326,
    GFS2 = 0x01161970,
    SOMETHING = 0x12345678,
};

static long pretended; /* f_type of every file; 0: what it is */
static bool deaf;      /* locks are taken and keep nothing out */

int fstatfs(int fd, struct statfs *fs)
{
    int rc = (int)syscall(SYS_fstatfs, fd, fs);

    if (rc == 0 && pretended)
        fs->f_type = pretended;
    return rc;
}

int fcntl(int fd, int cmd, ...)
{
    va_list ap;
    void *arg;

    va_start(ap, cmd);
    arg = va_arg(ap, void *);
    va_end(ap);
    if (deaf && (cmd == F_OFD_SETLK || cmd == F_OFD_GETLK))
        return 0;
    return (int)syscall(SYS_fcntl, fd, cmd, arg);
}

/* ---- the list ---- */

static const struct {
    long magic;
    const char *type, *options;
    enum zc_lock_reach reach;
} known[] = {
    {EXT4_SUPER_MAGIC, "ext4", "rw", ZC_LOCKS_HOST},
    {TMPFS_MAGIC, "tmpfs", "rw", ZC_LOCKS_HOST},
    {XFS_SUPER_MAGIC, "xfs", "rw", ZC_LOCKS_HOST},
    {BTRFS_SUPER_MAGIC, "btrfs", "rw", ZC_LOCKS_HOST},
    {OVERLAYFS_SUPER_MAGIC, "overlay", "rw", ZC_LOCKS_HOST},
    {NFS_SUPER_MAGIC, "nfs4", "rw,vers=4.2,hard,local_lock=none", ZC_LOCKS_HOSTS},
    {NFS_SUPER_MAGIC, "nfs4", "rw,vers=4.1", ZC_LOCKS_HOSTS},
    {NFS_SUPER_MAGIC, "nfs4", "rw,vers=4.2,local_lock=posix", ZC_LOCKS_NONE},
    {NFS_SUPER_MAGIC, "nfs4", "rw,vers=4.2,local_lock=all", ZC_LOCKS_NONE},
    {NFS_SUPER_MAGIC, "nfs4", "rw,vers=4.2,local_lock=flock", ZC_LOCKS_HOSTS},
    {NFS_SUPER_MAGIC, "nfs", "rw,vers=3,nolock,local_lock=all", ZC_LOCKS_NONE},
    {NFS_SUPER_MAGIC, "nfs", "rw,vers=3,local_lock=none", ZC_LOCKS_UNKNOWN},
    {NFS_SUPER_MAGIC, "", "", ZC_LOCKS_UNKNOWN},
    {LUSTRE, "lustre", "rw,flock,lazystatfs", ZC_LOCKS_HOSTS},
    {LUSTRE, "lustre", "rw,localflock,lazystatfs", ZC_LOCKS_NONE},
    {LUSTRE, "lustre", "rw,noflock", ZC_LOCKS_NONE},
    {LUSTRE, "lustre", "rw", ZC_LOCKS_NONE},
    {GPFS, "gpfs", "rw", ZC_LOCKS_HOSTS},
    {CEPH, "ceph", "rw,name=admin", ZC_LOCKS_HOSTS},
    {GFS2, "gfs2", "rw", ZC_LOCKS_HOSTS},
    {GFS2, "gfs2", "rw,localflocks", ZC_LOCKS_NONE},
    {BEEGFS, "beegfs", "rw,cfgFile=/etc/beegfs/beegfs-client.conf", ZC_LOCKS_UNKNOWN},
    {FUSE, "fuse.sshfs", "rw,user_id=0", ZC_LOCKS_UNKNOWN},
    {SOMETHING, "something", "rw,flock", ZC_LOCKS_UNKNOWN},
};

START_TEST(a_list_of_file_systems)
{
    struct zc_lock_reach_info is;

    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        zc_lock_reach_of(known[i].magic, known[i].type, known[i].options, &is);
        ck_assert_msg(is.reach == known[i].reach, "%s (%s): %d, not %d: %s", known[i].type,
                      known[i].options, is.reach, known[i].reach, is.text);
        ck_assert(is.text[0]);
        ck_assert_int_eq(zc_lock_reach_trusted(is.reach),
                         is.reach == ZC_LOCKS_HOST || is.reach == ZC_LOCKS_HOSTS);
    }
}
END_TEST

/* ---- where files are ---- */

static char dir[] = "/tmp/zc-reach-XXXXXX", path[64];

static void setup(void)
{
    strcpy(dir + strlen(dir) - 6, "XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/file", dir);
    pretended = 0;
    deaf = false;
}

static void teardown(void)
{
    unlink(path);
    ck_assert_int_eq(rmdir(dir), 0);
}

START_TEST(mount_of_a_file)
{
    struct zc_lock_reach_info is;
    int fd = open("/proc/self", O_RDONLY | O_DIRECTORY);

    zc_lock_reach_find(fd, &is);
    ck_assert_int_eq(is.reach, ZC_LOCKS_UNKNOWN);
    ck_assert_msg(strstr(is.text, "proc") == is.text, "%s", is.text);
    close(fd);
    zc_lock_reach_find(-1, &is);
    ck_assert_int_eq(is.reach, ZC_LOCKS_UNKNOWN);
}
END_TEST

/* ---- writers ---- */

struct writer {
    struct zc_store *store;
    struct zc_sfile *file;
    bool merges;
    uint32_t odd; /* which of two neighbouring bytes is its own */
};

static void open_as(struct writer *w, unsigned flags)
{
    struct zc_attr attr = {0};

    ck_assert_int_eq(zc_store_posix_create(NULL, &w->store), 0);
    ck_assert_int_eq(zc_store_open_file(w->store, path, ZC_OPEN_READ | ZC_OPEN_WRITE | flags, 0644,
                                        &w->file, &attr),
                     0);
    w->merges = attr.merges;
}

static void close_as(struct writer *w)
{
    ck_assert_int_eq(zc_store_close_file(w->file, ZC_LEVEL_STORED), 0);
    zc_store_destroy(w->store);
}

/* As a cache does: in one call, or piece by piece where the store does not take that. */
static void write_pieces(const struct writer *w, const char *data, const struct zc_range *r)
{
    ssize_t rc = zc_store_write_ranges(w->file, data, r, 2, 0, NULL);

    for (int i = 0; rc == -EOPNOTSUPP && i < 2; i++) {
        struct iovec iov = {(char *)data + r[i].lo, r[i].hi - r[i].lo};

        ck_assert_int_gt(zc_store_pwritev(w->file, &iov, 1, r[i].lo), 0);
    }
    ck_assert(rc == -EOPNOTSUPP || rc > 0);
}

enum { BYTES = 65536, ROUNDS = 3000 };

/* A byte at either end of the stretch; each is looked for right after it was written. */
static void *writes_its_bytes(void *arg)
{
    const struct writer *w = arg;
    const struct zc_range r[] = {{w->odd, w->odd + 1}, {BYTES - 2 + w->odd, BYTES - 1 + w->odd}};
    static __thread char data[BYTES], back[BYTES];
    uintptr_t lost = 0;

    for (int i = 1; i <= ROUNDS; i++) {
        struct iovec iov = {back, BYTES};

        data[r[0].lo] = data[r[1].lo] = (char)(i & 127);
        write_pieces(w, data, r);
        ck_assert_int_eq(zc_store_preadv(w->file, &iov, 1, 0), BYTES);
        lost += back[r[0].lo] != data[r[0].lo] || back[r[1].lo] != data[r[1].lo];
    }
    return (void *)lost;
}

/* Rounds after which bytes of one of two writers that do not know each other are missing. */
static unsigned rounds_lost(unsigned flags)
{
    struct writer a = {.odd = 0}, b = {.odd = 1};
    pthread_t other;
    void *lost[2];
    int fd = open(path, O_CREAT | O_WRONLY, 0644);

    ck_assert_int_eq(ftruncate(fd, BYTES), 0);
    close(fd);
    open_as(&a, flags);
    open_as(&b, flags);
    ck_assert_int_eq(pthread_create(&other, NULL, writes_its_bytes, &b), 0);
    lost[0] = writes_its_bytes(&a);
    pthread_join(other, &lost[1]);
    close_as(&a);
    close_as(&b);
    return (unsigned)((uintptr_t)lost[0] + (uintptr_t)lost[1]);
}

START_TEST(two_writers_where_locks_do_not_reach)
{
    pretended = FUSE;
    deaf = true;
    ck_assert_uint_eq(rounds_lost(0), 0);
}
END_TEST

START_TEST(two_writers_where_locks_reach)
{
    ck_assert_uint_eq(rounds_lost(0), 0);
}
END_TEST

static atomic_uint reads;
static int unreadable; /* errno of every read of the file */

ssize_t pread(int fd, void *buf, size_t len, off_t off)
{
    reads++;
    if (unreadable) {
        errno = unreadable;
        return -1;
    }
    return (ssize_t)syscall(SYS_pread64, fd, buf, len, off);
}

static size_t room = SIZE_MAX; /* a write of more bytes fails: the disk is full */

ssize_t pwrite(int fd, const void *buf, size_t len, off_t off)
{
    if (len > room) {
        errno = ENOSPC;
        return -1;
    }
    return (ssize_t)syscall(SYS_pwrite64, fd, buf, len, off);
}

static const struct zc_range pieces[] = {{0, 10}, {20, 30}};
static const char zeros[30];

/* What lies between is read to be written, or left alone. */
static void expect_merge_of(struct zc_sfile *f, bool merges)
{
    reads = 0;
    ck_assert_int_eq(zc_store_write_ranges(f, zeros, pieces, 2, 0, NULL), 20);
    ck_assert_int_eq(reads > 0, merges);
}

static void expect_merge(const struct writer *w, bool merges)
{
    expect_merge_of(w->file, merges);
}

/* One without holes, which are not read. */
static void make_file(void)
{
    int fd = open(path, O_CREAT | O_WRONLY, 0644);

    ck_assert_int_eq(write(fd, zeros, sizeof zeros), sizeof zeros);
    close(fd);
}

START_TEST(what_an_open_is_told)
{
    static const struct {
        long magic;
        unsigned flags;
        bool merges;
    } cases[] = {
        {TMPFS_MAGIC, 0, true},     {GPFS, 0, true},
        {FUSE, 0, false},           {BEEGFS, 0, false},
        {LUSTRE, 0, false},         {NFS_SUPER_MAGIC, 0, false},
        {FUSE, ZC_OPEN_SOLE, true}, {NFS_SUPER_MAGIC, ZC_OPEN_SOLE, true},
    };

    make_file();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct writer w;

        pretended = cases[i].magic;
        open_as(&w, cases[i].flags);
        ck_assert_msg(w.merges == cases[i].merges, "case %zu", i);
        expect_merge(&w, cases[i].merges);
        close_as(&w);
    }
}
END_TEST

/* A disk that cannot read what lies between the pieces may still take these. */
START_TEST(what_lies_between_cannot_be_read)
{
    static const char ones[30] = "aaaaaaaaaabbbbbbbbbbcccccccccc";
    char back[30] = "";
    struct iovec iov = {(char *)zeros, sizeof zeros};
    struct writer w;

    open_as(&w, ZC_OPEN_CREATE);
    ck_assert_int_eq(zc_store_pwritev(w.file, &iov, 1, 0), sizeof zeros);
    unreadable = EIO;
    ck_assert(zc_store_write_ranges(w.file, ones, pieces, 2, 0, NULL) == -EOPNOTSUPP);
    write_pieces(&w, ones, pieces);
    unreadable = 0;
    iov = (struct iovec){back, sizeof back};
    ck_assert_int_eq(zc_store_preadv(w.file, &iov, 1, 0), sizeof back);
    ck_assert_mem_eq(back, "aaaaaaaaaa\0\0\0\0\0\0\0\0\0\0cccccccccc", sizeof back);
    close_as(&w);
}
END_TEST

/* There is room for the pieces and not for the hole between them. */
START_TEST(a_disk_with_little_room)
{
    struct writer w;

    open_as(&w, ZC_OPEN_CREATE);
    room = 10;
    ck_assert_int_eq(zc_store_write_ranges(w.file, zeros, pieces, 2, 0, NULL), 20);
    room = 5;
    ck_assert_int_eq(zc_store_write_ranges(w.file, zeros, pieces, 2, 0, NULL), -ENOSPC);
    room = SIZE_MAX;
    close_as(&w);
}
END_TEST

/* What this open has made is its own, until another one opens it for writing. */
START_TEST(a_file_that_it_has_made)
{
    struct zc_attr attr = {0};
    struct zc_sfile *reader, *other;
    struct writer w;

    pretended = FUSE;
    open_as(&w, ZC_OPEN_CREATE);
    ck_assert(w.merges);
    expect_merge(&w, true);
    ck_assert_int_eq(zc_store_open_file(w.store, path, ZC_OPEN_READ, 0, &reader, &attr), 0);
    expect_merge(&w, true);
    ck_assert_int_eq(zc_store_open_file(w.store, path, ZC_OPEN_WRITE, 0, &other, &attr), 0);
    ck_assert(!attr.merges);
    expect_merge(&w, false);
    ck_assert_int_eq(zc_store_close_file(other, ZC_LEVEL_STORED), 0);
    ck_assert_int_eq(zc_store_close_file(reader, ZC_LEVEL_STORED), 0);
    expect_merge(&w, false);
    close_as(&w);
}
END_TEST

START_TEST(the_only_one_beside_another)
{
    struct zc_attr attr = {0};
    struct zc_sfile *other;
    struct writer w;

    pretended = FUSE;
    close(open(path, O_CREAT | O_WRONLY, 0644));
    open_as(&w, 0);
    ck_assert_int_eq(zc_store_open_file(w.store, path, ZC_OPEN_READ | ZC_OPEN_WRITE | ZC_OPEN_SOLE,
                                        0, &other, &attr),
                     0);
    ck_assert(!attr.merges);
    expect_merge_of(other, false);
    ck_assert_int_eq(zc_store_close_file(other, ZC_LEVEL_STORED), 0);
    close_as(&w);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("lock_reach");
    TCase *c = tcase_create("files");

    CASE(s, "list", 10, a_list_of_file_systems);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_set_timeout(c, stretched(60));
    tcase_add_test(c, mount_of_a_file);
    tcase_add_test(c, two_writers_where_locks_do_not_reach);
    tcase_add_test(c, two_writers_where_locks_reach);
    tcase_add_test(c, what_an_open_is_told);
    tcase_add_test(c, what_lies_between_cannot_be_read);
    tcase_add_test(c, a_disk_with_little_room);
    tcase_add_test(c, a_file_that_it_has_made);
    tcase_add_test(c, the_only_one_beside_another);
    suite_add_tcase(s, c);
    return run_suite(s);
}
