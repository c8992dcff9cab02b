/* zc_utf8.h - text that need not be UTF-8, such as names of files, where UTF-8 is required. */
#ifndef ZC_UTF8_H
#define ZC_UTF8_H

#include <stddef.h>

/* What stands for a byte that is part of no character: U+FFFD. */
#define ZC_UTF8_OTHER "\xef\xbf\xbd"

/* Returns how many bytes the character at `s` takes; 0: those bytes are no character.  *s is not
 * NUL. */
size_t zc_utf8_length(const char *s);

/* Returns a copy with U+FFFD in place of each byte that is part of no character, the caller's to
 * free; NULL: no memory. */
char *zc_utf8_copy(const char *s);

#endif
