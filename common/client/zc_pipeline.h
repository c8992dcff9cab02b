/* zc_pipeline.h - an access made in parts, several of which are under way.
 *
 * Parts are started in the order of the access and finished in that order, so that a short read
 * ends where it should, and the error that is told is the first one met.  The caller keeps the
 * parts in an array of ZC_PIPELINE_DEPTH slots, and cuts the access while it starts them.
 *
 * Used by one thread.  Lengths are bytes.
 */
#ifndef ZC_PIPELINE_H
#define ZC_PIPELINE_H

#include <stdbool.h>
#include <stdint.h>

enum { ZC_PIPELINE_DEPTH = 8 }; /* parts under way */

/* Starts the next part, in `slot`.  Returns its length; 0: the access has no more parts; or a
 * negative errno, explained: the slot holds nothing, and the access fails. */
typedef int64_t zc_pipeline_start_fn(void *access, unsigned slot);
/* Waits for the part in `slot` and gives back what belongs to it.  Returns the bytes it has, fewer
 * than its length where the access ends, or a negative errno, explained.  `wanted`: all parts
 * before it are complete; else its bytes are not used, but an error still counts. */
typedef int64_t zc_pipeline_finish_fn(void *access, unsigned slot, bool wanted);

/* Starts and finishes all parts.  No part is started after one that is short or has failed; each
 * one that was started is finished.  Returns the bytes moved, up to the first that is missing; or
 * the first error, explained. */
int64_t zc_pipeline_run(zc_pipeline_start_fn *start, zc_pipeline_finish_fn *finish, void *access);

#endif
