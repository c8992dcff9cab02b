/* ctl_text.c - what a daemon answers to INFO, cut into lines and fields. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl_text.h"
#include "zc_units.h"

bool ctl_text_number(const char *s, uint64_t *out)
{
    return zc_parse_count(s, out) == 0;
}

bool ctl_text_pair(char **text, char **name, char **value)
{
    char *line;

    while ((line = strsep(text, "\n"))) {
        char *blank = strchr(line, ' ');

        if (!blank)
            continue;
        *blank = '\0';
        *name = line;
        *value = blank + 1;
        return true;
    }
    return false;
}

char *ctl_text_value(const char *text, const char *name, char *buf, int len)
{
    size_t n = strlen(name);

    snprintf(buf, (size_t)len, "-");
    while (text && *text) {
        size_t line = strcspn(text, "\n");

        if (line > n && strncmp(text, name, n) == 0 && text[n] == ' ') {
            snprintf(buf, (size_t)len, "%.*s", (int)(line - n - 1), text + n + 1);
            break;
        }
        text += line;
        text += *text == '\n';
    }
    return buf;
}

bool ctl_text_file(char **text, struct ctl_file *f)
{
    char *line;

    while ((line = strsep(text, "\n"))) {
        int at = 0;

        if (sscanf(line,
                   "%" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %d %n",
                   &f->handles, &f->size, &f->cached, &f->dirty, &f->failed, &f->lost, &f->error,
                   &at) == 7 &&
            at > 0 && line[at]) {
            f->path = line + at;
            return true;
        }
    }
    return false;
}

/* ---- UTF-8 ---- */

size_t ctl_text_character(const char *s)
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

char *ctl_text_utf8(const char *s)
{
    char *copy = malloc(3 * strlen(s) + 1), *to = copy;

    while (copy && *s) {
        size_t n = ctl_text_character(s);

        to = mempcpy(to, n ? s : "\xef\xbf\xbd", n ? n : 3);
        s += n ? n : 1;
    }
    if (copy)
        *to = '\0';
    return copy;
}
