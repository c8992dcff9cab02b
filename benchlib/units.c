/*
 * Parsing and printing of sizes, times and rates.
 */
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "units.h"

static const char letters[] = "KMGTPE";

static double magnitude(double x)
{
    return x < 0 ? -x : x;
}

int units_parse_size(const char *text, int64_t *out)
{
    char *end;
    if (!isdigit((unsigned char)text[0]))
        return -EINVAL;
    errno = 0;
    unsigned long long n = strtoull(text, &end, 10);
    if (errno != 0 || n > INT64_MAX)
        return -ERANGE;
    int shift = 0;
    if (*end != '\0') {
        const char *letter = strchr(letters, toupper((unsigned char)*end));
        if (letter == NULL)
            return -EINVAL;
        shift = 10 * (int)(letter - letters + 1);
        end++;
        if (*end != '\0' && strcmp(end, "iB") != 0)
            return -EINVAL;
    }
    if (n > ((unsigned long long)INT64_MAX >> shift))
        return -ERANGE;
    *out = (int64_t)(n << shift);
    return 0;
}

int units_parse_seconds(const char *text, double *out)
{
    static const struct {
        const char *name;
        double factor;
    } units[] = {{"", 1}, {"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"min", 60}};
    char *end;
    /* strtod also takes "inf", "nan", hexadecimal and leading blanks. */
    if (!isdigit((unsigned char)text[0]) && text[0] != '.')
        return -EINVAL;
    if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
        return -EINVAL;
    errno = 0;
    double n = strtod(text, &end);
    if (end == text)
        return -EINVAL;
    if (errno == ERANGE || n > 1e15)
        return -ERANGE;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strcmp(end, units[i].name) == 0) {
            *out = n * units[i].factor;
            return 0;
        }
    }
    return -EINVAL;
}

const char *units_size(char buf[UNITS_TEXT], int64_t bytes)
{
    int power = 0;
    /* The largest unit that leaves at least 1, counted in steps so that INT64_MIN is harmless. */
    double value = (double)bytes;
    while (power < 6 && magnitude(value) >= 1024) {
        value /= 1024;
        power++;
    }
    if (power == 0)
        snprintf(buf, UNITS_TEXT, "%" PRId64 " B", bytes);
    else if (value == (double)(int64_t)value)
        snprintf(buf, UNITS_TEXT, "%.0f %ciB", value, letters[power - 1]);
    else
        snprintf(buf, UNITS_TEXT, "%.*f %ciB", value < 10 ? 2 : 1, value, letters[power - 1]);
    return buf;
}

const char *units_seconds(char buf[UNITS_TEXT], double seconds)
{
    double size = magnitude(seconds);
    if (size == 0)
        snprintf(buf, UNITS_TEXT, "0 s");
    else if (size < 0.9995e-3)
        snprintf(buf, UNITS_TEXT, "%.1f us", seconds * 1e6);
    else if (size < 0.9995)
        snprintf(buf, UNITS_TEXT, "%.2f ms", seconds * 1e3);
    else
        snprintf(buf, UNITS_TEXT, "%.3f s", seconds);
    return buf;
}

const char *units_rate(char buf[UNITS_TEXT], double bytes_per_second)
{
    double mib = bytes_per_second / (1 << 20);
    snprintf(buf, UNITS_TEXT, "%.*f MiB/s", mib < 10 ? 3 : 1, mib);
    return buf;
}

const char *units_percent(char buf[UNITS_TEXT], double fraction)
{
    snprintf(buf, UNITS_TEXT, "%.1f %%", 100 * fraction);
    return buf;
}

/* ---- UTF-8 ---------------------------------------------------------------------------------- */

/* The length of the character, or 0: what is too long for its value, a surrogate or beyond Unicode
 * is none. */
static size_t character(const unsigned char *p)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t len = p[0] < 0x80       ? 1
                 : p[0] >> 5 == 6  ? 2
                 : p[0] >> 4 == 14 ? 3
                 : p[0] >> 3 == 30 ? 4
                                   : 0;
    if (len <= 1)
        return len;
    uint32_t value = p[0] & (0x7fu >> len);
    for (size_t i = 1; i < len; i++) {
        if (p[i] >> 6 != 2)
            return 0;
        value = value << 6 | (p[i] & 0x3fu);
    }
    bool none = value < least[len] || value > 0x10ffff || (value >= 0xd800 && value < 0xe000);
    return none ? 0 : len;
}

size_t units_utf8(const char *text)
{
    size_t used = 0, len;
    while (text[used] != '\0' && (len = character((const unsigned char *)text + used)) > 0)
        used += len;
    return used;
}
