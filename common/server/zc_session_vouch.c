/* zc_session_vouch.c - VOUCH: who a client is, where munge says it.
 *
 *     SHAKING --VOUCH--> the credential is read, on the pool --right--> as after an AUTH
 *        ^                                                   |
 *        `-------------- an R-HELLO says why not <--wrong----'
 *
 * A wrong one changes nothing, as a wrong AUTH does not: it may be of somebody else, who has heard
 * the session's number.  One is read at a time, for each session and, nearly, for all: munged is
 * asked by a local socket, and answers in less than a millisecond.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zc_cred.h"
#include "zc_munge.h"
#include "zc_server_internal.h"

enum { VOUCHES_MOST = 256 }; /* at a time, those of sessions that are gone included */

struct vouch {
    struct zc_work work;
    struct zc_notice done;
    struct zc_server *server;
    uint64_t session, tag; /* which may be gone when it is done */
    char credential[ZC_MAX_CREDENTIAL + 1];
    struct zc_pledge pledge;
    struct zc_cred *cred;
    int status;
    char text[ZC_TEXT_MAX];
};

/* On the pool. */
static void read_credential(struct zc_work *w)
{
    struct vouch *v = zc_list_entry(w, struct vouch, work);
    uid_t uid;
    gid_t gid;

    v->status = zc_munge_read(v->credential, &v->pledge, &uid, &gid);
    if (v->status == 0)
        v->status = zc_cred_look_up(uid, gid, &v->cred);
    if (v->status)
        snprintf(v->text, sizeof v->text, "%s", zc_error_text(v->status));
    zc_server_notify(v->server, &v->done);
}

static void refuse(struct zc_session *ss, const struct vouch *v)
{
    zc_server_complain(ss->server, &ss->server->stats.handshakes_refused, v->text);
    zc_audit_kept_out(ss, v->text);
    zc_session_answer(ss, v->tag, v->status, v->text);
}

static void was_read(struct zc_server *s, struct zc_notice *n)
{
    struct vouch *v = zc_list_entry(n, struct vouch, done);
    struct zc_session *ss = zc_session_shaking(s, v->session);

    if (ss) {
        ss->vouching = false;
        if (v->status == 0 && memcmp(v->pledge.said, ss->shake.said, sizeof v->pledge.said) != 0) {
            v->status = -EACCES;
            snprintf(v->text, sizeof v->text, "a credential that was made for another handshake");
        }
        if (v->status) {
            refuse(ss, v);
        } else {
            ss->cred = v->cred;
            v->cred = NULL;
            zc_shake_vouched(&ss->shake, v->pledge.key);
            zc_session_known(ss, v->tag);
        }
    }
    s->vouches--;
    zc_cred_free(v->cred);
    zc_forget(v, sizeof *v);
    free(v);
}

void zc_session_vouch(struct zc_server *s, const struct zc_msg *m)
{
    struct zc_session *ss = zc_session_shaking(s, m->session);
    bool wanted = ss && s->cfg.munge && !ss->vouching, room = s->vouches < VOUCHES_MOST;
    struct vouch *v = wanted && room ? calloc(1, sizeof *v) : NULL;

    if (!v) { /* whose client is not told, and begins anew */
        zc_server_complain(s, &s->stats.handshakes_refused,
                           wanted ? "VOUCH while too many wait for munge"
                                  : "VOUCH of a session that is not beginning");
        return;
    }
    s->vouches++;
    ss->vouching = true;
    v->server = s;
    v->session = m->session;
    v->tag = m->tag;
    snprintf(v->credential, sizeof v->credential, "%.*s", (int)m->credential.n,
             m->credential.n ? (const char *)m->credential.p : "");
    v->work.run = read_credential;
    v->work.key = ZC_KEY_VOUCH;
    v->done.handle = was_read;
    zc_pool_submit(s->pool, &v->work);
}
