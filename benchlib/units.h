/*
 * Sizes, times and rates as people write and read them.
 *
 * Sizes are powers of 1024: "4096", "64K", "4M", "4MiB", "1G". "4MB" is refused, because half
 * of its readers take it for 4000000. Needs no MPI.
 */
#ifndef UNITS_H
#define UNITS_H

#include <stddef.h>
#include <stdint.h>

/* Size of a buffer for the print functions below. */
#define UNITS_TEXT 32

/* Both return 0, or -EINVAL when the text is not one, or -ERANGE when it does not fit; *out is
 * left alone unless 0 is returned. */
int units_parse_size(const char *text, int64_t *out);
/* "0.5", "2s", "500ms", "80us"; never negative, never infinite. */
int units_parse_seconds(const char *text, double *out);

/* Write to `buf` and return it. */
const char *units_size(char buf[UNITS_TEXT], int64_t bytes);           /* "4 MiB", "1.37 GiB" */
const char *units_seconds(char buf[UNITS_TEXT], double seconds);       /* "12.3 ms" */
const char *units_rate(char buf[UNITS_TEXT], double bytes_per_second); /* "1290.4 MiB/s" */
const char *units_percent(char buf[UNITS_TEXT], double fraction);      /* "93.1 %" */

/* Returns how many bytes from the beginning of the text are valid UTF-8. */
size_t units_utf8(const char *text);

#endif
