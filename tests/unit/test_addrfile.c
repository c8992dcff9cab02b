/* test_addrfile.c - address files: written, read, truncated, corrupted, listed. */
#include "config.h"

#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "iod_address.h"
#include "traces.h"
#include "zc_addrfile.h"
#include "zc_log.h"

static char dir[] = "/tmp/test_addrfile.XXXXXX";
static char path[sizeof dir + 32];

static const struct zc_addrfile sample = {
    .protocol = 1,
    .provider = "tcp;ofi_rxm",
    .address = {2, 0, 0xa3, 0xff, 0x7f, 0, 0, 1},
    .address_len = 8,
    .local = {'z', 'c', 0, 1},
    .local_len = 4,
    .host = "n17",
    .pid = 4711,
    .started = 1234567,
    .space = {.boot = "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0", .ns = 4026531836},
    .boot_id = 0x0f2e3d4c5b6a7988,
    .secret = {{0, 1, 0xfe, 0xff, 4, 5, [31] = 9}},
    .root = "/scratch/with a blank",
};

static void setup(void)
{
    umask(077);
    strcpy(dir + sizeof dir - 7, "XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/0.addr", dir);
}

static void teardown(void)
{
    char command[sizeof dir + 16];

    snprintf(command, sizeof command, "rm -r %s", dir);
    ck_assert_int_eq(system(command), 0);
}

static size_t load(char *buf, size_t cap)
{
    FILE *f = fopen(path, "r");
    size_t n;

    ck_assert_ptr_nonnull(f);
    n = fread(buf, 1, cap, f);
    fclose(f);
    return n;
}

static void save(const char *name, const void *buf, size_t n)
{
    char full[sizeof dir + 64];
    FILE *f;

    snprintf(full, sizeof full, "%s/%s", dir, name);
    f = fopen(full, "w");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(buf, 1, n, f), n);
    ck_assert_int_eq(fclose(f), 0);
}

static void assert_same(const struct zc_addrfile *a, const struct zc_addrfile *b)
{
    ck_assert_uint_eq(a->protocol, b->protocol);
    ck_assert_str_eq(a->provider, b->provider);
    ck_assert_uint_eq(a->address_len, b->address_len);
    ck_assert_mem_eq(a->address, b->address, a->address_len);
    ck_assert_uint_eq(a->local_len, b->local_len);
    ck_assert_mem_eq(a->local, b->local, a->local_len);
    ck_assert_str_eq(a->host, b->host);
    ck_assert_int_eq(a->pid, b->pid);
    ck_assert_uint_eq(a->started, b->started);
    ck_assert_str_eq(a->space.boot, b->space.boot);
    ck_assert_uint_eq(a->space.ns, b->space.ns);
    ck_assert_uint_eq(a->boot_id, b->boot_id);
    ck_assert_mem_eq(&a->secret, &b->secret, sizeof a->secret);
    ck_assert_int_eq(a->aggregator, b->aggregator);
    ck_assert_str_eq(a->root, b->root);
}

/* An address that is not reachable locally, here because it is none, is reached by the fabric. */
START_TEST(test_address_to_use)
{
    size_t len = 0;

    ck_assert_ptr_eq(zc_addrfile_address(&sample, true, &len), sample.address);
    ck_assert_uint_eq(len, sample.address_len);
}
END_TEST

START_TEST(test_local_may_be_missing)
{
    struct zc_addrfile a = sample, b;

    a.local_len = 0;
    a.aggregator = true;
    ck_assert_int_eq(zc_addrfile_write(path, &a), 0);
    ck_assert_int_eq(zc_addrfile_read(path, &b), 0);
    assert_same(&a, &b);
}
END_TEST

START_TEST(test_round_trip)
{
    struct zc_addrfile a;
    struct stat st;
    mode_t mask = umask(022);

    ck_assert_int_eq(zc_addrfile_write(path, &sample), 0);
    ck_assert_int_eq(zc_addrfile_write(path, &sample), 0); /* replaces */
    umask(mask);
    ck_assert_int_eq(zc_addrfile_read(path, &a), 0);
    assert_same(&a, &sample);
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_int_eq(st.st_mode & 0777, 0600); /* regardless of the umask */
}
END_TEST

/* A secret that others can read, or that others have written, is refused. */
START_TEST(test_others)
{
    static const mode_t modes[] = {0640, 0604, 0620, 0602, 0644, 0666, 0610};
    struct zc_addrfile a = {.pid = 1};

    ck_assert_int_eq(zc_addrfile_write(path, &sample), 0);
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        ck_assert_int_eq(chmod(path, modes[i]), 0);
        ck_assert_msg(zc_addrfile_read(path, &a) == -EPERM, "mode %o", (unsigned)modes[i]);
        ck_assert_msg(strstr(zc_error_text(EPERM), "others") != NULL, "%s", zc_error_text(EPERM));
    }
    ck_assert_int_eq(chmod(path, 0600), 0);
    if (geteuid() == 0) { /* only root may give files away */
        ck_assert_int_eq(chown(path, 65534, (gid_t)-1), 0);
        ck_assert_int_eq(zc_addrfile_read(path, &a), -EPERM);
        ck_assert_msg(strstr(zc_error_text(EPERM), "another user") != NULL, "%s",
                      zc_error_text(EPERM));
        ck_assert_int_eq(chown(path, 0, (gid_t)-1), 0);
    }
    ck_assert(a.pid == 1 && a.protocol == 0);
    ck_assert_int_eq(zc_addrfile_read(path, &a), 0);
}
END_TEST

/* The largest values fit. */
START_TEST(test_limits)
{
    struct zc_addrfile a, big = sample;

    memset(big.address, 0xee, sizeof big.address);
    big.address_len = sizeof big.address;
    memset(big.root, 'r', sizeof big.root - 1);
    memset(big.host, 'h', sizeof big.host - 1);
    ck_assert_int_eq(zc_addrfile_write(path, &big), 0);
    ck_assert_int_eq(zc_addrfile_read(path, &a), 0);
    assert_same(&a, &big);

    strcpy(big.root, "/two\nlines");
    ck_assert_int_eq(zc_addrfile_write(path, &big), -EINVAL);
    big = sample;
    big.address_len = 0;
    ck_assert_int_eq(zc_addrfile_write(path, &big), -EINVAL);
    ck_assert_int_eq(zc_addrfile_read(path, &a), 0); /* the old one is still there */
}
END_TEST

/* No prefix of a file passes for the file; *out is unchanged. */
START_TEST(test_cut_short)
{
    char text[4096];
    size_t n;

    ck_assert_int_eq(zc_addrfile_write(path, &sample), 0);
    n = load(text, sizeof text);
    for (size_t i = 0; i < n; i++) {
        struct zc_addrfile a = {.pid = 1};

        save("0.addr", text, i);
        ck_assert_msg(zc_addrfile_read(path, &a) == -EINVAL, "%zu of %zu bytes", i, n);
        ck_assert(a.pid == 1 && a.protocol == 0);
    }
}
END_TEST

/* Any single byte may be replaced by anything without harm. */
START_TEST(test_corrupted)
{
    static const char junk[] = {0, '\n', ' ', 'z', (char)0xff, '-'};
    char text[4096];
    size_t n;

    ck_assert_int_eq(zc_addrfile_write(path, &sample), 0);
    n = load(text, sizeof text);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < sizeof junk; j++) {
            char saved = text[i];
            struct zc_addrfile a;
            int rc;

            text[i] = junk[j];
            save("0.addr", text, n);
            text[i] = saved;
            rc = zc_addrfile_read(path, &a);
            ck_assert_msg(rc == 0 || rc == -EINVAL, "byte %zu: %d", i, rc);
        }
    }
}
END_TEST

static void assert_unreadable(const char *text, const char *why)
{
    struct zc_addrfile a;
    char expected[512];

    save("0.addr", text, strlen(text));
    ck_assert_int_eq(zc_addrfile_read(path, &a), -EINVAL);
    snprintf(expected, sizeof expected, why, path);
    ck_assert_str_eq(zc_error_text(EINVAL), expected);
}

#define HEAD   "zcache-daemon 1\nprotocol 1\nprovider p\naddress 0a\nhost h\n"
#define SECRET "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
#define TAIL   "boot 0123456789abcdef\nsecret " SECRET "\nroot /\n"

START_TEST(test_refused)
{
    struct zc_addrfile a;
    char *large = calloc(1, 1 << 20);

    assert_unreadable("", "%s is not a zcache address file");
    assert_unreadable("root:x:0:0::/root:/bin/sh\n", "%s is not a zcache address file");
    assert_unreadable("zcache-daemon 2\n", "%s is not a zcache address file");
    assert_unreadable(HEAD TAIL, "%s: incomplete address file, no \"pid\"");
    assert_unreadable(HEAD "pid 0\n" TAIL, "%s: bad value \"pid 0\" in an address file");
    assert_unreadable(HEAD "pid -1\n" TAIL, "%s: bad value \"pid -1\" in an address file");
    assert_unreadable(HEAD "pid 5000000000\n" TAIL,
                      "%s: bad value \"pid 5000000000\" in an address file");
    assert_unreadable(HEAD "pid 1\npid 1\n" TAIL, "%s: bad value \"pid 1\" in an address file");
    assert_unreadable(HEAD "pid 1\nboot 0123456789abcdef\nroot /\n",
                      "%s has no secret, by which its daemon would know us: it was written by an "
                      "older release, or is cut; start the daemon again");
    assert_unreadable(HEAD "pid 1\nsecret 0123\n" TAIL,
                      "%s: bad value \"secret ...\" in an address file");
    assert_unreadable(HEAD "pid 1\nboot 12\nroot /\n",
                      "%s: bad value \"boot 12\" in an address file");
    assert_unreadable(HEAD "pid 1\nboot 0000000000000000\nroot /\n",
                      "%s: bad value \"boot 0000000000000000\" in an address file");
    assert_unreadable(HEAD "pid 1\nhello\n" TAIL, "%s: bad line \"hello\" in an address file");
    assert_unreadable(HEAD "pid 1\nsecret\t0123456789abcdef\n" TAIL,
                      "%s: bad line \"secret\" in an address file");
    assert_unreadable(HEAD "pid 1\n" TAIL "x", "%s: the last line of the address file is cut off");
    save("0.addr", HEAD "pid 1\nlater thing\n" TAIL, strlen(HEAD "pid 1\nlater thing\n" TAIL));
    ck_assert_int_eq(zc_addrfile_read(path, &a), 0);

    save("0.addr", large, 1 << 20);
    free(large);
    ck_assert_int_eq(zc_addrfile_read(path, &a), -EINVAL);
    unlink(path);
    ck_assert_int_eq(zc_addrfile_read(path, &a), -ENOENT);
    ck_assert_int_eq(zc_addrfile_read(dir, &a), -EISDIR);
}
END_TEST

START_TEST(test_remove)
{
    ck_assert_int_eq(zc_addrfile_write(path, &sample), 0);
    zc_addrfile_remove(path, sample.boot_id + 1);
    ck_assert_int_eq(access(path, F_OK), 0);
    zc_addrfile_remove(path, sample.boot_id);
    ck_assert_int_ne(access(path, F_OK), 0);
    zc_addrfile_remove(path, sample.boot_id);
}
END_TEST

static int entries(void)
{
    DIR *d = opendir(dir);
    int n = 0;

    ck_assert_ptr_nonnull(d);
    while (readdir(d))
        n++;
    closedir(d);
    return n - 2;
}

static void assert_there(const struct zc_addrfile *want)
{
    struct zc_addrfile a;

    ck_assert_int_eq(zc_addrfile_read(path, &a), 0);
    assert_same(&a, want);
    ck_assert_int_eq(entries(), 1); /* no other file is left */
}

START_TEST(test_replace)
{
    struct zc_addrfile next = sample;

    next.boot_id = 7;
    save("0.addr", "", 0); /* reserved by mktemp */
    ck_assert_int_eq(zc_addrfile_replace(path, &sample, 0), 0);
    assert_there(&sample);
    ck_assert_int_eq(zc_addrfile_replace(path, &next, 0), -EBUSY);
    ck_assert_int_eq(zc_addrfile_replace(path, &next, sample.boot_id + 1), -EBUSY);
    assert_there(&sample);
    ck_assert_int_eq(zc_addrfile_replace(path, &next, sample.boot_id), 0);
    assert_there(&next);
    unlink(path);
    ck_assert_int_eq(zc_addrfile_replace(path, &sample, next.boot_id), 0);
    assert_there(&sample);
    save("0.addr", "a note", 6);
    ck_assert_int_eq(zc_addrfile_replace(path, &next, 0), -EBUSY);
    ck_assert_int_eq(entries(), 1);
}
END_TEST

/* The file can be removed even if no other file can be made beside it, here because of its name: a
 * process that waits for the daemon's end watches for that. */
START_TEST(test_remove_without_room)
{
    char long_name[sizeof dir + 300];

    ck_assert_int_eq(zc_addrfile_write(path, &sample), 0);
    snprintf(long_name, sizeof long_name, "%s/%0250d.addr", dir, 0);
    ck_assert_int_eq(rename(path, long_name), 0);
    zc_addrfile_remove(long_name, sample.boot_id + 1);
    ck_assert_int_eq(entries(), 1);
    zc_addrfile_remove(long_name, sample.boot_id);
    ck_assert_int_eq(entries(), 0);
}
END_TEST

/* Of two daemons that start at the same time one succeeds, over a stale address file or none. */
enum { ROUNDS = 400 };

struct racer {
    pthread_t thread;
    pthread_barrier_t *line;
    struct zc_addrfile a;
    uint64_t before;
    int rc;
};

static void *race(void *arg)
{
    struct racer *r = arg;

    pthread_barrier_wait(r->line);
    r->rc = zc_addrfile_replace(path, &r->a, r->before);
    return NULL;
}

START_TEST(test_race)
{
    pthread_barrier_t line;
    struct racer r[2];

    for (int round = 0; round < ROUNDS; round++) {
        unlink(path);
        if (round % 2)
            ck_assert_int_eq(zc_addrfile_write(path, &sample), 0);
        pthread_barrier_init(&line, NULL, 2);
        for (int i = 0; i < 2; i++) {
            r[i] = (struct racer){.line = &line, .a = sample};
            r[i].before = round % 2 ? sample.boot_id : 0;
            r[i].a.boot_id = (uint64_t)i + 1;
            ck_assert_int_eq(pthread_create(&r[i].thread, NULL, race, &r[i]), 0);
        }
        for (int i = 0; i < 2; i++)
            pthread_join(r[i].thread, NULL);
        pthread_barrier_destroy(&line);
        ck_assert_msg((r[0].rc == 0) != (r[1].rc == 0), "round %d: %d and %d", round, r[0].rc,
                      r[1].rc);
        ck_assert_int_eq(r[r[0].rc == 0].rc, -EBUSY);
        assert_there(&r[r[0].rc != 0].a);
    }
}
END_TEST

/* A daemon that ends while its successor starts, at any point of that. */
struct leaver {
    pthread_t thread;
    pthread_barrier_t *line;
    int moment;
};

static void *leave(void *arg)
{
    struct leaver *l = arg;
    struct stat st;

    pthread_barrier_wait(l->line);
    for (int i = 0; i < l->moment; i++)
        ck_assert_int_eq(lstat(dir, &st), 0);
    zc_addrfile_remove(path, sample.boot_id);
    return NULL;
}

START_TEST(test_remove_not_the_next)
{
    pthread_barrier_t line;
    struct leaver l = {.line = &line};
    struct racer r = {.line = &line, .a = sample, .before = sample.boot_id};

    r.a.boot_id = 1;
    for (int round = 0; round < ROUNDS; round++) {
        ck_assert_int_eq(zc_addrfile_write(path, &sample), 0);
        pthread_barrier_init(&line, NULL, 2);
        l.moment = round % 100;
        ck_assert_int_eq(pthread_create(&l.thread, NULL, leave, &l), 0);
        race(&r);
        pthread_join(l.thread, NULL);
        pthread_barrier_destroy(&line);
        ck_assert_int_eq(r.rc, 0);
        assert_there(&r.a);
    }
}
END_TEST

static void assert_list(const char *spec, const char *const *names)
{
    char **paths;
    int n = zc_addrfile_list(spec, &paths), i;

    for (i = 0; names[i]; i++) {
        char full[sizeof dir + 64];

        snprintf(full, sizeof full, "%s/%s", dir, names[i]);
        ck_assert_int_lt(i, n);
        ck_assert_str_eq(paths[i], full);
    }
    ck_assert_int_eq(n, i);
    free(paths);
}

/* A daemon that listens on its own host only is unusable on others. */
START_TEST(test_reach)
{
    static const unsigned char loopback[16] = {2, 0, 0x12, 0x34, 127, 0, 0, 1};
    struct zc_addrfile a = sample;

    snprintf(a.host, sizeof a.host, "elsewhere");
    ck_assert_int_eq(zc_addrfile_check_reach("x.addr", &a), 0);
    memcpy(a.address, loopback, sizeof loopback);
    a.address_len = sizeof loopback;
    ck_assert_int_eq(zc_addrfile_check_reach("x.addr", &a), -EHOSTUNREACH);
    ck_assert_ptr_nonnull(strstr(zc_error_text(EHOSTUNREACH), "its host elsewhere only"));
    ck_assert_ptr_nonnull(strstr(zc_error_text(EHOSTUNREACH), "--listen"));
    a.address[4] = 10;
    ck_assert_int_eq(zc_addrfile_check_reach("x.addr", &a), 0);
    a.address[4] = 127;
    gethostname(a.host, sizeof a.host - 1);
    ck_assert_int_eq(zc_addrfile_check_reach("x.addr", &a), 0);
}
END_TEST

/* A process id of another or unknown namespace, boot or host proves nothing. */
START_TEST(test_pid_counts)
{
    struct zc_addrfile a = sample, b;

    zc_addrfile_here(&a);
    ck_assert(zc_addrfile_pid_counts(&a));
    ck_assert(!zc_addrfile_is_gone(&a));
    a.started++;
    ck_assert(zc_addrfile_is_gone(&a));
    b = a;
    b.space.ns++;
    ck_assert(!zc_addrfile_pid_counts(&b));
    ck_assert(!zc_addrfile_is_gone(&b));
    b = a;
    b.space.boot[0] ^= 1;
    ck_assert(!zc_addrfile_is_gone(&b));
    b = a;
    b.host[0] ^= 1;
    ck_assert(!zc_addrfile_is_gone(&b));
    b.space = (struct zc_pid_space){.ns = 0};
    snprintf(b.host, sizeof b.host, "%s", a.host);
    ck_assert(!zc_addrfile_is_gone(&b));
    ck_assert_int_eq(zc_addrfile_write(path, &b), 0);
    ck_assert_int_eq(zc_addrfile_read(path, &a), 0);
    assert_same(&a, &b);
}
END_TEST

START_TEST(test_list)
{
    static const char *const all[] = {"0.addr",  "1.addr",   "2.addr",   "010.addr", "10.addr",
                                      "a1.addr", "a02.addr", "a10.addr", NULL};
    static const char *const two[] = {"10.addr", "2.addr", NULL};
    static const char *const none[] = {NULL};
    static const char *const other[] = {"0.addr.XXXXXX", "0.log", ".addr", ".hidden.addr", NULL};
    char spec[256], **paths;

    ck_assert_int_eq(zc_addrfile_list(dir, &paths), -ENOENT);
    for (int i = 7; i >= 0; i--)
        save(all[i], "", 0);
    for (int i = 0; other[i]; i++)
        save(other[i], "", 0);
    assert_list(dir, all);
    snprintf(spec, sizeof spec, "%s/10.addr,%s/2.addr,", dir, dir);
    assert_list(spec, two);
    assert_list("", none);
    assert_list(",", none);
    snprintf(spec, sizeof spec, "%s,%s/11.addr", dir, dir);
    ck_assert_int_eq(zc_addrfile_list(spec, &paths), -ENOENT);
    ck_assert_ptr_nonnull(strstr(zc_error_text(ENOENT), "/11.addr"));
}
END_TEST

/* Two daemons start at the same time, and both find no other running. */
START_TEST(test_second_of_two)
{
    static const unsigned char loopback[16] = {2, 0, 0x12, 0x34, 127, 0, 0, 1};
    struct zc_settings s = {.address_file = path, .provider = "tcp;ofi_rxm", .root = "/"};
    struct zc_addrfile first = sample, second, a;
    bool replaces;

    memcpy(first.address, loopback, sizeof loopback); /* of a host that cannot be asked */
    first.address_len = sizeof loopback;
    first.protocol = ZC_PROTOCOL;
    ck_assert_int_eq(iod_address_claim(&s, &replaces), 0);
    ck_assert_int_eq(zc_addrfile_write(path, &first), 0);
    second = first;
    second.boot_id++;
    ck_assert_int_eq(iod_address_put(&s, &second, &replaces), -EBUSY);
    ck_assert_int_eq(zc_addrfile_read(path, &a), 0);
    assert_same(&a, &first);
}
END_TEST

/* Neither writing nor reading an address file leaves a copy of the secret in memory, as bytes or
 * text. */
START_TEST(test_nothing_is_left)
{
    struct zc_addrfile a = sample, b;
    struct trace bytes, text;
    char hex[2 * ZC_SECRET_SIZE + 1];

    if (!TRACES_CAN_BE_SEEN) {
        puts("skipped: what is left of secrets, which a sanitizer's memory is too large for");
        return;
    }
    ck_assert_int_eq(zc_secret_make(&a.secret), 0);
    for (size_t i = 0; i < ZC_SECRET_SIZE; i++)
        snprintf(hex + 2 * i, 3, "%02x", a.secret.bytes[i]);
    bytes = trace_of(a.secret.bytes);
    text = trace_of(hex);
    ck_assert_uint_ge(traces(&text), 1);
    zc_forget(hex, sizeof hex);
    ck_assert_int_eq(zc_addrfile_write(path, &a), 0);
    ck_assert_int_eq(zc_addrfile_read(path, &b), 0);
    /* not ck_assert_mem_eq(), which makes text of both */
    ck_assert(memcmp(b.secret.bytes, a.secret.bytes, sizeof a.secret.bytes) == 0);
    ck_assert_uint_ge(traces(&bytes), 2);
    zc_secret_forget(&b.secret);
    ck_assert_int_eq(zc_addrfile_probe(path, &b), 0);
    ck_assert(!zc_secret_is_made(&b.secret) && b.boot_id == a.boot_id);
    zc_secret_forget(&a.secret);
    ck_assert_uint_eq(traces(&bytes), 0);
    ck_assert_uint_eq(traces(&text), 0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("addrfile");
    TCase *tc = tcase_create("addrfile");
    SRunner *r = srunner_create(s);
    int failed;

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, stretched(120));
    tcase_add_test(tc, test_address_to_use);
    tcase_add_test(tc, test_local_may_be_missing);
    tcase_add_test(tc, test_round_trip);
    tcase_add_test(tc, test_others);
    tcase_add_test(tc, test_limits);
    tcase_add_test(tc, test_cut_short);
    tcase_add_test(tc, test_corrupted);
    tcase_add_test(tc, test_refused);
    tcase_add_test(tc, test_remove);
    tcase_add_test(tc, test_remove_without_room);
    tcase_add_test(tc, test_replace);
    tcase_add_test(tc, test_race);
    tcase_add_test(tc, test_remove_not_the_next);
    tcase_add_test(tc, test_reach);
    tcase_add_test(tc, test_pid_counts);
    tcase_add_test(tc, test_list);
    tcase_add_test(tc, test_second_of_two);
    tcase_add_test(tc, test_nothing_is_left);
    suite_add_tcase(s, tc);
    srunner_run_all(r, CK_NORMAL);
    failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
