/* zc_clock_sim.h - simulated time for tests: it passes only while all threads of the process sleep.
 *
 * The clock stands still while a thread of the process runs, is ready to run or waits for a disk.
 * When all sleep, it jumps to the end of the wait that ends first, or rather to the next multiple
 * of 5 ms.  So a limit of 30 s is reached in milliseconds, and a thread that gets no processor for
 * a while misses none: on a loaded machine a test takes longer and does the same.  Each look at the
 * clock takes ZC_CLOCK_SIM_LOOK_NS, so that loops that poll it come to an end.
 *
 * Whether all threads sleep is the kernel's word: each but the clock's own has state S in
 * /proc/self/task, or has ended, in two passes, and was given no processor from the first to the
 * second, so that between them none ran.
 *
 * Threads meet less often than on the real clock: tests of races use that.
 *
 * What the test waits for has to be done by threads of its own process, and each pause has to be a
 * zc_clock_sleep(): during a usleep() a thread seems to wait for others, and the clock goes on.
 */
#ifndef ZC_CLOCK_SIM_H
#define ZC_CLOCK_SIM_H

#include "zc_clock.h"

enum { ZC_CLOCK_SIM_LOOK_NS = 1000 };

/* Returns the clock, to be assigned to zc_clock while the process has one thread.  The first call
 * begins at the time of CLOCK_MONOTONIC; its own thread starts with the first wait, after fork()
 * again.  Aborts with more than 512 threads, 7 polled descriptors, or without schedstat in /proc.
 */
const struct zc_clock *zc_clock_sim(void);

#endif
