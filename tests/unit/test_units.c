/* test_units.c - sizes, times and percentages as people write them. */
#include "config.h"

#include <check.h>
#include <errno.h>
#include <stdlib.h>

#include "zc_units.h"

struct sample {
    const char *text;
    int rc;
    uint64_t value;
};

static void check_all(int (*parse)(const char *, uint64_t *), const struct sample *s)
{
    for (; s->text; s++) {
        uint64_t v = 4711;

        ck_assert_msg(parse(s->text, &v) == s->rc, "\"%s\"", s->text);
        /* A failure leaves the result alone. */
        ck_assert_msg(v == (s->rc ? 4711 : s->value), "\"%s\" gave %ju", s->text, (uintmax_t)v);
    }
}

START_TEST(test_size)
{
    static const struct sample samples[] = {
        {"0", 0, 0},
        {"4096", 0, 4096},
        {"17B", 0, 17},
        {"64k", 0, 65536},
        {"64K", 0, 65536},
        {"4M", 0, 4 << 20},
        {"4MB", 0, 4 << 20},
        {"4MiB", 0, 4 << 20},
        {"4 mib", 0, 4 << 20},
        {"1G", 0, 1 << 30},
        {"2T", 0, 2ull << 40},
        {"18446744073709551615", 0, UINT64_MAX},
        {"18446744073709551616", -ERANGE, 0},
        {"16777216T", -ERANGE, 0},
        {"99999999999999999999999M", -ERANGE, 0},
        {"99999999999999999999999Q", -EINVAL, 0},
        {"", -EINVAL, 0},
        {" 4M", -EINVAL, 0},
        {"4M ", -EINVAL, 0},
        {"4 ", -EINVAL, 0},
        {"4  M", -EINVAL, 0},
        {"-1", -EINVAL, 0},
        {"+1", -EINVAL, 0},
        {"1.5G", 0, 3ull << 29},
        {"1.5M", 0, 3 << 19},
        {"0.25 KiB", 0, 256},
        {"2.0", 0, 2},
        {"16383.5P", 0, UINT64_MAX - (1ull << 49) + 1},
        {"16384.5P", -ERANGE, 0},
        {"1.5", -EINVAL, 0},
        {"0.3K", -EINVAL, 0}, /* not whole bytes */
        {"1.M", -EINVAL, 0},
        {".5M", -EINVAL, 0},
        {"1.5.5M", -EINVAL, 0},
        {"1.0000000000M", -EINVAL, 0},
        {"0x10", -EINVAL, 0},
        {"4Mi", -EINVAL, 0},
        {"4iB", -EINVAL, 0},
        {"M", -EINVAL, 0},
        {"4X", -EINVAL, 0},
        {0},
    };

    check_all(zc_parse_size, samples);
}
END_TEST

START_TEST(test_time)
{
    static const struct sample samples[] = {
        {"30", 0, 30000},
        {"30s", 0, 30000},
        {"500ms", 0, 500},
        {"2m", 0, 120000},
        {"1h", 0, 3600000},
        {"0", 0, 0},
        {"5 s", 0, 5000},
        {"18446744073709551615ms", 0, UINT64_MAX},
        {"18446744073709551615", -ERANGE, 0},
        {"", -EINVAL, 0},
        {"s", -EINVAL, 0},
        {"1.5s", 0, 1500},
        {"2.5", 0, 2500},
        {"0.25h", 0, 900000},
        {"0.5ms", -EINVAL, 0},
        {"0.0001s", -EINVAL, 0},
        {"-1", -EINVAL, 0},
        {"5d", -EINVAL, 0},
        {"5s ", -EINVAL, 0},
        {0},
    };

    check_all(zc_parse_time, samples);
}
END_TEST

START_TEST(test_percent_and_count)
{
    static const struct sample percents[] = {
        {"0", 0, 0},
        {"75", 0, 75},
        {"75%", 0, 75},
        {"100%", 0, 100},
        {"101", -ERANGE, 0},
        {"", -EINVAL, 0},
        {"%", -EINVAL, 0},
        {"7 5", -EINVAL, 0},
        {"75%%", -EINVAL, 0},
        {"-5", -EINVAL, 0},
        {0},
    };
    static const struct sample counts[] = {
        {"0", 0, 0},
        {"17", 0, 17},
        {"18446744073709551616", -ERANGE, 0},
        {"", -EINVAL, 0},
        {"1k", -EINVAL, 0},
        {"1 ", -EINVAL, 0},
        {0},
    };

    check_all(zc_parse_percent, percents);
    check_all(zc_parse_count, counts);
}
END_TEST

START_TEST(test_format)
{
    char buf[32];

    ck_assert_str_eq(zc_format_size(0, buf, sizeof buf), "0 B");
    ck_assert_str_eq(zc_format_size(17, buf, sizeof buf), "17 B");
    ck_assert_str_eq(zc_format_size(1023, buf, sizeof buf), "1023 B");
    ck_assert_str_eq(zc_format_size(1024, buf, sizeof buf), "1 KiB");
    ck_assert_str_eq(zc_format_size(1536, buf, sizeof buf), "1.5 KiB");
    ck_assert_str_eq(zc_format_size((1 << 20) - 1, buf, sizeof buf), "1 MiB");
    ck_assert_str_eq(zc_format_size(3ull << 29, buf, sizeof buf), "1.5 GiB");
    ck_assert_str_eq(zc_format_size(UINT64_MAX, buf, sizeof buf), "16384 PiB");
}
END_TEST

/* What is shown must be read back as the same number. */
START_TEST(test_show)
{
    static const uint64_t values[] = {
        0, 1, 1000, 1023, 1024, 60000, 90000, 3600000, 1 << 20, 3 << 20, 5ull << 40, UINT64_MAX,
    };
    char buf[32];
    uint64_t v;

    ck_assert_str_eq(zc_publish_size(4 << 20, buf, sizeof buf), "4M");
    ck_assert_str_eq(zc_publish_size(4097, buf, sizeof buf), "4097");
    ck_assert_str_eq(zc_publish_time(30000, buf, sizeof buf), "30s");
    ck_assert_str_eq(zc_publish_time(1500, buf, sizeof buf), "1500ms");
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        ck_assert_int_eq(zc_parse_size(zc_publish_size(values[i], buf, sizeof buf), &v), 0);
        ck_assert_uint_eq(v, values[i]);
        ck_assert_int_eq(zc_parse_time(zc_publish_time(values[i], buf, sizeof buf), &v), 0);
        ck_assert_uint_eq(v, values[i]);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("units");
    TCase *tc = tcase_create("units");
    SRunner *r = srunner_create(s);
    int failed;

    tcase_add_test(tc, test_size);
    tcase_add_test(tc, test_time);
    tcase_add_test(tc, test_percent_and_count);
    tcase_add_test(tc, test_format);
    tcase_add_test(tc, test_show);
    suite_add_tcase(s, tc);
    srunner_run_all(r, CK_NORMAL);
    failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
