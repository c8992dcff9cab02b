/* zc_text.h - sentences for people that have to fit where they are kept.
 *
 * An error is explained by every layer it passes, and each may name a path.  What comes last, the
 * cause, must not fall off the end because paths are long.
 */
#ifndef ZC_TEXT_H
#define ZC_TEXT_H

#include <stdarg.h>
#include <stddef.h>

/* Formats into `out`, of `size` bytes.  A text of more than `fit` - 1 bytes has its long paths
 * shortened, no more than needed: the middle goes, "/scratch/.../file.7" stays; and the first path,
 * which others often repeat, is kept longest.  If that does not help, as with blanks in a path, the
 * middle of the text goes.  Without a path, or with a `fit` of less than 64, as much is kept as
 * `out` holds.  What is longer than 8 KiB is cut in any case.  Arguments may point into `out`. */
void zc_text_vformat(char *out, size_t size, size_t fit, const char *fmt, va_list ap)
    __attribute__((format(printf, 4, 0)));

#endif
