/* test_json.c - JSON documents are written as readers take them, whatever a text has in it; members
 * are found in them, and in no text is anything read behind its end. */
#include "config.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "zc_json.h"
#include "zc_utf8.h"

/* Returns a document of all kinds of values; the caller frees it. */
static char *document(void)
{
    struct zc_json j = {0};
    char *text;
    size_t len;

    j.f = open_memstream(&text, &len);
    ck_assert_ptr_nonnull(j.f);
    zc_json_open(&j, NULL, '{');
    zc_json_open(&j, "list", '[');
    zc_json_open(&j, NULL, '{');
    zc_json_number(&j, "three", 13);
    zc_json_close(&j, '}');
    zc_json_open(&j, NULL, '{');
    zc_json_close(&j, '}');
    zc_json_close(&j, ']');
    zc_json_string(&j, "one", "a\"three\":9,\\\n\x1f\xff\xc3\xa9\xed\xa0\x80");
    zc_json_string(&j, "two", NULL);
    zc_json_open(&j, "in", '{');
    zc_json_number(&j, "three", 3);
    zc_json_number(&j, "four", UINT64_MAX);
    zc_json_close(&j, '}');
    zc_json_string(&j, "five", "5");
    zc_json_close(&j, '}');
    ck_assert_int_eq(fclose(j.f), 0);
    return text;
}

START_TEST(written)
{
    char *text = document();

    ck_assert_str_eq(text, "{\"list\":[{\"three\":13},{}],"
                           "\"one\":\"a\\\"three\\\":9,\\\\\\u000a\\u001f\\ufffd\xc3\xa9"
                           "\\ufffd\\ufffd\\ufffd\",\"two\":null,"
                           "\"in\":{\"three\":3,\"four\":9223372036854775807},\"five\":\"5\"}");
    free(text);
}
END_TEST

START_TEST(found)
{
    char *text = document(), buf[16];
    const char *in = zc_json_find(text, "in");

    ck_assert_uint_eq(zc_json_to_number(zc_json_find(in, "three")), 3);
    ck_assert_uint_eq(zc_json_to_number(zc_json_find(in, "four")), INT64_MAX);
    ck_assert_ptr_null(zc_json_find(in, "five"));    /* behind it */
    ck_assert_ptr_null(zc_json_find(in, "thr"));     /* a part of a name */
    ck_assert_ptr_null(zc_json_find(text, "three")); /* in a string, and in others */
    ck_assert_ptr_null(zc_json_find(zc_json_find(text, "list"), "three"));
    ck_assert_ptr_null(zc_json_find(NULL, "three"));
    ck_assert_str_eq(zc_json_to_text(zc_json_find(text, "five"), buf, sizeof buf), "5");
    ck_assert_str_eq(zc_json_to_text(zc_json_find(text, "one"), buf, 9), "a\"three\"");
    ck_assert_str_eq(zc_json_to_text(zc_json_find(text, "two"), buf, sizeof buf), "");
    ck_assert_str_eq(zc_json_to_text(NULL, buf, sizeof buf), "");
    ck_assert_uint_eq(zc_json_to_number(zc_json_find(text, "five")), 0);
    ck_assert_uint_eq(zc_json_to_number(NULL), 0);
    free(text);
    ck_assert_uint_eq(
        zc_json_to_number(zc_json_find(" { \"a\" : [ 1, \"]\" ] ,\n\"b\" : 7 }", "b")), 7);
}
END_TEST

/* Cut anywhere, and with any byte replaced by one that matters; sanitizers see what is read. */
START_TEST(damaged)
{
    static const char bytes[] = "\"\\{}[]:,";
    char *text = document(), *copy, buf[4];
    size_t len = strlen(text);

    for (size_t i = 0; i <= len; i++)
        for (const char *b = bytes; *b; b++) {
            copy = strndup(text, *b == '"' ? i : len);
            if (*b != '"' && i < len)
                copy[i] = *b;
            zc_json_to_number(zc_json_find(zc_json_find(copy, "in"), "four"));
            zc_json_to_text(zc_json_find(copy, "five"), buf, sizeof buf);
            zc_json_to_text(zc_json_find(copy, "one"), buf, sizeof buf);
            free(copy);
        }
    free(text);
}
END_TEST

START_TEST(characters)
{
    char *copy = zc_utf8_copy("a\xc3\xa9\xff\xe0\x80\x80\xf0\x9f\x98\x80\xc3");

    ck_assert_str_eq(copy, "a\xc3\xa9" ZC_UTF8_OTHER ZC_UTF8_OTHER ZC_UTF8_OTHER ZC_UTF8_OTHER
                           "\xf0\x9f\x98\x80" ZC_UTF8_OTHER);
    free(copy);
    ck_assert_uint_eq(zc_utf8_length("\xf4\x8f\xbf\xbf"), 4);
    ck_assert_uint_eq(zc_utf8_length("\xf4\x90\x80\x80"), 0);
    ck_assert_uint_eq(zc_utf8_length("\xed\x9f\xbf"), 3);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("json");
    TCase *tc = tcase_create("json");
    SRunner *r = srunner_create(s);
    int failures;

    tcase_add_test(tc, written);
    tcase_add_test(tc, found);
    tcase_add_test(tc, damaged);
    tcase_add_test(tc, characters);
    suite_add_tcase(s, tc);
    srunner_run_all(r, CK_NORMAL);
    failures = srunner_ntests_failed(r);
    srunner_free(r);
    return failures ? EXIT_FAILURE : EXIT_SUCCESS;
}
