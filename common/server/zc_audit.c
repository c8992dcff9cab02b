/* zc_audit.c - who did what, in the log at level info. */
#include "config.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "zc_audit.h"
#include "zc_cred.h"
#include "zc_log.h"
#include "zc_server_internal.h"

enum { MINUTE_S = 60, LINE = 1024 };

static const char *const names[ZC_AUDIT_CAUSES] = {
    [ZC_AUDIT_BEGINS] = "clients that began", [ZC_AUDIT_ENDS] = "clients that ended",
    [ZC_AUDIT_STRANGER] = "strangers",        [ZC_AUDIT_DOES] = "requests",
    [ZC_AUDIT_REFUSED] = "refused requests",
};

/* ---- lines ---- */

void zc_audit_rest(struct zc_audit *a)
{
    for (int i = 0; i < ZC_AUDIT_CAUSES; i++) {
        if (a->causes[i].left_out)
            zc_info("audit: %u more %s", a->causes[i].left_out, names[i]);
        a->causes[i].said = a->causes[i].left_out = 0;
    }
}

void zc_audit_tick(struct zc_audit *a, uint64_t now)
{
    if (now - a->since < MINUTE_S * 1000 * ZC_NS_PER_MS)
        return;
    zc_audit_rest(a);
    a->since = now;
}

void zc_audit(struct zc_audit *a, enum zc_audit_cause cause, const char *fmt, ...)
{
    char line[LINE];
    va_list ap;

    if (a->causes[cause].said >= ZC_AUDIT_LINES) {
        a->causes[cause].left_out++;
        return;
    }
    a->causes[cause].said++;
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    zc_info("audit: %s", line);
}

/* ---- sessions ---- */

static bool on(const struct zc_session *ss)
{
    return ss->server->cfg.audit && zc_log_on(ZC_LOG_INFO);
}

static const char *way(struct zc_session *ss)
{
    return zc_tp_is_local(ss->server->tp, ss->peer) ? "a local socket" : "the fabric";
}

/* By what we know it. */
static const char *proof(const struct zc_session *ss, char *buf, size_t len)
{
    if (!ss->cred)
        return "its secret";
    snprintf(buf, len, "munge, as user %u", (unsigned)ss->cred->uid);
    return buf;
}

void zc_audit_begins(struct zc_session *ss)
{
    char text[40];

    if (on(ss))
        zc_audit(&ss->server->audit, ZC_AUDIT_BEGINS,
                 "client %" PRIu64 " begins: %s, by %s, over %s", ss->number, ss->name,
                 proof(ss, text, sizeof text), way(ss));
}

void zc_audit_ends(struct zc_session *ss, const char *why)
{
    if (on(ss) && ss->accepted)
        zc_audit(&ss->server->audit, ZC_AUDIT_ENDS, "client %" PRIu64 " ends: %s", ss->number, why);
}

void zc_audit_stranger(struct zc_session *ss, const char *why)
{
    if (on(ss))
        zc_audit(&ss->server->audit, ZC_AUDIT_STRANGER, "%s is refused, over %s: %s", ss->name,
                 way(ss), why);
}

/* ---- requests ---- */

static const char *mode(const struct zc_request *r)
{
    unsigned f = r->msg.open_flags;

    if (!(f & ZC_OPEN_WRITE))
        return " to read";
    return f & ZC_OPEN_READ ? " to read and write" : " to write";
}

/* What it is about, in words; NULL: nothing that is told of each client. */
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
    if (r->msg.type == ZC_T_STAT && r->status)
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

    if (!what)
        return;
    if (r->status)
        zc_audit(&ss->server->audit, ZC_AUDIT_REFUSED, "client %" PRIu64 " may not %s %s%s: %s",
                 ss->number, what, path, more, r->text);
    else
        zc_audit(&ss->server->audit, ZC_AUDIT_DOES, "client %" PRIu64 ": %s %s%s", ss->number, what,
                 path, more);
}
