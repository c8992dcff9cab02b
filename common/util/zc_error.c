/* zc_error.c - an error as a value. */
#include "config.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "zc_error.h"
#include "zc_text.h"

/* Returns the index where `cause` begins in `text`, if the text ends with it; else 0. */
static uint32_t tail_of(const char *text, const char *cause)
{
    size_t all = strlen(text), len = strlen(cause);

    return len && len < all && !strcmp(text + all - len, cause) ? (uint32_t)(all - len) : 0;
}

void zc_error_keep(struct zc_error *e, int rc)
{
    e->rc = rc;
    e->cause = 0;
    e->text[0] = '\0';
    if (!rc)
        return;
    snprintf(e->text, sizeof e->text, "%s", zc_error_text(rc));
    e->cause = tail_of(e->text, zc_error_cause(rc));
}

void zc_error_set(struct zc_error *e, int rc, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    zc_text_vformat(e->text, sizeof e->text, sizeof e->text, fmt, ap);
    va_end(ap);
    e->rc = rc;
    e->cause = 0;
}

void zc_error_join(struct zc_error *e, int rc)
{
    if (rc && !e->rc)
        zc_error_keep(e, rc);
}

void zc_error_merge(struct zc_error *e, const struct zc_error *other)
{
    if (!e->rc && other->rc)
        *e = *other;
}

int zc_error_raise(const struct zc_error *e)
{
    if (!e->rc)
        return 0;
    if (e->cause)
        return zc_error_again(-e->rc, e->text, e->text + e->cause);
    return zc_errorf(-e->rc, "%s", e->text);
}
