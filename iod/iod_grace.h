/* iod_grace.h - how long a daemon goes on serving after SIGTERM (--grace).
 *
 * A batch system sends SIGTERM to ranks and daemons at once, some time before it kills them.  The
 * ranks then write a last checkpoint, for which the daemon has to serve, new opens too.
 *
 * Points in time and durations are in ns of zc_now(), unless named _ms.  Not locked: for one
 * thread.
 */
#ifndef IOD_GRACE_H
#define IOD_GRACE_H

#include <stdbool.h>
#include <stdint.h>

struct iod_grace {
    uint64_t until; /* when the daemon stops at the latest */
    uint64_t alone; /* how long it has no client before it stops earlier */
    uint64_t since; /* since when it has none; 0: it has one, or was not looked at */
};

/* Begins a grace time: until time_ms have passed, or no client has been connected for alone_ms. */
void iod_grace_begin(struct iod_grace *g, uint64_t now, uint64_t time_ms, uint64_t alone_ms);

/* Notes that so many clients are connected now, and returns whether the daemon goes on serving.  To
 * call again and again: by as long as that takes, both times may be exceeded. */
bool iod_grace_lasts(struct iod_grace *g, uint64_t now, unsigned clients);

#endif
