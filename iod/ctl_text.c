/* ctl_text.c - what a daemon answers to INFO, cut into lines and fields. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
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
