/* zc_tp_local_carry.c - copies by way of the socket.
 *
 * A process that has made itself undumpable (prctl(2), PR_SET_DUMPABLE), or has changed what it may
 * do, cannot be reached by process_vm_readv(2) any more, though it could when the connection was
 * made.  The peer says so, and from then on the asker's operations go piece by piece, one at a
 * time:
 *
 *     asker (OUT)      CARRY, and the bytes of a push -->     peer (IN)
 *                      <-- CARRIED, and the bytes of a pull
 *
 * The peer looks at each piece whether its memory is granted, as it does for a whole copy.
 */
#include "config.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "zc_log.h"
#include "zc_tp_local_internal.h"

enum { PIECE = 32 << 10 }; /* bytes, at most */

struct packet_carry {
    struct packet_head head;
    uint64_t dir, len, raddr, rkey;
};

/* What one packet has room for, in the buffer that packets are received into. */
static size_t piece(const struct local *l)
{
    size_t room = sizeof(struct packet_head) + l->cfg.max_msg - sizeof(struct packet_carry);

    return room < PIECE ? room : PIECE;
}

static size_t next_len(const struct local *l, const struct local_progress *p,
                       const struct zc_op *op)
{
    size_t left = op->len - p->done;

    return left < piece(l) ? left : piece(l);
}

int zc_tp_local_carry(struct local *l, struct conn *c, struct zc_op *op)
{
    struct local_progress *p = local_progress(op);
    size_t len = next_len(l, p, op);
    struct packet_carry m = {.head = {.kind = PACKET_CARRY, .id = p->id},
                             .dir = p->dir,
                             .len = len,
                             .raddr = op->raddr + p->done,
                             .rkey = op->rkey};

    zc_assert_held(&l->lock);
    p->carried = true;
    return p->dir == ZC_RMA_PUSH
               ? zc_tp_local_put(l, c, &m, sizeof m, (char *)op->local + p->done, len, op)
               : zc_tp_local_put(l, c, &m, sizeof m, NULL, 0, op);
}

int zc_tp_local_carry_asked(struct local *l, struct conn *c, size_t len)
{
    struct packet_head answer = {.kind = PACKET_CARRIED, .status = -EACCES};
    unsigned char *bytes = l->in + sizeof(struct packet_carry);
    struct registration *r;
    struct packet_carry m;
    bool push;
    int rc;

    if (len < sizeof m)
        return -EPROTO;
    memcpy(&m, l->in, sizeof m);
    push = m.dir == ZC_RMA_PUSH;
    if (m.len > piece(l) || len != sizeof m + (push ? m.len : 0))
        return -EPROTO;
    answer.id = m.head.id;
    r = zc_tp_local_granted(l, m.raddr, m.len, m.rkey);
    if (r) { /* by the kernel: memory that is none is an error, and no end of the process */
        answer.status = zc_tp_local_copy((pid_t)syscall(SYS_gettid), (enum zc_rma_dir)m.dir,
                                         (void *)(uintptr_t)m.raddr, (uintptr_t)bytes, m.len);
        zc_tp_local_granted_put(l, r);
    }
    zc_lock_get(&l->lock);
    rc = zc_tp_local_put(l, c, &answer, sizeof answer, bytes, push || answer.status ? 0 : m.len,
                         NULL);
    zc_lock_put(&l->lock);
    return rc;
}

/* One piece of it has arrived, with `len` bytes: 1: it is over; 0: it goes on; negative: it fails.
 */
static int advance(struct local *l, struct conn *c, struct zc_op *op, int status, size_t len)
{
    struct local_progress *p = local_progress(op);
    size_t want = next_len(l, p, op);

    if (status)
        return status < 0 ? status : -EPROTO;
    if (len != (p->dir == ZC_RMA_PULL ? want : 0))
        return -EPROTO;
    if (len)
        memcpy((char *)op->local + p->done, l->in + sizeof(struct packet_head), len);
    p->done += want;
    return p->done == op->len ? 1 : zc_tp_local_carry(l, c, op);
}

bool zc_tp_local_carried(struct local *l, struct conn *c, const struct packet_head *h, size_t len)
{
    bool found = false;

    zc_lock_get(&l->lock);
    zc_list_each_safe (&c->ops, n) {
        struct zc_op *op = zc_list_entry(n, struct zc_op, post.link);
        int rc;

        if (local_progress(op)->id != h->id || !local_progress(op)->carried)
            continue;
        found = true;
        rc = c->removed ? -ECANCELED
                        : advance(l, c, op, h->status, len - sizeof(struct packet_head));
        if (rc)
            zc_tp_local_op_over(l, op, rc > 0 ? 0 : rc);
        break;
    }
    if (found && c->removed && zc_list_empty(&c->ops))
        zc_tp_local_conn_bury(l, c);
    zc_lock_put(&l->lock);
    return found;
}
