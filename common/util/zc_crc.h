/* zc_crc.h - CRC-32C (Castagnoli), by ISA-L, which is opened at run time.
 *
 * Nothing is loaded, and nothing costs, where nobody asks for checksums.
 */
#ifndef ZC_CRC_H
#define ZC_CRC_H

#include <stddef.h>
#include <stdint.h>

/* Loads the library, once for the process; any thread.  -ENOENT, -ELIBBAD: explained, with what to
 * install; the same each time. */
int zc_crc_load(void);

/* Of `len` bytes; after zc_crc_load() has worked.  That of "123456789" is 0xe3069283. */
uint32_t zc_crc(const void *buf, size_t len);

#endif
