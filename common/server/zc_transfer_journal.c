/* zc_transfer_journal.c - writes go to the journal before they are answered.
 *
 * Between the arrival of a piece's bytes in its page and the end of its access (zc_transfer.c):
 *
 *     arrived in the page --zc_transfer_journal()--> being written --kept()--> leave_page
 *
 * The page stays pinned, so the bytes are neither visible nor dirty before the journal has them.
 * The journal may wait for write-back only, which passes pins; so no piece waits for another
 * (zc_transfer.c, 1).  If the journal fails the bytes are in the page all the same: they are
 * written back as usual, and the client is told that they are not safe.
 *
 * Writes that are answered when they are stored do not go to the journal.
 */
#include "config.h"

#include "zc_log.h"
#include "zc_transfer_internal.h"

static void kept(struct zc_server *s, struct zc_notice *n)
{
    struct piece *p = zc_list_entry(n, struct piece, ready);
    const struct zc_journal_write *w = &p->journal;
    struct zc_request *r = p->request;
    uint64_t taken, stored;

    zc_transfer_leave_page(p, p->len);
    zc_cache_progress(r->handle, false, &taken, &stored);
    zc_journal_taken(s->cfg.journal, &p->ticket, taken);
    zc_transfer_kept(p, &w->error);
    zc_transfer_advance(r);
}

/* On any thread (zc_journal_write.done). */
static void written(struct zc_journal_write *w)
{
    struct piece *p = zc_list_entry(w, struct piece, journal);

    zc_server_notify(zc_server_of(p->request), &p->ready);
}

static struct zc_journal_file *file_of(const struct zc_request *r)
{
    struct zc_journal *j = zc_server_of(r)->cfg.journal;
    const struct zc_attr *attr;

    if (!j || !r->slot || zc_request_through(r))
        return NULL;
    attr = &r->session->slots[r->slot - 1].attr;
    return zc_journal_find(j, attr->dev, attr->ino);
}

bool zc_transfer_journal(struct piece *p)
{
    struct zc_journal_file *f = file_of(p->request);
    struct zc_journal_write *w = &p->journal;

    if (!f)
        return false;
    p->all = (struct zc_range){0, p->access.len};
    *w = (struct zc_journal_write){
        .file = f,
        .ticket = &p->ticket,
        .data = p->access.data,
        .off = p->access.off,
        .r = p->plain ? &p->all : p->ranges.r,
        .n = p->plain ? 1 : p->ranges.n,
        .base = p->plain ? 0 : p->ranges.r[0].lo,
        .done = written,
    };
    p->ready.handle = kept;
    zc_journal_put(zc_server_of(p->request)->cfg.journal, w);
    return true;
}
