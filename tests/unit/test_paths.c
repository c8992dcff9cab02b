/* test_paths.c - which files a list of directories selects. */
#include "config.h"

#include <check.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "zc_log.h"
#include "zc_paths.h"

static char tmp[] = "/tmp/zcache-paths.XXXXXX";

/* scratch/a/file, scratch2, project/run1, project/other, link -> scratch/a, away -> project. */
static void setup(void)
{
    static const char *const dirs[] = {"scratch",      "scratch/a",     "scratch2", "project",
                                       "project/run1", "project/other", "star*"};

    ck_assert_ptr_nonnull(mkdtemp(tmp));
    ck_assert_int_eq(chdir(tmp), 0);
    for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++)
        ck_assert_int_eq(mkdir(dirs[i], 0700), 0);
    fclose(fopen("scratch/a/file", "w"));
    ck_assert_int_eq(symlink("scratch/a", "link"), 0);
    ck_assert_int_eq(symlink("../project/run1", "scratch/away"), 0);
    ck_assert_int_eq(symlink("../../scratch2/made", "scratch/a/dangling"), 0);
    ck_assert_int_eq(symlink("turn", "turn"), 0);
}

static void teardown(void)
{
    char command[PATH_MAX];

    snprintf(command, sizeof command, "rm -rf '%s'", tmp);
    ck_assert_int_eq(chdir("/"), 0);
    ck_assert_int_eq(system(command), 0);
}

/* In list and name "@" stands for the directory of the test. */
static char *full(char *out, const char *text)
{
    size_t n = 0;

    for (; *text; text++) {
        if (*text == '@')
            n += (size_t)sprintf(out + n, "%s", tmp);
        else
            out[n++] = *text;
    }
    out[n] = '\0';
    return out;
}

static int ask(const char *list, const char *name)
{
    char a[2 * PATH_MAX], b[2 * PATH_MAX];

    return zc_paths_select(full(a, list), full(b, name));
}

START_TEST(test_directories)
{
    ck_assert_int_eq(ask("@/scratch", "@/scratch/a/file"), 1);
    ck_assert_int_eq(ask("@/scratch/", "@/scratch/new"), 1);
    ck_assert_int_eq(ask("@/scratch", "@/scratch"), 1);
    ck_assert_int_eq(ask("@/scratch", "@/scratch2/new"), 0);
    ck_assert_int_eq(ask("@/scratch2", "@/scratch/new"), 0);
    ck_assert_int_eq(ask("@/scratch/a/file", "@/scratch/a/file"), 1);
    ck_assert_int_eq(ask("/", "@/scratch/new"), 1);
    ck_assert_int_eq(ask("", "@/scratch/new"), 0);
    ck_assert_int_eq(ask("@/project:@/scratch", "@/scratch/new"), 1);
    ck_assert_int_eq(ask(":@/project::", "@/scratch/new"), 0);
    ck_assert_int_eq(ask("@/not/there:@/scratch", "@/scratch/new"), 1);
    ck_assert_int_eq(ask("@/scratch", "@/scratch/no/such/place"), 0);
}
END_TEST

START_TEST(test_names)
{
    ck_assert_int_eq(ask("@/scratch", "scratch/new"), 1);
    ck_assert_int_eq(ask("@/scratch", "./scratch/../scratch2/new"), 0);
    ck_assert_int_eq(ask("@/scratch", "scratch2/../scratch/new"), 1);
    ck_assert_int_eq(ask("@", "new"), 1);
    ck_assert_int_eq(ask("@/scratch", "new"), 0);
    ck_assert_int_eq(ask("@/scratch", ""), 0);
    ck_assert_int_eq(zc_paths_select("/", NULL), 0);
}
END_TEST

/* A link leads to where the file is, whatever stands in the list. */
START_TEST(test_links)
{
    ck_assert_int_eq(ask("@/scratch", "@/link/file"), 1);
    ck_assert_int_eq(ask("@/link", "@/scratch/a/new"), 1);
    ck_assert_int_eq(ask("@/link", "@/scratch/new"), 0);
    ck_assert_int_eq(ask("@/scratch", "@/scratch/away/new"), 0);
    ck_assert_int_eq(ask("@/project", "@/scratch/away/new"), 1);
    ck_assert_int_eq(ask("@/scratch", "@/scratch/a/dangling"), 0);
    ck_assert_int_eq(ask("@/scratch2", "@/link/dangling"), 1);
    ck_assert_int_eq(ask("@", "@/turn"), 0);
}
END_TEST

START_TEST(test_patterns)
{
    ck_assert_int_eq(ask("@/project/run*", "@/project/run1/new"), 1);
    ck_assert_int_eq(ask("@/project/run*", "@/project/run7"), 1);
    ck_assert_int_eq(ask("@/project/run*", "@/project/other/new"), 0);
    ck_assert_int_eq(ask("@/pro*/run?", "@/project/run1/new"), 1);
    ck_assert_int_eq(ask("@/pro*/run?", "@/project/new"), 0);
    ck_assert_int_eq(ask("@/*", "@/project/run1/new"), 1);
    ck_assert_int_eq(ask("@/scratch/*/f[a-j]le", "@/link/file"), 1);
    ck_assert_int_eq(ask("@/link/f*", "@/scratch/a/file"), 1);
    ck_assert_int_eq(ask("@/s*/f*", "@/scratch/a/file"), 0); /* no slash by a pattern */
    ck_assert_int_eq(ask("@/star\\*", "@/star*/new"), 1);
    ck_assert_int_eq(ask("/*", "@/new"), 1);
}
END_TEST

START_TEST(test_wrong)
{
    ck_assert_int_eq(ask("scratch", "@/scratch/new"), -EINVAL);
    ck_assert_ptr_nonnull(strstr(zc_error_text(-EINVAL), "\"scratch\" is no absolute path"));
    ck_assert_int_eq(ask("@/scratch:~/x", "@/scratch/new"), -EINVAL);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("paths");
    TCase *tc = tcase_create("paths");
    SRunner *r = srunner_create(s);
    int failed;

    tcase_add_unchecked_fixture(tc, setup, teardown);
    tcase_add_test(tc, test_directories);
    tcase_add_test(tc, test_names);
    tcase_add_test(tc, test_links);
    tcase_add_test(tc, test_patterns);
    tcase_add_test(tc, test_wrong);
    suite_add_tcase(s, tc);
    srunner_run_all(r, CK_NORMAL);
    failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
