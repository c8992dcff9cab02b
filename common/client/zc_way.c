/* zc_way.c - which way the bytes of a transfer go.
 *
 * The reasons are costs of a transfer of 4 KiB, with two processes of one host, as processor time
 * of both; doc/COPIES.md counts what they consist of.
 */
#include "config.h"

#include "zc_ring.h"
#include "zc_way.h"

enum { FILE_MIN = 1 << 10 }; /* bytes */

/* One copy and one system call, and the owner does nothing: it would copy the bytes into its cache
 * first, which costs as much as this.  Bytes that are there already would come cheaper, by 0.3 us
 * for 4 KiB; those of a file that nothing writes to are when they were read before.  Smaller reads
 * are served from a piece of the page (ZC_WAY_PEEK), without a system call. */
static bool by_file(const struct zc_way_ask *a)
{
    return a->file && !a->write && !a->message && a->plain && !a->checked && a->len >= FILE_MIN;
}

/* One copy, without a system call: nothing is cheaper. */
static bool by_call(const struct zc_way_ask *a)
{
    return a->own;
}

/* One copy and at most one system call of the reader; the owner does nothing.  Any part of a page:
 * the larger, the more it gains over RMA, which copies as often and has messages as well.
 * Scattered bytes would take a call for each run. */
static bool by_peek(const struct zc_way_ask *a)
{
    return !a->write && !a->message && a->plain && a->len <= a->page;
}

/* Two copies, and no system call.  Beyond 64 KiB the second copy costs more than the messages of
 * RMA.  Scattered bytes go 64 KiB at a time: a message would take more copies for them.  Checksums
 * are made for messages. */
static bool by_ring(const struct zc_way_ask *a)
{
    return a->write && !a->message && !a->checked &&
           (a->plain ? a->len <= ZC_RING_ENTRY_MAX : !a->large);
}

/* Five copies and two messages, where RMA has one copy and four messages: the copies are cheaper,
 * as far as a message reaches. */
static bool by_inline(const struct zc_way_ask *a)
{
    return a->len <= a->room;
}

static bool by_rma(const struct zc_way_ask *a)
{
    (void)a;
    return true;
}

static bool (*const can[ZC_WAYS])(const struct zc_way_ask *) = {
    [ZC_WAY_FILE] = by_file, [ZC_WAY_CALL] = by_call,     [ZC_WAY_PEEK] = by_peek,
    [ZC_WAY_RING] = by_ring, [ZC_WAY_INLINE] = by_inline, [ZC_WAY_RMA] = by_rma,
};

enum zc_way zc_way(const struct zc_way_ask *a)
{
    enum zc_way way = ZC_WAY_FILE;

    while (!can[way](a))
        way++;
    return way;
}
