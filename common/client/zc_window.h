/* zc_window.h - an access made in parts, several of which are under way.
 *
 * Parts are started in the order of the access and finished in that order, so that a short read
 * ends where it should, and the error that is told is the first one met.  The caller keeps what a
 * part is, in an array of ZC_WINDOW of them; the window says which of them is next, and counts.
 *
 *     zc_window_init(&w, finish, &access);
 *     while (something is left && zc_window_wants(&w)) {
 *         unsigned slot = zc_window_slot(&w);
 *         ... start part[slot] ...
 *         zc_window_started(&w, its length);
 *     }
 *     return zc_window_end(&w);
 *
 * Used by one thread.  Lengths are bytes.
 */
#ifndef ZC_WINDOW_H
#define ZC_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

enum { ZC_WINDOW = 8 }; /* parts under way */

/* Waits for the part in `slot` and gives back what belongs to it.  Returns the bytes it has, fewer
 * than its length where the access ends, or a negative errno, explained.  `wanted`: all parts
 * before it are complete; else nobody asks for its bytes any more, but an error still counts. */
typedef int64_t zc_window_finish_fn(void *access, unsigned slot, bool wanted);

struct zc_window { /* private */
    zc_window_finish_fn *finish;
    void *access;
    unsigned head, count; /* slots of the parts under way, from the oldest */
    int64_t len[ZC_WINDOW];
    int64_t moved; /* up to the first byte that is missing */
    bool ended;    /* a part had less than its length */
    int status;    /* the first error */
    char text[400];
};

void zc_window_init(struct zc_window *w, zc_window_finish_fn *finish, void *access);
/* False once the access has ended or failed: no more parts. */
bool zc_window_wants(const struct zc_window *w);
/* Where to put the next part; finishes the oldest one when all slots are taken.  The slot is taken
 * by zc_window_started() only. */
unsigned zc_window_slot(struct zc_window *w);
void zc_window_started(struct zc_window *w, int64_t len);
/* The next part could not be started: the access fails with rc, which is explained. */
void zc_window_fail(struct zc_window *w, int rc);
/* Finishes all that is under way.  Bytes moved, up to the first that is missing; or the first
 * error, explained. */
int64_t zc_window_end(struct zc_window *w);

#endif
