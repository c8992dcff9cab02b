/* zc_client_meet.c - cards at a server's files: what is longer than a message in pieces.
 *
 * A card has the secrets of those whom it names: it lies at the server, and travels, in a box for
 * those who know the server's secret.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "zc_box.h"
#include "zc_log.h"
#include "zc_net_internal.h"

_Static_assert(ZC_MAX_JOB == ZC_MAX_JOB_NAME, "every name of a job can be sent");

/* One message, one answer, with up to a piece of a card in `data`. */
static int ask(struct zc_client *c, struct zc_msg *m, void *data, struct zc_msg *reply)
{
    struct zc_call *call;
    int rc = zc_call_start(c, m, data, ZC_MAX_CARD_PIECE, &call);

    return rc ? rc : zc_call_wait(c, call, reply);
}

/* Pieces of ours, until all are there or another's card is. */
static int leave(struct zc_client *c, struct zc_msg *m, const void *card, void *data,
                 struct zc_msg *reply)
{
    const unsigned char *bytes = card;
    int rc = 0;

    do {
        uint64_t left = m->size - m->off;

        m->data.p = bytes + m->off;
        m->data.n = left < ZC_MAX_CARD_PIECE ? (uint32_t)left : ZC_MAX_CARD_PIECE;
        rc = ask(c, m, data, reply);
        m->off += m->data.n;
    } while (rc == 0 && reply->count == 0 && m->off < m->size);
    if (rc == 0 && reply->count == 0)
        rc = zc_errorf(EPROTO, "%s: neither took a card nor has one", c->label);
    return rc;
}

/* What is there of the other's card is in `first`; the rest is asked for. */
static int fetch(struct zc_client *c, const struct zc_msg *first, struct zc_card *theirs)
{
    struct zc_msg reply = *first;
    unsigned char piece[ZC_MAX_CARD_PIECE];
    size_t at = 0;
    int rc = 0;

    if (first->size > ZC_MAX_CARD + ZC_BOX_EXTRA)
        return zc_errorf(EPROTO, "%s: a card of %llu bytes", c->label,
                         (unsigned long long)first->size);
    theirs->bytes = malloc(first->size);
    if (!theirs->bytes)
        return zc_errorf(ENOMEM, "no memory for a card");
    for (;;) {
        if (reply.data.n == 0 || reply.data.n > first->size - at) {
            rc = zc_errorf(EPROTO, "%s: a card that is not as long as it should be", c->label);
            break;
        }
        memcpy((unsigned char *)theirs->bytes + at, reply.data.p, reply.data.n);
        at += reply.data.n;
        if (at == first->size)
            break;
        rc = ask(c,
                 &(struct zc_msg){
                     .type = ZC_T_MEET, .what = ZC_MEET_READ, .count = first->count, .off = at},
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

/* In the place of the box comes what is in it. */
static int open_box(struct zc_client *c, struct zc_card *theirs)
{
    unsigned char *card = theirs->len > ZC_BOX_EXTRA ? malloc(theirs->len - ZC_BOX_EXTRA) : NULL;
    bool opened = card && zc_box_open(&c->secret, theirs->bytes, theirs->len, card);

    free(theirs->bytes);
    theirs->bytes = NULL;
    if (!opened) {
        free(card);
        return zc_errorf(EPROTO, "%s: a card by somebody who does not know its secret", c->label);
    }
    theirs->bytes = card;
    theirs->len -= ZC_BOX_EXTRA;
    return 0;
}

int zc_client_meet(struct zc_client *c, uint64_t handle, const char *job, const void *card,
                   size_t len, uint64_t replaces, uint64_t *mine, struct zc_card *theirs)
{
    unsigned char first[ZC_MAX_CARD_PIECE];
    struct zc_msg m = {.type = ZC_T_MEET,
                       .what = ZC_MEET_LEAVE,
                       .handle = handle,
                       .count = replaces,
                       .size = len + ZC_BOX_EXTRA,
                       .job = {job, (uint32_t)strlen(job)}};
    unsigned char *box = malloc(len + ZC_BOX_EXTRA);
    struct zc_msg reply;
    int rc =
        box ? zc_box_close(&c->secret, card, len, box) : zc_errorf(ENOMEM, "no memory for a card");

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

int zc_client_part(struct zc_client *c, uint64_t mine)
{
    struct zc_msg m = {.type = ZC_T_MEET, .what = ZC_MEET_PART, .count = mine};

    return zc_call(c, &m, NULL);
}
