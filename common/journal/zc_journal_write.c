/* zc_journal_write.c - appending to a journal: the buffer, writes, notes.
 *
 * Records are built in a buffer and summed and written from there, while they are in the
 * processor's cache.  They are not written from the page itself: another client's concurrent write
 * may change the page, and the record's checksum would not match.
 *
 * A write that fails ends its segment: the records in the buffer are dropped, and what part of them
 * is in the file is cut off.  Their numbers are not used again, because a store write that began
 * meanwhile will be noted as covering records up to them.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "zc_journal_internal.h"

/* ---- the buffer ---- */

static int write_all(int fd, const unsigned char *p, size_t len, uint64_t off)
{
    while (len > 0) {
        ssize_t n = pwrite(fd, p, len, (off_t)off);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -EIO;
        p += n;
        off += (uint64_t)n;
        len -= (size_t)n;
    }
    return 0;
}

static void deliver(struct zc_journal *j, const struct zc_error *e)
{
    struct zc_list *n;

    while ((n = zc_list_pop(&j->writer.appended))) {
        struct zc_journal_write *w = zc_list_entry(n, struct zc_journal_write, link);

        zc_error_merge(&w->error, e);
        zc_lock_get(&j->lock);
        j->st.journal_waiting--;
        zc_lock_put(&j->lock);
        w->done(w);
    }
}

static void written(struct zc_journal *j)
{
    struct zc_segment *s = j->writer.current;

    j->writer.written_seq = j->seq;
    zc_lock_get(&j->lock);
    s->at += j->writer.fill;
    s->records += j->writer.buf_records;
    j->st.journal_bytes += j->writer.fill;
    j->st.journal_written_bytes += j->writer.fill;
    j->st.journal_records += j->writer.buf_records;
    zc_lock_put(&j->lock);
    j->writer.unsynced = true;
}

static int push(struct zc_journal *j)
{
    int rc;

    if (j->writer.fill == 0)
        return 0;
    rc = write_all(j->writer.fd, j->writer.buf, j->writer.fill, j->writer.current->at);
    if (rc < 0) {
        zc_segment_end(j);
        rc = zc_errorf(-rc, "journal %s: %s", j->dir, strerror(-rc));
        zc_error("%s", zc_error_text(rc));
    } else {
        written(j);
    }
    j->writer.fill = 0;
    j->writer.buf_records = 0;
    return rc;
}

static int sync_out(struct zc_journal *j)
{
    int rc = 0;

    if (!j->cfg.sync || !j->writer.unsynced || j->writer.fd < 0)
        return 0;
    if (fdatasync(j->writer.fd) < 0)
        rc = zc_errorf(errno, "journal %s: sync: %s", j->dir, strerror(errno));
    j->writer.unsynced = rc < 0;
    if (rc < 0)
        zc_segment_end(j);
    zc_lock_get(&j->lock);
    j->st.journal_syncs++;
    zc_lock_put(&j->lock);
    return rc;
}

int zc_journal_push(struct zc_journal *j, bool sync)
{
    int rc = push(j);
    struct zc_error e;

    if (rc == 0 && sync)
        rc = sync_out(j);
    zc_error_keep(&e, rc);
    if (rc < 0 || sync || !j->cfg.sync)
        deliver(j, &e);
    return zc_error_raise(&e);
}

unsigned char *zc_journal_body(struct zc_journal *j)
{
    return j->writer.buf + j->writer.fill + ZC_RECORD_HEAD;
}

void zc_journal_append(struct zc_journal *j, struct zc_record *r, size_t body)
{
    zc_lock_get(&j->lock);
    r->seq = ++j->seq;
    zc_lock_put(&j->lock);
    r->segment = j->writer.current->number;
    j->writer.fill += zc_record_seal(j->writer.buf + j->writer.fill, r, body);
    j->writer.buf_records += r->kind != ZC_RECORD_SEGMENT;
}

/* Makes room for a body, with a FILE record before it, in the buffer and in the current segment. */
static int make_room(struct zc_journal *j, const struct zc_journal_file *f, size_t body,
                     const struct zc_journal_write *w)
{
    size_t len = zc_record_length(body) + zc_record_length(64 + strlen(f->path));
    int rc = 0;

    if (j->writer.fill + len > ZC_JOURNAL_BUFFER)
        rc = zc_journal_push(j, w != NULL);
    return rc < 0 ? rc : zc_segment_room(j, len, w);
}

/* Appends the FILE record if the segment does not have it yet or `again`; room was made. */
static int declare(struct zc_journal *j, struct zc_journal_file *f, bool again)
{
    struct zc_journal_part *p = zc_segment_part(j, j->writer.current, f);
    struct zc_record r = {.kind = ZC_RECORD_FILE, .file = f->id};
    size_t body;

    if (!p)
        return zc_errorf(ENOMEM, "journal %s: out of memory", j->dir);
    if (p->declared && !again)
        return 0;
    zc_lock_get(&j->lock);
    body = zc_jfile_record(f, zc_journal_body(j), &r.until);
    zc_lock_put(&j->lock);
    zc_journal_append(j, &r, body);
    p->declared = true;
    return 0;
}

/* ---- writes ---- */

/* Extends the ticket to the current segment. */
static void enter(struct zc_journal *j, struct zc_journal_ticket *t, struct zc_journal_file *f)
{
    struct zc_segment *s = j->writer.current;

    zc_lock_get(&j->lock);
    if (!t->file) {
        t->file = f;
        t->first = s->number;
        t->last = s->number - 1;
        f->tickets++;
    }
    if (t->last < s->number) {
        zc_list_each (&j->segments, n) {
            struct zc_segment *o = zc_list_entry(n, struct zc_segment, link);

            o->busy += o->number > t->last;
        }
        t->last = s->number;
    }
    zc_lock_put(&j->lock);
}

/* Position in the ranges of a write where its next record begins. */
struct cursor {
    uint32_t i, skip; /* range, bytes of it that are done */
};

/* Returns how many ranges fit into a body, and the number of their bytes. */
static uint32_t fit(const struct zc_journal *j, const struct zc_journal_write *w,
                    const struct cursor *c, size_t *bytes)
{
    size_t room = j->body_max;
    uint32_t n = 0, skip = c->skip;

    *bytes = 0;
    for (uint32_t i = c->i; i < w->n && room > ZC_RECORD_RANGE; i++, n++, skip = 0) {
        size_t len = w->r[i].hi - w->r[i].lo - skip;

        room -= ZC_RECORD_RANGE;
        if (len > room)
            len = room;
        room -= len;
        *bytes += len;
    }
    return n;
}

/* Appends a record of the next n ranges, and advances the cursor. */
static void append_data(struct zc_journal *j, const struct zc_journal_write *w, struct cursor *c,
                        uint32_t n, size_t bytes)
{
    uint32_t from = w->r[c->i].lo + c->skip;
    struct zc_record r = {.kind = ZC_RECORD_DATA,
                          .file = w->file->id,
                          .nranges = n,
                          .off = w->off + (from - w->base)};
    unsigned char *body = zc_journal_body(j), *to = body + (size_t)n * ZC_RECORD_RANGE;
    size_t left = bytes;

    for (uint32_t k = 0; k < n; k++) {
        uint32_t lo = w->r[c->i].lo + c->skip, len = w->r[c->i].hi - lo;

        if (len > left) {
            len = (uint32_t)left;
            c->skip += len;
        } else {
            c->i++;
            c->skip = 0;
        }
        left -= len;
        zc_record_put_range(body, k, lo - from, len);
        memcpy(to, (const char *)w->data + (lo - w->base), len);
        to += len;
        r.span = lo - from + len;
    }
    zc_journal_append(j, &r, (size_t)(to - body));
}

/* Room for the BEFORE of ranges with so many bytes, which is made together with that for their
 * DATA: the DATA may still be in the buffer, and making room for more could fail and drop it.  0:
 * there will be none. */
static size_t before_room(const struct zc_journal *j, const struct zc_journal_write *w, uint32_t n,
                          size_t bytes)
{
    size_t body = w->file->peek_fd < 0 ? 0 : zc_before_most(j, n, bytes);

    return body ? zc_record_length(body) : 0;
}

/* Notes what the file has where ranges of the write go, in a record of `room` bytes at most. */
static void note_before(struct zc_journal *j, const struct zc_journal_write *w,
                        const struct cursor *c, uint32_t nranges, size_t bytes, size_t room)
{
    struct zc_record r = {.kind = ZC_RECORD_BEFORE,
                          .file = w->file->id,
                          .off = w->off + (w->r[c->i].lo + c->skip - w->base)};
    uint32_t n = room ? zc_before_look(j, w, c->i, nranges, c->skip, bytes) : 0;

    if (n > 0)
        zc_journal_append(j, &r, zc_before_record(j, n, zc_journal_body(j), &r));
}

static int write_records(struct zc_journal *j, struct zc_journal_write *w)
{
    struct cursor c = {0, 0}, from;
    int rc;

    while (c.i < w->n) {
        size_t bytes, room;
        uint32_t n = fit(j, w, &c, &bytes);

        room = before_room(j, w, n, bytes);
        rc = make_room(j, w->file, (size_t)n * ZC_RECORD_RANGE + bytes + room, w);
        if (rc == 0)
            rc = declare(j, w->file, false);
        if (rc < 0)
            return rc;
        enter(j, w->ticket, w->file);
        from = c;
        append_data(j, w, &c, n, bytes);
        note_before(j, w, &from, n, bytes, room);
    }
    return 0;
}

void zc_journal_write_out(struct zc_journal *j, struct zc_journal_write *w)
{
    bool gone;

    zc_lock_get(&j->lock);
    gone = w->file->gone;
    zc_lock_put(&j->lock);
    zc_error_keep(&w->error, gone ? 0 : write_records(j, w));
    zc_list_add_tail(&j->writer.appended, &w->link);
}

/* ---- notes ---- */

/* A note that cannot be written fails no request: the error is logged, and bytes already stored may
 * be written once more.  A segment, however, is not deleted before the notes that its deletion
 * requires are written (zc_journal_segment.c). */
int zc_journal_note(struct zc_journal *j, struct zc_journal_file *f, enum zc_record_kind kind,
                    uint64_t until)
{
    struct zc_record r = {.kind = kind, .file = f->id, .until = until};
    int rc = j->frozen ? -ESHUTDOWN : make_room(j, f, 0, NULL);

    if (rc == 0)
        rc = declare(j, f, kind == ZC_RECORD_FILE);
    if (rc == 0 && kind != ZC_RECORD_FILE)
        zc_journal_append(j, &r, 0);
    return rc;
}

void zc_journal_note_ranges(struct zc_journal *j, struct zc_journal_file *f, uint64_t until,
                            uint64_t off, const struct zc_range *r, uint32_t n)
{
    uint32_t most = (uint32_t)(j->body_max / ZC_RECORD_RANGE), k;

    for (uint32_t i = 0; i < n && !j->frozen; i += k) {
        struct zc_record rec = {.kind = ZC_RECORD_STORED, .file = f->id, .until = until};
        unsigned char *body;

        k = n - i < most ? n - i : most;
        if (make_room(j, f, (size_t)k * ZC_RECORD_RANGE, NULL) < 0 || declare(j, f, false) < 0)
            return;
        rec.nranges = k;
        rec.off = off + r[i].lo;
        rec.span = r[i + k - 1].hi - r[i].lo;
        body = zc_journal_body(j);
        for (uint32_t x = 0; x < k; x++)
            zc_record_put_range(body, x, r[i + x].lo - r[i].lo, r[i + x].hi - r[i + x].lo);
        zc_journal_append(j, &rec, (size_t)k * ZC_RECORD_RANGE);
    }
}
