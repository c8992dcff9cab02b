/* zc_options.c - everything that is derived from a row of the option table (zc_settings.c). */
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "zc_log.h"
#include "zc_options.h"
#include "zc_units.h"

extern char **environ;

enum { VALUE_SHOWN = 80 };

/* Variables read elsewhere, without a row. */
static const char *const other_env[] = {"ZCACHE_LOG", "ZCACHE_LOG_FILE", NULL};

/* ---- names ---- */

static const char *prefix_of(unsigned scope)
{
    switch (scope) {
    case ZC_SCOPE_HINT:
        return "zcache_";
    case ZC_SCOPE_DAEMON:
        return "--";
    case ZC_SCOPE_ENV:
        return "ZCACHE_";
    default:
        return "";
    }
}

/* The name without prefix, in lower case and with underscores; cut when too long to be one. */
static void bare_name(const char *name, char out[ZC_OPTION_NAME_MAX])
{
    size_t i = 0;

    while (*name == '-')
        name++;
    if (strncasecmp(name, "zcache_", 7) == 0)
        name += 7;
    for (; i < ZC_OPTION_NAME_MAX - 1 && name[i]; i++)
        out[i] = name[i] == '-' ? '_' : (char)tolower((unsigned char)name[i]);
    out[i] = '\0';
}

const struct zc_option *zc_option_find(const char *name, unsigned scope)
{
    char bare[ZC_OPTION_NAME_MAX];

    bare_name(name, bare);
    for (const struct zc_option *o = zc_options; o->name; o++)
        if ((o->scope & scope) && strcmp(o->name, bare) == 0)
            return o;
    return NULL;
}

const struct zc_option *zc_option_guess(const char *name, unsigned scope)
{
    const struct zc_option *best = NULL;
    char bare[ZC_OPTION_NAME_MAX];
    size_t nearest = SIZE_MAX;

    bare_name(name, bare);
    for (const struct zc_option *o = zc_options; o->name; o++) {
        size_t d;

        if (!(o->scope & scope))
            continue;
        d = zc_option_distance(bare, o->name);
        if (d < nearest && d <= 1 + strlen(o->name) / 3) {
            nearest = d;
            best = o;
        }
    }
    return best;
}

char *zc_option_spell(const struct zc_option *o, unsigned scope, char *buf, size_t len)
{
    snprintf(buf, len, "%s%s", prefix_of(scope), o->name);
    for (char *p = buf; *p; p++) {
        if (*p == '_' && (scope & (ZC_SCOPE_DAEMON | ZC_SCOPE_FILE)))
            *p = '-';
        if (scope == ZC_SCOPE_ENV)
            *p = (char)toupper((unsigned char)*p);
    }
    return buf;
}

/* ---- values ---- */

static uint64_t *number_of(const struct zc_settings *s, const struct zc_option *o)
{
    return (uint64_t *)((char *)s + o->member);
}

static char **string_of(const struct zc_settings *s, const struct zc_option *o)
{
    return (char **)((char *)s + o->member);
}

static bool *flag_of(const struct zc_settings *s, const struct zc_option *o)
{
    return (bool *)((char *)s + o->member);
}

static int parse_flag(const char *s, uint64_t *out)
{
    static const char *const words[] = {"0",   "1",       "false",  "true", "no",
                                        "yes", "disable", "enable", "off",  "on"};

    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcasecmp(s, words[i]) == 0) {
            *out = i & 1;
            return 0;
        }
    }
    return -EINVAL;
}

static int parse_choice(const struct zc_option *o, const char *s, uint64_t *out)
{
    for (size_t i = 0; o->choices[i]; i++) {
        if (strcasecmp(s, o->choices[i]) == 0) {
            *out = i;
            return 0;
        }
    }
    return -EINVAL;
}

static int parse_number(const struct zc_option *o, const char *s, uint64_t *out)
{
    switch (o->type) {
    case ZC_OPT_SIZE:
    case ZC_OPT_POWER:
        return zc_parse_size(s, out);
    case ZC_OPT_PERCENT:
        return zc_parse_percent(s, out);
    case ZC_OPT_TIME:
        return zc_parse_time(s, out);
    case ZC_OPT_COUNT:
        return zc_parse_count(s, out);
    case ZC_OPT_ENUM:
        return parse_choice(o, s, out);
    case ZC_OPT_FLAG:
        return parse_flag(s, out);
    case ZC_OPT_STRING:
        break;
    }
    return -EINVAL;
}

static bool within(const struct zc_option *o, uint64_t v)
{
    if (o->type == ZC_OPT_FLAG)
        return v <= 1;
    for (uint64_t i = 0; o->type == ZC_OPT_ENUM; i++)
        if (!o->choices[i] || i == v)
            return o->choices[i];
    if (o->type == ZC_OPT_POWER && (v & (v - 1)))
        return false;
    return v >= o->min && v <= o->max;
}

/* One number of the row in its own notation. */
static char *show_number(const struct zc_option *o, uint64_t v, char *buf, size_t len)
{
    switch (o->type) {
    case ZC_OPT_SIZE:
    case ZC_OPT_POWER:
        return zc_publish_size(v, buf, len);
    case ZC_OPT_TIME:
        return zc_publish_time(v, buf, len);
    case ZC_OPT_ENUM:
        snprintf(buf, len, "%s", o->choices[v]);
        return buf;
    default:
        snprintf(buf, len, o->type == ZC_OPT_PERCENT ? "%" PRIu64 "%%" : "%" PRIu64, v);
        return buf;
    }
}

char *zc_option_allowed(const struct zc_option *o, char *buf, size_t len)
{
    char lo[32], hi[32];
    size_t at = 0;
    const char *what = o->type == ZC_OPT_PERCENT ? "a percentage"
                       : o->type == ZC_OPT_TIME  ? "a time"
                       : o->type == ZC_OPT_COUNT ? "a number"
                                                 : "a size";

    switch (o->type) {
    case ZC_OPT_STRING:
        snprintf(buf, len, "a text that is not empty");
        break;
    case ZC_OPT_FLAG:
        snprintf(buf, len, "true or false");
        break;
    case ZC_OPT_ENUM:
        buf[0] = '\0';
        for (size_t i = 0; o->choices[i] && at < len; i++)
            at += (size_t)snprintf(buf + at, len - at, "%s%s",
                                   i == 0              ? ""
                                   : o->choices[i + 1] ? ", "
                                                       : " or ",
                                   o->choices[i]);
        break;
    default:
        snprintf(buf, len, "%s from %s to %s%s", what, show_number(o, o->min, lo, sizeof lo),
                 show_number(o, o->max, hi, sizeof hi),
                 o->type == ZC_OPT_POWER ? " that is a power of two" : "");
    }
    return buf;
}

static int refuse(const struct zc_option *o, const char *name, const char *value)
{
    char allowed[256];

    return zc_errorf(EINVAL, "%s: \"%.*s\" is not allowed; it takes %s", name, VALUE_SHOWN, value,
                     zc_option_allowed(o, allowed, sizeof allowed));
}

bool zc_option_given(const struct zc_settings *s, const struct zc_option *o)
{
    return s->given[o - zc_options];
}

void zc_option_ungive(struct zc_settings *s, const struct zc_option *o)
{
    s->given[o - zc_options] = false;
}

void zc_option_assign_number(struct zc_settings *s, const struct zc_option *o, uint64_t value)
{
    if (o->type == ZC_OPT_FLAG)
        *flag_of(s, o) = value != 0;
    else
        *number_of(s, o) = value;
}

void zc_option_reset(struct zc_settings *s, const struct zc_option *o)
{
    if (o->type == ZC_OPT_STRING) {
        free(*string_of(s, o));
        *string_of(s, o) = NULL;
    } else if (o->type == ZC_OPT_FLAG) {
        *flag_of(s, o) = false;
    } else {
        *number_of(s, o) = 0;
    }
    if (o->deflt)
        zc_option_set(s, o, o->deflt);
    zc_option_ungive(s, o);
}

static int set_named(struct zc_settings *s, const struct zc_option *o, const char *name,
                     const char *value)
{
    uint64_t v = 0;

    if (!value && o->type == ZC_OPT_FLAG)
        value = "true";
    if (!value)
        value = "";
    if (o->type == ZC_OPT_STRING) {
        char *copy;

        if (!*value)
            return refuse(o, name, value);
        copy = strdup(value);
        if (!copy)
            return zc_errorf(ENOMEM, "%s: out of memory", name);
        free(*string_of(s, o));
        *string_of(s, o) = copy;
        s->given[o - zc_options] = true;
        return 0;
    }
    if (parse_number(o, value, &v) < 0 || !within(o, v))
        return refuse(o, name, value);
    if (o->type == ZC_OPT_FLAG)
        *flag_of(s, o) = v != 0;
    else
        *number_of(s, o) = v;
    s->given[o - zc_options] = true;
    return 0;
}

int zc_option_set(struct zc_settings *s, const struct zc_option *o, const char *value)
{
    return set_named(s, o, o->name, value);
}

int zc_option_assign(struct zc_settings *s, unsigned scope, const char *name, const char *value)
{
    const struct zc_option *o = zc_option_find(name, scope);
    char spelt[ZC_OPTION_NAME_MAX];

    if (o)
        return set_named(s, o, zc_option_spell(o, scope, spelt, sizeof spelt), value);
    o = zc_option_guess(name, scope);
    if (o)
        return zc_errorf(ENOENT, "unknown option \"%.*s\"; did you mean %s?", VALUE_SHOWN, name,
                         zc_option_spell(o, scope, spelt, sizeof spelt));
    return zc_errorf(ENOENT, "unknown option \"%.*s\"", VALUE_SHOWN, name);
}

const char *zc_option_string(const struct zc_settings *s, const struct zc_option *o)
{
    if (o->type != ZC_OPT_STRING)
        return NULL;
    return *string_of(s, o) ? *string_of(s, o) : "";
}

char *zc_option_show(const struct zc_settings *s, const struct zc_option *o, char *buf, size_t len)
{
    if (o->type == ZC_OPT_STRING)
        snprintf(buf, len, "%s", *string_of(s, o) ? *string_of(s, o) : "");
    else if (o->type == ZC_OPT_FLAG)
        snprintf(buf, len, "%s", *flag_of(s, o) ? "true" : "false");
    else
        show_number(o, *number_of(s, o), buf, len);
    return buf;
}

/* ---- what all opens of a file agree on ---- */

const struct zc_option *zc_agreed_row(unsigned i)
{
    const struct zc_option *o = zc_options;

    while (o->name && (!(o->scope & ZC_OPTION_AGREED) || i--))
        o++;
    return o->name ? o : NULL;
}

void zc_agreed_of(const struct zc_settings *s, struct zc_agreed *out)
{
    const struct zc_option *o;

    *out = (struct zc_agreed){0};
    for (unsigned i = 0; (o = zc_agreed_row(i)); i++)
        out->values[i] = o->type == ZC_OPT_FLAG ? *flag_of(s, o) : *number_of(s, o);
}

void zc_agreed_apply(const struct zc_agreed *a, struct zc_settings *s)
{
    const struct zc_option *o;

    for (unsigned i = 0; (o = zc_agreed_row(i)); i++)
        zc_option_assign_number(s, o, a->values[i]);
}

bool zc_agreed_valid(const struct zc_agreed *a)
{
    const struct zc_option *o;

    for (unsigned i = 0; (o = zc_agreed_row(i)); i++)
        if (!within(o, a->values[i]))
            return false;
    return true;
}

/* ---- all of them ---- */

int zc_settings_init(struct zc_settings *s)
{
    int rc = 0;

    memset(s, 0, sizeof *s);
    for (const struct zc_option *o = zc_options; o->name && rc == 0; o++) {
        char spelt[ZC_OPTION_NAME_MAX];
        const char *env = NULL;
        bool before = zc_option_given(s, o);

        if (o->deflt)
            rc = zc_option_set(s, o, o->deflt);
        s->given[o - zc_options] = before;
        if (o->scope & ZC_SCOPE_ENV)
            env = getenv(zc_option_spell(o, ZC_SCOPE_ENV, spelt, sizeof spelt));
        if (rc == 0 && env && *env)
            rc = set_named(s, o, spelt, env);
    }
    return rc;
}

void zc_settings_free(struct zc_settings *s)
{
    for (const struct zc_option *o = zc_options; o->name; o++) {
        if (o->type == ZC_OPT_STRING) {
            free(*string_of(s, o));
            *string_of(s, o) = NULL;
        }
    }
}

static void warn_if_unknown(const char *name)
{
    char spelt[ZC_OPTION_NAME_MAX];
    const struct zc_option *o;

    for (size_t i = 0; other_env[i]; i++)
        if (strcmp(name, other_env[i]) == 0)
            return;
    o = zc_option_find(name, ZC_SCOPE_ENV);
    if (o && strcmp(name, zc_option_spell(o, ZC_SCOPE_ENV, spelt, sizeof spelt)) == 0)
        return;
    if (!o)
        o = zc_option_guess(name, ZC_SCOPE_ENV);
    if (o)
        zc_warn("the environment variable %s means nothing to zcache; did you mean %s?", name,
                zc_option_spell(o, ZC_SCOPE_ENV, spelt, sizeof spelt));
    else
        zc_warn("the environment variable %s means nothing to zcache", name);
}

void zc_settings_warn_env(void)
{
    for (char **e = environ; *e; e++) {
        size_t n = strcspn(*e, "=");
        char name[ZC_OPTION_NAME_MAX];

        if (strncmp(*e, "ZCACHE_", 7) != 0 || n >= sizeof name)
            continue;
        memcpy(name, *e, n);
        name[n] = '\0';
        warn_if_unknown(name);
    }
}
