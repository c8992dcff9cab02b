/* zc_audit.c - the audit log: which client did what, at level info. */
#include "config.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "zc_audit.h"
#include "zc_cred.h"
#include "zc_log.h"
#include "zc_server_internal.h"
#include "zc_text.h"

enum { MINUTE_S = 60, LINE = 1000 /* the log adds "audit: " and has 1024 */, WHO = 256 };

static const char *const names[ZC_AUDIT_CAUSES] = {
    [ZC_AUDIT_BEGINS] = "clients that began",
    [ZC_AUDIT_ENDS] = "clients that ended",
    [ZC_AUDIT_KEPT_OUT] = "clients that were refused",
    [ZC_AUDIT_DOES] = "requests",
    [ZC_AUDIT_REFUSED] = "refused requests",
    [ZC_AUDIT_EVICTED] = "clients that were dropped",
    [ZC_AUDIT_UNSYNCED] = "clients that had not synced what they wrote",
    [ZC_AUDIT_BACK] = "clients that came back",
};

/* ---- how often ---- */

/* Finds the count of `whom` among `n`, by hash; or the common one if there is no place for it. */
static struct zc_audit_count *find(struct zc_audit_count *counts, unsigned n, const char *whom,
                                   struct zc_audit_count *others)
{
    unsigned first = (unsigned)(zc_pool_key_of(whom, strlen(whom)) % n);

    for (unsigned i = 0; i < n; i++) {
        struct zc_audit_count *c = &counts[(first + i) % n];

        if (!*c->whom)
            snprintf(c->whom, sizeof c->whom, "%s", whom);
        if (!strcmp(c->whom, whom))
            return c;
    }
    return others;
}

/* Whether one more line may be written; counts it. */
static bool may_say(struct zc_audit *a, const char *whom, bool proven, enum zc_audit_cause cause)
{
    struct zc_audit_count *c = proven ? find(a->users, ZC_AUDIT_USERS, whom, &a->other_users)
                                      : find(a->hosts, ZC_AUDIT_HOSTS, whom, &a->other_hosts);

    if (c->causes[cause].said >= (unsigned)(proven ? ZC_AUDIT_LINES : ZC_AUDIT_HOST_LINES)) {
        c->causes[cause].left_out++;
        return false;
    }
    c->causes[cause].said++;
    return true;
}

static void say_rest(struct zc_audit_count *counts, unsigned n, const char *others)
{
    for (unsigned k = 0; k < n; k++) {
        for (int i = 0; i < ZC_AUDIT_CAUSES; i++)
            if (counts[k].causes[i].left_out)
                zc_info("audit: %u more %s, of %s", counts[k].causes[i].left_out, names[i],
                        others ? others : counts[k].whom);
        memset(&counts[k], 0, sizeof counts[k]);
    }
}

void zc_audit_rest(struct zc_audit *a)
{
    say_rest(a->users, ZC_AUDIT_USERS, NULL);
    say_rest(&a->other_users, 1, "other users");
    say_rest(a->hosts, ZC_AUDIT_HOSTS, NULL);
    say_rest(&a->other_hosts, 1, "other hosts");
}

void zc_audit_tick(struct zc_audit *a, uint64_t now)
{
    if (now - a->since < MINUTE_S * 1000 * ZC_NS_PER_MS)
        return;
    zc_audit_rest(a);
    a->since = now;
}

void zc_audit(struct zc_audit *a, const char *whom, bool proven, enum zc_audit_cause cause,
              const char *fmt, ...)
{
    char line[LINE];
    va_list ap;

    if (!may_say(a, whom, proven, cause))
        return;
    va_start(ap, fmt);
    zc_text_vformat(line, sizeof line, sizeof line, fmt, ap);
    va_end(ap);
    zc_info("audit: %s", line);
}

/* ---- names of clients ---- */

static bool on(const struct zc_session *ss)
{
    return ss->server->cfg.audit && zc_log_on(ZC_LOG_INFO);
}

static const char *way(struct zc_session *ss)
{
    return zc_tp_is_local(ss->server->tp, ss->peer) ? "a local socket" : "the fabric";
}

/* Writes the host of the session's reply address. */
static void name_host(struct zc_session *ss, char *buf, size_t len)
{
    const struct sockaddr_in6 *six = (const void *)ss->address;
    const struct sockaddr_in *four = (const void *)ss->address;
    char text[INET6_ADDRSTRLEN] = "without an IP address";

    if (zc_tp_is_local(ss->server->tp, ss->peer))
        snprintf(text, sizeof text, "%s", "of this daemon");
    else if (ss->address_len == sizeof *four && four->sin_family == AF_INET)
        inet_ntop(AF_INET, &four->sin_addr, text, sizeof text);
    else if (ss->address_len == sizeof *six && six->sin6_family == AF_INET6)
        inet_ntop(AF_INET6, &six->sin6_addr, text, sizeof text);
    snprintf(buf, len, "host %s", text);
}

struct who {
    char whom[ZC_AUDIT_WHOM]; /* whose lines are counted together */
    char text[WHO];           /* all that is known, verified parts first */
};

static void find_out(struct zc_session *ss, struct who *w)
{
    if (ss->known)
        snprintf(w->whom, sizeof w->whom, "user %u",
                 (unsigned)(ss->cred ? ss->cred->uid : geteuid()));
    else
        name_host(ss, w->whom, sizeof w->whom);
    if (ss->accepted)
        snprintf(w->text, sizeof w->text, "client %" PRIu64 " of %s, %s", ss->number, w->whom,
                 ss->name);
    else
        snprintf(w->text, sizeof w->text, "%s, %s", w->whom, ss->name);
}

/* ---- sessions ---- */

void zc_audit_begins(struct zc_session *ss)
{
    struct who w;

    if (!on(ss))
        return;
    find_out(ss, &w);
    zc_audit(&ss->server->audit, w.whom, true, ZC_AUDIT_BEGINS, "%s, begins: by %s, over %s",
             w.text, ss->cred ? "munge" : "its secret", way(ss));
}

void zc_audit_ends(struct zc_session *ss, const char *why)
{
    struct who w;

    if (!on(ss) || !ss->accepted)
        return;
    find_out(ss, &w);
    zc_audit(&ss->server->audit, w.whom, true, ZC_AUDIT_ENDS, "%s, ends: %s", w.text, why);
}

void zc_audit_kept_out(struct zc_session *ss, const char *why)
{
    struct who w;

    if (!on(ss))
        return;
    find_out(ss, &w);
    zc_audit(&ss->server->audit, w.whom, ss->known, ZC_AUDIT_KEPT_OUT,
             "%s, is refused, over %s: %s", w.text, way(ss), why);
}

bool zc_audit_may_say(struct zc_session *ss, enum zc_audit_cause cause)
{
    struct who w;

    find_out(ss, &w);
    return may_say(&ss->server->audit, w.whom, ss->known, cause);
}

/* ---- requests ---- */

static const char *mode(const struct zc_request *r)
{
    unsigned f = r->msg.open_flags;

    if (!(f & ZC_OPEN_WRITE))
        return " to read";
    return f & ZC_OPEN_READ ? " to read and write" : " to write";
}

/* Describes the request in words; NULL: it is not logged. */
static const char *does(const struct zc_request *r, const char **more)
{
    static const char *const controls[] = {
        [ZC_CONTROL_FLUSH] = "flush", [ZC_CONTROL_EVICT] = "evict",   [ZC_CONTROL_DRAIN] = "drain",
        [ZC_CONTROL_STOP] = "stop",   [ZC_CONTROL_RESUME] = "resume",
    };

    *more = "";
    if (r->msg.type == ZC_T_OPEN) {
        *more = mode(r);
        return "open";
    }
    if (r->msg.type == ZC_T_UNLINK)
        return "delete";
    if (r->msg.type == ZC_T_STAT && r->error.rc)
        return "look at";
    if (r->msg.type == ZC_T_CONTROL && r->msg.what >= ZC_CONTROL_FLUSH &&
        r->msg.what <= ZC_CONTROL_RESUME)
        return controls[r->msg.what];
    return NULL;
}

void zc_audit_request(const struct zc_request *r)
{
    struct zc_session *ss = r->session;
    const char *more, *what = on(ss) ? does(r, &more) : NULL;
    const char *path = r->path ? r->path : "the daemon";
    struct who w;

    if (!what)
        return;
    find_out(ss, &w);
    if (r->error.rc)
        zc_audit(&ss->server->audit, w.whom, true, ZC_AUDIT_REFUSED, "%s, may not %s %s%s: %s",
                 w.text, what, path, more, r->error.text);
    else
        zc_audit(&ss->server->audit, w.whom, true, ZC_AUDIT_DOES, "%s: %s %s%s", w.text, what, path,
                 more);
}
