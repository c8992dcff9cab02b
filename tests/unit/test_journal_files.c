/* test_journal_files.c - whether a start takes a file for the one that was noted: by its identity,
 * its times and its contents, after a reboot, after an interrupted start, by heartbeats.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "journal_model.h"
#include "zc_clock_sim.h"

/* ---- identity of the file ---- */

static void die_and_look(const char *want)
{
    struct zc_journal_replayed r;

    die();
    open_journal();
    r = replay();
    if (want) {
        ck_assert_uint_eq(m.complaints, 1);
        ck_assert_ptr_nonnull(strstr(m.why, want));
        ck_assert_uint_eq(r.kept_bytes, 50);
        ck_assert_uint_eq(r.bytes, 0);
        zc_journal_close(j, false); /* reported once */
        open_journal();
        replay();
    }
    ck_assert_msg(m.complaints == 0, "%s", m.why);
    down();
}

static int64_t real_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

START_TEST(a_file_that_is_another_one)
{
    struct model_file *f = &m.f[0];
    const char *want = NULL;

    up();
    f->attr.size = 100;
    store(f, 0, 100, -1, 0);
    look(f);
    ck_assert_int_eq(put(f, 5, 50, 100), 0);
    switch (_i) {
    case 0: /* unchanged */
        break;
    case 1:
        f->there = false;
        want = "not there";
        break;
    case 2:
        f->attr.ino++;
        want = "replaced";
        break;
    case 3: /* the inode number was reused */
        f->attr.born_ns++;
        want = "replaced";
        break;
    case 4:
        f->attr.size = 99;
        want = "truncated";
        break;
    case 5:
        touch(f);
        want = "changed";
        break;
    case 6: /* changed by the daemon when it died */
        zc_journal_intent_begin(j, f->jfile, ZC_JOURNAL_NOT_TRUNCATED);
        touch(f);
        f->attr.size = 200;
        f->attr.ctime_ns = real_now();
        break;
    case 7: /* and by another program after that */
        zc_journal_intent_begin(j, f->jfile, ZC_JOURNAL_NOT_TRUNCATED);
        f->attr.ctime_ns = real_now() + 60000 * (int64_t)ZC_NS_PER_MS;
        want = "changed";
        break;
    case 8: /* other daemons serve it, too */
        zc_journal_closed(j, f->jfile, false);
        f->jfile = zc_journal_opened(j, f->path, zc_journal_opening(j), &f->attr, true);
        touch(f);
        break;
    default: /* the device number may have changed with the host: the birth time decides */
        f->attr.dev = 8;
        f->attr.born_ns = 0;
        want = "replaced";
        break;
    }
    die_and_look(want);
}
END_TEST

/* Truncated through another daemon, while this one died before it was told: what is beyond the new
 * end is refused, and reported once; the rest is replayed. */
START_TEST(a_shared_file_that_is_shorter)
{
    struct model_file *f = &m.f[0];

    up();
    f->attr.size = 100;
    zc_journal_closed(j, f->jfile, false);
    f->jfile = zc_journal_opened(j, f->path, zc_journal_opening(j), &f->attr, true);
    ck_assert_int_eq(put(f, 5, 50, 100), 0);
    die();
    f->attr.size = 75;
    for (int i = 0; i < 2; i++) {
        open_journal();
        replay();
        ck_assert_uint_eq(m.lost, i == 0 ? 25 : 0);
        ck_assert(i > 0 || strstr(m.why, "truncated"));
        ck_assert_int_eq(f->returned[50], 5);
        ck_assert_int_eq(f->returned[74], 5);
        ck_assert_int_eq(f->returned[75], -1);
        zc_journal_close(j, false);
    }
    clean_dir();
}
END_TEST

/* Its writes are journaled, and what the previous file had is not its. */
static void use_anew(struct model_file *f)
{
    pthread_mutex_lock(&model_lock);
    memset(f->pending, -1, sizeof f->pending);
    pthread_mutex_unlock(&model_lock);
    open_file(f);
    ck_assert_ptr_eq(zc_journal_find(j, f->attr.dev, f->attr.ino), f->jfile);
    ck_assert_int_eq(put(f, 7, 10, 60), 0);
    die();
    come_back();
}

/* Deleted by others, and its inode number reused. */
START_TEST(a_number_that_is_used_again)
{
    struct model_file *f = &m.f[0];

    up();
    ck_assert_int_eq(put(f, 5, 0, 50), 0);
    if (_i == 2) { /* while no daemon runs */
        die();
        f->attr.born_ns++;
        open_journal();
        replay();
        ck_assert_uint_eq(m.complaints, 1);
        open_file(&m.f[1]);
        open_file(&m.f[2]);
    } else if (_i == 3) { /* at once, during our unlink */
        struct zc_journal_file *old = zc_journal_unlinking(j, &f->attr);

        zc_journal_closed(j, f->jfile, false);
        f->attr.born_ns++;
        open_file(f);
        zc_journal_unlinked(j, old, true);
        zc_journal_closed(j, f->jfile, false);
    } else {
        if (_i == 0)
            store(f, 0, 50, -1, 0);
        zc_journal_closed(j, f->jfile, _i == 0);
        f->attr.born_ns++;
    }
    use_anew(f);
    down();
}
END_TEST

/* ---- a reboot of the host ---- */

/* What the file has after the reboot where bytes are pending. */
enum contents { BEFORE, DATA, ZEROS, FOREIGN };

static const struct reboot {
    bool shared;
    enum contents has;
    int64_t later;   /* its times: seconds after the death of the daemon; 0: as noted */
    const char *why; /* reason for keeping the bytes; NULL: they are written */
} reboots[] = {
    {.has = BEFORE, .later = -60},
    {.has = DATA, .later = -60},
    {.has = ZEROS, .later = -60}, /* the file system has lost what was not synced */
    {.has = FOREIGN, .later = -60, .why = "others may have written"},
    {.has = FOREIGN, .later = 1, .why = "others may have written"},
    {.shared = true, .has = FOREIGN, .later = 60, .why = "others may have written"},
    {.shared = true, .has = BEFORE, .later = 60},
    {.has = BEFORE, .later = 60, .why = "changed by others"},
    {.has = FOREIGN}, /* times as noted save the comparison */
};

/* After a reboot earlier file times prove nothing, so the contents decide: the program may have
 * been told before the reboot that the bytes were stored, and the journal's note of that was lost.
 * Times as noted save the comparison.  Times later than ZC_JOURNAL_SLACK_MS after the last
 * heartbeat count as a change by another program, unless other daemons share the file. */
START_TEST(contents_decide_after_a_reboot)
{
    enum { FROM = 4096, ENDS = 8192, TO = 12288 };
    const struct reboot *c = &reboots[_i];
    static const int bytes[] = {[DATA] = 252, [ZEROS] = 0, [FOREIGN] = 253};
    struct zc_journal_sink looking = sink;
    struct zc_journal_replayed out;
    struct model_file *f = &m.f[0];

    boot = "one";
    up();
    for (int i = 0; i < ENDS; i++)
        has[i] = (unsigned char)(1 + i % 251);
    make_real(f, has, ENDS);
    zc_journal_closed(j, f->jfile, false);
    f->jfile = zc_journal_opened(j, f->path, zc_journal_opening(j), &f->attr, c->shared);
    ck_assert_int_eq(put(f, 252, FROM, TO), 0);
    die();
    if (c->has != BEFORE)
        memset(has + FROM, bytes[c->has], ENDS - FROM);
    if (c->later)
        f->attr.ctime_ns = real_now() + c->later * 1000000000;
    boot = "two";
    open_journal();
    looking.read = sink_read;
    looking.write = sink_swallow;
    looked_at = 0;
    m.complaints = 0;
    ck_assert_int_eq(zc_journal_replay(j, &looking, &out), 0);
    ck_assert_uint_eq(out.bytes, c->why ? 0 : TO - FROM);
    ck_assert_uint_eq(out.kept_bytes, c->why ? TO - FROM : 0);
    ck_assert(!c->why || strstr(m.why, c->why));
    ck_assert(c->later || looked_at == 0);
    memset(has, 0, sizeof has);
    unlink(f->path);
    down();
}
END_TEST

/* ---- times that object ---- */

/* The times of the file say that another program has changed it after the daemon: it is settled and
 * has others than noted, or was being changed, or the host has rebooted, and they are later than
 * the last heartbeat. */
enum objection { SETTLED, CHANGING, REBOOTED };

static const struct late {
    int before, staged[2]; /* what the file had, and two writes over all of it; -1: no write */
    int now;               /* what it has: a byte value, or */
    enum { UP_TO_THERE = 256, SHORTER } end;
    bool bypassed, one_differs, wrote; /* its mtime is later, too */
    const char *why;                   /* reason for keeping the bytes; NULL: they are written */
} objecting[] = {
    {.before = 1, .staged = {2, -1}, .now = 1}, /* a change elsewhere in it, or of its mode */
    {.before = 1, .staged = {2, -1}, .now = 2},
    {.before = 1, .staged = {2, 3}, .now = 2},
    {.before = 1, .staged = {2, 3}, .now = 4, .why = "changed by others"},
    {.before = 1, .staged = {2, 3}, .now = 3, .one_differs = true, .why = "changed by others"},
    {.before = 1, .staged = {2, 3}, .now = 1, .one_differs = true, .why = "changed by others"},
    /* another program has written: it may have meant what was there before */
    {.wrote = true, .before = 1, .staged = {2, -1}, .now = 1, .why = "changed by others"},
    {.wrote = true, .before = 1, .staged = {2, 3}, .now = 2, .why = "changed by others"},
    {.wrote = true, .before = 1, .staged = {2, 1}, .now = 2, .why = "changed by others"},
    {.wrote = true, .before = 1, .staged = {2, 3}, .now = 3},
    {.wrote = true, .before = 1, .staged = {2, 0}, .now = 0},
    {.wrote = true, .before = 0, .staged = {0, 2}, .now = 0, .why = "changed by others"},
    {.wrote = true, .before = 1, .staged = {2, 3}, .now = 3, .one_differs = true, .why = "others"},
    /* what a file has that was truncated and preallocated anew */
    {.before = 1, .staged = {2, -1}, .now = 0, .why = "changed by others"},
    {.before = 0, .staged = {2, -1}, .now = 0, .why = "changed by others"},
    {.before = 1, .staged = {0, 2}, .now = 0, .why = "changed by others"},
    {.before = 1, .staged = {2, 0}, .now = 0}, /* the same zeros */
    {.before = 1, .staged = {2, -1}, .end = UP_TO_THERE, .now = 1, .why = "changed by others"},
    {.before = 1, .staged = {2, -1}, .end = SHORTER, .now = 1, .why = "meanwhile"},
    /* a job has gone on, and may have written what was there before */
    {.before = 1, .staged = {2, -1}, .now = 1, .bypassed = true, .why = "without the daemon"},
};
enum { OBJECTING = sizeof objecting / sizeof *objecting };

static void stage_late(struct model_file *f, const struct late *c, enum objection times)
{
    enum { FROM = 4096, TO = 12288 };

    memset(has, c->before, SIZE);
    make_real(f, has, c->end == UP_TO_THERE ? FROM : TO);
    if (c->end == UP_TO_THERE)
        memset(has + FROM, 0, SIZE - FROM);
    for (int i = 0; i < 2; i++)
        if (c->staged[i] >= 0)
            ck_assert_int_eq(put(f, c->staged[i], FROM, TO), 0);
    if (times == CHANGING)
        zc_journal_intent_begin(j, f->jfile, ZC_JOURNAL_NOT_TRUNCATED);
    die();
    if (c->end != UP_TO_THERE)
        memset(has + FROM, c->now, TO - FROM);
    if (c->one_differs)
        has[TO - 1] = 5;
    if (c->end == SHORTER) {
        f->attr.size = FROM;
        memset(has + FROM, 0, SIZE - FROM);
    }
    f->attr.ctime_ns = real_now() + 60 * (int64_t)1000000000;
    if (c->wrote)
        f->attr.mtime_ns = f->attr.ctime_ns;
}

/* Contents decide then as well, as far as they are evidence. */
START_TEST(contents_decide_where_times_object)
{
    const struct late *c = &objecting[_i % OBJECTING];
    struct zc_journal_sink looking = sink;
    struct zc_journal_replayed out;
    struct model_file *f = &m.f[0];
    enum objection times = _i / OBJECTING;

    boot = "one";
    up();
    stage_late(f, c, times);
    boot = times == REBOOTED ? "two" : "one";
    looking.bypassed = c->bypassed;
    looking.read = sink_read;
    looking.write = sink_swallow;
    for (int start = 0; start < 2; start++) { /* the first one keeps it back for good */
        open_journal();
        m.complaints = 0;
        ck_assert_int_eq(zc_journal_replay(j, &looking, &out), 0);
        ck_assert_uint_eq(out.bytes, c->why ? 0 : 8192 * (1 + (c->staged[1] >= 0)));
        ck_assert_uint_eq(out.kept_bytes, c->why && start == 0 ? 8192 : 0);
        ck_assert_msg(!c->why || start || strstr(m.why, c->why), "%s", m.why);
        die();
    }
    memset(has, 0, sizeof has);
    unlink(f->path);
    open_journal();
    down();
}
END_TEST

/* Another program, which has written what is pending, goes on while a start compares it. */
static ssize_t sink_read_before_a_write(void *arg, const char *path, void *buf, size_t len,
                                        uint64_t off)
{
    ssize_t n = sink_read(arg, path, buf, len, off);

    has[4096] = 9;
    m.f[0].attr.mtime_ns = m.f[0].attr.ctime_ns = real_now() + 61 * (int64_t)1000000000;
    return n;
}

START_TEST(written_to_while_it_is_compared)
{
    static const struct late same = {.wrote = true, .before = 1, .staged = {2, -1}, .now = 2};
    struct zc_journal_sink looking = sink;
    struct zc_journal_replayed out;

    boot = "one";
    up();
    stage_late(&m.f[0], &same, _i);
    boot = _i == REBOOTED ? "two" : "one";
    looking.read = sink_read_before_a_write;
    looking.write = sink_swallow;
    open_journal();
    ck_assert_int_eq(zc_journal_replay(j, &looking, &out), 0);
    ck_assert_uint_eq(out.bytes, 0);
    ck_assert_uint_eq(out.kept_bytes, 8192);
    ck_assert_msg(strstr(m.why, "changed by others"), "%s", m.why);
    memset(has, 0, sizeof has);
    unlink(m.f[0].path);
    down();
}
END_TEST

/* ---- an interrupted start ---- */

/* Fails the replay at write `n` and kills the daemon; the writes before it are stored. */
static int break_at(int n)
{
    struct zc_journal_replayed r;
    int rc;

    open_journal();
    m.writes = 0;
    m.breaks_at = n;
    rc = zc_journal_replay(j, &sink, &r);
    m.breaks_at = 0;
    die();
    return rc;
}

START_TEST(a_start_that_breaks_off_loses_nothing)
{
    up();
    ck_assert_int_eq(put(&m.f[0], 1, 0, 4096), 0);
    ck_assert_int_eq(put(&m.f[1], 2, 0, 100), 0);
    ck_assert_int_eq(put(&m.f[2], 3, 0, 100), 0);
    ck_assert_int_eq(put(&m.f[0], 4, 8192, 12288), 0);
    ck_assert_int_eq(put(&m.f[0], 5, 2000, 9000), 0);
    ck_assert_int_eq(put(&m.f[1], 6, 50, 150), 0);
    die();
    for (int i = 0; i < FILES; i++)
        memset(m.f[i].stored, -1, sizeof m.f[i].stored);
    m.storing = true;
    ck_assert_int_eq(break_at(1 + _i % 6), -EIO);
    if (_i >= 6)
        break_at(1 + _i % 5); /* again, if so much is left */
    open_journal();
    replay();
    ck_assert_msg(m.complaints == 0, "%s", m.why);
    for (int i = 0; i < FILES; i++)
        ck_assert_msg(memcmp(m.f[i].stored, m.f[i].pending, sizeof m.f[i].stored) == 0,
                      "file %d is not what was written", i);
    die();
    open_journal();
    ck_assert_uint_eq(replay().bytes, 0);
    down();
}
END_TEST

/* ---- heartbeat ---- */

static int64_t beat(void)
{
    char path[128];
    struct stat st;

    snprintf(path, sizeof path, "%s/alive", dir);
    ck_assert_int_eq(stat(path, &st), 0);
    return (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
}

static void set_beat(int64_t ns)
{
    struct timespec t[2] = {{ns / 1000000000, ns % 1000000000}, {ns / 1000000000, ns % 1000000000}};
    char path[128];

    snprintf(path, sizeof path, "%s/alive", dir);
    ck_assert_int_eq(utimensat(AT_FDCWD, path, t, 0), 0);
}

static void check_alive(void)
{
    set_beat(1000000000);
    WAIT_FOR(beat() != 1000000000);
}

START_TEST(a_full_journal_makes_heartbeats)
{
    static unsigned char data[SIZE];
    struct zc_range all = {0, SIZE};
    struct put p[40];

    up();
    for (int i = 0; i < 40; i++)
        begin_put(&p[i], &m.f[0], data, 0, &all, 1);
    WAIT_FOR(stats().journal_full > 0);
    check_alive();
    for (int i = 0; i < 40; i++)
        ck_assert_int_eq(end_put(&p[i]), 0);
    down();
}
END_TEST

static atomic_bool enough;

static void put_again(struct zc_journal_write *w)
{
    struct put *p = (struct put *)w;

    zc_journal_taken(j, &p->ticket, 0);
    if (atomic_load(&enough))
        atomic_store(&p->done, true);
    else
        zc_journal_put(j, w);
}

/* More than fits into its buffer: some are queued at any moment. */
START_TEST(a_busy_journal_makes_heartbeats)
{
    static unsigned char data[SIZE];
    struct zc_range all = {0, SIZE};
    struct put p[100];

    zc_clock = NULL; /* simulated time stands still while it is busy */
    up();
    die();
    size = 64 * MIB;
    come_back();
    atomic_store(&enough, false);
    for (int i = 0; i < 100; i++) {
        p[i] = (struct put){.w = {.file = m.f[0].jfile,
                                  .ticket = &p[i].ticket,
                                  .data = data,
                                  .r = &all,
                                  .n = 1,
                                  .done = put_again}};
        zc_journal_put(j, &p[i].w);
    }
    check_alive();
    check_alive();
    atomic_store(&enough, true);
    for (int i = 0; i < 100; i++)
        WAIT_FOR(atomic_load(&p[i].done));
    down();
}
END_TEST

enum { MINUTE = 60 };

static int64_t ago(int64_t seconds)
{
    return real_now() - seconds * 1000000000;
}

/* A start fails before all files are checked: changes before the next start are still detected. */
START_TEST(a_failed_start_makes_no_heartbeat)
{
    struct zc_journal_replayed r;

    up();
    for (int i = 0; i < 2; i++) {
        zc_journal_intent_begin(j, m.f[i].jfile, ZC_JOURNAL_NOT_TRUNCATED);
        ck_assert_int_eq(put(&m.f[i], 5, 0, 50), 0);
    }
    die();
    set_beat(ago(60 * MINUTE));
    m.f[0].hidden = true;
    m.f[1].attr.ctime_ns = ago(30 * MINUTE);
    open_journal();
    if (_i == 0)
        ck_assert_int_eq(zc_journal_replay(j, &sink, &r), -EACCES);
    if (_i == 1)
        zc_clock_sleep(1200 * ZC_NS_PER_MS); /* a tick of its thread */
    zc_journal_close(j, false);
    m.f[0].hidden = false;
    open_journal();
    replay();
    ck_assert_uint_eq(m.complaints, 1);
    ck_assert_uint_eq(m.lost, 50);
    ck_assert_ptr_nonnull(strstr(m.why, "changed by others"));
    ck_assert_int_eq(m.f[0].returned[0], 5);
    down();
}
END_TEST

/* A start that fails later has changed files itself, which the next one takes into account. */
START_TEST(a_storing_start_makes_heartbeats)
{
    up();
    for (int i = 0; i < 2; i++) {
        zc_journal_intent_begin(j, m.f[i].jfile, ZC_JOURNAL_NOT_TRUNCATED);
        ck_assert_int_eq(put(&m.f[i], 5, 0, 50), 0);
        m.f[i].attr.ctime_ns = ago(61 * MINUTE);
    }
    die();
    set_beat(ago(60 * MINUTE));
    m.storing = true;
    ck_assert_int_eq(break_at(2), -EIO);
    m.f[0].attr.ctime_ns = real_now();
    open_journal();
    replay();
    ck_assert_msg(m.complaints == 0, "%s", m.why);
    ck_assert_int_eq(m.f[1].returned[0], 5);
    down();
}
END_TEST

/* A file is deleted or replaced while others are written. */
START_TEST(a_file_that_goes_during_a_start)
{
    up();
    ck_assert_int_eq(put(&m.f[0], 5, 0, 50), 0);
    ck_assert_int_eq(put(&m.f[1], 5, 0, 50), 0);
    die();
    m.leaving = &m.f[1];
    m.replacing = _i > 0;
    open_journal();
    replay();
    ck_assert_uint_eq(m.complaints, 1);
    ck_assert_ptr_nonnull(strstr(m.why, _i > 0 ? "replaced" : "deleted"));
    ck_assert_int_eq(m.f[0].returned[0], 5);
    ck_assert_int_eq(m.f[1].returned[0], -1);
    down();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("journal_files");
    TCase *tc = tcase_create("files");

    tcase_set_timeout(tc, stretched(120));
    tcase_add_loop_test(tc, a_file_that_is_another_one, 0, 10);
    tcase_add_test(tc, a_shared_file_that_is_shorter);
    tcase_add_loop_test(tc, a_number_that_is_used_again, 0, 4);
    tcase_add_loop_test(tc, contents_decide_after_a_reboot, 0, sizeof reboots / sizeof *reboots);
    tcase_add_loop_test(tc, contents_decide_where_times_object, 0, 3 * OBJECTING);
    tcase_add_loop_test(tc, written_to_while_it_is_compared, 0, 3);
    tcase_add_loop_test(tc, a_start_that_breaks_off_loses_nothing, 0, 12);
    tcase_add_loop_test(tc, a_failed_start_makes_no_heartbeat, 0, 3);
    tcase_add_test(tc, a_storing_start_makes_heartbeats);
    tcase_add_loop_test(tc, a_file_that_goes_during_a_start, 0, 2);
    suite_add_tcase(s, tc);
    CASE(s, "life", 60, a_full_journal_makes_heartbeats, a_busy_journal_makes_heartbeats);
    zc_clock = zc_clock_sim();
    return run_suite(s);
}
