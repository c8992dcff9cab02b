/* zc_futex.h - waits on a word of memory that other processes may write.
 *
 * A semaphore or mutex of the C library aborts the process if another one has stored an invalid
 * value in it.  Here any value is valid: at worst a wait lasts until its time-out.
 */
#ifndef ZC_FUTEX_H
#define ZC_FUTEX_H

#include <stdint.h>

/* Returns when *word is not 0, and sets it to 0, or after timeout_ns; also without either. */
void zc_futex_wait(uint32_t *word, uint64_t timeout_ns);

/* Sets *word to 1, and wakes all that wait for it. */
void zc_futex_set(uint32_t *word);

#endif
