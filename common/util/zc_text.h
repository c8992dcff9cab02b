/* zc_text.h - shortens messages to the space they have.
 *
 * An error is explained by every layer it passes, and each may name a path.  The cause, which comes
 * last, must not be cut off because paths are long.
 */
#ifndef ZC_TEXT_H
#define ZC_TEXT_H

#include <stdarg.h>
#include <stddef.h>

/* Formats into `out`, of `size` bytes.  In a text of more than `fit` - 1 bytes long paths are
 * shortened, no more than needed, by leaving out the middle: "/scratch/.../file.7"; the first path,
 * which later ones often repeat, is shortened last.  If that does not help, as with blanks in a
 * path, the middle of the text is left out.  Without a path, or with a `fit` of less than 64, the
 * text is cut at `size`.  A text of more than 8 KiB is cut in any case.  Arguments may point into
 * `out`. */
void zc_text_vformat(char *out, size_t size, size_t fit, const char *fmt, va_list ap)
    __attribute__((format(printf, 4, 0)));

#endif
