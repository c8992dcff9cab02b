/* zc_units.h - numbers with units: 4M, 1G, 75%, 30s, 200ms. */
#ifndef ZC_UNITS_H
#define ZC_UNITS_H

#include <stddef.h>
#include <stdint.h>

/* All parsers accept decimal digits, at most one blank and a unit, and nothing else: no sign, no
 * text behind.  Sizes and times may have a fraction that yields whole bytes or milliseconds:
 * "1.5M".  0; -EINVAL: not such a number; -ERANGE: too large.  *out is written on success only. */

/* "4096", "64k", "4M", "1G", "2T" (powers of 1024, either case, an optional "iB" or "B"). */
int zc_parse_size(const char *s, uint64_t *out);
/* "30" and "30s" are seconds, "500ms", "2m", "1h"; result in milliseconds. */
int zc_parse_time(const char *s, uint64_t *ms);
/* "75" or "75%". 0..100 */
int zc_parse_percent(const char *s, uint64_t *out);
/* Digits only. */
int zc_parse_count(const char *s, uint64_t *out);

/* Formats for messages, rounded to one decimal: "4 MiB", "1.5 GiB", "17 B"; returns buf. */
char *zc_format_size(uint64_t bytes, char *buf, size_t len);
/* Formats exactly, as zc_parse_size() accepts it: "4M", "1536"; returns buf. */
char *zc_publish_size(uint64_t bytes, char *buf, size_t len);
/* Formats exactly, as zc_parse_time() accepts it: "30s", "200ms"; returns buf. */
char *zc_publish_time(uint64_t ms, char *buf, size_t len);

#endif
