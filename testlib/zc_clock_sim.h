/* zc_clock_sim.h - simulated time for tests: it passes only while all of the process sleeps.
 *
 * The clock stands still while a thread of the process runs, is ready to run or waits for a disk.
 * When all sleep, it jumps to the end of the wait that ends first, or rather to the next multiple
 * of 5 ms.  So a limit of 30 s is reached in milliseconds, and a thread that gets no processor for
 * a while misses none: on a loaded machine a test takes longer and does the same.  Each look at the
 * clock takes ZC_CLOCK_SIM_LOOK_NS, so that loops that poll it come to an end.
 *
 * Whether all threads sleep is the kernel's word: each has state S in /proc/self/task in two
 * passes, and was given no processor from the first to the second, so that between them none ran.
 *
 * Threads meet less often than on a real clock, where each of them sleeps now and then for a time
 * of its own: what has to race stays on that.
 *
 * What the test waits for has to be done by threads of its own process, and each of its pauses has
 * to be a zc_clock_sleep(): one that the clock does not know counts as the sleep of a thread that
 * waits for others.
 */
#ifndef ZC_CLOCK_SIM_H
#define ZC_CLOCK_SIM_H

#include "zc_clock.h"

enum { ZC_CLOCK_SIM_LOOK_NS = 1000 };

/* For zc_clock; begins at the time of CLOCK_MONOTONIC.  Its thread starts with the first wait, in
 * each process anew. */
const struct zc_clock *zc_clock_sim(void);

#endif
