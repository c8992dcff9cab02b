/* model.h - the server of the modelled file system: what a request costs, and what was done.
 *
 * All clients share one server, which serves reads, writes and syncs one after the other:
 *
 *     start = max(now, free)          the request queues behind those before it
 *     free  = start + op + bytes / rate
 *     due   = free + latency          the reply is on its way; these overlap
 *
 * Metadata is another server, which is never busy: due = now + meta.
 *
 * Times are nanoseconds of CLOCK_MONOTONIC.  Any thread may call these.
 */
#ifndef SLOWFS_MODEL_H
#define SLOWFS_MODEL_H

#include <stddef.h>
#include <stdint.h>

struct model_costs {
    double write_rate; /* bytes per second; 0: no limit */
    double read_rate;
    double op_us; /* of the server, for each request */
    double latency_us;
    double meta_us;
};

enum model_kind { MODEL_WRITE, MODEL_READ, MODEL_SYNC, MODEL_META, MODEL_KINDS };

struct model;

struct model *model_create(const struct model_costs *costs); /* NULL: out of memory */
void model_destroy(struct model *m);

/* Queues and counts a request; returns when its reply is due.  `bytes` counts for reads and
 * writes only.  A sync, being queued behind them, is due after every earlier write. */
int64_t model_book(struct model *m, enum model_kind kind, size_t bytes);

void model_wait(int64_t due);

/* Books and waits. */
void model_spend(struct model *m, enum model_kind kind, size_t bytes);

/* The costs and counters as JSON: requests and bytes of each kind, and for how long the server
 * was busy with it.  Returns the length, as snprintf does. */
int model_print(struct model *m, char *text, size_t size);

#endif
