/* zc_utf8.c - text that need not be UTF-8. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "zc_utf8.h"

size_t zc_utf8_length(const char *s)
{
    const unsigned char *p = (const unsigned char *)s;
    /* Of the second byte: neither longer than need be, nor a surrogate, nor above U+10FFFF. */
    unsigned lo = p[0] == 0xe0 ? 0xa0 : p[0] == 0xf0 ? 0x90 : 0x80;
    unsigned hi = p[0] == 0xed ? 0x9f : p[0] == 0xf4 ? 0x8f : 0xbf;
    size_t n = p[0] < 0x80 ? 1 : p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;

    if (p[0] > 0xf4 || (n > 1 && (p[1] < lo || p[1] > hi)))
        return 0;
    for (size_t i = 2; i < n; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    return n;
}

char *zc_utf8_copy(const char *s)
{
    char *copy = malloc(3 * strlen(s) + 1), *to = copy;

    while (copy && *s) {
        size_t n = zc_utf8_length(s);

        to = mempcpy(to, n ? s : ZC_UTF8_OTHER, n ? n : 3);
        s += n ? n : 1;
    }
    if (copy)
        *to = '\0';
    return copy;
}
