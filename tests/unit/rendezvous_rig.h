/* rendezvous_rig.h - files of a store, rendezvous records at them, and processes that hold some. */
#ifndef RENDEZVOUS_RIG_H
#define RENDEZVOUS_RIG_H

#include <dirent.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check_main.h"
#include "zc_log.h"
#include "zc_store_mem.h"
#include "zc_store_posix.h"

enum { NEW = ZC_OPEN_READ | ZC_OPEN_WRITE | ZC_OPEN_CREATE };

static char dir[64]; /* for files, and the user's runtime directory */
static struct zc_store *store;

static inline const char *in(const char *name)
{
    static char buf[4][PATH_MAX];
    static unsigned n;
    char *p = buf[n++ % 4];

    snprintf(p, PATH_MAX, "%s/%s", dir, name);
    return p;
}

static inline void up(bool posix)
{
    strcpy(dir, "/tmp/zc-test-meet-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    ck_assert_int_eq(setenv("XDG_RUNTIME_DIR", dir, 1), 0);
    ck_assert_int_eq(posix ? zc_store_posix_create(NULL, &store) : zc_store_mem_create(&store), 0);
}

static inline void up_posix(void)
{
    up(true);
}

static inline void down(void)
{
    char cmd[128];

    zc_store_destroy(store);
    snprintf(cmd, sizeof cmd, "rm -rf %s", dir);
    ck_assert_int_eq(system(cmd), 0);
}

static inline struct zc_sfile *open_in(struct zc_store *s, const char *name)
{
    struct zc_attr attr = {0};
    struct zc_sfile *f;
    int rc = zc_store_open_file(s, in(name), NEW, 0600, &f, &attr);

    ck_assert_msg(rc == 0, "open: %s", zc_error_text(rc));
    return f;
}

static inline void close_it(struct zc_sfile *f)
{
    ck_assert_int_eq(zc_store_close_file(f, ZC_LEVEL_VISIBLE), 0);
}

/* Publishes a record; NULL: another one is there, *theirs. */
static inline struct zc_publication *rendezvous(struct zc_sfile *f, const char *job,
                                                const char *record, uint64_t replaces,
                                                struct zc_rendezvous_record *theirs)
{
    struct zc_publication *mine;
    int rc = zc_store_rendezvous(f, job, record, strlen(record) + 1, replaces, &mine, theirs);

    ck_assert_msg(rc == 0, "meet: %s", zc_error_text(rc));
    ck_assert_msg(!mine == !!theirs->bytes, "either ours or another one's");
    return mine;
}

static inline void leave(struct zc_sfile *f, const char *job, const char *record,
                         struct zc_publication **mine)
{
    struct zc_rendezvous_record theirs;

    *mine = rendezvous(f, job, record, 0, &theirs);
    ck_assert_msg(*mine != NULL, "%s's card is there", (char *)theirs.bytes);
}

/* Checks that the record `expected` is there; returns its number. */
static inline uint64_t find(struct zc_sfile *f, const char *job, const char *expected)
{
    struct zc_rendezvous_record theirs;
    struct zc_publication *mine = rendezvous(f, job, "finder", 0, &theirs);
    uint64_t number = theirs.number;

    ck_assert_msg(!mine, "the record is stale");
    ck_assert_str_eq(theirs.bytes, expected);
    ck_assert_uint_eq(theirs.len, strlen(expected) + 1);
    ck_assert_uint_ne(number, 0);
    free(theirs.bytes);
    return number;
}

static inline void part(struct zc_publication *mine)
{
    int rc = zc_store_withdraw(mine);

    ck_assert_msg(rc == 0, "part: %s", zc_error_text(rc));
}

/* Returns the number of files in the directory for records, without the guard. */
static inline unsigned records_left(void)
{
    DIR *d = opendir(in("zcache"));
    struct dirent *e;
    unsigned n = 0;

    ck_assert_ptr_nonnull(d);
    while ((e = readdir(d)))
        n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

/* In a child: opens a store of its own, publishes a record, says so, and waits to be killed. */
static inline pid_t start_holder(const char *name)
{
    int said[2];
    char c;
    pid_t pid;

    ck_assert_int_eq(pipe(said), 0);
    pid = fork();
    if (pid == 0) {
        struct zc_attr attr = {0};
        struct zc_sfile *f;
        struct zc_store *s;
        struct zc_publication *mine;
        struct zc_rendezvous_record theirs;

        if (zc_store_posix_create(NULL, &s) || zc_store_open_file(s, name, NEW, 0600, &f, &attr) ||
            zc_store_rendezvous(f, "job", "holder", 7, 0, &mine, &theirs) || !mine ||
            write(said[1], "x", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    close(said[1]);
    ck_assert_int_eq(read(said[0], &c, 1), 1);
    close(said[0]);
    return pid;
}

static inline void end(pid_t pid, int sig)
{
    int status;

    ck_assert_int_eq(kill(pid, sig), 0);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
}

#endif
