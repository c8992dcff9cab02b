/* fuzz_messages.c - any bytes as a message: checked, printed, and encoded to the same bytes. */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "fuzz.h"
#include "zc_log.h"
#include "zc_wire.h"

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    return 0;
}

/* A field of bytes lies in the message. */
static void inside(const struct zc_bytes *b, const uint8_t *data, size_t len)
{
    const uint8_t *p = b->p;

    if (b->n)
        REQUIRE(p >= data && b->n <= len && (size_t)(p - data) <= len - b->n, "%u bytes", b->n);
}

/* Whatever room there is, it ends with a NUL and is no longer. */
static void print(const struct zc_msg *m)
{
    static const size_t rooms[] = {1, 2, 17, 60, 512, 8192};
    char text[8192];

    for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++) {
        memset(text, 'x', sizeof text);
        zc_msg_print(m, text, rooms[i]);
        REQUIRE(memchr(text, 0, rooms[i]) != NULL, "%zu bytes of room", rooms[i]);
        REQUIRE(rooms[i] == sizeof text || text[rooms[i]] == 'x', "%zu bytes of room", rooms[i]);
    }
}

static void encode_again(const struct zc_msg *m, const uint8_t *data, size_t len)
{
    uint8_t again[ZC_MAX_MESSAGE];
    int n = zc_msg_encode(m, again, sizeof again);
    size_t seal = zc_msg_has_mac(m->type) ? ZC_MAC_SIZE : 0;

    if (m->version && m->version != ZC_PROTOCOL) { /* HELLO: what else it says is not ours */
        REQUIRE(n > 0 && (size_t)n <= len, "%d, of %zu", n, len);
        REQUIRE(memcmp(again + 4, data + 4, (size_t)n - 4) == 0, "%d bytes", n);
        return;
    }
    if (len > ZC_MAX_MESSAGE) { /* the fabric brings none that is longer */
        REQUIRE(n == -EMSGSIZE, "%d", n);
        return;
    }
    REQUIRE(zc_msg_size(m) == len, "%zu, not %zu", zc_msg_size(m), len);
    REQUIRE(n == (int)len, "%d, not %zu: %s", n, len, n < 0 ? zc_error_text(n) : "");
    if (m->version == 0) /* which, to encode, is this side's own */
        again[5] = 0;
    REQUIRE(memcmp(again, data, len - seal) == 0, "%zu bytes", len);
    REQUIRE(zc_msg_encode(m, again, len - 1) == -EMSGSIZE, "%zu bytes", len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct zc_msg m;
    char name[16];
    int rc;

    zc_error_clear();
    rc = zc_msg_decode(&m, data, len);
    zc_type_name(m.type, name, sizeof name);
    print(&m);
    if (rc) {
        REQUIRE(rc == -EPROTO || rc == -EPROTONOSUPPORT, "%d", rc);
        REQUIRE(strcmp(zc_error_text(rc), strerror(-rc)) != 0, "the error has no reason");
        return 0;
    }
    inside(&m.text, data, len);
    inside(&m.address, data, len);
    inside(&m.name, data, len);
    inside(&m.path, data, len);
    inside(&m.job, data, len);
    inside(&m.list, data, len);
    inside(&m.data, data, len);
    encode_again(&m, data, len);
    return 0;
}
