/* test_pipeline.c - the window over the parts of an access. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "check_main.h"
#include "zc_log.h"
#include "zc_pipeline.h"

enum { PARTS = 3 * ZC_PIPELINE_DEPTH + 1, LENGTH = 10 };

/* An access whose parts have what `has` says, as they are numbered. */
static struct access {
    int64_t has[PARTS]; /* bytes or a negative errno */
    int in_slot[ZC_PIPELINE_DEPTH];
    int started, finished, most, unwanted;
    int parts;     /* how many it has */
    int unstarted; /* the part that cannot be started; -1: none */
} a;

static int64_t start(void *access, unsigned slot)
{
    ck_assert_ptr_eq(access, &a);
    if (a.started == a.unstarted)
        return zc_errorf(ENOMEM, "no memory for a part");
    if (a.started == a.parts)
        return 0;
    a.in_slot[slot] = a.started++;
    if (a.started - a.finished > a.most)
        a.most = a.started - a.finished;
    return LENGTH;
}

static int64_t finish(void *access, unsigned slot, bool wanted)
{
    int part = a.in_slot[slot];

    ck_assert_ptr_eq(access, &a);
    ck_assert_int_eq(part, a.finished); /* in order */
    a.finished++;
    a.unwanted += !wanted;
    return a.has[part] < 0 ? zc_errorf((int)-a.has[part], "part %d", part) : a.has[part];
}

static int64_t run(int parts)
{
    a.parts = parts;
    return zc_pipeline_run(start, finish, &a);
}

static void all_whole(void)
{
    memset(&a, 0, sizeof a);
    a.unstarted = -1;
    for (int i = 0; i < PARTS; i++)
        a.has[i] = LENGTH;
}

START_TEST(parts_are_finished_in_order)
{
    for (int parts = 0; parts <= PARTS; parts++) {
        all_whole();
        ck_assert_int_eq(run(parts), parts * LENGTH);
        ck_assert_int_eq(a.finished, parts);
        ck_assert_int_eq(a.unwanted, 0);
        ck_assert_int_eq(a.most, parts < ZC_PIPELINE_DEPTH ? parts : ZC_PIPELINE_DEPTH);
    }
}
END_TEST

/* What is behind a short part does not count, though it was started. */
START_TEST(a_short_part_ends_it)
{
    for (int part = 0; part < PARTS; part++) {
        all_whole();
        a.has[part] = 3;
        ck_assert_int_eq(run(PARTS), part * LENGTH + 3);
        ck_assert_int_eq(a.finished, a.started);
        ck_assert_int_eq(a.unwanted, a.finished - part - 1);
        ck_assert_int_le(a.started, part + ZC_PIPELINE_DEPTH);
    }
}
END_TEST

START_TEST(the_first_error_is_told)
{
    for (int part = 0; part < PARTS - 1; part++) {
        char text[16];

        all_whole();
        a.has[part] = -ENOSPC;
        a.has[part + 1] = -EIO;
        ck_assert_int_eq(run(PARTS), -ENOSPC);
        snprintf(text, sizeof text, "part %d", part);
        ck_assert_str_eq(zc_error_text(ENOSPC), text);
        ck_assert_int_eq(a.finished, a.started);
    }
}
END_TEST

/* An error behind the end is one all the same: the file was not read there. */
START_TEST(an_error_behind_the_end_counts)
{
    all_whole();
    a.has[1] = 0;
    a.has[2] = -EIO;
    ck_assert_int_eq(run(PARTS), -EIO);
}
END_TEST

START_TEST(a_part_that_cannot_be_started)
{
    for (int part = 0; part < PARTS; part++) {
        all_whole();
        a.unstarted = part;
        ck_assert_int_eq(run(PARTS), -ENOMEM);
        ck_assert_str_eq(zc_error_text(ENOMEM), "no memory for a part");
        ck_assert_int_eq(a.started, part);
        ck_assert_int_eq(a.finished, part);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("window");

    zc_log_init(NULL);
    CASE(s, "window", 10, parts_are_finished_in_order, a_short_part_ends_it,
         the_first_error_is_told, an_error_behind_the_end_counts, a_part_that_cannot_be_started);
    return run_suite(s);
}
