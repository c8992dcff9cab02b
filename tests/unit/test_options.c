/* test_options.c - the option table: defaults, limits, spellings, suggestions, help. */
#include "config.h"

#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "zc_log.h"
#include "zc_options.h"
#include "zc_store.h"

static struct zc_settings s;

static void setup(void)
{
    unsetenv("ZCACHE_TIMEOUT");
    unsetenv("ZCACHE_DAEMONS");
    unsetenv("ZCACHE_PROVIDER");
    unsetenv("ZCACHE_STATS");
    unsetenv("ZCACHE_ALLOW_ROOT");
    ck_assert_int_eq(zc_settings_init(&s), 0);
}

static void teardown(void)
{
    zc_settings_free(&s);
}

static void assert_refused(unsigned scope, const char *name, const char *value, int err,
                           const char *text)
{
    ck_assert_int_eq(zc_option_assign(&s, scope, name, value), -err);
    ck_assert_str_eq(zc_error_text(err), text);
}

static void assert_defaults(void)
{
    ck_assert_str_eq(s.provider, "tcp;ofi_rxm");
    ck_assert_uint_eq(s.timeout, 30000);
    ck_assert_uint_eq(s.cache_size, 512 << 20);
    ck_assert_uint_eq(s.page_size, 1 << 20);
    ck_assert_uint_eq(s.high_watermark, 75);
    ck_assert_uint_eq(s.low_watermark, 50);
    ck_assert_uint_eq(s.idle_time, 50);
    ck_assert_uint_eq(s.agg_high_watermark, 50);
    ck_assert_uint_eq(s.agg_low_watermark, 10);
    ck_assert_uint_eq(s.agg_idle_time, 20);
    ck_assert_uint_eq(s.max_io, 8 << 20);
    ck_assert_uint_eq(s.flush_order, 0);
    ck_assert_uint_eq(s.block_size, 4 << 20);
    ck_assert_uint_eq(s.sync_level, ZC_LEVEL_DURABLE);
    ck_assert_uint_eq(s.close_level, ZC_LEVEL_STORED);
    ck_assert(!s.stats && !s.daemonize && !s.root && !s.daemons);
}

START_TEST(test_defaults)
{
    assert_defaults();
}
END_TEST

/* Every value in force, printed and set again, is the same value. */
START_TEST(test_show_is_read_back)
{
    for (const struct zc_option *o = zc_options; o->name; o++) {
        char before[64], after[64];

        zc_option_show(&s, o, before, sizeof before);
        if (!*before)
            continue;
        ck_assert_msg(zc_option_set(&s, o, before) == 0, "%s", zc_error_text(EINVAL));
        ck_assert_str_eq(zc_option_show(&s, o, after, sizeof after), before);
        if (o->deflt)
            ck_assert_str_eq(after, o->deflt);
    }
}
END_TEST

START_TEST(test_find)
{
    ck_assert_ptr_nonnull(zc_option_find("cache_size", ZC_SCOPE_DAEMON));
    ck_assert_ptr_nonnull(zc_option_find("cache-size", ZC_SCOPE_DAEMON));
    ck_assert_ptr_nonnull(zc_option_find("--cache-size", ZC_SCOPE_DAEMON));
    ck_assert_ptr_null(zc_option_find("page_size", ZC_SCOPE_HINT));
    /* the same name for two things in two places */
    ck_assert_ptr_ne(zc_option_find("cache_size", ZC_SCOPE_HINT),
                     zc_option_find("cache_size", ZC_SCOPE_DAEMON));
    ck_assert_ptr_nonnull(zc_option_find("zcache_block_size", ZC_SCOPE_HINT));
    ck_assert_ptr_nonnull(zc_option_find("block_size", ZC_SCOPE_HINT));
    ck_assert_ptr_nonnull(zc_option_find("ZCACHE_TIMEOUT", ZC_SCOPE_ENV));
    ck_assert_ptr_null(zc_option_find("config", ZC_SCOPE_FILE));
    ck_assert_ptr_null(zc_option_find("", ZC_SCOPE_DAEMON));
}
END_TEST

START_TEST(test_set)
{
    ck_assert_int_eq(zc_option_assign(&s, ZC_SCOPE_DAEMON, "cache-size", "1G"), 0);
    ck_assert_uint_eq(s.cache_size, 1 << 30);
    ck_assert_int_eq(zc_option_assign(&s, ZC_SCOPE_DAEMON, "daemonize", NULL), 0);
    ck_assert(s.daemonize);
    ck_assert_int_eq(zc_option_assign(&s, ZC_SCOPE_FILE, "daemonize", "off"), 0);
    ck_assert(!s.daemonize);
    ck_assert_int_eq(zc_option_assign(&s, ZC_SCOPE_HINT, "zcache_close_level", "Visible"), 0);
    ck_assert_uint_eq(s.close_level, ZC_LEVEL_VISIBLE);
    ck_assert_int_eq(zc_option_assign(&s, ZC_SCOPE_DAEMON, "root", "/a"), 0);
    ck_assert_int_eq(zc_option_assign(&s, ZC_SCOPE_DAEMON, "root", "/b"), 0);
    ck_assert_str_eq(s.root, "/b");
}
END_TEST

START_TEST(test_bad_values)
{
    assert_refused(ZC_SCOPE_DAEMON, "cache-size", "12Q", EINVAL,
                   "--cache-size: \"12Q\" is not allowed; it takes a size from 0 to 1P");
    assert_refused(ZC_SCOPE_DAEMON, "page-size", "5000", EINVAL,
                   "--page-size: \"5000\" is not allowed; it takes a size from 4K to 64M that is "
                   "a power of two");
    assert_refused(ZC_SCOPE_FILE, "high_watermark", "200%", EINVAL,
                   "high-watermark: \"200%\" is not allowed; it takes a percentage from 1% to "
                   "100%");
    assert_refused(ZC_SCOPE_HINT, "zcache_sync_level", "disk", EINVAL,
                   "zcache_sync_level: \"disk\" is not allowed; it takes visible, staged, stored "
                   "or durable");
    assert_refused(ZC_SCOPE_DAEMON, "timeout", "1ms", EINVAL,
                   "--timeout: \"1ms\" is not allowed; it takes a time from 100ms to 24h");
    assert_refused(ZC_SCOPE_DAEMON, "flushers", "0", EINVAL,
                   "--flushers: \"0\" is not allowed; it takes a number from 1 to 64");
    assert_refused(ZC_SCOPE_DAEMON, "root", "", EINVAL,
                   "--root: \"\" is not allowed; it takes a text that is not empty");
    assert_refused(ZC_SCOPE_FILE, "daemonize", "maybe", EINVAL,
                   "daemonize: \"maybe\" is not allowed; it takes true or false");
    /* Nothing has changed. */
    assert_defaults();
}
END_TEST

START_TEST(test_did_you_mean)
{
    assert_refused(ZC_SCOPE_DAEMON, "--cach-size", "1G", ENOENT,
                   "unknown option \"--cach-size\"; did you mean --cache-size?");
    assert_refused(ZC_SCOPE_HINT, "zcache_blocksize", "1M", ENOENT,
                   "unknown option \"zcache_blocksize\"; did you mean zcache_block_size?");
    assert_refused(ZC_SCOPE_FILE, "high_water_mark", "1", ENOENT,
                   "unknown option \"high_water_mark\"; did you mean high-watermark?");
    assert_refused(ZC_SCOPE_DAEMON, "--frobnicate", NULL, ENOENT,
                   "unknown option \"--frobnicate\"");
    assert_refused(ZC_SCOPE_FILE, "", NULL, ENOENT, "unknown option \"\"");
    /* Longer than any name. */
    ck_assert_int_eq(
        zc_option_assign(&s, ZC_SCOPE_DAEMON,
                         "--aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                         "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
                         NULL),
        -ENOENT);
}
END_TEST

START_TEST(test_environment)
{
    struct zc_settings e;

    setenv("ZCACHE_TIMEOUT", "5s", 1);
    setenv("ZCACHE_STATS", "1", 1);
    setenv("ZCACHE_DAEMONS", "", 1);
    ck_assert_int_eq(zc_settings_init(&e), 0);
    ck_assert_uint_eq(e.timeout, 5000);
    ck_assert(e.stats);
    ck_assert_ptr_null(e.daemons);
    zc_settings_free(&e);

    setenv("ZCACHE_TIMEOUT", "soon", 1);
    ck_assert_int_eq(zc_settings_init(&e), -EINVAL);
    ck_assert_str_eq(zc_error_text(EINVAL),
                     "ZCACHE_TIMEOUT: \"soon\" is not allowed; it takes a time from 100ms to 24h");
    zc_settings_free(&e);
}
END_TEST

/* A default counts as not given; an equal value that is set counts as given. */
START_TEST(test_given)
{
    const struct zc_option *size = zc_option_find("cache_size", ZC_SCOPE_HINT);
    const struct zc_option *provider = zc_option_find("provider", ZC_SCOPE_HINT);
    struct zc_settings e;

    for (const struct zc_option *o = zc_options; o->name; o++)
        ck_assert_msg(!zc_option_given(&s, o), "%s", o->name);
    ck_assert_int_eq(zc_option_set(&s, size, size->deflt), 0);
    ck_assert(zc_option_given(&s, size) && !zc_option_given(&s, provider));
    ck_assert_int_eq(zc_option_set(&s, size, "never"), -EINVAL);
    ck_assert_int_eq(zc_option_set(&s, provider, "net"), 0);
    zc_option_reset(&s, size);
    zc_option_reset(&s, provider);
    ck_assert(!zc_option_given(&s, size) && !zc_option_given(&s, provider));
    assert_defaults();
    setenv("ZCACHE_PROVIDER", "net", 1);
    ck_assert_int_eq(zc_settings_init(&e), 0);
    ck_assert(zc_option_given(&e, provider) && !zc_option_given(&e, size));
    zc_settings_free(&e);
}
END_TEST

/* Rows are complete, share no member, and in one scope no name. */
START_TEST(test_table)
{
    for (const struct zc_option *o = zc_options; o->name; o++) {
        ck_assert_msg(o - zc_options < ZC_MAX_OPTIONS, "%s: zc_settings.given has no place for it",
                      o->name);
        ck_assert_msg(o->help && o->scope, "%s", o->name);
        ck_assert_msg(o->help[strlen(o->help) - 1] != '.', "%s", o->name);
        ck_assert_msg((o->type == ZC_OPT_FLAG) == (o->arg == NULL), "%s", o->name);
        ck_assert_msg((o->type == ZC_OPT_ENUM) == (o->choices != NULL), "%s", o->name);
        for (const struct zc_option *p = zc_options; p < o; p++)
            ck_assert_msg(p->member != o->member &&
                              (strcmp(p->name, o->name) || !(p->scope & o->scope)),
                          "%s", o->name);
    }
}
END_TEST

/* Agreed rows are hints with numbers, and fit into struct zc_agreed; values that one open passes to
 * another are checked and put in force, without marking rows as given. */
START_TEST(test_agreed)
{
    struct zc_agreed mine, a;
    const struct zc_option *o;
    unsigned n = 0;

    for (; (o = zc_agreed_row(n)); n++) {
        ck_assert_msg(o->scope & ZC_SCOPE_HINT && o->type != ZC_OPT_STRING, "%s", o->name);
        ck_assert_uint_lt(n, ZC_AGREED_MAX);
    }
    ck_assert_uint_ge(n, 5);
    zc_agreed_of(&s, &mine);
    ck_assert(zc_agreed_valid(&mine));
    ck_assert_int_eq(zc_option_assign(&s, ZC_SCOPE_HINT, "block_size", "8K"), 0);
    ck_assert_int_eq(zc_option_assign(&s, ZC_SCOPE_HINT, "on_daemon_loss", "bypass"), 0);
    zc_agreed_of(&s, &a);
    zc_agreed_apply(&mine, &s);
    ck_assert_uint_eq(s.block_size, 4 << 20);
    ck_assert_uint_eq(s.on_daemon_loss, ZC_LOSS_ERROR);
    ck_assert(zc_option_given(&s, zc_option_find("block_size", ZC_SCOPE_HINT)));
    ck_assert(!zc_option_given(&s, zc_option_find("replay", ZC_SCOPE_HINT)));
    zc_agreed_apply(&a, &s);
    ck_assert_uint_eq(s.block_size, 8 << 10);
    ck_assert_uint_eq(s.on_daemon_loss, ZC_LOSS_BYPASS);
    for (unsigned i = 0; i < n; i++) { /* larger than any size and any choice */
        a = mine;
        a.values[i] = 3ull << 40;
        ck_assert_msg(!zc_agreed_valid(&a), "%s", zc_agreed_row(i)->name);
    }
}
END_TEST

START_TEST(test_help_fits)
{
    static const unsigned scopes[] = {ZC_SCOPE_HINT, ZC_SCOPE_DAEMON, ZC_SCOPE_ENV, ZC_SCOPE_FILE};

    for (size_t i = 0; i < sizeof scopes / sizeof *scopes; i++) {
        char *text = NULL, *rest, *line;
        size_t len = 0;
        FILE *f = open_memstream(&text, &len);

        zc_options_help(f, scopes[i]);
        fclose(f);
        for (const struct zc_option *o = zc_options; o->name; o++) {
            char spelt[64], padded[80];

            snprintf(padded, sizeof padded, "  %s",
                     zc_option_spell(o, scopes[i], spelt, sizeof spelt));
            if (o->scope & scopes[i])
                ck_assert_msg(strstr(text, padded) != NULL, "%s", spelt);
        }
        rest = text;
        while ((line = strsep(&rest, "\n"))) {
            ck_assert_msg(strlen(line) <= 80, "\"%s\"", line);
            ck_assert_msg(!*line || line[strlen(line) - 1] != ' ', "\"%s\"", line);
        }
        free(text);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("options");
    TCase *tc = tcase_create("options");
    SRunner *r = srunner_create(suite);
    int failed;

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, test_defaults);
    tcase_add_test(tc, test_show_is_read_back);
    tcase_add_test(tc, test_find);
    tcase_add_test(tc, test_set);
    tcase_add_test(tc, test_bad_values);
    tcase_add_test(tc, test_did_you_mean);
    tcase_add_test(tc, test_environment);
    tcase_add_test(tc, test_given);
    tcase_add_test(tc, test_table);
    tcase_add_test(tc, test_agreed);
    tcase_add_test(tc, test_help_fits);
    suite_add_tcase(suite, tc);
    srunner_run_all(r, CK_NORMAL);
    failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
