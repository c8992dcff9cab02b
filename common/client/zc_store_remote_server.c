/* zc_store_remote_server.c - one daemon of a remote store: the session with it, and another one.
 *
 *         NEW    zc_remote_trying(), zc_remote_tried()
 *          |
 *          |    zc_remote_server_up()
 *          v    a call fails because the session is over, zc_remote_end(); or the watch
 *         UP -------------------------------------------------------------------------> AWAY
 *          ^    finds that it is, or that another daemon has the place of this one        |
 *          |                                                                              |
 *          |    heal(): the keeper has another session                                    |
 *          +------------------------------------------------------------------------------+
 *          |                                                                              |
 *          |    the same                             the time-out has passed since the    |
 *          +-------------------------------- GONE <---------------------------------------+
 *                                                    last sign of life: gone()
 *
 * While a server is away, calls wait for it; when it is gone they fail at once, with what happened
 * to it, or its part of a file is reached without it (zc_store_remote_bypass.c).  The keeper, a
 * thread for each server, looks for it in both states: reads the address file, which may name
 * another daemon by now, connects, and opens the files.  A server without an address file is gone
 * as soon as its session is over.
 *
 * The first session is had by whoever makes the store, who waits for the time-out and no longer.
 *
 * A daemon that is told to stop refuses calls, and writes back all that it has.  Its session stays
 * beside, to hear what is stored, until that is all or another session is there: so what nobody
 * keeps here is not taken for lost with it.
 *
 * Reliable datagrams tell nothing of a peer that has died, and waiting for a deadline is long.  So
 * when nothing comes of a server to which something was sent, for most of a second, the watch, a
 * thread for all servers of a store, looks whether the address file is another daemon's, or that of
 * a process of this host that is not there any more.  When it is the first session that is quiet it
 * looks for another daemon only: what is not running may be started again.
 */
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "zc_log.h"
#include "zc_store_remote_internal.h"
#include "zc_thread.h"

enum {
    LOOK_MS = 250,      /* the watch looks after sessions so often */
    QUIET_MS = 750,     /* nothing heard for so long: is it still that daemon? */
    RETRY_MS = 50,      /* between attempts to connect, at first ... */
    RETRY_MS_MAX = 500, /* ... and at last; and when the server is gone: */
    GONE_MS = 2000,
};

/* ---- states; all with the store's lock ---- */

static void gone(struct server *sv)
{
    zc_assert_held(&sv->remote->lock);
    sv->state = SERVER_GONE;
    if (sv->tried[0]) {
        char more[200];

        snprintf(more, sizeof more, "; it did not come back: %.150s", sv->tried);
        strncat(sv->why, more, sizeof sv->why - strlen(sv->why) - 1);
    }
    pthread_cond_broadcast(&sv->remote->changed);
}

static uint64_t patience_ends(const struct server *sv)
{
    return sv->since + sv->remote->timeout_ns;
}

/* The session is over, for the reason `rc`, explained by `why`. */
static void away(struct server *sv, int rc, const char *why)
{
    uint64_t now = zc_now(), silent = rc == -ETIMEDOUT ? sv->remote->timeout_ns : 0;

    zc_assert_held(&sv->remote->lock);
    if (rc == -ESHUTDOWN && sv->kept && !sv->ending)
        sv->ending = sv->session;
    else
        sv->session->users--;
    sv->session = NULL;
    sv->state = SERVER_AWAY;
    sv->since = now > silent ? now - silent : 0;
    sv->rc = rc;
    snprintf(sv->why, sizeof sv->why, "%s", why);
    sv->tried[0] = 0;
    if (!sv->path || now >= patience_ends(sv))
        gone(sv);
    pthread_cond_broadcast(&sv->remote->changed);
}

/* ---- using a session ---- */

static void take(struct server *sv, struct use *use)
{
    sv->session->users++;
    *use = (struct use){.remote = sv->remote,
                        .index = sv->index,
                        .session = sv->session,
                        .client = sv->session->client};
}

int zc_remote_use(struct remote *r, uint32_t i, struct use *use)
{
    struct server *sv = &r->servers[i];
    char why[sizeof sv->why];
    int rc = 0;

    use->session = NULL;
    zc_lock_get(&r->lock);
    while (sv->state == SERVER_AWAY)
        if (!zc_cond_wait_until(&r->changed, &r->lock, patience_ends(sv)) &&
            sv->state == SERVER_AWAY && zc_now() >= patience_ends(sv))
            gone(sv);
    if (sv->state == SERVER_UP) {
        take(sv, use);
    } else {
        rc = sv->rc;
        memcpy(why, sv->why, sizeof why);
    }
    zc_lock_put(&r->lock);
    return rc ? zc_errorf(-rc, "%s", why) : 0;
}

bool zc_remote_use_now(struct remote *r, uint32_t i, struct use *use)
{
    struct server *sv = &r->servers[i];

    use->session = NULL;
    zc_lock_get(&r->lock);
    if (sv->state == SERVER_UP)
        take(sv, use);
    zc_lock_put(&r->lock);
    return use->session;
}

bool zc_remote_end(struct use *use, int rc)
{
    struct session *s = use->session;
    struct server *sv;
    bool over, last, first = false;
    char text[400];

    if (!s)
        return false;
    sv = &use->remote->servers[use->index];
    if (rc < 0)
        snprintf(text, sizeof text, "%s", zc_error_text(rc));
    /* a daemon that stops serves nobody until another one is there */
    over = rc < 0 && (zc_client_broken(s->client) || rc == -ESHUTDOWN);
    zc_lock_get(&use->remote->lock);
    if (over && sv->session == s) {
        away(sv, rc, text);
        first = sv->state == SERVER_AWAY;
    }
    last = --s->users == 0;
    zc_lock_put(&use->remote->lock);
    if (first)
        zc_warn("%s; waiting for it for %.0f s at most", text,
                (double)use->remote->timeout_ns / 1e9);
    if (last)
        zc_remote_session_free(s);
    use->session = NULL;
    if (rc < 0)
        zc_errorf(-rc, "%s", text);
    return over;
}

/* ---- the keeper ---- */

static void another_has_its_place(const struct zc_addrfile *a, char *why, size_t len)
{
    snprintf(why, len, "another daemon has its place (pid %ld on %.60s)", a->pid, a->host);
}

/* Why the daemon of this session is not there any more; false: nobody knows. */
static bool was_replaced(const struct server *sv, const struct session *s, char *why, size_t len)
{
    struct zc_addrfile a;
    char host[256] = "";

    if (zc_addrfile_look(sv->path, &a))
        return false;
    if (a.boot_id != zc_client_boot_id(s->client)) {
        another_has_its_place(&a, why, len);
        return true;
    }
    gethostname(host, sizeof host - 1);
    if (strcmp(host, a.host) || kill((pid_t)a.pid, 0) == 0 || errno != ESRCH)
        return false;
    snprintf(why, len, "it is not running any more");
    return true;
}

/* The longer it is quiet the more seldom, for many processes may look at the same file. */
static bool time_to_look(struct server *sv, uint64_t quiet)
{
    uint64_t now = zc_now(), pause = quiet / 3;

    if (pause > QUIET_MS * ZC_NS_PER_MS)
        pause = QUIET_MS * ZC_NS_PER_MS;
    if (now - sv->looked < pause)
        return false;
    sv->looked = now;
    return true;
}

/* Looks after the first session, which somebody waits for. */
static void look_after_first(struct server *sv)
{
    struct remote *r = sv->remote;
    struct zc_addrfile a;
    struct session *s;
    uint64_t quiet, boot_id;
    char why[160];

    zc_lock_get(&r->lock);
    s = sv->state == SERVER_NEW ? sv->first : NULL;
    quiet = zc_now() - sv->since;
    boot_id = sv->boot_id;
    if (s)
        s->users++;
    zc_lock_put(&r->lock);
    if (!s)
        return;
    if (quiet > QUIET_MS * ZC_NS_PER_MS && time_to_look(sv, quiet) && zc_remote_find(sv, &a) == 0 &&
        a.boot_id != boot_id) {
        another_has_its_place(&a, why, sizeof why);
        zc_net_give_up(s->net, why);
    }
    zc_secret_forget(&a.secret); /* where there is one */
    zc_lock_get(&r->lock);
    s->users--;
    pthread_cond_broadcast(&r->changed);
    zc_lock_put(&r->lock);
}

/* Looks after the session that there is. */
static void look_after(struct server *sv)
{
    uint64_t quiet;
    struct use use;
    char why[160];
    int rc = 0;

    if (!zc_remote_use_now(sv->remote, sv->index, &use))
        return;
    quiet = zc_client_quiet(use.client);
    if (quiet > QUIET_MS * ZC_NS_PER_MS && time_to_look(sv, quiet) &&
        was_replaced(sv, use.session, why, sizeof why))
        zc_client_give_up(use.client, why);
    if (zc_client_broken(use.client))
        rc = zc_client_ping(use.client); /* which says why */
    zc_remote_end(&use, rc);
}

/* All that was handed over in the session that ends is stored, and nobody has to know whether its
 * daemon is still at it (zc_store_remote_bypass.c); with the store's lock. */
static bool is_done(const struct server *sv)
{
    return sv->ending->users == 1 && !sv->remote->direct &&
           zc_remote_all_stored(sv->remote, sv->index, sv->ending);
}

/* Lets the session that ends go: when nothing more is to be heard of it, or `now`, when what has
 * come of it is taken. */
static void hear_out(struct server *sv, bool now)
{
    struct remote *r = sv->remote;
    struct session *s;
    bool alone, last;

    zc_lock_get(&r->lock);
    s = sv->ending && (now || is_done(sv)) ? sv->ending : NULL;
    alone = s && s->users == 1; /* else others drive it */
    zc_lock_put(&r->lock);
    if (!s)
        return;
    if (alone)
        zc_client_bye(s->client);
    zc_lock_get(&r->lock);
    sv->ending = NULL;
    last = --s->users == 0;
    zc_lock_put(&r->lock);
    if (last)
        zc_remote_session_free(s);
}

static void note_daemon(struct server *sv, const struct session *s)
{
    sv->past = zc_client_past(s->client);
    sv->boot_id = zc_client_boot_id(s->client);
    sv->pid = s->pid;
    sv->here = s->here;
}

/* Another session; false: not now. */
static bool heal(struct server *sv)
{
    struct remote *r = sv->remote;
    struct zc_past past = sv->past;
    struct zc_addrfile a;
    struct session *s;
    double seconds;
    bool again;
    int rc = zc_remote_find(sv, &a);

    if (rc == 0)
        rc = zc_remote_connect(sv, &a, r->local && zc_addrfile_is_near(&a), &past, &s);
    zc_secret_forget(&a.secret);
    if (rc) {
        zc_lock_get(&r->lock);
        snprintf(sv->tried, sizeof sv->tried, "%s", zc_error_text(rc));
        zc_lock_put(&r->lock);
        return false;
    }
    hear_out(sv, true); /* before anybody takes for lost what has died with it */
    zc_lock_get(&r->lock);
    again = zc_client_boot_id(s->client) == sv->boot_id;
    seconds = (double)(zc_now() - sv->since) / 1e9;
    s->number = ++sv->sessions;
    s->users = 1;
    sv->session = s;
    note_daemon(sv, s);
    sv->state = SERVER_UP;
    pthread_cond_broadcast(&r->changed);
    zc_lock_put(&r->lock);
    zc_warn("%s is there after %.1f s%s", zc_client_label(s->client), seconds,
            again ? ": the same one" : ", started again");
    return true;
}

static bool stopped(struct remote *r, uint64_t ms)
{
    uint64_t until = zc_now() + ms * ZC_NS_PER_MS;
    bool stop;

    zc_lock_get(&r->lock);
    while (!r->stop && zc_now() < until)
        zc_cond_wait_until(&r->changed, &r->lock, until);
    stop = r->stop;
    zc_lock_put(&r->lock);
    return stop;
}

/* Sleeps while the server is up. */
static enum server_state state_of(struct server *sv)
{
    struct remote *r = sv->remote;
    enum server_state state;

    zc_lock_get(&r->lock);
    while (!r->stop && sv->state == SERVER_UP)
        zc_cond_wait(&r->changed, &r->lock);
    if (sv->state == SERVER_AWAY && zc_now() >= patience_ends(sv))
        gone(sv);
    state = sv->state;
    zc_lock_put(&r->lock);
    return state;
}

static void *keep(void *server)
{
    struct server *sv = server;
    struct remote *r = sv->remote;
    uint64_t pause = 0;

    while (!stopped(r, pause)) {
        enum server_state state = state_of(sv);

        if (state == SERVER_UP)
            break; /* it is to stop */
        hear_out(sv, false);
        if (heal(sv)) {
            zc_remote_reopen_all(r, sv->index);
            zc_remote_meet_again(r, sv->index);
            pause = 0;
        } else {
            if (state == SERVER_GONE)
                zc_remote_bypass_all(r, sv->index);
            pause = pause ? 2 * pause : RETRY_MS;
            if (pause > RETRY_MS_MAX)
                pause = state == SERVER_GONE ? GONE_MS : RETRY_MS_MAX;
        }
    }
    return NULL;
}

/* ---- the watch ---- */

static void *watch(void *store)
{
    struct remote *r = store;

    while (!stopped(r, LOOK_MS))
        for (uint32_t i = 0; i < r->n; i++) {
            look_after_first(&r->servers[i]);
            look_after(&r->servers[i]);
        }
    return NULL;
}

int zc_remote_watch_start(struct remote *r)
{
    int rc = zc_thread_start(&r->watch, "zc-watch", watch, r);

    r->watched = rc == 0;
    return rc;
}

/* ---- begin and end ---- */

void zc_remote_trying(struct server *sv, struct session *s, uint64_t boot_id)
{
    zc_lock_get(&sv->remote->lock);
    sv->first = s;
    sv->boot_id = boot_id;
    sv->since = zc_now();
    zc_lock_put(&sv->remote->lock);
}

void zc_remote_tried(struct server *sv)
{
    struct remote *r = sv->remote;

    zc_lock_get(&r->lock);
    while (sv->first->users)
        zc_cond_wait(&r->changed, &r->lock);
    sv->first = NULL;
    zc_lock_put(&r->lock);
}

int zc_remote_server_up(struct server *sv, struct session *s)
{
    int rc = 0;

    zc_lock_get(&sv->remote->lock);
    s->number = ++sv->sessions;
    s->users = 1;
    sv->session = s;
    sv->state = SERVER_UP;
    note_daemon(sv, s);
    zc_lock_put(&sv->remote->lock);
    sv->identity = zc_client_identity(s->client);
    if (sv->path)
        rc = zc_thread_start(&sv->keeper, "zc-daemon", keep, sv);
    sv->kept = sv->path && rc == 0;
    return rc;
}

void zc_remote_servers_stop(struct remote *r)
{
    zc_lock_get(&r->lock);
    r->stop = true;
    pthread_cond_broadcast(&r->changed);
    zc_lock_put(&r->lock);
    if (r->watched)
        pthread_join(r->watch, NULL);
    for (uint32_t i = 0; i < r->n; i++) {
        struct server *sv = &r->servers[i];

        if (sv->kept)
            pthread_join(sv->keeper, NULL);
        if (sv->session)
            zc_remote_session_free(sv->session);
        if (sv->ending)
            zc_remote_session_free(sv->ending);
        sv->session = sv->ending = NULL;
    }
}
