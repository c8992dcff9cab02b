/* fuzz_sessions.c - a server, an honest client, and peers that send whatever the input says.
 *
 * The input is steps (session_steps.h).  Whatever the others do, the honest client's requests
 * work, and find the bytes that it wrote; when the others have gone nothing of them is left: no
 * session, request, open file, view or page in use.  The store fails and is slow meanwhile, but
 * answers while the honest client waits for something.  A stop of the server ends with the honest
 * client's bytes in the file, unless the store has refused some.
 *
 * Threads make that an input does not always do the same.  Memory is watched by the sanitizers,
 * invariants by the debug build's assertions.
 */
#include "config.h"

#include <errno.h>

#include "hostile.h"
#include "zc_net_internal.h"
#include "zc_view.h"

enum {
    PAGE = 4096,
    PAGES = 32,           /* of the cache */
    HONEST_BYTES = 40000, /* of its file */
    STORE_MAX = 1 << 20,  /* larger files are refused */
    MANY_STEPS = 96,      /* an input that has more ends there */
    TRIES = 5,            /* of what meets a failure that others have brought about */
    SETTLED_MS = 20000,   /* all is over by then */
};

static struct rig rig;
static struct crowd crowd;

static struct honest {
    struct zc_net *net;
    struct zc_client *client;
    struct zc_view *view;
    uint64_t handle;
    unsigned char bytes[HONEST_BYTES]; /* of the file */
    size_t size;
    unsigned generation;
} honest;

static bool stopped;

/* ---- a store of small files ---- */

static struct zc_store_ops small_ops;
static const struct zc_store_ops *mem_ops;
static uint64_t refused; /* calls, by size */

static int fits(uint64_t end)
{
    if (end <= STORE_MAX)
        return 0;
    __atomic_add_fetch(&refused, 1, __ATOMIC_RELAXED);
    return zc_errorf(EFBIG, "%llu bytes are too many here", (unsigned long long)end);
}

static ssize_t small_pwritev(struct zc_sfile *f, const struct iovec *iov, int n, uint64_t off)
{
    int rc = fits(off);
    uint64_t end = off;

    for (int i = 0; i < n && rc == 0; i++)
        end += iov[i].iov_len;
    if (rc == 0)
        rc = fits(end);
    return rc ? rc : mem_ops->pwritev(f, iov, n, off);
}

static int small_truncate(struct zc_sfile *f, uint64_t size)
{
    int rc = fits(size);

    return rc ? rc : mem_ops->truncate(f, size);
}

static int small_allocate(struct zc_sfile *f, uint64_t off, uint64_t len)
{
    int rc = fits(off);

    if (rc == 0)
        rc = fits(len > STORE_MAX ? len : off + len);
    return rc ? rc : mem_ops->allocate(f, off, len);
}

static struct zc_store *small_store(void)
{
    struct zc_store *mem;

    ck_assert_int_eq(zc_store_mem_create(&mem), 0);
    mem_ops = mem->ops;
    small_ops = *mem->ops;
    small_ops.pwritev = small_pwritev;
    small_ops.truncate = small_truncate;
    small_ops.allocate = small_allocate;
    mem->ops = &small_ops;
    return mem;
}

/* ---- what the store does to everybody ---- */

static void store_works(void)
{
    zc_store_fault_set(rig.store, 0, 0, 0, 0);
    zc_store_fault_delay(rig.store, 0, 0);
    zc_store_fault_release(rig.store);
    crowd.held = false;
}

static void store_step(const struct step *s)
{
    static const int errors[] = {EIO, ENOSPC, EDQUOT, ESTALE, ENOENT, EACCES, EBUSY, EINTR};
    unsigned ops = (unsigned)s->flags | (unsigned)(s->what & 3) << 8;

    switch (s->type % 4) {
    case 0:
        zc_store_fault_set(rig.store, ops, s->off % 8 + 1, s->len % 16 + 1, errors[s->key % 8]);
        break;
    case 1:
        zc_store_fault_delay(rig.store, ops, s->len * 20u);
        break;
    case 2:
        zc_store_fault_hold(rig.store, ops);
        crowd.held = true;
        break;
    default:
        store_works();
    }
}

/* ---- the honest client ---- */

/* `call` works, at the latest when failures of before have been told.  The store answers. */
#define WORKS(call, want)                                                                          \
    do {                                                                                           \
        long long got_ = -1;                                                                       \
        store_works();                                                                             \
        for (int try_ = 0; try_ < TRIES && got_ != (want); try_++)                                 \
            got_ = (call);                                                                         \
        REQUIRE(got_ == (want), "the honest client got %lld, not %lld: %s", got_,                  \
                (long long)(want), got_ < 0 ? zc_error_text((int)got_) : "");                      \
    } while (0)

static int honest_open(void)
{
    struct zc_attr attr = {.block_size = 2 * PAGE};

    return zc_client_open(honest.client, HONEST_PATH, ZC_OPEN_READ | ZC_OPEN_WRITE | ZC_OPEN_CREATE,
                          0600, &honest.handle, &attr);
}

static void honest_write(size_t off, size_t len)
{
    unsigned char *at = honest.bytes + off;

    if (len > HONEST_BYTES - off)
        len = HONEST_BYTES - off;
    if (len == 0)
        return;
    fill(at, len, off, ++honest.generation);
    WORKS(zc_client_write(honest.client, honest.handle, at, len, off), (ssize_t)len);
    if (off + len > honest.size)
        honest.size = off + len;
}

static void honest_write_view(void)
{
    unsigned char data[64];

    memset(data, (int)++honest.generation, sizeof data);
    WORKS(
        rig_through_view(honest.client, honest.handle, true, honest.view, 0, data, sizeof data, 0),
        (ssize_t)sizeof data);
    REQUIRE(zc_view_scatter(honest.view, 0, 0, data, sizeof data, honest.bytes, 0, HONEST_BYTES) ==
                sizeof data,
            "the test is wrong");
    if (honest.size < 7 * 1000 + 8)
        honest.size = 7 * 1000 + 8;
}

static void compare(const unsigned char *got, const char *where)
{
    for (size_t i = 0; i < honest.size; i++)
        REQUIRE(got[i] == honest.bytes[i], "byte %zu is %02x, not %02x, %s", i, got[i],
                honest.bytes[i], where);
}

static void honest_read(void)
{
    static unsigned char got[HONEST_BYTES];

    WORKS(zc_client_read(honest.client, honest.handle, got, sizeof got, 0), (ssize_t)honest.size);
    compare(got, "read");
}

static void honest_step(const struct step *s)
{
    switch (s->type % 6) {
    case 0:
        honest_write((size_t)s->off * 157 % HONEST_BYTES, s->len * 16u);
        break;
    case 1:
        honest_write((size_t)s->off * 157 % HONEST_BYTES, 17000 + s->len);
        break;
    case 2:
        honest_read();
        break;
    case 3:
        WORKS(zc_client_flush(honest.client, honest.handle, (enum zc_level)(s->what % 4)), 0);
        break;
    case 4:
        store_works(); /* the close may tell of a failure, and it is closed all the same */
        zc_client_views_end(honest.client, honest.handle);
        zc_client_close(honest.client, honest.handle, (enum zc_level)(s->what % 4));
        WORKS(zc_client_control(honest.client, ZC_CONTROL_RESUME, NULL), 0);
        WORKS(honest_open(), 0);
        break;
    default:
        honest_write_view();
    }
}

/* What is in the file, without the cache. */
static void compare_stored(void)
{
    static unsigned char got[HONEST_BYTES];
    struct iovec iov = {got, sizeof got};
    struct zc_attr attr = {0};
    struct zc_sfile *f;

    ck_assert_int_eq(zc_store_open_file(rig.store, HONEST_PATH, ZC_OPEN_READ, 0, &f, &attr), 0);
    REQUIRE(zc_store_preadv(f, &iov, 1, 0) == (ssize_t)honest.size, "not %zu bytes", honest.size);
    compare(got, "in the file");
    zc_store_close_file(f, ZC_LEVEL_VISIBLE);
}

/* ---- from the beginning to the end ---- */

static void up(void)
{
    struct zc_cache_config cfg = ZC_CACHE_CONFIG_DEFAULT;

    cfg.capacity = (size_t)PAGES * PAGE;
    cfg.page_size = PAGE;
    cfg.idle_ms = 5;
    cfg.retry_ms = 2;
    cfg.readers = 2;
    cfg.prefetch = 2;
    cfg.max_extents = 16;
    cfg.level = ZC_LEVEL_STAGED;
    rig_exports = ZC_EXPORTS_OF_OPENER;
    rig_views = 1 << 20;
    refused = 0;
    stopped = false;
    rig_up_silence(&rig, &cfg, small_store(), 3000);
    honest.net = rig_net(60000);
    honest.client = rig_connect(&rig, honest.net);
    honest.size = 0;
    honest.generation = 0;
    memset(honest.bytes, 0, sizeof honest.bytes);
    ck_assert_int_eq(honest_open(), 0);
    crowd_up(&crowd, &rig, honest.client->session);
    honest_write(0, 3 * PAGE + 5);
}

/* The counters of a server that has no clients but the honest one, which asks. */
static bool settled(char **text)
{
    static const struct {
        const char *name;
        uint64_t value;
    } wanted[] = {
        {"views", 0},        {"view_bytes", 0}, {"handles", 1},      {"pinned_pages", 0},
        {"waiting_room", 0}, {"sessions", 1},   {"waiting_read", 0}, {"requests_active", 1},
    };
    const char *stats;
    bool all;

    ck_assert_int_eq(zc_client_info(honest.client, ZC_INFO_STATS, text), 0);
    stats = zc_json_find(*text, "stats");
    all = stats != NULL;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        all = all && zc_json_to_number(zc_json_find(stats, wanted[i].name)) == wanted[i].value;
    return all;
}

/* Everybody else leaves, and leaves nothing behind. */
static void settle(void)
{
    uint64_t until = zc_now() + SETTLED_MS * ZC_NS_PER_MS;
    char *text = NULL;

    zc_client_views_end(honest.client, honest.handle);
    do {
        free(text);
        crowd_bye(&crowd);
        nanosleep(&(struct timespec){0, 500000}, NULL);
        if (settled(&text)) {
            free(text);
            return;
        }
    } while (zc_now() < until);
    REQUIRE(false, "others are gone, and the server says\n%s", text);
}

static void check_memory(void)
{
    struct zc_cache_stats cs;

    zc_cache_stats(rig.cache, &cs);
    REQUIRE(cs.used_bytes <= cs.capacity_bytes, "%llu bytes", (unsigned long long)cs.used_bytes);
    REQUIRE(__atomic_load_n(&rig.views.used, __ATOMIC_RELAXED) <= rig_views, "%zu", rig.views.used);
}

static void down(void)
{
    uint64_t failures;
    int status;

    store_works();
    failures = zc_store_fault_raised(rig.store);
    if (!stopped) {
        settle();
        honest_read();
        WORKS(zc_client_flush(honest.client, honest.handle, ZC_LEVEL_STORED), 0);
        compare_stored();
        WORKS(zc_client_close(honest.client, honest.handle, ZC_LEVEL_STORED), 0);
    } else {
        crowd_bye(&crowd);
    }
    zc_client_disconnect(honest.client);
    status = rig_stop(&rig);
    failures += __atomic_load_n(&refused, __ATOMIC_RELAXED);
    REQUIRE(status == 0 || failures, "the server ends with %d: %s", status, rig.text);
    if (status == 0)
        compare_stored();
    zc_net_destroy(honest.net);
    crowd_down(&crowd);
    check_memory();
    rig_free(&rig);
}

static void step(const struct step *s, const uint8_t *more, size_t len)
{
    if (s->kind == STEP_STORE)
        store_step(s);
    else if (s->kind == STEP_STOP && s->what == 'S') /* seldom: it ends much */
        stopped = true;
    else if (s->kind == STEP_HONEST && !stopped)
        honest_step(s);
    else
        crowd_step(&crowd, s, more, len);
    if (stopped)
        zc_server_stop(rig.server);
    check_memory();
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    struct zc_view_builder *b;

    (void)argc;
    (void)argv;
    fuzz_log();
    ck_assert_int_eq(zc_view_builder_create(&b), 0);
    ck_assert_int_eq(zc_view_add_run(b, 0, 8, 1000, 8), 0);
    ck_assert_int_eq(zc_view_finish(b, 8000, &honest.view), 0);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct step s;

    up();
    for (int n = 0; n < MANY_STEPS && len >= sizeof s; n++) {
        memcpy(&s, data, sizeof s);
        data += sizeof s;
        len -= sizeof s;
        s.kind %= STEP_KINDS;
        step(&s, data, len);
        if (s.kind == STEP_BYTES)
            break; /* what follows were its bytes */
    }
    down();
    return 0;
}
