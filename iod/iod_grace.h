/* iod_grace.h - how long a daemon goes on serving after SIGTERM (--grace).
 *
 * A batch system sends SIGTERM to ranks and daemons at once, some time before it kills them.  The
 * ranks then write a last checkpoint, for which the daemon has to serve, new opens too.
 *
 * Times are zc_now()'s, in ns.  No locking: of one thread.
 */
#ifndef IOD_GRACE_H
#define IOD_GRACE_H

#include <stdbool.h>
#include <stdint.h>

struct iod_grace {
    uint64_t until; /* the daemon stops then */
    uint64_t alone; /* time without a client after which it stops earlier, ns */
    uint64_t since; /* time since which it has no client; 0: it has one */
};

/* Begins a grace time of `time_ms`, or of `alone_ms` without a client. */
void iod_grace_begin(struct iod_grace *g, uint64_t now, uint64_t time_ms, uint64_t alone_ms);

/* Returns whether the daemon goes on serving; `clients` are connected at time `now`. */
bool iod_grace_lasts(struct iod_grace *g, uint64_t now, unsigned clients);

#endif
