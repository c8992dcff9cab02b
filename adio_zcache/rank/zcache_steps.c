/* zcache_steps.c - publishes steps of a file, and waits for them.
 *
 *     MPI_File_sync:  all ranks meet in a barrier, after which everything has reached the owners
 *                     rank 0: flushes the owners to the daemons, then publishes the step
 *                     all get the result
 *     a wait:         rank 0: waits at the first daemon, then makes the owners read that step; if a
 *                     daemon cannot show it yet, or no longer, it asks again until time is up
 *                     all get the result, and the step
 *
 * If some owners cannot read a step, none reads any: no rank mixes bytes of two steps.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <time.h>

#include "zc_lock.h"
#include "zc_log.h"
#include "zc_options.h"
#include "zcache_collective_error.h"
#include "zcache_file.h"
#include "zcache_owner.h"
#include "zcache_steps.h"

enum { PAUSE_MS = 5 }; /* between two attempts of a waiting rank */

static void pause_a_little(void)
{
    struct timespec t = {0, PAUSE_MS * 1000000};

    nanosleep(&t, NULL);
}

static bool is_first(ADIO_File fd)
{
    int rank;

    MPI_Comm_rank(fd->comm, &rank);
    return rank == 0;
}

static uint64_t deadline_of(const struct zc_settings *s)
{
    return zc_now() + s->wait_limit * ZC_NS_PER_MS;
}

static uint64_t left_ms(uint64_t until)
{
    uint64_t now = zc_now();

    return now >= until ? 0 : (until - now + ZC_NS_PER_MS - 1) / ZC_NS_PER_MS;
}

int zcache_steps_check(ADIO_File fd, uint32_t daemons)
{
    struct zcache_file *f = zcache_file_of(fd);
    struct zc_settings *s = &f->settings;
    const char *hint = s->wait_step ? "zcache_wait_step" : "zcache_steps";

    if (!s->steps && !s->wait_step)
        return 0;
    if (s->wait_step && !(fd->access_mode & ADIO_RDONLY))
        return zc_errorf(EINVAL, "hint zcache_wait_step is for files that are opened for reading "
                                 "only: MPI_MODE_RDONLY");
    if (!daemons)
        return zc_errorf(EOPNOTSUPP,
                         "hint %s needs daemons, through which one job reads what another one has "
                         "written: start both with the same ZCACHE_DAEMONS",
                         hint);
    if (s->on_daemon_loss == ZC_LOSS_BYPASS)
        return zc_errorf(EINVAL,
                         "hint %s cannot be had with zcache_on_daemon_loss=bypass: without a "
                         "daemon it is not known what is finished",
                         hint);
    f->step_until = deadline_of(s);
    return 0;
}

bool zcache_steps_wait_for_file(struct zcache_file *f)
{
    if (!f->settings.wait_step || left_ms(f->step_until) == 0)
        return false;
    pause_a_little();
    return true;
}

/* On rank 0 only: waits for step `n` or a later one until `until` (zc_now()), and makes the owners
 * read it.  Otherwise the step before is in place, if it can still be read. */
static int wait_and_read(struct zcache_file *f, struct zc_sfile *sfile, uint64_t n, uint64_t until)
{
    enum { AT_LEAST = 3 }; /* writers may publish further ones meanwhile */
    struct zc_error why = {0};
    struct zc_step_request q;
    int rc;

    for (int i = 1;; i++) {
        q = (struct zc_step_request){ZC_STEP_CALL_WAIT, n, 0, left_ms(until)};
        rc = zc_store_step(sfile, &q);
        if (rc) /* the previous step is still being read */
            return rc;
        rc = zcache_owners_read_step(f, q.number);
        if (rc == 0) {
            f->step = q.number;
            return 0;
        }
        if (rc != -EREMCHG || (i >= AT_LEAST && left_ms(until) == 0))
            break;
        pause_a_little();
    }
    zc_error_keep(&why, rc);
    if (f->step && zcache_owners_read_step(f, f->step))
        f->step = 0;
    if (!f->step)
        zcache_owners_read_step(f, 0);
    return zc_error_raise(&why);
}

/* Gives all ranks rank 0's result and step; collective. */
static int tell(ADIO_File fd, int rc)
{
    struct zcache_file *f = zcache_file_of(fd);
    struct zc_error o = {0};
    uint64_t step = f->step;
    int failed;

    if (is_first(fd))
        zc_error_keep(&o, rc);
    failed = zcache_collective_error_bcast(&o, 0, fd->comm);
    rc = zcache_collective_error_bytes(&step, sizeof step, 0, fd->comm);
    if (rc == 0)
        f->step = step;
    return o.rc ? zc_error_raise(&o) : failed ? failed : rc;
}

int zcache_steps_opened(ADIO_File fd, struct zc_sfile **sfile, uint64_t size)
{
    struct zcache_file *f = zcache_file_of(fd);
    struct zc_settings *s = &f->settings;
    struct zc_step_request q = {.call = ZC_STEP_CALL_BEGIN, .size = size};
    int rc = 0;

    if (!s->steps && !s->wait_step)
        return 0;
    if (is_first(fd) && s->steps) {
        rc = zc_store_step(*sfile, &q);
        f->step = f->step_tried = q.number;
    } else if (is_first(fd)) {
        rc = wait_and_read(f, *sfile, s->wait_step, f->step_until);
    }
    rc = tell(fd, rc);
    if (rc)
        return rc;
    f->step_reader = s->wait_step;
    s->wait_step = 0; /* applied to this call only */
    f->step_file = *sfile;
    *sfile = NULL;
    return 0;
}

int zcache_steps_wait(ADIO_File fd, uint64_t n)
{
    struct zcache_file *f = zcache_file_of(fd);
    int rc = 0;

    if (!f->step_reader)
        return zc_errorf(EINVAL, "hint zcache_wait_step is for files that were opened with it");
    if (is_first(fd))
        rc = wait_and_read(f, f->step_file, n, deadline_of(&f->settings));
    return tell(fd, rc);
}

/* Publishes the next step.  A number that failed is not used again: some daemons may have it. */
static int publish(struct zcache_file *f)
{
    struct zc_step_request q = {.call = ZC_STEP_CALL_PUBLISH, .number = ++f->step_tried};
    int rc = zcache_owners_size(f, &q.size);

    if (rc == 0)
        rc = zc_store_step(f->step_file, &q);
    if (rc == 0)
        f->step = q.number;
    return rc;
}

int zcache_steps_sync(ADIO_File fd, enum zc_level level)
{
    struct zcache_file *f = zcache_file_of(fd);
    int rc = zcache_collective_error_barrier(fd->comm);

    if (rc)
        return rc;
    if (is_first(fd)) {
        rc = zcache_owners_flush_collective(f, level);
        if (rc == 0)
            rc = publish(f);
    }
    return tell(fd, rc);
}

void zcache_steps_end(struct zcache_file *f)
{
    int rc = f->step_file ? zc_store_close_file(f->step_file, ZC_LEVEL_VISIBLE) : 0;

    f->step_file = NULL;
    if (rc)
        zc_info("%s: %s", f->path, zc_error_text(rc)); /* the owners' closes report losses */
}
