/* zc_units.c - one table of units; parsing and printing follow it. */
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "zc_units.h"

struct unit {
    const char *name;
    uint64_t factor;
};

/* Both in ascending order; the exact printers take the largest that divides. */
static const struct unit sizes[] = {
    {"", 1},           {"K", 1ull << 10}, {"M", 1ull << 20},
    {"G", 1ull << 30}, {"T", 1ull << 40}, {"P", 1ull << 50},
};
static const struct unit times[] = {
    {"ms", 1},
    {"s", 1000},
    {"m", 60 * 1000},
    {"h", 60 * 60 * 1000},
};
enum { NSIZES = sizeof sizes / sizeof *sizes, NTIMES = sizeof times / sizeof *times };

/* Reads digits and one blank that a unit follows; *s moves behind them. */
static int parse_digits(const char **s, uint64_t *out)
{
    const char *p = *s;
    uint64_t v = 0;
    int rc = 0;

    if (!isdigit((unsigned char)*p))
        return -EINVAL;
    for (; isdigit((unsigned char)*p); p++)
        if (__builtin_mul_overflow(v, 10, &v) ||
            __builtin_add_overflow(v, (uint64_t)(*p - '0'), &v))
            rc = -ERANGE;
    if (*p == ' ' && p[1])
        p++;
    *s = p;
    *out = v;
    return rc;
}

/* A number that may have a fraction: `whole` + `part` / `of`. */
struct number {
    uint64_t whole, part, of;
};

enum { FRACTION_DIGITS = 9 };

/* As parse_digits(), with a fraction of up to FRACTION_DIGITS before the blank. */
static int parse_fraction(const char **s, struct number *n)
{
    const char *point = *s + strspn(*s, "0123456789");
    size_t digits = *point == '.' ? strspn(point + 1, "0123456789") : 0;
    int rc;

    *n = (struct number){.of = 1};
    if (!digits)
        return *point == '.' ? -EINVAL : parse_digits(s, &n->whole);
    if (digits > FRACTION_DIGITS)
        return -EINVAL;
    rc = parse_digits(s, &n->whole);
    *s = point + 1;
    if (rc != -EINVAL)
        parse_digits(s, &n->part);
    for (; digits; digits--)
        n->of *= 10;
    return rc;
}

/* -EINVAL: not a whole number of the smallest unit. */
static int scale(const struct number *n, uint64_t factor, uint64_t *out)
{
    unsigned __int128 v = (unsigned __int128)n->whole * factor;
    unsigned __int128 part = (unsigned __int128)n->part * factor;

    if (part % n->of)
        return -EINVAL;
    v += part / n->of;
    if (v > UINT64_MAX)
        return -ERANGE;
    *out = (uint64_t)v;
    return 0;
}

/* "k", "kB", "KiB"; "B" alone is bytes. */
static const struct unit *size_unit(const char *s)
{
    for (size_t i = 0; i < NSIZES; i++) {
        size_t n = strlen(sizes[i].name);

        if (strncasecmp(s, sizes[i].name, n) != 0)
            continue;
        if (!s[n] || strcasecmp(s + n, "B") == 0 || (n && strcasecmp(s + n, "iB") == 0))
            return &sizes[i];
    }
    return NULL;
}

/* Reports a number that is too large only when its unit makes sense. */
int zc_parse_size(const char *s, uint64_t *out)
{
    const struct unit *u;
    struct number n;
    int rc = parse_fraction(&s, &n);

    if (rc == -EINVAL)
        return rc;
    u = size_unit(s);
    if (!u)
        return -EINVAL;
    return rc ? rc : scale(&n, u->factor, out);
}

int zc_parse_time(const char *s, uint64_t *ms)
{
    struct number n;
    int rc = parse_fraction(&s, &n);

    if (rc == -EINVAL)
        return rc;
    if (!*s)
        s = "s";
    for (size_t i = 0; i < NTIMES; i++)
        if (strcasecmp(s, times[i].name) == 0)
            return rc ? rc : scale(&n, times[i].factor, ms);
    return -EINVAL;
}

int zc_parse_percent(const char *s, uint64_t *out)
{
    uint64_t v = 0;
    int rc = parse_digits(&s, &v);

    if (rc == -EINVAL || (*s && strcmp(s, "%") != 0))
        return -EINVAL;
    if (rc || v > 100)
        return -ERANGE;
    *out = v;
    return 0;
}

int zc_parse_count(const char *s, uint64_t *out)
{
    uint64_t v = 0;
    int rc = parse_digits(&s, &v);

    if (rc == -EINVAL || *s)
        return -EINVAL;
    if (rc == 0)
        *out = v;
    return rc;
}

/* Tenths are rounded half up; 1023.96 KiB becomes 1 MiB, not 1024 KiB. */
char *zc_format_size(uint64_t bytes, char *buf, size_t len)
{
    size_t i = 0;
    uint64_t tenths;

    while (i + 1 < NSIZES && bytes >= sizes[i + 1].factor)
        i++;
    if (i == 0) {
        snprintf(buf, len, "%" PRIu64 " B", bytes);
        return buf;
    }
    tenths = (uint64_t)((long double)bytes * 10 / sizes[i].factor + 0.5L);
    if (tenths >= 10240 && i + 1 < NSIZES) {
        tenths = 10;
        i++;
    }
    if (tenths % 10)
        snprintf(buf, len, "%" PRIu64 ".%" PRIu64 " %siB", tenths / 10, tenths % 10, sizes[i].name);
    else
        snprintf(buf, len, "%" PRIu64 " %siB", tenths / 10, sizes[i].name);
    return buf;
}

static char *show(const struct unit *u, size_t n, uint64_t v, char *buf, size_t len)
{
    size_t i = n - 1;

    while (i > 0 && (v == 0 || v % u[i].factor))
        i--;
    snprintf(buf, len, "%" PRIu64 "%s", v / u[i].factor, u[i].name);
    return buf;
}

char *zc_publish_size(uint64_t bytes, char *buf, size_t len)
{
    return show(sizes, NSIZES, bytes, buf, len);
}

char *zc_publish_time(uint64_t ms, char *buf, size_t len)
{
    return show(times, NTIMES, ms, buf, len);
}
