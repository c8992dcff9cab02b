/* ctl_top.c - zcachectl top.
 *
 * Each tick asks all daemons; the picture is drawn when all have answered, or at the next tick.  If
 * pictures are not redrawn in place, the first one waits for all daemons, which are being connected
 * to.
 */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl_picture.h"
#include "ctl_screen.h"
#include "ctl_table.h"
#include "ctl_top.h"
#include "zc_lock.h"
#include "zc_log.h"

enum { GOODBYE_MS = 300 /* wait for answers under way at the end */ };
#define LATE_NS UINT64_C(2000000000)

struct top {
    const struct ctl_top *o;
    struct ctl_watch *watch;
    struct ctl_seat *seats;
    unsigned count;
    uint64_t rounds; /* number of rounds begun */
    uint64_t begun;  /* begin of the last round, ns */
    uint64_t next;   /* next tick, ns */
    bool drawn;      /* the last round's picture was drawn */
};

/* ---- samples ---- */

static void sit_down(struct top *t, struct ctl_sample *s)
{
    struct ctl_seat *seat = &t->seats[s->daemon];

    ctl_sample_free(seat->before);
    seat->before = NULL;
    if (s->error.rc == 0 && !s->fresh && seat->now && seat->now->error.rc == 0)
        seat->before = seat->now;
    else
        ctl_sample_free(seat->now);
    seat->now = s;
}

static void take_all(struct top *t)
{
    struct ctl_sample *s;

    while ((s = ctl_watch_take(t->watch)))
        sit_down(t, s);
}

static bool all_answered(const struct top *t)
{
    for (unsigned i = 0; i < t->count; i++)
        if (ctl_watch_is_asked(t->watch, i))
            return false;
    return true;
}

/* ---- drawing ---- */

/* A daemon is late after two intervals, and LATE_NS at least. */
static void mark_late(struct top *t)
{
    uint64_t now = zc_now(), limit = 2 * t->o->interval_ms * 1000000;

    if (limit < LATE_NS)
        limit = LATE_NS;
    for (unsigned i = 0; i < t->count; i++) {
        struct ctl_seat *s = &t->seats[i];
        uint64_t age = s->now && now > s->now->at ? now - s->now->at : 0;

        s->late = ctl_watch_is_asked(t->watch, i) && age > limit;
        s->silent_s = age / 1000000000;
    }
}

static void draw(struct top *t)
{
    struct ctl_frame frame = {.seats = t->seats,
                              .count = t->count,
                              .interval_ms = t->o->interval_ms,
                              .colours = ctl_screen_has_colours()};
    char *picture = NULL;
    size_t len;
    FILE *f = open_memstream(&picture, &len);

    ctl_must(f);
    mark_late(t);
    ctl_screen_size(&frame.columns, &frame.lines);
    if (t->o->json)
        ctl_picture_json(f, &frame);
    else
        ctl_picture_print(f, &frame);
    ctl_must(fclose(f) == 0 ? picture : NULL);
    if (t->o->json) {
        fputs(picture, stdout);
        fflush(stdout);
    } else {
        ctl_screen_draw(picture);
    }
    free(picture);
}

/* ---- the loop ---- */

static void begin_round(struct top *t)
{
    uint64_t interval = t->o->interval_ms * 1000000, now = zc_now();

    ctl_watch_ask(t->watch);
    t->rounds++;
    t->begun = now;
    t->drawn = false;
    t->next = t->next + interval > now ? t->next + interval : now + interval;
    if (t->rounds == 1 && !ctl_screen_is_live())
        t->next = UINT64_MAX;
}

static void end_round(struct top *t)
{
    draw(t);
    t->drawn = true;
    if (t->next == UINT64_MAX)
        t->next = t->begun + t->o->interval_ms * 1000000;
}

static bool is_over(const struct top *t)
{
    return (t->o->count && t->rounds == t->o->count && t->drawn) || ferror(stdout);
}

static void loop(struct top *t)
{
    t->next = zc_now();
    begin_round(t);
    while (!is_over(t)) {
        switch (ctl_screen_wait(ctl_watch_fd(t->watch), t->next)) {
        case CTL_QUIT:
            return;
        case CTL_AGAIN:
            if (ctl_screen_is_live())
                draw(t);
            break;
        case CTL_READY:
            take_all(t);
            if (!t->drawn && all_answered(t))
                end_round(t);
            break;
        case CTL_TIME:
            if (!t->drawn)
                end_round(t);
            if (!is_over(t))
                begin_round(t);
            break;
        }
    }
}

/* ---- beginning and end ---- */

static int begin(struct top *t)
{
    int rc = ctl_watch_create(t->o->daemons, t->o->timeout_ms, &t->watch);

    if (rc < 0)
        return rc;
    t->count = ctl_watch_count(t->watch);
    t->seats = calloc(t->count, sizeof *t->seats);
    if (!t->seats) {
        ctl_watch_destroy(t->watch, -1);
        return zc_errorf(ENOMEM, "out of memory");
    }
    for (unsigned i = 0; i < t->count; i++) {
        t->seats[i].name = ctl_watch_name(t->watch, i);
        t->seats[i].path = ctl_watch_path(t->watch, i);
    }
    return 0;
}

static void die_of(int sig)
{
    sigset_t set;

    signal(sig, SIG_DFL);
    sigemptyset(&set);
    sigaddset(&set, sig);
    raise(sig);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

/* Does not wait for silent daemons: then ends by _exit(). */
static int end(struct top *t, int status, int sig)
{
    bool left = ctl_watch_destroy(t->watch, GOODBYE_MS);

    for (unsigned i = 0; i < t->count; i++) {
        ctl_sample_free(t->seats[i].now);
        ctl_sample_free(t->seats[i].before);
    }
    free(t->seats);
    if (sig)
        die_of(sig);
    if (!left)
        _exit(status);
    return status;
}

int ctl_top_run(const struct ctl_top *o)
{
    struct top t = {.o = o};
    int rc = begin(&t), status = 0, sig;

    if (rc < 0)
        return rc;
    ctl_screen_open(o->json);
    loop(&t);
    sig = ctl_screen_close();
    for (unsigned i = 0; i < t.count; i++)
        if (t.seats[i].late || !t.seats[i].now || t.seats[i].now->error.rc < 0)
            status = 1;
    if (fflush(stdout) || ferror(stdout)) {
        fprintf(stderr, "zcachectl: cannot write: %s\n", strerror(errno));
        status = 1;
    }
    return end(&t, status, sig);
}
