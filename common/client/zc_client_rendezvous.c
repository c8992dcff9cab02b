/* zc_client_rendezvous.c - rendezvous records at a server; long ones go in pieces.
 *
 * A record has the secrets of the owners it names, so it is stored and sent in a secret box, which
 * only holders of the server's secret can open.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "zc_log.h"
#include "zc_net_internal.h"
#include "zc_secretbox.h"

_Static_assert(ZC_MAX_JOB == ZC_MAX_JOB_NAME, "every name of a job can be sent");

/* Sends one message with up to a piece of a record in `data`, and waits for its reply. */
static int ask(struct zc_client *c, struct zc_msg *m, void *data, struct zc_msg *reply)
{
    struct zc_call *call;
    int rc = zc_call_start(c, m, data, ZC_MAX_RECORD_PIECE, &call);

    return rc ? rc : zc_call_wait(c, call, reply);
}

/* Sends pieces of our record, until all are there or another record is. */
static int leave(struct zc_client *c, struct zc_msg *m, const void *record, void *data,
                 struct zc_msg *reply)
{
    const unsigned char *bytes = record;
    int rc = 0;

    do {
        uint64_t left = m->size - m->off;

        m->data.p = bytes + m->off;
        m->data.n = left < ZC_MAX_RECORD_PIECE ? (uint32_t)left : ZC_MAX_RECORD_PIECE;
        rc = ask(c, m, data, reply);
        m->off += m->data.n;
    } while (rc == 0 && reply->count == 0 && m->off < m->size);
    if (rc == 0 && reply->count == 0)
        rc = zc_errorf(EPROTO, "%s: neither took a rendezvous record nor has one", c->label);
    return rc;
}

/* Fetches the rest of another process's record, which begins in `first`. */
static int fetch(struct zc_client *c, const struct zc_msg *first,
                 struct zc_rendezvous_record *theirs)
{
    struct zc_msg reply = *first;
    unsigned char piece[ZC_MAX_RECORD_PIECE];
    size_t at = 0;
    int rc = 0;

    if (first->size > ZC_MAX_RECORD + ZC_SECRETBOX_EXTRA)
        return zc_errorf(EPROTO, "%s: a rendezvous record of %llu bytes", c->label,
                         (unsigned long long)first->size);
    theirs->bytes = malloc(first->size);
    if (!theirs->bytes)
        return zc_errorf(ENOMEM, "no memory for a rendezvous record");
    for (;;) {
        if (reply.data.n == 0 || reply.data.n > first->size - at) {
            rc = zc_errorf(EPROTO, "%s: a rendezvous record that is not as long as it should be",
                           c->label);
            break;
        }
        memcpy((unsigned char *)theirs->bytes + at, reply.data.p, reply.data.n);
        at += reply.data.n;
        if (at == first->size)
            break;
        rc = ask(c,
                 &(struct zc_msg){.type = ZC_T_RENDEZVOUS,
                                  .what = ZC_RENDEZVOUS_READ,
                                  .count = first->count,
                                  .off = at},
                 piece, &reply);
        if (rc)
            break;
    }
    if (rc) {
        free(theirs->bytes);
        theirs->bytes = NULL;
        return rc;
    }
    theirs->len = first->size;
    theirs->number = first->count;
    return 0;
}

/* Replaces the secret box by its contents. */
static int open_box(struct zc_client *c, struct zc_rendezvous_record *theirs)
{
    unsigned char *record =
        theirs->len > ZC_SECRETBOX_EXTRA ? malloc(theirs->len - ZC_SECRETBOX_EXTRA) : NULL;
    bool opened = record && zc_secretbox_open(&c->secret, theirs->bytes, theirs->len, record);

    free(theirs->bytes);
    theirs->bytes = NULL;
    if (!opened) {
        free(record);
        return zc_errorf(EPROTO, "%s: a rendezvous record of a client without its secret",
                         c->label);
    }
    theirs->bytes = record;
    theirs->len -= ZC_SECRETBOX_EXTRA;
    return 0;
}

int zc_client_rendezvous(struct zc_client *c, uint64_t handle, const char *job, const void *record,
                         size_t len, uint64_t replaces, uint64_t *mine,
                         struct zc_rendezvous_record *theirs)
{
    unsigned char first[ZC_MAX_RECORD_PIECE];
    struct zc_msg m = {.type = ZC_T_RENDEZVOUS,
                       .what = ZC_RENDEZVOUS_PUBLISH,
                       .handle = handle,
                       .count = replaces,
                       .size = len + ZC_SECRETBOX_EXTRA,
                       .job = {job, (uint32_t)strlen(job)}};
    unsigned char *box = malloc(len + ZC_SECRETBOX_EXTRA);
    struct zc_msg reply;
    int rc = box ? zc_secretbox_close(&c->secret, record, len, box)
                 : zc_errorf(ENOMEM, "no memory for a rendezvous record");

    if (rc == 0)
        rc = leave(c, &m, box, first, &reply);
    free(box);
    *mine = 0;
    if (rc == 0 && reply.size) {
        rc = fetch(c, &reply, theirs);
        return rc ? rc : open_box(c, theirs);
    }
    if (rc == 0)
        *mine = reply.count;
    return rc;
}

int zc_client_find_record(struct zc_client *c, uint64_t handle, const char *job, uint64_t but,
                          struct zc_rendezvous_record *theirs)
{
    unsigned char first[ZC_MAX_RECORD_PIECE];
    struct zc_msg m = {.type = ZC_T_RENDEZVOUS,
                       .what = ZC_RENDEZVOUS_FIND,
                       .handle = handle,
                       .count = but,
                       .job = {job, (uint32_t)strlen(job)}};
    struct zc_msg reply;
    int rc = ask(c, &m, first, &reply);

    if (rc || !reply.size)
        return rc;
    rc = fetch(c, &reply, theirs);
    return rc ? rc : open_box(c, theirs);
}

int zc_client_withdraw(struct zc_client *c, uint64_t mine)
{
    struct zc_msg m = {.type = ZC_T_RENDEZVOUS, .what = ZC_RENDEZVOUS_WITHDRAW, .count = mine};

    return zc_call(c, &m, NULL);
}
