/* zc_session_mem.c - the memory that clients take of a server. */
#include "config.h"

#include "zc_lock.h"
#include "zc_session_mem.h"

enum {
    WHOLE = ZC_MAX_INLINE,    /* data in a message of the first sessions ... */
    PART = 2 << 10,           /* ... of later ones */
    FEW = 4,                  /* requests there must be room for with that much data */
    SHARES = 8,               /* a session gets at most one of so many of what is left */
    KEPT_AT_LEAST = 64 << 10, /* that a session may keep, if it is there */
};

/* A quarter of the memory is for what stays, and another one for allowances beyond the least; new
 * sessions get the latter where it is not used. */
size_t zc_session_mem_quarter(const struct zc_session_mem *a)
{
    return a->limit / 4;
}

static bool room_for_one(const struct zc_session_mem *a)
{
    return a->used - a->kept + ZC_SESSION_MEM_LEAST <= a->limit - zc_session_mem_quarter(a);
}

static size_t extra(const struct zc_session_mem *a)
{
    size_t left = zc_session_mem_quarter(a) - a->extras,
           all = a->limit - zc_session_mem_quarter(a) - (a->used - a->kept);

    if (left > all - ZC_SESSION_MEM_LEAST)
        left = all - ZC_SESSION_MEM_LEAST;
    return left / SHARES;
}

/* Grants as many requests as `room` is enough for, with as much data as they are worth. */
static void divide(struct zc_session_quota *p, unsigned credits, size_t room)
{
    size_t n;

    p->max_inline = room / (ZC_SESSION_MEM_REQUEST + WHOLE) >= FEW  ? WHOLE
                    : room / (ZC_SESSION_MEM_REQUEST + PART) >= FEW ? PART
                                                                    : ZC_SESSION_MEM_BRIEF;
    n = room / (ZC_SESSION_MEM_REQUEST + p->max_inline);
    p->credits = n < 1 ? 1 : n < credits ? (unsigned)n : credits;
    p->limit = p->credits * (size_t)(ZC_SESSION_MEM_REQUEST + p->max_inline);
}

bool zc_session_mem_has_room(const struct zc_session_mem *a)
{
    return !a->limit || room_for_one(a);
}

bool zc_session_mem_open(struct zc_session_mem *a, struct zc_session_quota *p, unsigned credits)
{
    size_t least = ZC_SESSION_MEM_LEAST - ZC_SESSION_MEM_SESSION, room = SIZE_MAX;

    *p = (struct zc_session_quota){0};
    if (a->limit) {
        if (!room_for_one(a))
            return false;
        room = least + extra(a);
    }
    divide(p, credits, room);
    p->open = true;
    if (a->limit) {
        a->used += ZC_SESSION_MEM_SESSION + p->limit;
        a->extras += p->limit - least;
        zc_debug_assert(a->used <= a->limit);
    }
    return true;
}

void zc_session_mem_close(struct zc_session_mem *a, struct zc_session_quota *p)
{
    if (p->open && a->limit) {
        a->used -= ZC_SESSION_MEM_SESSION + p->limit + p->kept;
        a->kept -= p->kept;
        a->extras -= p->limit - (ZC_SESSION_MEM_LEAST - ZC_SESSION_MEM_SESSION);
    }
    p->open = false;
    p->kept = 0;
}

bool zc_session_mem_keep(struct zc_session_mem *a, struct zc_session_quota *p, size_t bytes)
{
    size_t left = zc_session_mem_quarter(a) - a->kept,
           mine = left / 2 < KEPT_AT_LEAST ? KEPT_AT_LEAST : left / 2;

    if (a->limit) {
        if (!p->open || bytes > left || p->kept > mine || bytes > mine - p->kept)
            return false;
        a->used += bytes;
        a->kept += bytes;
    }
    p->kept += bytes;
    return true;
}

void zc_session_mem_give(struct zc_session_mem *a, struct zc_session_quota *p, size_t bytes)
{
    if (!p->open)
        return;
    zc_debug_assert(p->kept >= bytes);
    p->kept -= bytes;
    if (a->limit) {
        a->used -= bytes;
        a->kept -= bytes;
    }
}

static uint64_t answer(const struct zc_msg *m)
{
    bool reads = m->type == ZC_T_READ || m->type == ZC_T_VREAD || m->type == ZC_T_LIST_READ;

    if (!reads || m->flags & ZC_F_RMA) /* its data takes no memory of the server */
        return 0;
    return m->len < ZC_MAX_INLINE ? m->len : ZC_MAX_INLINE;
}

size_t zc_session_mem_cost(const struct zc_msg *m)
{
    uint64_t brought =
        m->type == ZC_T_RENDEZVOUS ? 0 : m->data.n + (uint64_t)m->list.n + m->csums.n;

    return ZC_SESSION_MEM_REQUEST + (size_t)(answer(m) > brought ? answer(m) : brought);
}
