/* zc_store_remote_server.c - one daemon of a remote store: the session with it, and another one.
 *
 *         NEW    zc_remote_trying()
 *          |
 *          |    zc_remote_server_up()
 *          v    a call fails because the session is over, zc_remote_put(); or the watch
 *         UP -----------------------------------------------------------------> DISCONNECTED
 *          ^    finds that it is, or that another daemon has replaced this one            |
 *          |                                                                              |
 *          |    heal(): the reconnector has another session                               |
 *          +------------------------------------------------------------------------------+
 *          |                                                                              |
 *          |    the same                             the time-out has passed since the    |
 *          +------------------------------ FAILED <---------------------------------------+
 *                                                    last sign of life: gone()
 *
 * While a server is disconnected, calls wait for it; when it has failed they fail at once, with
 * what happened to it, or its part of a file is accessed without it (zc_store_remote_bypass.c). The
 * reconnector, a thread for each server, looks for it in both states: it reads the address file,
 * which may name another daemon by now, connects, and opens the files.  A server without an address
 * file fails as soon as its session is over.
 *
 * The thread that creates the store waits for the first session, for the time-out at most.
 *
 * A daemon that was told to stop refuses calls, and writes back all that it has.  Its session is
 * kept to receive COMMITTED, until all is committed or another session replaces it, so that bytes
 * no cache keeps are not reported as lost.
 *
 * Reliable datagrams do not report a dead peer, and a deadline takes long.  So if a server is
 * silent for most of a second after something was sent, the watch, a thread for all servers of a
 * store, checks whether the address file names another daemon, or a process of this host that has
 * ended. For the first session it checks only for another daemon: a daemon that does not run may be
 * started again.
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
    sv->state = SERVER_FAILED;
    if (sv->tried.rc)
        zc_error_set(&sv->error, sv->error.rc, "%s; it did not come back: %s", sv->error.text,
                     sv->tried.text);
    pthread_cond_broadcast(&sv->remote->changed);
}

static uint64_t patience_ends(const struct server *sv)
{
    if (zc_remote_ending(sv->remote) && (sv->error.rc == -ESHUTDOWN || zc_remote_is_dead(sv)))
        return sv->since; /* its part of files goes to the file system, when it has ended */
    return sv->since + sv->remote->timeout_ns;
}

/* Ends the session, for the reason `why`. */
static void away(struct server *sv, const struct zc_error *why)
{
    uint64_t now = zc_now(), silent = why->rc == -ETIMEDOUT ? sv->remote->timeout_ns : 0;

    zc_assert_held(&sv->remote->lock);
    if (why->rc == -ESHUTDOWN && sv->kept && !sv->ending)
        sv->ending = sv->session;
    else
        sv->session->users--;
    sv->session = NULL;
    sv->state = SERVER_DISCONNECTED;
    sv->since = now > silent ? now - silent : 0;
    sv->error = *why;
    sv->tried.rc = 0;
    if (!sv->path || now >= patience_ends(sv))
        gone(sv);
    pthread_cond_broadcast(&sv->remote->changed);
}

/* ---- using a session ---- */

static void take(struct server *sv, struct zc_stripe_use *use)
{
    sv->session->users++;
    *use = (struct zc_stripe_use){.remote = sv->remote,
                                  .index = sv->index,
                                  .session = sv->session,
                                  .client = sv->session->client};
}

int zc_remote_get(struct remote *r, uint32_t i, struct zc_stripe_use *use)
{
    struct server *sv = &r->servers[i];
    struct zc_error e;

    e.rc = 0;
    use->session = NULL;
    zc_lock_get(&r->lock);
    while (sv->state == SERVER_DISCONNECTED)
        if (!zc_cond_wait_until(&r->changed, &r->lock, patience_ends(sv)) &&
            sv->state == SERVER_DISCONNECTED && zc_now() >= patience_ends(sv))
            gone(sv);
    if (sv->state == SERVER_UP)
        take(sv, use);
    else
        e = sv->error;
    zc_lock_put(&r->lock);
    return zc_error_raise(&e);
}

bool zc_remote_try_get(struct remote *r, uint32_t i, struct zc_stripe_use *use)
{
    struct server *sv = &r->servers[i];

    use->session = NULL;
    zc_lock_get(&r->lock);
    if (sv->state == SERVER_UP)
        take(sv, use);
    zc_lock_put(&r->lock);
    return use->session;
}

bool zc_remote_put(struct zc_stripe_use *use, int rc)
{
    struct session *s = use->session;
    struct server *sv;
    bool over, last, first = false;
    struct zc_error e;

    if (!s)
        return false;
    sv = &use->remote->servers[use->index];
    if (rc < 0)
        zc_error_keep(&e, rc);
    /* a daemon that stops serves no calls until another one replaces it */
    over = rc < 0 && (zc_client_broken(s->client) || rc == -ESHUTDOWN);
    zc_lock_get(&use->remote->lock);
    if (over && sv->session == s) {
        away(sv, &e);
        first = sv->state == SERVER_DISCONNECTED;
    }
    last = --s->users == 0;
    zc_lock_put(&use->remote->lock);
    if (first)
        zc_warn("%s; waiting for it for %.0f s at most", e.text,
                (double)use->remote->timeout_ns / 1e9);
    if (last)
        zc_remote_session_free(s);
    use->session = NULL;
    if (rc < 0)
        zc_error_raise(&e);
    return over;
}

/* ---- the keeper ---- */

static int another_has_its_place(const struct zc_addrfile *a)
{
    return zc_errorf(ECONNRESET, "another daemon has its place (pid %ld on %s)", a->pid, a->host);
}

/* Returns what ended the daemon of this session; 0: unknown. */
static int was_replaced(const struct server *sv, const struct session *s)
{
    struct zc_addrfile a;

    if (zc_addrfile_probe(sv->path, &a))
        return 0;
    if (a.boot_id != zc_client_boot_id(s->client))
        return another_has_its_place(&a);
    return zc_addrfile_is_gone(&a) ? zc_errorf(ECONNRESET, "it is not running any more") : 0;
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

/* Watches the first session, while a thread waits for it. */
static void look_after_first(struct server *sv)
{
    struct remote *r = sv->remote;
    struct zc_addrfile a;
    struct zc_net *net;
    uint64_t quiet, boot_id;

    zc_lock_get(&r->lock);
    net = sv->first;
    quiet = zc_now() - sv->since;
    boot_id = sv->boot_id;
    if (net)
        sv->first_users++;
    zc_lock_put(&r->lock);
    if (!net)
        return;
    if (quiet > QUIET_MS * ZC_NS_PER_MS && time_to_look(sv, quiet) && zc_remote_find(sv, &a) == 0 &&
        a.boot_id != boot_id)
        zc_net_give_up(net, zc_error_text(another_has_its_place(&a)));
    zc_secret_forget(&a.secret); /* where there is one */
    zc_lock_get(&r->lock);
    sv->first_users--;
    pthread_cond_broadcast(&r->changed);
    zc_lock_put(&r->lock);
}

/* Looks after the session that there is. */
static void look_after(struct server *sv)
{
    uint64_t quiet;
    struct zc_stripe_use use;
    int rc = 0;

    if (!zc_remote_try_get(sv->remote, sv->index, &use))
        return;
    quiet = zc_client_quiet(use.client);
    if (quiet > QUIET_MS * ZC_NS_PER_MS && time_to_look(sv, quiet) &&
        (rc = was_replaced(sv, use.session)) != 0)
        zc_client_give_up(use.client, zc_error_text(rc));
    if (zc_client_broken(use.client))
        rc = zc_client_ping(use.client); /* which says why */
    zc_remote_put(&use, rc);
}

/* Whether all writes of the session that ends are committed, and no bypass needs to know whether
 * its daemon still runs (zc_store_remote_bypass.c); with the store's lock. */
static bool is_done(const struct server *sv)
{
    return sv->ending->users == 1 && !sv->remote->direct &&
           zc_remote_all_committed(sv->remote, sv->index, sv->ending);
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
        rc = zc_remote_connect(sv, &a, &past, &s);
    zc_secret_forget(&a.secret);
    if (rc) {
        zc_lock_get(&r->lock);
        zc_error_keep(&sv->tried, rc);
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
    if (sv->state == SERVER_DISCONNECTED && zc_now() >= patience_ends(sv))
        gone(sv);
    state = sv->state;
    zc_lock_put(&r->lock);
    return state;
}

/* Whether it is missed for so short a time that calls may still wait for it. */
static bool is_soon(struct server *sv)
{
    struct remote *r = sv->remote;
    bool soon;

    zc_lock_get(&r->lock);
    soon = zc_now() < sv->since + r->timeout_ns;
    zc_lock_put(&r->lock);
    return soon;
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
            zc_remote_republish(r, sv->index);
            pause = 0;
        } else {
            if (state == SERVER_FAILED)
                zc_remote_bypass_all(r, sv->index);
            pause = pause ? 2 * pause : RETRY_MS;
            if (pause > RETRY_MS_MAX)
                pause = state == SERVER_FAILED && !is_soon(sv) ? GONE_MS : RETRY_MS_MAX;
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

void zc_remote_trying(void *server, struct zc_net *net)
{
    struct server *sv = server;
    struct remote *r = sv->remote;

    zc_lock_get(&r->lock);
    while (sv->first_users)
        zc_cond_wait(&r->changed, &r->lock);
    sv->first = net;
    if (net)
        sv->since = zc_now();
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
        rc = zc_thread_start(&sv->reconnector, "zc-reconnect", keep, sv);
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
            pthread_join(sv->reconnector, NULL);
        if (sv->session)
            zc_remote_session_free(sv->session);
        if (sv->ending)
            zc_remote_session_free(sv->ending);
        sv->session = sv->ending = NULL;
    }
}
