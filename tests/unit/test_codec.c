/* test_codec.c - every message there and back, and everything that is not a message. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "check_main.h"
#include "zc_log.h"
#include "zc_wire.h"

static const uint8_t types[] = {
    ZC_T_HELLO,      ZC_T_PING,       ZC_T_BYE,          ZC_T_PENDING,   ZC_T_OPEN,
    ZC_T_CLOSE,      ZC_T_READ,       ZC_T_WRITE,        ZC_T_GETATTR,   ZC_T_TRUNCATE,
    ZC_T_ALLOCATE,   ZC_T_FLUSH,      ZC_T_UNLINK,       ZC_T_STAT,      ZC_T_INFO,
    ZC_T_CONTROL,    ZC_T_VREAD,      ZC_T_VWRITE,       ZC_T_BACKLOG,   ZC_T_POINTER,
    ZC_T_LOCK,       ZC_T_UNLOCK,     ZC_T_VIEW_INSTALL, ZC_T_VIEW_DROP, ZC_T_LIST_READ,
    ZC_T_LIST_WRITE, ZC_T_RENDEZVOUS, ZC_T_AUTH,         ZC_T_EVICTED,   ZC_T_COMMITTED,
    ZC_T_CREDENTIAL,
};
enum { NTYPES = sizeof types };

/* Every field different, so that two swapped ones are seen. */
static struct zc_msg full(uint8_t type)
{
    return (struct zc_msg){.type = type,
                           .version = ZC_PROTOCOL,
                           .flags = 0x1234,
                           .tag = 0x0102030405060708,
                           .session = 0x1112131415161718,
                           .text = {"why", 3},
                           .magic = ZC_MAGIC,
                           .version_min = 0x2122,
                           .version_max = 0x2324,
                           .address = {"\0addr\0", 6},
                           .client_id = 0x3132333435363738,
                           .silence_ms = 0x41424344,
                           .name = {"host:1", 6},
                           .method = 0x45464748,
                           .nonce = {"nonce", 5},
                           .proof = {"the proof", 9},
                           .credential = {"MUNGE:x:", 8},
                           .replaces = 0x0a0b0c0d0e0f1a1b,
                           .replaces_client = 0x1c1d1e1f2a2b2c2d,
                           .boot_id = 0x5152535455565758,
                           .identity = 0x595a5b5c5d5e5f50,
                           .max_inline = 0x61626364,
                           .credits = 0x65666768,
                           .page_size = 0x696a6b6c,
                           .path = {"/a b", 4},
                           .job = {"job 7", 5},
                           .open_flags = 0x71727374,
                           .mode = 0x75767778,
                           .gid = 0x6d6e6f60,
                           .level = 0x797a7b7c,
                           .what = 0x7d7e7f70,
                           .handle = 0x8182838485868788,
                           .off = 0x9192939495969798,
                           .len = 0xa1a2a3a4a5a6a7a8,
                           .size = 0xb1b2b3b4b5b6b7b8,
                           .block_size = 0xc1c2c3c4c5c6c7c8,
                           .dev = 0xd1d2d3d4d5d6d7d8,
                           .ino = 0xe1e2e3e4e5e6e7e8,
                           .nlink = 3,
                           .mtime_ns = 0xf1f2f3f4f5f6f7f8,
                           .ctime_ns = 0xf9fafbfcfdfeff00,
                           .born_ns = 0xe9eaebecedeeefe0,
                           .raddr = 0x0a1a2a3a4a5a6a7a,
                           .rkey = 0x0b1b2b3b4b5b6b7b,
                           .view = 0x0c0d0e0f10111213,
                           .memory = 0x1415161718191a1b,
                           .list = {"\0pieces", 7},
                           .view_low = 0x0d1d2d3d4d5d6d7d,
                           .view_high = 0x0e1e2e3e4e5e6e7e,
                           .disp = 0x0f1f2f3f4f5f6f7f,
                           .count = 0x0c1c2c3c4c5c6c7c,
                           .unstable_seq = 0x2e2f3a3b3c3d3e3f,
                           .committed_seq = 0x4a4b4c4d4e4f5a5b,
                           .data = {"payload\0with NUL", 16}};
}

static bool exists(uint8_t type)
{
    char buf[16];

    return strncmp(zc_type_name(type, buf, sizeof buf), "type", 4) != 0;
}

START_TEST(round_trip)
{
    for (int i = 0; i < 2 * NTYPES; i++) {
        struct zc_msg m = full((uint8_t)(types[i / 2] | (i & 1 ? ZC_REPLY : 0))), back;
        unsigned char a[ZC_MAX_MESSAGE], b[ZC_MAX_MESSAGE];
        int n;

        if (!exists(m.type))
            continue;
        n = zc_msg_encode(&m, a, sizeof a);
        ck_assert_int_gt(n, 0);
        ck_assert_uint_eq((size_t)n, zc_msg_size(&m));
        ck_assert_int_eq(zc_msg_decode(&back, a, (size_t)n), 0);
        ck_assert_uint_eq(back.tag, m.tag);
        ck_assert_uint_eq(back.session, m.session);
        ck_assert_uint_eq(back.flags, m.flags);
        /* what was decoded encodes to the same bytes: nothing was lost or swapped */
        ck_assert_int_eq(zc_msg_encode(&back, b, sizeof b), n);
        ck_assert_mem_eq(a, b, (size_t)n);
    }
}
END_TEST

START_TEST(golden_bytes)
{
    /* A WRITE of three bytes, written down by hand from doc/PROTOCOL.md; the last eight are the
     * MAC. */
    static const unsigned char golden[] = {
        83, 0, 0, 0, 19, ZC_PROTOCOL, 0, 0, 7, 0,   0,   0,   0, 0, 0, 0, 9, 0, 0, 0, 0,
        0,  0, 0, 1, 0,  0,           0, 0, 0, 0,   0,   0,   1, 0, 0, 0, 0, 0, 0, 3, 0,
        0,  0, 0, 0, 0,  0,           0, 0, 0, 0,   0,   0,   0, 0, 0, 0, 0, 0, 0, 0, 0,
        0,  0, 0, 0, 0,  3,           0, 0, 0, 'a', 'b', 'c', 0, 0, 0, 0, 0, 0, 0, 0};
    struct zc_msg m = {.type = ZC_T_WRITE,
                       .tag = 7,
                       .session = 9,
                       .handle = 1,
                       .off = 256,
                       .len = 3,
                       .data = {"abc", 3}};
    unsigned char buf[128];

    ck_assert_int_eq(zc_msg_encode(&m, buf, sizeof buf), (int)sizeof golden);
    ck_assert_mem_eq(buf, golden, sizeof golden);
    ck_assert_int_eq(zc_msg_decode(&m, golden, sizeof golden), 0);
    ck_assert_uint_eq(m.off, 256);
    ck_assert_uint_eq(m.data.n, 3);
}
END_TEST

START_TEST(failed_reply_has_no_body)
{
    struct zc_msg m = full(ZC_T_READ | ZC_REPLY), back;
    unsigned char buf[ZC_MAX_MESSAGE];
    int n;

    m.status = -ENOSPC;
    n = zc_msg_encode(&m, buf, sizeof buf);
    ck_assert_int_eq(n, ZC_HEADER_SIZE + 4 + 2 + 3 + ZC_MAC_SIZE);
    ck_assert_int_eq(zc_msg_decode(&back, buf, (size_t)n), 0);
    ck_assert_int_eq(back.status, -ENOSPC);
    ck_assert_mem_eq(back.text.p, "why", 3);
}
END_TEST

START_TEST(every_prefix_is_refused)
{
    for (int i = 0; i < 2 * NTYPES; i++) {
        struct zc_msg m = full((uint8_t)(types[i / 2] | (i & 1 ? ZC_REPLY : 0))), back;
        unsigned char buf[ZC_MAX_MESSAGE];
        int n;

        if (!exists(m.type))
            continue;
        n = zc_msg_encode(&m, buf, sizeof buf);
        for (int cut = 0; cut < n; cut++) {
            ck_assert_int_lt(zc_msg_decode(&back, buf, (size_t)cut), 0);
            if (cut >= ZC_HEADER_SIZE) { /* also when the header admits to the cut */
                unsigned char c[ZC_MAX_MESSAGE];

                memcpy(c, buf, (size_t)n);
                c[0] = (unsigned char)cut;
                c[1] = (unsigned char)(cut >> 8);
                ck_assert_int_lt(zc_msg_decode(&back, c, (size_t)cut), 0);
            }
        }
        buf[0]++; /* one byte too many */
        ck_assert_int_lt(zc_msg_decode(&back, buf, (size_t)n + 1), 0);
    }
}
END_TEST

/* Whatever arrives, decode stays inside the buffer (sanitizers watch) and what it accepts
 * can be printed and encoded. */
START_TEST(random_damage)
{
    unsigned seed = 1;

    for (unsigned round = 0; round < cases(200000); round++) {
        struct zc_msg m = full((uint8_t)(types[round % NTYPES] | (round & 64 ? ZC_REPLY : 0))),
                      back;
        unsigned char buf[512], *exact;
        char text[256];
        int n;

        if (!exists(m.type))
            continue;
        n = zc_msg_encode(&m, buf, sizeof buf);
        for (unsigned k = 0; k < 1 + round % 4; k++)
            buf[(unsigned)rand_r(&seed) % (unsigned)n] = (unsigned char)rand_r(&seed);
        exact = malloc((size_t)n);
        memcpy(exact, buf, (size_t)n);
        if (zc_msg_decode(&back, exact, (size_t)n) == 0) {
            zc_msg_print(&back, text, sizeof text);
            if (back.version && back.version != ZC_PROTOCOL) /* HELLO: the rest is not ours */
                ck_assert_int_le(zc_msg_encode(&back, buf, sizeof buf), n);
            else
                ck_assert_int_eq(zc_msg_encode(&back, buf, sizeof buf), n);
        }
        free(exact);
    }
}
END_TEST

START_TEST(other_version)
{
    struct zc_msg m = full(ZC_T_OPEN), back;
    unsigned char buf[ZC_MAX_MESSAGE];
    int n;

    m.version = ZC_PROTOCOL + 1;
    n = zc_msg_encode(&m, buf, sizeof buf);
    ck_assert_int_eq(zc_msg_decode(&back, buf, (size_t)n), -EPROTONOSUPPORT);
    ck_assert_uint_eq(back.tag, m.tag);
    /* HELLO of any version is understood, so that both sides can say what is wrong */
    m.type = ZC_T_HELLO;
    n = zc_msg_encode(&m, buf, sizeof buf);
    ck_assert_int_eq(zc_msg_decode(&back, buf, (size_t)n), 0);
    ck_assert_uint_eq(back.version_max, m.version_max);
    ck_assert_uint_eq(back.nonce.n, 0); /* that is this version's */
}
END_TEST

/* R-HELLO of version 3, which said no more, and what a client of that version is refused with. */
START_TEST(hello_of_version_3)
{
    struct zc_msg m = full(ZC_T_HELLO | ZC_REPLY), back;
    unsigned char buf[ZC_MAX_MESSAGE];
    int n;

    m.status = -EPROTONOSUPPORT;
    n = zc_msg_encode(&m, buf, sizeof buf);
    ck_assert_int_eq(n, ZC_HEADER_SIZE + 4 + 2 + 3 + 2 + 2 + 8 + 4 + 4 + 4 + 4);
    ck_assert_int_eq(zc_msg_decode(&back, buf, (size_t)n), 0);
    m = full(ZC_T_HELLO);
    m.version = 3;
    n = zc_msg_encode(&m, buf, sizeof buf);
    ck_assert_int_eq(n, ZC_HEADER_SIZE + 8 + 2 + 2 + 8 + 4 + 2 + 6 + 2 + 6);
    ck_assert_int_eq(zc_msg_decode(&back, buf, (size_t)n), 0);
    ck_assert_uint_eq(back.client_id, m.client_id);
}
END_TEST

START_TEST(limits)
{
    static char big[ZC_MAX_MESSAGE];
    unsigned char buf[ZC_MAX_MESSAGE];
    struct zc_msg m = full(ZC_T_WRITE);

    m.data = (struct zc_bytes){big, ZC_MAX_INLINE};
    ck_assert_int_gt(zc_msg_encode(&m, buf, sizeof buf), ZC_MAX_INLINE);
    m.data.n++;
    ck_assert_int_eq(zc_msg_encode(&m, buf, sizeof buf), -EMSGSIZE);
    m = full(ZC_T_READ | ZC_REPLY); /* the largest reply fits, too */
    m.data = (struct zc_bytes){big, ZC_MAX_INLINE};
    m.text.n = 0;
    ck_assert_int_gt(zc_msg_encode(&m, buf, sizeof buf), ZC_MAX_INLINE);
    m = full(ZC_T_OPEN);
    ck_assert_int_eq(zc_msg_encode(&m, buf, 20), -EMSGSIZE);
    m.type = 99;
    ck_assert_int_eq(zc_msg_encode(&m, buf, sizeof buf), -EINVAL);
    m = full(ZC_T_OPEN);
    m.path = (struct zc_bytes){"a\0b", 3};
    ck_assert_int_gt(zc_msg_encode(&m, buf, sizeof buf), 0);
    ck_assert_int_eq(zc_msg_decode(&m, buf, zc_msg_size(&m)), -EPROTO);
}
END_TEST

/* doc/PROTOCOL.md carries every layout, letter by letter. */
START_TEST(document)
{
    static char doc[100000];
    char line[1024];
    FILE *f = fopen(TOP_SRCDIR "/doc/PROTOCOL.md", "r");

    ck_assert_ptr_nonnull(f);
    doc[fread(doc, 1, sizeof doc - 1, f)] = 0;
    fclose(f);
    for (int i = 0; i < 2 * NTYPES; i++) {
        uint8_t type = (uint8_t)(types[i / 2] | (i & 1 ? ZC_REPLY : 0));

        if (!exists(type))
            continue;
        zc_msg_layout(type, line, sizeof line);
        strcat(line, "\n");
        ck_assert_msg(strstr(doc, line) != NULL, "doc/PROTOCOL.md lacks: %s", line);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("codec");

    CASE(s, "codec", 60, round_trip, golden_bytes, failed_reply_has_no_body,
         every_prefix_is_refused, random_damage, other_version, hello_of_version_3, limits,
         document);
    return run_suite(s);
}
