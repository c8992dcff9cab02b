/* make_seeds.c - makes the initial inputs from real messages, views, files and sessions.
 *
 *     make_seeds DIRECTORY
 *
 * Writes to the existing directories DIRECTORY/messages, views, texts and sessions.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"
#include "session_steps.h"
#include "zc_addrfile.h"
#include "zc_options.h"
#include "zc_view.h"
#include "zc_wire.h"

static const char *top;

static FILE *seed(const char *target, const char *name)
{
    char path[4096];
    FILE *f;

    snprintf(path, sizeof path, "%s/%s/%s", top, target, name);
    f = fopen(path, "we");
    REQUIRE(f != NULL, "%s: %s", path, strerror(errno));
    return f;
}

static void done(FILE *f)
{
    REQUIRE(fclose(f) == 0, "%s", strerror(errno));
}

/* ---- messages ---- */

static const uint8_t types[] = {SESSION_TYPES};

enum { NTYPES = sizeof types / sizeof *types };

static void message(const char *name, uint8_t type, int status)
{
    static const char bytes[] = "some bytes of it";
    static const struct zc_bytes b = {bytes, sizeof bytes - 1};
    struct zc_msg m = {.type = type,
                       .tag = 7,
                       .session = 43,
                       .status = status,
                       .text = {"no such file", status ? 12 : 0},
                       .magic = ZC_MAGIC,
                       .version_min = ZC_PROTOCOL,
                       .version_max = ZC_PROTOCOL,
                       .address = b,
                       .name = b,
                       .method = ZC_METHOD_SECRET,
                       .nonce = b,
                       .proof = b,
                       .path = {"/a/file", 7},
                       .job = b,
                       .list = b,
                       .data = b,
                       .handle = 0x100000001,
                       .off = 4096,
                       .len = 8192,
                       .size = 65536,
                       .rkey = 1000,
                       .level = 2};
    unsigned char buf[ZC_MAX_MESSAGE];
    int n = zc_msg_encode(&m, buf, sizeof buf);
    FILE *f;

    if (n < 0) /* that type has no reply */
        return;
    f = seed("messages", name);
    fwrite(buf, 1, (size_t)n, f);
    done(f);
}

static void messages(void)
{
    char name[64], what[16];

    for (int i = 0; i < NTYPES; i++) {
        uint8_t type = types[i] & ~ZC_REPLY;

        zc_type_name(type, what, sizeof what);
        message(zc_type_name(type, what, sizeof what), type, 0);
        snprintf(name, sizeof name, "R-%s", zc_type_name(type, what, sizeof what));
        message(name, type | ZC_REPLY, 0);
    }
    message("AUTH", ZC_T_AUTH, 0);
    message("R-AUTH", ZC_T_AUTH | ZC_REPLY, 0);
    message("CREDENTIAL", ZC_T_CREDENTIAL, 0);
    message("R-CREDENTIAL", ZC_T_CREDENTIAL | ZC_REPLY, 0);
    message("R-OPEN.failed", ZC_T_OPEN | ZC_REPLY, -ENOENT);
    message("R-HELLO.failed", ZC_T_HELLO | ZC_REPLY, -EPROTONOSUPPORT);
}

/* ---- views ---- */

static struct zc_view_builder *begin(void)
{
    struct zc_view_builder *b;

    REQUIRE(zc_view_builder_create(&b) == 0, "no memory");
    return b;
}

static void run(struct zc_view_builder *b, int64_t off, int64_t len, int64_t stride, int64_t count)
{
    REQUIRE(zc_view_add_run(b, off, len, stride, count) == 0, "a run");
}

static void view(const char *name, uint8_t choice, struct zc_view_builder *b, int64_t extent)
{
    struct zc_view *v;
    unsigned char *bytes;
    FILE *f = seed("views", name);

    REQUIRE(zc_view_finish(b, extent, &v) == 0, "%s", name);
    bytes = malloc(zc_view_encoded(v));
    REQUIRE(bytes && zc_view_encode(v, bytes, zc_view_encoded(v)) == 0, "%s", name);
    fputc(choice, f);
    fwrite(bytes, 1, zc_view_encoded(v), f);
    free(bytes);
    zc_view_put(v);
    done(f);
}

static void views(void)
{
    struct zc_view_builder *b = begin();

    view("nothing", 0, b, 0);
    b = begin();
    run(b, 0, 4096, 4096, 1);
    view("contiguous", 2, b, 4096);
    b = begin();
    run(b, -100, 8, 32, 50);
    view("vector", 64, b, 4096);
    b = begin();
    for (int64_t row = 0; row < 50; row++)
        run(b, row * 4096, 8, 32, 20);
    view("subarray", 130, b, 50 * 4096);
    b = begin();
    for (int64_t i = 0; i < 60; i++)
        run(b, 100 * i + i * i % 7, 8, 8, 1);
    view("irregular", 193, b, 6000);
    b = begin();
    for (int64_t i = 0; i < 60; i++)
        run(b, 100 * i, 1 + i * i % 13, 50, 2);
    view("lengths", 67, b, 7000);
    b = begin();
    run(b, 0, 64, 16, 20);
    view("overlapping", 128, b, 100);
    b = begin();
    run(b, 0, 8, 0, INT64_C(1) << 40);
    view("again", 1, b, 8);
    b = begin();
    run(b, 5, 1, INT64_C(1) << 30, INT64_C(1) << 31);
    view("huge", 4, b, (INT64_C(1) << 62));
}

/* ---- texts ---- */

static void address_file(void)
{
    static const struct zc_addrfile a = {.protocol = ZC_PROTOCOL,
                                         .provider = "tcp;ofi_rxm",
                                         .address = {2, 0, 163, 171, 127, 0, 0, 1},
                                         .address_len = 16,
                                         .local = "zclocal",
                                         .local_len = 40,
                                         .host = "n17",
                                         .pid = 4711,
                                         .boot_id = 0x1f2e3d4c5b6a7988,
                                         .secret = {{1, 2, 3, [31] = 4}},
                                         .root = "/scratch"};
    char path[4096], text[4096];
    size_t n;
    FILE *f;

    snprintf(path, sizeof path, "%s/address", top);
    REQUIRE(zc_addrfile_write(path, &a) == 0, "%s", path);
    f = fopen(path, "re");
    REQUIRE(f != NULL, "%s", path);
    n = fread(text, 1, sizeof text, f);
    done(f);
    unlink(path);
    f = seed("texts", "address");
    fputc('0', f);
    fwrite(text, 1, n, f);
    done(f);
}

static void configuration(void)
{
    struct zc_settings s;
    FILE *f = seed("texts", "all-options");
    char text[512];

    REQUIRE(zc_settings_init(&s) == 0, "the environment");
    fputs("1# all of them\n[zcached]\n", f);
    for (const struct zc_option *o = zc_options; o->name; o++)
        if (o->scope & ZC_SCOPE_FILE && *zc_option_show(&s, o, text, sizeof text))
            fprintf(f, "%s = %s\n", o->name, text);
    zc_settings_free(&s);
    done(f);
    f = seed("texts", "some-options");
    fputs("1root=/tmp ; where\naddress-file = /tmp/zc.addr\ncache-size: 64M\nidle-time = 2s\n", f);
    done(f);
    f = seed("texts", "wrong-option");
    fputs("1cache-sise = 64M\n", f);
    done(f);
}

/* ---- sessions ---- */

static uint8_t t(uint8_t type)
{
    for (uint8_t i = 0; i < NTYPES; i++)
        if (types[i] == type)
            return i;
    REQUIRE(0, "no type %u", type);
}

static uint8_t n(uint64_t number)
{
    static const uint64_t numbers[] = {SESSION_NUMBERS};

    for (uint8_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (numbers[i] == number)
            return i;
    REQUIRE(0, "no number %llu", (unsigned long long)number);
}

static void session(const char *name, const struct step *s, size_t count)
{
    FILE *f = seed("sessions", name);

    fwrite(s, sizeof *s, count, f);
    done(f);
}

#define SESSION(name, ...)                                                                         \
    do {                                                                                           \
        const struct step s_[] = {__VA_ARGS__};                                                    \
        session(name, s_, sizeof s_ / sizeof *s_);                                                 \
    } while (0)

/* A step; more fields may follow.  LATER sends without waiting. */
#define SAY(type_, ...)                                                                            \
    {                                                                                              \
        .kind = STEP_MESSAGE, .type = t(type_), .wait = 1, __VA_ARGS__                             \
    }
#define LATER(type_, ...)                                                                          \
    {                                                                                              \
        .kind = STEP_MESSAGE, .type = t(type_), __VA_ARGS__                                        \
    }
#define HONEST(what_)                                                                              \
    {                                                                                              \
        .kind = STEP_HONEST, .type = what_, .len = 99                                              \
    }
#define STORE(what_, ...)                                                                          \
    {                                                                                              \
        .kind = STEP_STORE, .type = what_, __VA_ARGS__                                             \
    }

enum { FAIL, SLOW, HOLD, WORK };                                       /* of STORE */
enum { READ_ONLY = 6 << 3, HONESTS = 3, FOR_ALL = 128, THROUGH = 64 }; /* path, and what of OPEN */

static void sessions_of_one(void)
{
    SESSION("write-read", SAY(ZC_T_OPEN), SAY(ZC_T_WRITE, .len = n(4097)),
            SAY(ZC_T_READ, .len = n(8192)), SAY(ZC_T_FLUSH, .what = 2), SAY(ZC_T_GETATTR),
            SAY(ZC_T_CLOSE, .what = 3));
    SESSION("rma", SAY(ZC_T_OPEN), SAY(ZC_T_WRITE, .len = n(20000), .flags = ZC_F_RMA),
            SAY(ZC_T_READ, .len = n(32768), .flags = ZC_F_RMA),
            SAY(ZC_T_READ, .len = n(32768), .flags = ZC_F_RMA, .key = 1),
            SAY(ZC_T_WRITE, .len = n(8192), .flags = ZC_F_RMA, .key = 4),
            SAY(ZC_T_READ, .len = n(8192), .flags = ZC_F_RMA, .key = 5), HONEST(2));
    SESSION("sizes", SAY(ZC_T_OPEN), SAY(ZC_T_TRUNCATE, .size = n(20000)),
            SAY(ZC_T_ALLOCATE, .off = n(100), .len = n(65536)), SAY(ZC_T_BACKLOG, .what = 1),
            SAY(ZC_T_BACKLOG, .what = 2), SAY(ZC_T_TRUNCATE, .flags = ZC_F_CUT),
            SAY(ZC_T_WRITE, .off = n(INT64_MAX - 4096), .len = n(100)),
            SAY(ZC_T_READ, .off = n(INT64_MAX - 4096), .len = n(4096)),
            SAY(ZC_T_TRUNCATE, .size = n(INT64_MAX)), SAY(ZC_T_FLUSH, .what = 3), HONEST(3));
    SESSION("views", SAY(ZC_T_OPEN), SAY(ZC_T_VIEW_INSTALL, .payload = 1),
            SAY(ZC_T_VWRITE, .len = n(512)), SAY(ZC_T_VREAD, .len = n(512), .flags = ZC_F_RMA),
            SAY(ZC_T_VIEW_INSTALL, .payload = 4, .flags = ZC_F_RMA),
            SAY(ZC_T_VWRITE, .view = 1, .len = n(8192), .flags = ZC_F_RMA, .disp = n(100)),
            SAY(ZC_T_VREAD, .view = 1, .len = n(4096), .off = n(63)), SAY(ZC_T_VIEW_DROP),
            SAY(ZC_T_VREAD, .len = n(512)), SAY(ZC_T_CLOSE),
            SAY(ZC_T_VREAD, .view = 1, .len = n(512)));
    SESSION("bad-views", SAY(ZC_T_OPEN), SAY(ZC_T_VIEW_INSTALL, .payload = 17),
            SAY(ZC_T_VIEW_INSTALL, .payload = 2, .disp = 1),
            SAY(ZC_T_VIEW_INSTALL, .payload = 3, .size = n(100)),
            SAY(ZC_T_VIEW_INSTALL, .payload = 4, .size = n(INT64_MAX)),
            SAY(ZC_T_VIEW_INSTALL, .payload = 4, .flags = ZC_F_RMA, .key = 2));
    SESSION("lists", SAY(ZC_T_OPEN), SAY(ZC_T_LIST_WRITE, .payload = 1, .len = n(100)),
            SAY(ZC_T_LIST_READ, .payload = 3, .len = n(4096)),
            SAY(ZC_T_LIST_WRITE, .payload = 8, .len = n(20000), .flags = ZC_F_RMA),
            SAY(ZC_T_LIST_READ, .payload = 8, .len = n(32768), .flags = ZC_F_RMA),
            SAY(ZC_T_LIST_READ, .payload = 5, .len = n(2)),
            SAY(ZC_T_LIST_WRITE, .payload = 6, .len = n(8192), .disp = n(INT64_MAX)),
            SAY(ZC_T_LIST_READ, .payload = 7, .len = n(65536), .flags = ZC_F_RMA));
    SESSION("mixed-lengths", SAY(ZC_T_OPEN), SAY(ZC_T_VIEW_INSTALL, .payload = 10),
            SAY(ZC_T_VWRITE, .len = n(8192), .flags = ZC_F_RMA), SAY(ZC_T_VREAD, .len = n(4096)),
            SAY(ZC_T_LIST_WRITE, .payload = 10, .len = n(4096)),
            SAY(ZC_T_LIST_READ, .payload = 10, .len = n(8192), .flags = ZC_F_RMA), HONEST(5));
    SESSION("last-page", SAY(ZC_T_OPEN),
            SAY(ZC_T_LIST_WRITE, .len = n(64), .disp = n(INT64_MAX - 4096)),
            SAY(ZC_T_LIST_READ, .len = n(64), .disp = n(INT64_MAX - 4096)),
            SAY(ZC_T_LIST_READ, .len = n(64), .disp = n(INT64_MAX - 1)), SAY(ZC_T_VIEW_INSTALL),
            SAY(ZC_T_VREAD, .len = n(64), .disp = n(INT64_MAX)),
            SAY(ZC_T_VWRITE, .len = n(4096), .disp = n(INT64_MAX - 4096), .flags = ZC_F_RMA));
    SESSION("questions", SAY(ZC_T_PING), SAY(ZC_T_INFO, .what = 1), SAY(ZC_T_INFO, .what = 6),
            SAY(ZC_T_INFO, .what = 15, .off = n(100)), SAY(ZC_T_CONTROL, .what = 1),
            SAY(ZC_T_CONTROL, .what = 2), SAY(ZC_T_CONTROL, .what = 3), SAY(ZC_T_OPEN),
            SAY(ZC_T_CONTROL, .what = 5), SAY(ZC_T_STAT), SAY(ZC_T_STAT, .path = HONESTS),
            SAY(ZC_T_UNLINK), SAY(ZC_T_READ | ZC_REPLY), SAY(ZC_T_PENDING),
            SAY(ZC_T_PENDING, .flags = 32), SAY(ZC_T_PENDING, .flags = 64));
    SESSION("cards", SAY(ZC_T_OPEN), SAY(ZC_T_RENDEZVOUS, .what = 1, .size = n(100), .extra = 64),
            SAY(ZC_T_RENDEZVOUS, .what = 1, .size = n(100), .off = n(64), .extra = 36),
            SAY(ZC_T_OPEN, .who = 1),
            SAY(ZC_T_RENDEZVOUS, .who = 1, .handle = 1, .what = 1, .size = n(8), .extra = 8),
            SAY(ZC_T_RENDEZVOUS, .what = 1, .size = n(8), .extra = 8),
            SAY(ZC_T_RENDEZVOUS, .what = 2, .off = n(2)), SAY(ZC_T_RENDEZVOUS, .what = 3));
    SESSION("read-only", SAY(ZC_T_OPEN, .path = READ_ONLY | HONESTS),
            SAY(ZC_T_READ, .len = n(4097)), SAY(ZC_T_WRITE, .len = n(100)), SAY(ZC_T_TRUNCATE),
            SAY(ZC_T_TRUNCATE, .flags = ZC_F_CUT), SAY(ZC_T_ALLOCATE, .len = n(65536)),
            SAY(ZC_T_LIST_WRITE, .payload = 1, .len = n(100)),
            SAY(ZC_T_FLUSH, .what = 3, .flags = ZC_F_REFRESH), HONEST(2), SAY(ZC_T_CLOSE));
}

static void sessions_of_several(void)
{
    SESSION("for-all", SAY(ZC_T_OPEN, .what = FOR_ALL), SAY(ZC_T_LOCK, .what = 1, .len = n(100)),
            LATER(ZC_T_LOCK, .who = 1, .what = 1, .len = n(4096)),
            SAY(ZC_T_WRITE, .who = 1, .len = n(64)), SAY(ZC_T_POINTER, .off = n(8)),
            SAY(ZC_T_POINTER, .who = 1, .what = 1, .off = n(100), .extra = 1),
            SAY(ZC_T_CLOSE, .who = 1), SAY(ZC_T_UNLOCK), LATER(ZC_T_CLOSE), SAY(ZC_T_FLUSH),
            SAY(ZC_T_UNLOCK, .who = 1, .view = 1), SAY(ZC_T_CLOSE));
    SESSION("for-all-gone", SAY(ZC_T_OPEN, .what = FOR_ALL),
            SAY(ZC_T_LOCK, .what = 1, .len = n(100)),
            LATER(ZC_T_LOCK, .who = 1, .what = 1, .len = n(4096)),
            LATER(ZC_T_WRITE, .who = 1, .len = n(64)), {.kind = STEP_GONE}, SAY(ZC_T_BYE),
            SAY(ZC_T_READ, .who = 1, .len = n(64)), HONEST(0));
    SESSION("steps", SAY(ZC_T_OPEN, .what = 32), SAY(ZC_T_STEP, .what = 1),
            SAY(ZC_T_OPEN, .who = 1, .path = READ_ONLY, .what = 16), SAY(ZC_T_WRITE, .len = n(100)),
            LATER(ZC_T_STEP, .who = 1, .what = 3, .len = n(65536)),
            SAY(ZC_T_STEP, .what = 2, .size = n(100), .extra = 1),
            SAY(ZC_T_STEP, .who = 1, .what = 4), SAY(ZC_T_READ, .who = 1, .len = n(64)),
            SAY(ZC_T_TRUNCATE, .size = n(8)), SAY(ZC_T_READ, .who = 1, .len = n(64)),
            LATER(ZC_T_STEP, .who = 1, .what = 3, .len = n(65536)), {.kind = STEP_GONE},
            SAY(ZC_T_STEP, .who = 1, .what = 9), HONEST(0));
    SESSION("sets", SAY(ZC_T_OPEN, .disp = 1), SAY(ZC_T_WRITE, .len = n(4097)),
            LATER(ZC_T_OPEN, .who = 1, .disp = 2), SAY(ZC_T_PING), LATER(ZC_T_CLOSE),
            SAY(ZC_T_OPEN, .who = 2, .disp = 2),
            SAY(ZC_T_READ, .who = 2, .handle = 1, .len = n(64)));
    SESSION("foreign", SAY(ZC_T_OPEN), SAY(ZC_T_READ, .who = 1, .len = n(64)),
            SAY(ZC_T_READ, .who = 1 | 5 << 2, .len = n(64)), SAY(ZC_T_CLOSE, .handle = 194),
            SAY(ZC_T_CLOSE, .handle = 196), SAY(ZC_T_CLOSE), SAY(ZC_T_CLOSE), SAY(ZC_T_HELLO),
            SAY(ZC_T_HELLO, .view = 1), SAY(ZC_T_HELLO, .what = 77, .view = 1),
            SAY(ZC_T_BYE, .who = 2), SAY(ZC_T_READ, .who = 2, .len = n(64)));
    SESSION("repeated", SAY(ZC_T_OPEN), SAY(ZC_T_WRITE, .len = n(64)),
            {.kind = STEP_AGAIN, .what = 1, .len = 40, .wait = 1},
            {.kind = STEP_AGAIN, .what = 2, .len = 40, .wait = 1},
            {.kind = STEP_AGAIN, .what = 3, .len = 5, .extra = 9, .wait = 1},
            {.kind = STEP_AGAIN, .who = 1, .wait = 1}, {.kind = STEP_AGAIN, .wait = 1}, HONEST(1));
    SESSION("gone", SAY(ZC_T_OPEN), LATER(ZC_T_WRITE, .len = n(32768), .flags = ZC_F_RMA),
            LATER(ZC_T_READ, .len = n(32768), .flags = ZC_F_RMA), {.kind = STEP_GONE}, HONEST(1),
            SAY(ZC_T_OPEN), LATER(ZC_T_BYE), SAY(ZC_T_READ, .len = n(64)));
}

static void sessions_with_store(void)
{
    SESSION("close-while-flushing", SAY(ZC_T_OPEN), STORE(HOLD, .flags = 2),
            SAY(ZC_T_WRITE, .len = n(8192)), LATER(ZC_T_CLOSE, .what = 2),
            LATER(ZC_T_READ, .len = n(4096)), LATER(ZC_T_READ, .len = n(4096), .flags = ZC_F_RMA),
            LATER(ZC_T_GETATTR), LATER(ZC_T_CLOSE, .what = 2),
            LATER(ZC_T_LIST_WRITE, .payload = 1, .len = n(64)), LATER(ZC_T_TRUNCATE), STORE(WORK),
            SAY(ZC_T_READ, .len = n(64)), HONEST(2));
    /* the read is under way until the goodbye at the end: that session gets no reply */
    SESSION("read-while-closing", SAY(ZC_T_OPEN), STORE(HOLD, .flags = 2),
            SAY(ZC_T_WRITE, .len = n(8192)), LATER(ZC_T_CLOSE, .what = 2), {.kind = STEP_GONE},
            LATER(ZC_T_READ, .who = 1 | 6 << 2, .len = n(4096), .flags = ZC_F_RMA),
            LATER(ZC_T_VREAD, .who = 1 | 6 << 2, .len = n(4096), .flags = ZC_F_RMA),
            SAY(ZC_T_PING, .who = 1), STORE(WORK), SAY(ZC_T_PING, .who = 1), HONEST(2));
    SESSION("slow-read-while-closing", SAY(ZC_T_OPEN), SAY(ZC_T_WRITE, .len = n(8192)),
            SAY(ZC_T_FLUSH, .what = 2), SAY(ZC_T_CONTROL, .what = 2), STORE(HOLD, .flags = 2),
            SAY(ZC_T_WRITE, .len = n(64)), LATER(ZC_T_CLOSE, .what = 2),
            STORE(SLOW, .flags = 1, .len = 255), LATER(ZC_T_READ, .off = n(4096), .len = n(4096)),
            SAY(ZC_T_PING), STORE(WORK), SAY(ZC_T_PING), HONEST(2));
    SESSION("close-while-flushing-for-all", SAY(ZC_T_OPEN, .what = FOR_ALL),
            STORE(HOLD, .flags = 2), SAY(ZC_T_WRITE, .len = n(8192)), LATER(ZC_T_CLOSE, .what = 2),
            LATER(ZC_T_READ, .who = 1, .len = n(4096)), LATER(ZC_T_CLOSE, .what = 2),
            {.kind = STEP_GONE, .who = 1}, LATER(ZC_T_BYE, .who = 2), STORE(WORK),
            LATER(ZC_T_CLOSE, .what = 2), LATER(ZC_T_BYE, .who = 1), SAY(ZC_T_PING));
    SESSION("bye-while-flushing", SAY(ZC_T_OPEN), SAY(ZC_T_WRITE, .len = n(8192)),
            STORE(HOLD, .flags = 2), LATER(ZC_T_FLUSH, .what = 3), LATER(ZC_T_CLOSE, .what = 2),
            LATER(ZC_T_BYE), HONEST(0), SAY(ZC_T_OPEN, .who = 1));
    SESSION("drop-while-used", SAY(ZC_T_OPEN), SAY(ZC_T_WRITE, .len = n(8192)),
            SAY(ZC_T_FLUSH, .what = 2), SAY(ZC_T_CONTROL, .what = 2),
            SAY(ZC_T_VIEW_INSTALL, .payload = 1), STORE(HOLD, .flags = 1),
            LATER(ZC_T_VREAD, .len = n(512)), LATER(ZC_T_VREAD, .len = n(512), .flags = ZC_F_RMA),
            LATER(ZC_T_VIEW_DROP), LATER(ZC_T_CLOSE), LATER(ZC_T_BYE), STORE(WORK), HONEST(5));
    SESSION("refused-bytes", SAY(ZC_T_OPEN), STORE(FAIL, .flags = 2, .len = 9, .key = 1),
            SAY(ZC_T_WRITE, .len = n(16128)), SAY(ZC_T_FLUSH, .what = 2), HONEST(0),
            STORE(FAIL, .flags = 16 | 64), SAY(ZC_T_FLUSH, .what = 3), SAY(ZC_T_CLOSE, .what = 3),
            HONEST(4), HONEST(3));
    SESSION("through", SAY(ZC_T_OPEN, .what = THROUGH), STORE(FAIL, .flags = 2, .len = 9),
            SAY(ZC_T_WRITE, .len = n(4097)), SAY(ZC_T_VIEW_INSTALL, .payload = 1),
            LATER(ZC_T_VWRITE, .len = n(64)), LATER(ZC_T_VIEW_DROP), STORE(SLOW, .flags = 255),
            SAY(ZC_T_WRITE, .len = n(64)));
    SESSION("failing-opens", STORE(FAIL, .flags = 1, .key = 4), SAY(ZC_T_OPEN),
            STORE(HOLD, .flags = 1), LATER(ZC_T_OPEN), LATER(ZC_T_OPEN, .who = 1, .what = FOR_ALL),
            LATER(ZC_T_STAT), {.kind = STEP_GONE}, LATER(ZC_T_BYE, .who = 1), STORE(WORK),
            SAY(ZC_T_UNLINK, .who = 2));
    SESSION("stop", SAY(ZC_T_OPEN), SAY(ZC_T_WRITE, .len = n(8192)), STORE(HOLD, .flags = 2),
            LATER(ZC_T_FLUSH, .what = 2), {.kind = STEP_STOP, .what = 'S'},
            LATER(ZC_T_READ, .len = n(4096)), LATER(ZC_T_CLOSE), LATER(ZC_T_OPEN, .who = 1),
            STORE(WORK), SAY(ZC_T_BYE));
    SESSION("honest", HONEST(0), HONEST(1), HONEST(2), HONEST(3), HONEST(4), HONEST(5), HONEST(2));
}

int main(int argc, char **argv)
{
    REQUIRE(argc == 2, "make_seeds DIRECTORY");
    top = argv[1];
    messages();
    views();
    address_file();
    configuration();
    sessions_of_one();
    sessions_of_several();
    sessions_with_store();
    return 0;
}
