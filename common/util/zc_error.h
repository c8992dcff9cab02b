/* zc_error.h - an error as a value that can be kept, sent and raised again.
 *
 * zc_errorf() explains a thread's last failure (zc_log.h).  An explanation that has to survive
 * later calls, or to reach another thread or process, is kept in a struct zc_error, which has no
 * pointers and may be sent as bytes.
 */
#ifndef ZC_ERROR_H
#define ZC_ERROR_H

#include <stdint.h>

#include "zc_log.h"

struct zc_error {
    int32_t rc;     /* a negative errno; 0: no error */
    uint32_t cause; /* index in `text` where the cause begins (zc_error_cause()); 0: all of it */
    char text[ZC_TEXT_MAX];
};

/* Stores rc and this thread's explanation of it. */
void zc_error_keep(struct zc_error *e, int rc);
/* Stores rc and a text, of which the cause is not known apart; this thread's explanation stays.
 * Long paths are shortened as by zc_errorf().  Arguments may point into *e. */
void zc_error_set(struct zc_error *e, int rc, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* As zc_error_keep(), unless *e has an error already: the first one is kept. */
void zc_error_join(struct zc_error *e, int rc);
/* Keeps `other`, unless *e has an error already. */
void zc_error_merge(struct zc_error *e, const struct zc_error *other);
/* Makes it this thread's last failure, and returns its rc; 0 without an error. */
int zc_error_raise(const struct zc_error *e);

#endif
