/* zc_address_space.h - the limits on the address space of a process, which also count memory that
 * is reserved and never touched: on all of it (ulimit -v, RLIMIT_AS), and on what is private and
 * can be written (ulimit -d, RLIMIT_DATA).
 */
#ifndef ZC_ADDRESS_SPACE_H
#define ZC_ADDRESS_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ZC_ADDRESS_SPACE_TEXT = 192 };

/* Whether there is such a limit: addresses cost nothing where there is none. */
bool zc_address_space_limited(void);

/* If `need` more bytes, private and to be written, do not fit below a limit, formats a text with
 * the limit, the bytes in use, the bytes needed and a remedy: "; ulimit -v is ..."; else "". `need`
 * 0: an unknown amount of memory was refused; a text whenever there is a limit, of the one with
 * least room.  Returns buf.  Allocates no memory. */
const char *zc_address_space_remedy(uint64_t need, char *buf, size_t len);
/* As zc_address_space_remedy(), for the stack of one more thread. */
const char *zc_address_space_thread(char *buf, size_t len);

#endif
