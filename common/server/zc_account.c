/* zc_account.c - what clients make a server hold. */
#include "config.h"

#include "zc_account.h"
#include "zc_lock.h"

enum {
    WHOLE = ZC_MAX_INLINE,    /* data in a message of the first sessions ... */
    PART = 2 << 10,           /* ... of those that come later */
    FEW = 4,                  /* credits that are worth carrying whole data */
    SHARES = 8,               /* a session gets at most one of so many of what is left */
    KEPT_AT_LEAST = 64 << 10, /* that a session may keep, if it is there */
};

/* A quarter is for what is kept, and another one for allowances that are more than the least; the
 * latter goes to new sessions where it is not used. */
size_t zc_account_quarter(const struct zc_account *a)
{
    return a->limit / 4;
}

static bool room_for_one(const struct zc_account *a)
{
    return a->used - a->kept + ZC_ACCOUNT_LEAST <= a->limit - zc_account_quarter(a);
}

static size_t extra(const struct zc_account *a)
{
    size_t left = zc_account_quarter(a) - a->extras,
           all = a->limit - zc_account_quarter(a) - (a->used - a->kept);

    if (left > all - ZC_ACCOUNT_LEAST)
        left = all - ZC_ACCOUNT_LEAST;
    return left / SHARES;
}

/* As many requests as `room` is enough for, with as much data as they are worth. */
static void divide(struct zc_purse *p, unsigned credits, size_t room)
{
    size_t n;

    p->max_inline = room / (ZC_ACCOUNT_REQUEST + WHOLE) >= FEW  ? WHOLE
                    : room / (ZC_ACCOUNT_REQUEST + PART) >= FEW ? PART
                                                                : ZC_ACCOUNT_BRIEF;
    n = room / (ZC_ACCOUNT_REQUEST + p->max_inline);
    p->credits = n < 1 ? 1 : n < credits ? (unsigned)n : credits;
    p->allowance = p->credits * (size_t)(ZC_ACCOUNT_REQUEST + p->max_inline);
}

bool zc_account_has_room(const struct zc_account *a)
{
    return !a->limit || room_for_one(a);
}

bool zc_account_open(struct zc_account *a, struct zc_purse *p, unsigned credits)
{
    size_t least = ZC_ACCOUNT_LEAST - ZC_ACCOUNT_SESSION, room = SIZE_MAX;

    *p = (struct zc_purse){0};
    if (a->limit) {
        if (!room_for_one(a))
            return false;
        room = least + extra(a);
    }
    divide(p, credits, room);
    p->open = true;
    if (a->limit) {
        a->used += ZC_ACCOUNT_SESSION + p->allowance;
        a->extras += p->allowance - least;
        zc_debug_assert(a->used <= a->limit);
    }
    return true;
}

void zc_account_close(struct zc_account *a, struct zc_purse *p)
{
    if (p->open && a->limit) {
        a->used -= ZC_ACCOUNT_SESSION + p->allowance + p->kept;
        a->kept -= p->kept;
        a->extras -= p->allowance - (ZC_ACCOUNT_LEAST - ZC_ACCOUNT_SESSION);
    }
    p->open = false;
    p->kept = 0;
}

bool zc_account_keep(struct zc_account *a, struct zc_purse *p, size_t bytes)
{
    size_t left = zc_account_quarter(a) - a->kept,
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

void zc_account_give(struct zc_account *a, struct zc_purse *p, size_t bytes)
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

    if (!reads || m->flags & ZC_F_RMA) /* which takes no memory of ours */
        return 0;
    return m->len < ZC_MAX_INLINE ? m->len : ZC_MAX_INLINE;
}

size_t zc_account_cost(const struct zc_msg *m)
{
    uint64_t brought = m->type == ZC_T_MEET ? 0 : m->data.n + (uint64_t)m->list.n + m->sums.n;

    return ZC_ACCOUNT_REQUEST + (size_t)(answer(m) > brought ? answer(m) : brought);
}
