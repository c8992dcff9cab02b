/* test_tenant.c - which clients of a server form a tenant, and that a job that fills its part
 * leaves the other its own. */
#include "config.h"

#include "rig.h"
#include "zc_tenant.h"

enum { PAGE = 64 << 10, PAGES = 16 };

static void same(const char *name, const char *job)
{
    size_t len;
    const char *at = zc_tenant_job(name, &len);

    ck_assert_msg(len == strlen(job) && memcmp(at, job, len) == 0, "%s: %.*s", name, (int)len, at);
}

START_TEST(a_name_tells_the_job)
{
    same("rank 3 (uid 1000, node7:4711, job slurm 17.0)", "slurm 17.0");
    same("rank 3 (uid 1000, node7:4711, job pbs 5)", "pbs 5");
    same("rank 3 (uid 1000, node7:4711, job mpiexec 99)", "node7:4711, job mpiexec 99");
    same("zcachectl (uid 0, node7:4711)", "node7:4711");
    same("anything", "anything");
    same("a (uid 0, h:1, job slurm 17", "slurm 17"); /* cut */
    same("(", "(");
    same("", "");
}
END_TEST

static struct zc_client *connect_as(struct rig *r, struct zc_net *net[], unsigned *n,
                                    const char *job)
{
    if (job)
        setenv("SLURM_JOB_ID", job, 1);
    else
        unsetenv("SLURM_JOB_ID");
    net[*n] = rig_net(60000);
    return rig_connect(r, net[(*n)++]);
}

/* Clients of one job are one tenant; those of another job, or of none, are others. */
START_TEST(jobs_share)
{
    struct zc_net *net[5];
    struct zc_client *c[5];
    struct rig r;
    unsigned n = 0;

    rig_shares = true;
    rig_up(&r, NULL, NULL);
    c[0] = connect_as(&r, net, &n, "17");
    c[1] = connect_as(&r, net, &n, "17");
    ck_assert_uint_eq(rig_stat(c[0], "sharers"), 1);
    c[2] = connect_as(&r, net, &n, "18");
    ck_assert_uint_eq(rig_stat(c[0], "sharers"), 2);
    c[3] = connect_as(&r, net, &n, NULL);
    ck_assert_uint_eq(rig_stat(c[0], "sharers"), 3);
    zc_client_disconnect(c[1]);
    zc_client_disconnect(c[2]);
    WAIT_FOR(rig_stat(c[0], "sharers") == 2);
    zc_client_disconnect(c[3]);
    zc_client_disconnect(c[0]);
    for (unsigned i = 0; i < n; i++)
        zc_net_destroy(net[i]);
    rig_down(&r);
}
END_TEST

static struct zc_io write_of(uint64_t handle, unsigned page, bool checked)
{
    static unsigned char bytes[PAGE];

    return (struct zc_io){.write = true,
                          .handle = handle,
                          .off = (uint64_t)page * PAGE,
                          .buf = bytes,
                          .len = PAGE,
                          .checked = checked};
}

/* Two clients of a job fill a daemon whose store does not return, and go on; another job writes all
 * the same.  `checked`: by way of buffers, of which two are for requests that lack room. */
static void fill_by(bool checked)
{
    struct zc_cache_config cfg = ZC_CACHE_CONFIG_DEFAULT;
    struct zc_net *net[3];
    struct zc_client *c[3];
    struct zc_io io[2 * PAGES];
    uint64_t h[3];
    struct rig r;
    unsigned n = 0;

    cfg.page_size = PAGE;
    cfg.capacity = PAGES * PAGE;
    rig_shares = true;
    rig_up(&r, &cfg, NULL);
    for (unsigned i = 0; i < 3; i++) {
        c[i] = connect_as(&r, net, &n, i < 2 ? "17" : "18");
        h[i] = rig_open(c[i], i < 2 ? "/greedy" : "/modest");
    }
    zc_store_fault_hold(r.store, ZC_FAULT_WRITE);
    for (unsigned i = 0; i < 2 * PAGES; i++) {
        io[i] = write_of(h[i % 2], i, checked);
        zc_io_start(c[i % 2], &io[i]);
    }
    WAIT_FOR(rig_stat(c[2], "waiting_room") >= (checked ? 2 : 2 * PAGES - 10));
    for (unsigned i = 0; i < 4; i++) {
        struct zc_io x = write_of(h[2], i, checked);

        zc_io_start(c[2], &x);
        ck_assert_int_eq(zc_io_wait(c[2], &x), PAGE);
    }
    ck_assert_uint_eq(rig_stat(c[2], "used_bytes"), 14 * PAGE);
    zc_store_fault_release(r.store);
    for (unsigned i = 0; i < 2 * PAGES; i++)
        ck_assert_int_eq(zc_io_wait(c[i % 2], &io[i]), PAGE);
    for (unsigned i = 0; i < 3; i++)
        zc_client_disconnect(c[i]);
    for (unsigned i = 0; i < n; i++)
        zc_net_destroy(net[i]);
    rig_down(&r);
}

START_TEST(what_one_job_fills_leaves_the_other_its_part)
{
    fill_by(false);
}
END_TEST

START_TEST(waits_for_room_leave_buffers_to_others)
{
    fill_by(true);
}
END_TEST

/* Requests of a job without room hold the buffers allowed for that; another job without room has
 * its own. */
START_TEST(each_has_buffers_while_it_lacks_room)
{
    struct zc_cache_config cfg = ZC_CACHE_CONFIG_DEFAULT;
    struct zc_net *net[2];
    struct zc_client *c[2];
    struct zc_io io[2][12];
    uint64_t h[2];
    struct rig r;
    unsigned n = 0;

    cfg.page_size = PAGE;
    cfg.capacity = PAGES * PAGE;
    rig_shares = true;
    rig_up(&r, &cfg, NULL);
    for (unsigned i = 0; i < 2; i++) {
        c[i] = connect_as(&r, net, &n, i ? "18" : "17");
        h[i] = rig_open(c[i], i ? "/modest" : "/greedy");
    }
    zc_store_fault_hold(r.store, ZC_FAULT_WRITE);
    for (unsigned i = 0; i < 2; i++) {
        for (unsigned k = 0; k < 12; k++) {
            io[i][k] = write_of(h[i], k, true);
            zc_io_start(c[i], &io[i][k]);
        }
        WAIT_FOR(rig_stat(c[1], "waiting_room") >= 2 * (i + 1));
    }
    zc_store_fault_release(r.store);
    for (unsigned i = 0; i < 2; i++) {
        for (unsigned k = 0; k < 12; k++)
            ck_assert_int_eq(zc_io_wait(c[i], &io[i][k]), PAGE);
        zc_client_disconnect(c[i]);
        zc_net_destroy(net[i]);
    }
    rig_down(&r);
}
END_TEST

/* A job among many has one buffer: while that waits for room, what needs no room is written. */
START_TEST(a_small_part_is_not_all_idle)
{
    enum { JOBS = 16, AHEAD = PAGES + 2 };
    struct zc_cache_config cfg = ZC_CACHE_CONFIG_DEFAULT;
    struct zc_net *net[JOBS + 1];
    struct zc_client *c[JOBS + 1];
    struct zc_io io[AHEAD], again;
    struct rig r;
    unsigned n = 0;
    uint64_t h, same;

    cfg.page_size = PAGE;
    cfg.capacity = PAGES * PAGE;
    rig_shares = true;
    rig_up(&r, &cfg, NULL);
    for (unsigned i = 0; i <= JOBS; i++) {
        char job[16];

        snprintf(job, sizeof job, "%u", i % JOBS);
        c[i] = connect_as(&r, net, &n, job);
    }
    h = rig_open(c[0], "/file");
    same = rig_open(c[JOBS], "/file");
    zc_store_fault_hold(r.store, ZC_FAULT_WRITE);
    for (unsigned i = 0; i < AHEAD; i++) {
        io[i] = write_of(h, i, true);
        zc_io_start(c[0], &io[i]);
    }
    WAIT_FOR(rig_stat(c[1], "waiting_room") >= 1);
    again = write_of(same, 13, true); /* it is dirty, and not being written */
    zc_io_start(c[JOBS], &again);
    ck_assert_int_eq(zc_io_wait(c[JOBS], &again), PAGE);
    ck_assert_uint_eq(rig_stat(c[1], "waiting_room"), 1);
    zc_store_fault_release(r.store);
    for (unsigned i = 0; i < AHEAD; i++)
        ck_assert_int_eq(zc_io_wait(c[0], &io[i]), PAGE);
    for (unsigned i = 0; i <= JOBS; i++) {
        zc_client_disconnect(c[i]);
        zc_net_destroy(net[i]);
    }
    rig_down(&r);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("sharer");

    CASE(s, "sharer", 60, a_name_tells_the_job, jobs_share,
         what_one_job_fills_leaves_the_other_its_part, waits_for_room_leave_buffers_to_others,
         each_has_buffers_while_it_lacks_room, a_small_part_is_not_all_idle);
    return run_suite(s);
}
