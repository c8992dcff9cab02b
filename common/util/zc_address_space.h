/* zc_address_space.h - the limit on the address space of a process (ulimit -v, RLIMIT_AS), which
 * also counts memory that is reserved and never touched.
 */
#ifndef ZC_ADDRESS_SPACE_H
#define ZC_ADDRESS_SPACE_H

#include <stddef.h>
#include <stdint.h>

enum { ZC_ADDRESS_SPACE_TEXT = 192 };

/* If `need` more bytes do not fit below the limit, formats a text with the limit, the bytes in use,
 * the bytes needed and a remedy: "; ulimit -v is ..."; else "".  `need` 0: an unknown amount of
 * memory was refused; a text whenever there is a limit.  Returns buf.  Allocates no memory. */
const char *zc_address_space_remedy(uint64_t need, char *buf, size_t len);
/* As zc_address_space_remedy(), for the stack of one more thread. */
const char *zc_address_space_thread(char *buf, size_t len);

#endif
