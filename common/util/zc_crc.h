/* zc_crc.h - CRC-32C (Castagnoli), by ISA-L, which is opened at run time.
 *
 * The library is loaded only when checksums are used.
 */
#ifndef ZC_CRC_H
#define ZC_CRC_H

#include <stddef.h>
#include <stdint.h>

/* Loads the library, once for the process; any thread.  -ENOENT, -ELIBBAD: explained, with what to
 * install; every call returns the same. */
int zc_crc_load(void);

/* Returns the CRC of `len` bytes, after zc_crc_load() has succeeded.  That of "123456789" is
 * 0xe3069283. */
uint32_t zc_crc(const void *buf, size_t len);

#endif
