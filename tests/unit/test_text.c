/* test_text.c - messages that fit because their paths are shortened. */
#include "config.h"

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "zc_log.h"
#include "zc_text.h"

__attribute__((format(printf, 4, 5))) static const char *format(char *out, size_t size, size_t fit,
                                                                const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    zc_text_vformat(out, size, fit, fmt, ap);
    va_end(ap);
    return out;
}

/* "/scratch/dir-0/dir-1/.../ckpt.0007", of `depth` directories. */
static const char *path_of(unsigned depth)
{
    static char path[4096];
    size_t len = (size_t)snprintf(path, sizeof path, "/scratch");

    for (unsigned i = 0; i < depth; i++)
        len += (size_t)snprintf(path + len, sizeof path - len, "/directory-%u", i);
    snprintf(path + len, sizeof path - len, "/ckpt.0007");
    return path;
}

START_TEST(test_fits)
{
    char out[100];

    ck_assert_str_eq(format(out, 100, 100, "cannot read %s: %d", "/a/b/c", 7),
                     "cannot read /a/b/c: 7");
    ck_assert_str_eq(format(out, 100, 7, "/a/b/cd"), "/a/b/cd"); /* short enough for a path */
    ck_assert_str_eq(format(out, 8, 8, "no path at all"), "no path");
    ck_assert_str_eq(format(out, 100, 8, "no path at all"), "no path at all");
    ck_assert_str_eq(format(out, 100, 100, "%s", ""), "");
}
END_TEST

START_TEST(test_shortened)
{
    char out[200];

    format(out, 200, 130, "cannot write back %s: write of %s, 10 bytes at 7: No space left",
           path_of(20), path_of(20));
    ck_assert_str_eq(out, "cannot write back /scratch/directory-0/directory-1/.../ckpt.0007: "
                          "write of /scratch/.../ckpt.0007, 10 bytes at 7: No space left");
    format(out, 200, 130, "cannot write back %s: write of %s, 10 bytes at 7: No space left",
           path_of(2), path_of(2)); /* the first one need not be shortened */
    ck_assert_str_eq(out, "cannot write back /scratch/directory-0/directory-1/ckpt.0007: "
                          "write of /scratch/.../ckpt.0007, 10 bytes at 7: No space left");
    format(out, 200, 100, "cannot write back %s: write of %s, 10 bytes at 7: No space left",
           "/tmp/test/run/ckpt.0007", "/tmp/test/run/ckpt.0007"); /* short already */
    ck_assert_str_eq(out, "cannot write back /tmp/test/run/ckpt.0007: "
                          "write of /.../ckpt.0007, 10 bytes at 7: No space left");
    format(out, 200, 200, "cannot write back %s: No space left", path_of(20));
    ck_assert_str_eq(out, "cannot write back /scratch/directory-0/directory-1/directory-2/"
                          "directory-3/directory-4/directory-5/directory-6/directory-7/"
                          "directory-8/directory-9/directory-10/.../ckpt.0007: No space left");
    /* again, as the next layer does */
    format(out, 200, 100, "rank 3: %s", out);
    ck_assert_msg(strlen(out) < 100 && strstr(out, "/.../ckpt.0007: No space left"), "%s", out);
    ck_assert_msg(strstr(out, "/...") == strstr(out, "/.../ckpt"), "%s", out);
}
END_TEST

/* A long name keeps as much as fits; no character is cut in two. */
START_TEST(test_long_name)
{
    char out[200], name[400] = "/scratch/";

    memset(name + 9, 'x', 300);
    strcpy(name + 309, "END");
    format(out, 200, 60, "cannot read %s: why", name);
    ck_assert_msg(strlen(out) < 60 && strstr(out, "/...xxx") && strstr(out, "xEND: why"), "%s",
                  out);
    for (unsigned i = 0; i < 150; i++)
        memcpy(name + 9 + 2 * i, "\xc3\xa9", 2);
    for (size_t fit = 40; fit < 60; fit++) {
        format(out, 200, fit, "%s", name);
        ck_assert_msg(strstr(out, "/...\xc3\xa9") != NULL, "%s", out);
    }
}
END_TEST

/* Parts of any length fit, if the end is not a path. */
START_TEST(test_any_length)
{
    char out[4200];

    for (unsigned depth = 0; depth < 200; depth++)
        for (size_t fit = 80; fit < 300; fit += 7) {
            format(out, sizeof out, fit, "cannot open %s (daemon 5): %s, 1 byte", path_of(depth),
                   path_of(depth));
            ck_assert_msg(strlen(out) < fit, "%zu: %s", fit, out);
            ck_assert_msg(strstr(out, "ckpt.0007 (daemon 5): /") &&
                              strstr(out, "ckpt.0007, 1 byte"),
                          "%zu: %s", fit, out);
        }
}
END_TEST

/* A path made of short words cannot be shortened word by word: such a path hides neither the
 * operation nor the error. */
START_TEST(test_blanks)
{
    char out[4200], path[2000] = "/tmp";

    for (unsigned i = 0; i < 200; i++)
        strcat(path, i % 2 ? "/\xc3\xa9 b/.." : "/a b/..");
    strcat(path, "/secret");
    for (size_t fit = 80; fit < 600; fit++) {
        format(out, sizeof out, fit, "client 1, may not open %s to read: %s: Permission denied",
               path, path);
        ck_assert_msg(strlen(out) < fit && strlen(out) > fit - 8, "%zu: %s", fit, out);
        ck_assert_msg(!strncmp(out, "client 1, may not open /tmp/", 28), "%s", out);
        ck_assert_msg(strstr(out, "/secret: Permission denied") && strstr(out, "/..."), "%s", out);
        ck_assert_msg(!strstr(out, "/...\xa9") && !strstr(out, "\xc3/..."), "%s", out);
    }
    zc_errorf(EACCES, "open %s: Permission denied", path);
    ck_assert_int_lt(strlen(zc_error_text(EACCES)), ZC_TEXT_MAX);
    ck_assert_msg(strstr(zc_error_text(EACCES), "/secret: Permission denied"), "%s",
                  zc_error_text(EACCES));
}
END_TEST

/* As every layer does with the text of the one below. */
START_TEST(test_explained)
{
    zc_errorf(ENOSPC, "write of %s, 10 bytes at 7: No space left", path_of(80));
    zc_errorf(ENOSPC, "zcached on n17 (pid 4711): %s", zc_error_text(ENOSPC));
    zc_errorf(ENOSPC, "aggregator on rank 3: %s", zc_error_text(ENOSPC));
    ck_assert_int_lt(strlen(zc_error_text(ENOSPC)), ZC_TEXT_MAX);
    ck_assert_msg(strstr(zc_error_text(ENOSPC), "aggregator on rank 3: zcached on n17 (pid 4711): "
                                                "write of /scratch/"),
                  "%s", zc_error_text(ENOSPC));
    ck_assert_msg(strstr(zc_error_text(ENOSPC), "/.../ckpt.0007, 10 bytes at 7: No space left"),
                  "%s", zc_error_text(ENOSPC));
}
END_TEST

#include "check_main.h"

int main(void)
{
    Suite *s = suite_create("text");

    CASE(s, "text", 60, test_fits, test_shortened, test_long_name, test_any_length, test_blanks,
         test_explained);
    return run_suite(s);
}
