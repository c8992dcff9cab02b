/* zc_session_credential.c - CREDENTIAL: the identity of a client, decoded by munge.
 *
 *     SHAKING --CREDENTIAL--> decoded on the pool --right--> as after an AUTH
 *        ^                                          |
 *        `------------ R-HELLO with the reason <--wrong
 *
 * A wrong credential changes nothing, as a wrong AUTH does not: it may come from a third party that
 * has recorded the session's number.  One is decoded at a time, per session and, nearly, in all:
 * munged is asked by a local socket, and answers in less than a millisecond.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zc_cred.h"
#include "zc_munge.h"
#include "zc_server_internal.h"

enum { VOUCHES_MOST = 256 }; /* at a time, including those of ended sessions */

struct vouch {
    struct zc_work work;
    struct zc_notice done;
    struct zc_server *server;
    uint64_t session, tag; /* may be gone when it is done */
    char credential[ZC_MAX_CREDENTIAL + 1];
    struct zc_pledge pledge;
    struct zc_cred *cred;
    struct zc_error error;
};

/* On the pool. */
static void read_credential(struct zc_work *w)
{
    struct vouch *v = zc_list_entry(w, struct vouch, work);
    uid_t uid;
    gid_t gid;

    zc_error_keep(&v->error, zc_munge_read(v->credential, &v->pledge, &uid, &gid));
    if (!v->error.rc)
        zc_error_keep(&v->error, zc_cred_lookup(uid, gid, &v->cred));
    zc_server_notify(v->server, &v->done);
}

static void refuse(struct zc_session *ss, const struct vouch *v)
{
    zc_server_complain(ss->server, &ss->server->stats.handshakes_refused, v->error.text);
    zc_audit_kept_out(ss, v->error.text);
    zc_session_answer(ss, v->tag, &v->error);
}

static void was_read(struct zc_server *s, struct zc_notice *n)
{
    struct vouch *v = zc_list_entry(n, struct vouch, done);
    struct zc_session *ss = zc_session_shaking(s, v->session);

    if (ss) {
        ss->credential_pending = false;
        if (!v->error.rc && memcmp(v->pledge.said, ss->handshake.said, sizeof v->pledge.said) != 0)
            zc_error_set(&v->error, -EACCES, "a credential that was made for another handshake");
        if (v->error.rc) {
            refuse(ss, v);
        } else {
            ss->cred = v->cred;
            v->cred = NULL;
            zc_handshake_confirmed(&ss->handshake, v->pledge.key);
            zc_session_known(ss, v->tag);
        }
    }
    s->credentials--;
    zc_cred_free(v->cred);
    zc_forget(v, sizeof *v);
    free(v);
}

void zc_session_credential(struct zc_server *s, const struct zc_msg *m)
{
    struct zc_session *ss = zc_session_shaking(s, m->session);
    bool wanted = ss && s->cfg.munge && !ss->credential_pending,
         room = s->credentials < VOUCHES_MOST;
    struct vouch *v = wanted && room ? calloc(1, sizeof *v) : NULL;

    if (!v) { /* the client gets no reply, and starts again */
        zc_server_complain(s, &s->stats.handshakes_refused,
                           wanted ? "CREDENTIAL while too many wait for munge"
                                  : "CREDENTIAL of a session that is not beginning");
        return;
    }
    s->credentials++;
    ss->credential_pending = true;
    v->server = s;
    v->session = m->session;
    v->tag = m->tag;
    snprintf(v->credential, sizeof v->credential, "%.*s", (int)m->credential.n,
             m->credential.n ? (const char *)m->credential.p : "");
    v->work.run = read_credential;
    v->work.key = ZC_KEY_CREDENTIAL;
    v->done.handle = was_read;
    zc_pool_submit(s->pool, &v->work);
}
