/* zc_user.c - the users of a server that has many. */
#include "config.h"

#include <stdlib.h>
#include <unistd.h>

#include "zc_cred.h"
#include "zc_server_internal.h"

struct zc_user {
    struct zc_list link; /* zc_server.users */
    uid_t uid;
    unsigned sessions, opens;
    size_t bytes; /* that are set aside for them, of the budget ... */
    size_t kept;  /* ... and that open files take, of what may be kept */
};

static struct zc_user *find(struct zc_server *s, uid_t uid)
{
    zc_list_each (&s->users, n) {
        struct zc_user *u = zc_list_entry(n, struct zc_user, link);

        if (u->uid == uid)
            return u;
    }
    return NULL;
}

static struct zc_user *find_or_make(struct zc_server *s, uid_t uid)
{
    struct zc_user *u = find(s, uid);

    if (u)
        return u;
    u = calloc(1, sizeof *u);
    if (!u)
        return NULL;
    u->uid = uid;
    zc_list_add_tail(&s->users, &u->link);
    s->stats.users++;
    return u;
}

static void forget(struct zc_server *s, struct zc_user *u)
{
    if (u->sessions)
        return;
    s->stats.users--;
    zc_list_del(&u->link);
    free(u);
}

static size_t set_aside(const struct zc_session *ss)
{
    return ZC_SESSION_MEM_SESSION + ss->quota.limit;
}

static const char *objection(const struct zc_session *ss, const struct zc_user *u)
{
    const struct zc_server *s = ss->server;
    const struct zc_user_limits *l = &s->cfg.user;

    if (zc_user_is_owner(ss))
        return NULL;
    if (l->sessions && u->sessions >= l->sessions)
        return "this user has as many clients here as one user may have (--user-sessions)";
    if (l->share && s->session_mem.limit &&
        (u->bytes + set_aside(ss)) / l->share > s->session_mem.limit / 100)
        return "this user's clients have as much of the daemon's memory as those of one user may "
               "have (--user-share)";
    return NULL;
}

const char *zc_user_enter(struct zc_session *ss)
{
    struct zc_user *u = find_or_make(ss->server, ss->cred->uid);
    const char *why = u ? objection(ss, u) : "the daemon has no memory for another user";

    if (!u)
        return why;
    if (why) {
        forget(ss->server, u);
        return why;
    }
    ss->user = u;
    u->sessions++;
    u->bytes += set_aside(ss);
    return NULL;
}

void zc_user_leave(struct zc_session *ss)
{
    struct zc_user *u = ss->user;

    if (!u)
        return;
    u->sessions--;
    u->bytes -= set_aside(ss);
    u->opens -= ss->opens;
    u->kept -= ss->open_bytes;
    ss->user = NULL;
    forget(ss->server, u);
}

static const char *objection_to_open(const struct zc_session *ss, size_t bytes)
{
    const struct zc_user_limits *l = &ss->server->cfg.user;
    const struct zc_session_mem *a = &ss->server->session_mem;
    const struct zc_user *u = ss->user;

    if (zc_user_is_owner(ss))
        return NULL;
    if (l->opens && u->opens >= l->opens)
        return "this user has as many files open here as one user may have (--user-opens)";
    if (l->share && a->limit && (u->kept + bytes) / l->share > zc_session_mem_quarter(a) / 100)
        return "this user's open files have as much of the daemon's memory as those of one user "
               "may have (--user-share)";
    return NULL;
}

const char *zc_user_opens(struct zc_session *ss, size_t bytes)
{
    const char *why = ss->user ? objection_to_open(ss, bytes) : NULL;

    if (!ss->user || why)
        return why;
    ss->user->opens++;
    ss->user->kept += bytes;
    ss->opens++;
    ss->open_bytes += bytes;
    return NULL;
}

void zc_user_closes(struct zc_session *ss, size_t bytes)
{
    if (!ss->user)
        return;
    ss->user->opens--;
    ss->user->kept -= bytes;
    ss->opens--;
    ss->open_bytes -= bytes;
}

bool zc_user_is_owner(const struct zc_session *ss)
{
    return !ss->server->cfg.munge ||
           (ss->cred && (ss->cred->uid == 0 || ss->cred->uid == geteuid()));
}

bool zc_user_same(const struct zc_session *a, const struct zc_session *b)
{
    if (!a->server->cfg.munge)
        return true;
    return a->cred && b->cred && a->cred->uid == b->cred->uid;
}

void zc_users_free(struct zc_server *s)
{
    struct zc_list *n;

    while ((n = zc_list_pop(&s->users)))
        free(zc_list_entry(n, struct zc_user, link));
}
