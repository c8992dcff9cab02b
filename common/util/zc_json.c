/* zc_json.c - writes JSON documents, and finds members of their objects. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "zc_json.h"
#include "zc_utf8.h"

/* ---- writing ---- */

void zc_json_quote(FILE *f, const char *text)
{
    fputc('"', f);
    while (*text) {
        size_t n = zc_utf8_length(text);
        unsigned char c = (unsigned char)*text;

        if (n == 0)
            fputs("\\ufffd", f);
        else if (c == '"' || c == '\\')
            fprintf(f, "\\%c", c);
        else if (c < 0x20 || c == 0x7f)
            fprintf(f, "\\u%04x", c);
        else
            fwrite(text, 1, n, f);
        text += n ? n : 1;
    }
    fputc('"', f);
}

static void put_name(struct zc_json *j, const char *name)
{
    if (j->more)
        fputc(',', j->f);
    j->more = true;
    if (name) {
        zc_json_quote(j->f, name);
        fputc(':', j->f);
    }
}

void zc_json_open(struct zc_json *j, const char *name, char kind)
{
    put_name(j, name);
    fputc(kind, j->f);
    j->more = false;
}

void zc_json_close(struct zc_json *j, char kind)
{
    fputc(kind, j->f);
    j->more = true;
}

void zc_json_string(struct zc_json *j, const char *name, const char *text)
{
    put_name(j, name);
    if (text)
        zc_json_quote(j->f, text);
    else
        fputs("null", j->f);
}

void zc_json_number(struct zc_json *j, const char *name, uint64_t value)
{
    put_name(j, name);
    fprintf(j->f, "%" PRIu64, value < INT64_MAX ? value : INT64_MAX);
}

/* ---- reading ---- */

static const char *skip_blanks(const char *s)
{
    return s + strspn(s, " \t\r\n");
}

/* Returns what is behind the string whose opening quote is at `s`. */
static const char *skip_string(const char *s)
{
    for (s++; *s && *s != '"'; s++)
        if (*s == '\\' && s[1])
            s++;
    return *s ? s + 1 : s;
}

/* Returns what is behind the value at `s`: the end of the text, or a ',' or bracket of what the
 * value is in. */
static const char *skip_value(const char *s)
{
    unsigned depth = 0;

    while (*s) {
        if (*s == '"') {
            s = skip_string(s);
            continue;
        }
        if (depth == 0 && strchr(",]}", *s))
            break;
        depth += *s == '{' || *s == '[';
        depth -= *s == '}' || *s == ']';
        s++;
    }
    return s;
}

const char *zc_json_find(const char *object, const char *name)
{
    size_t len = strlen(name);
    const char *s = object ? skip_blanks(object) : "";

    if (*s++ != '{')
        return NULL;
    while (*(s = skip_blanks(s)) == '"') {
        const char *key = s + 1;
        bool found;

        s = skip_string(s);
        found = (size_t)(s - key) == len + 1 && strncmp(key, name, len) == 0;
        s = skip_blanks(s);
        if (*s++ != ':')
            return NULL;
        s = skip_blanks(s);
        if (found)
            return s;
        s = skip_value(s);
        if (*s++ != ',')
            return NULL;
    }
    return NULL;
}

uint64_t zc_json_to_number(const char *value)
{
    return value && *value >= '0' && *value <= '9' ? strtoull(value, NULL, 10) : 0;
}

const char *zc_json_to_text(const char *value, char *buf, size_t size)
{
    size_t n = 0;

    if (value && *value == '"')
        for (const char *s = value + 1; *s && *s != '"' && n + 1 < size; s++) {
            if (*s == '\\' && (s[1] == '"' || s[1] == '\\'))
                s++;
            buf[n++] = *s;
        }
    buf[n] = '\0';
    return buf;
}
