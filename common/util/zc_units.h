/* zc_units.h - numbers as people write them: 4M, 1G, 75%, 30s, 200ms. */
#ifndef ZC_UNITS_H
#define ZC_UNITS_H

#include <stddef.h>
#include <stdint.h>

/* All parsers take decimal digits, at most one blank and a unit, and nothing else: no
 * sign, no fraction, no text behind.  0; -EINVAL: not such a number; -ERANGE: too large.
 * *out is written on success only. */

/* "4096", "64k", "4M", "1G", "2T" (powers of 1024, either case, an optional "iB" or "B"). */
int zc_parse_size(const char *s, uint64_t *out);
/* "30" and "30s" are seconds, "500ms", "2m", "1h"; result in milliseconds. */
int zc_parse_time(const char *s, uint64_t *ms);
/* "75" or "75%". 0..100 */
int zc_parse_percent(const char *s, uint64_t *out);
/* Digits only. */
int zc_parse_count(const char *s, uint64_t *out);

/* For people, rounded to one decimal: "4 MiB", "1.5 GiB", "17 B"; returns buf. */
char *zc_format_size(uint64_t bytes, char *buf, size_t len);
/* Exact, as zc_parse_size() takes it: "4M", "1536"; returns buf. */
char *zc_show_size(uint64_t bytes, char *buf, size_t len);
/* Exact, as zc_parse_time() takes it: "30s", "200ms"; returns buf. */
char *zc_show_time(uint64_t ms, char *buf, size_t len);

#endif
