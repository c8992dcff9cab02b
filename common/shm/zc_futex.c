/* zc_futex.c - waiting on a word of memory that other processes may write.
 *
 * Processes share the word's memory, so no futex is private.  An error of a wait is ignored: the
 * caller reads the word itself.
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "zc_futex.h"

enum { NS_PER_S = 1000000000 };

void zc_futex_wait(uint32_t *word, uint64_t timeout_ns)
{
    const struct timespec t = {(time_t)(timeout_ns / NS_PER_S), (long)(timeout_ns % NS_PER_S)};

    if (__atomic_exchange_n(word, 0, __ATOMIC_SEQ_CST))
        return;
    syscall(SYS_futex, word, FUTEX_WAIT, 0, &t, NULL, 0);
    __atomic_store_n(word, 0, __ATOMIC_SEQ_CST);
}

void zc_futex_set(uint32_t *word)
{
    int saved = errno;

    __atomic_store_n(word, 1, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    errno = saved;
}
