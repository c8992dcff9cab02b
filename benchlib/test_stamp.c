/*
 * Stamps and sizes: the checker has to see every kind of wrong data, and to name those it can
 * recognise. Needs no MPI.
 */
#include "config.h"

#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "stamp.h"
#include "units.h"

#define LEN  10000
#define BASE INT64_C(123456789) /* unaligned on purpose */

static unsigned char buf[LEN];
static struct stamp stamp;
static struct stamp_fault fault;

static void set_up(void)
{
    stamp = stamp_make("file", 7);
    stamp_fill(&stamp, BASE, buf, LEN);
}

static int64_t check(void)
{
    memset(&fault, 0, sizeof fault);
    return stamp_check(&stamp, BASE, buf, LEN, &fault);
}

static int zeros(void)
{
    int n = 0;
    for (int i = 0; i < LEN; i++)
        n += buf[i] == 0;
    return n;
}

/* ---- right data ----------------------------------------------------------------------------- */

START_TEST(right_is_right)
{
    ck_assert_int_eq(check(), 0);
}
END_TEST

/* A byte is the same however the range around it is cut. */
START_TEST(any_cut_any_alignment)
{
    unsigned char part[64];
    for (int at = 0; at < 32; at++) {
        for (int len = 0; len <= 40; len++) {
            memset(part, 0xee, sizeof part);
            stamp_fill(&stamp, BASE + at, part + 3, (size_t)len);
            ck_assert_mem_eq(part + 3, buf + at, (size_t)len);
            ck_assert_uint_eq(part[2], 0xee);
            ck_assert_uint_eq(part[3 + len], 0xee);
            ck_assert_int_eq(stamp_check(&stamp, BASE + at, part + 3, (size_t)len, &fault), 0);
        }
    }
}
END_TEST

/* No byte of a word is constant, or it would hide mistakes. */
START_TEST(bytes_vary)
{
    int counts[8][256] = {{0}};
    static unsigned char many[8 * 65536];
    stamp_fill(&stamp, 0, many, sizeof many);
    for (size_t i = 0; i < sizeof many; i++)
        counts[i % 8][many[i]]++;
    for (int i = 0; i < 8; i++) {
        for (int value = 0; value < 256; value++) {
            ck_assert_int_gt(counts[i][value], 128);
            ck_assert_int_lt(counts[i][value], 512);
        }
    }
}
END_TEST

/* ---- wrong data ----------------------------------------------------------------------------- */

/* Every single bit of every byte counts. */
START_TEST(flipped_bit)
{
    for (int i = 0; i < LEN; i++) {
        buf[i] ^= (unsigned char)(1 << i % 8);
        ck_assert_int_eq(check(), 1);
        ck_assert_int_eq(fault.offset, BASE + i);
        ck_assert_uint_eq(fault.found, buf[i]);
        buf[i] ^= (unsigned char)(1 << i % 8);
        ck_assert_uint_eq(fault.expected, buf[i]);
    }
}
END_TEST

START_TEST(zeroed_byte)
{
    int i = 4321;
    while (buf[i] == 0)
        i++;
    buf[i] = 0;
    ck_assert_int_eq(check(), 1);
    ck_assert_int_eq(fault.offset, BASE + i);
    ck_assert_int_eq(fault.origin, STAMP_ZEROS);
    ck_assert_int_eq(fault.run, 1);
}
END_TEST

START_TEST(hole)
{
    int before = zeros();
    memset(buf + 5000, 0, 512);
    ck_assert_int_ge(check(), 512 - before);
    ck_assert_int_eq(fault.origin, STAMP_ZEROS);
    ck_assert_int_ge(fault.run, 500);
}
END_TEST

START_TEST(untouched)
{
    stamp_poison(buf + 9000, 1000);
    ck_assert_int_gt(check(), 900);
    ck_assert_int_eq(fault.origin, STAMP_UNTOUCHED);
}
END_TEST

/* Shifted by _i bytes: from less than a word to far more than one. */
static const int shifts[] = {-4096, -1000, -8, -3, -1, 1, 5, 7, 8, 64, 4095};

START_TEST(shifted)
{
    int shift = shifts[_i];
    stamp_fill(&stamp, BASE + 2000 + shift, buf + 2000, 600);
    ck_assert_int_gt(check(), 500);
    ck_assert_int_le(fault.wrong, 600);
    ck_assert_int_ge(fault.offset, BASE + 2000);
    ck_assert_int_eq(fault.origin, STAMP_THIS_FILE);
    ck_assert_int_eq(fault.from_offset, fault.offset + shift);
    ck_assert_uint_eq(fault.from_generation, 7);
}
END_TEST

START_TEST(stale)
{
    struct stamp older = stamp_make("file", 6);
    char text[256];
    stamp_fill(&older, BASE + 3000, buf + 3000, 100);
    ck_assert_int_gt(check(), 80);
    ck_assert_int_eq(fault.origin, STAMP_THIS_FILE);
    ck_assert_int_eq(fault.from_offset, fault.offset);
    ck_assert_uint_eq(fault.from_generation, 6);
    stamp_describe(&stamp, &fault, text, sizeof text);
    ck_assert_ptr_nonnull(strstr(text, "this very offset"));
    ck_assert_ptr_nonnull(strstr(text, "generation 6 (stale: 7 was expected)"));
}
END_TEST

/* One word is enough to know its own file: pieces may be as small as 8 bytes. */
START_TEST(stale_word)
{
    struct stamp older = stamp_make("file", 5);
    unsigned char word[8];
    stamp_fill(&older, 4096, word, 8);
    ck_assert_int_gt(stamp_check(&stamp, 4096, word, 8, &fault), 4);
    ck_assert_int_eq(fault.origin, STAMP_THIS_FILE);
    ck_assert_uint_eq(fault.from_generation, 5);
}
END_TEST

START_TEST(newer)
{
    struct stamp next = stamp_make("file", 9);
    char text[256];
    stamp_fill(&next, BASE, buf, LEN);
    ck_assert_int_gt(check(), LEN * 9 / 10);
    stamp_describe(&stamp, &fault, text, sizeof text);
    ck_assert_ptr_nonnull(strstr(text, "newer"));
}
END_TEST

START_TEST(other_file)
{
    struct stamp other = stamp_make("another", 7);
    ck_assert_uint_ne(other.key, stamp.key);
    stamp_fill(&other, BASE + 100, buf + 100, 64);
    ck_assert_int_gt(check(), 48);
    ck_assert_int_eq(fault.origin, STAMP_OTHER_FILE);
    ck_assert_int_eq(fault.from_offset, fault.offset);
    ck_assert_uint_ne(fault.from_file, (unsigned)(stamp.key >> 48));
}
END_TEST

START_TEST(garbage)
{
    for (int i = 0; i < LEN; i++)
        buf[i] = (unsigned char)(i * 37 + i / 256 + 1);
    ck_assert_int_gt(check(), LEN * 9 / 10);
    ck_assert_int_eq(fault.origin, STAMP_UNKNOWN);
}
END_TEST

/* Beyond the 8 TiB after which words repeat. */
START_TEST(far_offset)
{
    int64_t far = (INT64_C(1) << 50) + 13;
    stamp_fill(&stamp, far, buf, LEN);
    ck_assert_int_eq(stamp_check(&stamp, far, buf, LEN, &fault), 0);
    stamp_fill(&stamp, far + 24, buf, LEN);
    ck_assert_int_gt(stamp_check(&stamp, far, buf, LEN, &fault), 0);
    ck_assert_int_eq(fault.from_offset, fault.offset + 24);
}
END_TEST

START_TEST(names)
{
    ck_assert_str_eq(stamp_name("ufs:/tmp/x"), "x");
    ck_assert_str_eq(stamp_name("/a/b/c.d"), "c.d");
    ck_assert_str_eq(stamp_name("zcache:x"), "x");
    ck_assert_str_eq(stamp_name("x"), "x");
    ck_assert_str_eq(stamp_name("ufs:/tmp/"), "");
}
END_TEST

/* ---- sizes and times ------------------------------------------------------------------------ */

START_TEST(sizes)
{
    static const struct {
        const char *text;
        int64_t bytes;
    } good[] = {{"0", 0},
                {"1", 1},
                {"4096", 4096},
                {"64K", 65536},
                {"64k", 65536},
                {"4M", 4 << 20},
                {"4MiB", 4 << 20},
                {"1G", 1 << 30},
                {"3T", INT64_C(3) << 40},
                {"7E", INT64_C(7) << 60},
                {"9223372036854775807", INT64_MAX}};
    static const char *const bad[] = {"",   "K",     "-1",   "+1",   " 1",  "1 K", "1KB",
                                      "1Q", "1KiBx", "1.5M", "0x10", "4 M", "1kb"};
    static const char *const large[] = {"8E", "9223372036854775808", "99999999999999999999"};
    int64_t n;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        n = -5;
        ck_assert_int_eq(units_parse_size(good[i].text, &n), 0);
        ck_assert_int_eq(n, good[i].bytes);
    }
    n = -5;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_int_eq(units_parse_size(bad[i], &n), -EINVAL);
    for (size_t i = 0; i < sizeof large / sizeof large[0]; i++)
        ck_assert_int_eq(units_parse_size(large[i], &n), -ERANGE);
    ck_assert_int_eq(n, -5);
}
END_TEST

START_TEST(sizes_print)
{
    char text[UNITS_TEXT];
    ck_assert_str_eq(units_size(text, 0), "0 B");
    ck_assert_str_eq(units_size(text, 1023), "1023 B");
    ck_assert_str_eq(units_size(text, 4096), "4 KiB");
    ck_assert_str_eq(units_size(text, 1536), "1.50 KiB");
    ck_assert_str_eq(units_size(text, INT64_C(20) << 20), "20 MiB");
    ck_assert_str_eq(units_size(text, INT64_MAX), "8 EiB");
}
END_TEST

START_TEST(seconds)
{
    static const char *const bad[] = {"", "s", "-1", "1h", "inf", "nan", "0x1p3", "1 s", "1s "};
    double t = -5;
    char text[UNITS_TEXT];
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_int_eq(units_parse_seconds(bad[i], &t), -EINVAL);
    ck_assert_double_eq(t, -5);
    ck_assert_int_eq(units_parse_seconds("0.5", &t), 0);
    ck_assert_double_eq(t, 0.5);
    ck_assert_int_eq(units_parse_seconds("20ms", &t), 0);
    ck_assert_double_eq_tol(t, 0.02, 1e-12);
    ck_assert_int_eq(units_parse_seconds("1e400", &t), -ERANGE);
    ck_assert_str_eq(units_seconds(text, 1.5), "1.500 s");
    ck_assert_str_eq(units_seconds(text, 0.0123), "12.30 ms");
    ck_assert_str_eq(units_seconds(text, 2e-6), "2.0 us");
}
END_TEST

/* ---- command lines -------------------------------------------------------------------------- */

struct sample {
    int flag, number, choice;
    int64_t size;
    const char *text, *secret;
    struct arg_pairs pairs;
};

static const char *const colours[] = {"red", "green", NULL};
static const struct arg sample_table[] = {
    {ARG_HEADING, .name = "flag"},
    {ARG_FLAG, .name = "flag", .field = offsetof(struct sample, flag)},
    {ARG_INT, .name = "number", .letter = 'n', .field = offsetof(struct sample, number), .min = 1},
    {ARG_SIZE, .name = "size", .field = offsetof(struct sample, size), .max = 4096},
    {ARG_CHOICE, .name = "colour", .field = offsetof(struct sample, choice), .choices = colours},
    {ARG_TEXT, .name = "text", .value = "TEXT", .field = offsetof(struct sample, text)},
    {ARG_TEXT, .name = "secret", .value = "TEXT", .field = offsetof(struct sample, secret),
     .unreported = true},
    {ARG_PAIRS, .name = "pair", .field = offsetof(struct sample, pairs)},
    {.name = NULL},
};

static int parse(struct sample *s, const char *line, char message[ARGS_MESSAGE])
{
    static char words[256];
    char *argv[32] = {"test"};
    int argc = 1;
    strcpy(words, line);
    for (char *w = strtok(words, " "); w != NULL; w = strtok(NULL, " "))
        argv[argc++] = w;
    memset(s, 0, sizeof *s);
    return args_parse(sample_table, s, argc, argv, message);
}

START_TEST(utf8)
{
    static const struct {
        const char *text;
        size_t valid;
    } cases[] = {{"", 0},
                 {"abc", 3},
                 {"\xc3\xa4x", 3},
                 {"\xe2\x82\xac", 3},
                 {"\xf0\x9f\x98\x80", 4},
                 {"\xf4\x8f\xbf\xbf", 4},
                 {"a\xe4z", 1},            /* Latin-1 */
                 {"a\x80", 1},             /* no beginning */
                 {"a\xe2\x82", 1},         /* cut */
                 {"a\xc0\xaf", 1},         /* too long for its value, */
                 {"a\xe0\x80\xaf", 1},     /* this, too */
                 {"a\xed\xa0\x80", 1},     /* half of a pair */
                 {"a\xf4\x90\x80\x80", 1}, /* beyond Unicode */
                 {"a\xf8\x88\x80\x80\x80", 1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        ck_assert_uint_eq(units_utf8(cases[i].text), cases[i].valid);
    struct sample s;
    char message[ARGS_MESSAGE];
    ck_assert_int_eq(parse(&s, "--text \xc3\xa4 --pair \xc3\xa4=\xc3\xa4 --secret \xe4", message),
                     0);
    ck_assert_int_eq(args_check_utf8(sample_table, &s, message), 0);
    args_free_pairs(&s.pairs);
    ck_assert_int_eq(parse(&s, "--text \xe4", message), 0);
    ck_assert_int_eq(args_check_utf8(sample_table, &s, message), -EINVAL);
    ck_assert_ptr_nonnull(strstr(message, "--text"));
    ck_assert_int_eq(parse(&s, "--pair a=\xe4", message), 0);
    ck_assert_int_eq(args_check_utf8(sample_table, &s, message), -EINVAL);
    ck_assert_ptr_nonnull(strstr(message, "--pair"));
    args_free_pairs(&s.pairs);
}
END_TEST

START_TEST(args_good)
{
    struct sample s;
    char message[ARGS_MESSAGE];
    ck_assert_int_eq(parse(&s,
                           "--flag -n3 --size=1K --colour green --text -x --pair a=b=c "
                           "--pair d=",
                           message),
                     0);
    ck_assert_int_eq(s.flag, 1);
    ck_assert_int_eq(s.number, 3);
    ck_assert_int_eq(s.size, 1024);
    ck_assert_int_eq(s.choice, 1);
    ck_assert_str_eq(s.text, "-x");
    ck_assert_int_eq(s.pairs.n, 2);
    ck_assert_str_eq(s.pairs.pair[0].key, "a");
    ck_assert_str_eq(s.pairs.pair[0].value, "b=c");
    ck_assert_str_eq(s.pairs.pair[1].value, "");
    args_free_pairs(&s.pairs);
    ck_assert_int_eq(parse(&s, "-number 7 -flag -n8", message), 0);
    ck_assert_int_eq(s.number, 8);
    ck_assert_int_eq(s.flag, 1);
    ck_assert_int_eq(parse(&s, "-number 7", message), 0);
    ck_assert_int_eq(s.number, 7);
    ck_assert_int_eq(parse(&s, "--flag --no-flag", message), 0);
    ck_assert_int_eq(s.flag, 0);
}
END_TEST

/* Each message names the option. */
START_TEST(args_bad)
{
    static const struct {
        const char *line, *named;
    } bad[] = {{"--numbr 3", "--numbr"},
               {"--number", "--number"},
               {"--text --flag", "--text"},
               {"--number 0", "--number"},
               {"--number 3K", "--number"},
               {"--number -3", "--number"},
               {"--number 99999999999", "--number"},
               {"--size 8K", "--size"},
               {"--size big", "--size"},
               {"--colour blue", "green"},
               {"--pair a", "--pair"},
               {"--pair =b", "--pair"},
               {"--flag=1", "--flag"},
               {"--no-number 3", "--no-number"},
               {"--text=", "--text"},
               {"file", "file"},
               {"--", "--"},
               {"-z", "-z"}};
    struct sample s;
    char message[ARGS_MESSAGE];
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        message[0] = '\0';
        ck_assert_int_eq(parse(&s, bad[i].line, message), -EINVAL);
        ck_assert_ptr_nonnull(strstr(message, bad[i].named));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stamp");
    TCase *stamps = tcase_create("stamps");
    tcase_add_checked_fixture(stamps, set_up, NULL);
    tcase_add_test(stamps, right_is_right);
    tcase_add_test(stamps, any_cut_any_alignment);
    tcase_add_test(stamps, bytes_vary);
    tcase_add_test(stamps, flipped_bit);
    tcase_add_test(stamps, zeroed_byte);
    tcase_add_test(stamps, hole);
    tcase_add_test(stamps, untouched);
    tcase_add_loop_test(stamps, shifted, 0, (int)(sizeof shifts / sizeof shifts[0]));
    tcase_add_test(stamps, stale);
    tcase_add_test(stamps, stale_word);
    tcase_add_test(stamps, newer);
    tcase_add_test(stamps, other_file);
    tcase_add_test(stamps, garbage);
    tcase_add_test(stamps, far_offset);
    tcase_add_test(stamps, names);
    suite_add_tcase(suite, stamps);
    TCase *words = tcase_create("words");
    tcase_add_test(words, sizes);
    tcase_add_test(words, sizes_print);
    tcase_add_test(words, seconds);
    tcase_add_test(words, utf8);
    tcase_add_test(words, args_good);
    tcase_add_test(words, args_bad);
    suite_add_tcase(suite, words);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
