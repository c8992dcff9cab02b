/* zc_log.h - what zcache says on standard error (or in the daemon's log file).
 *
 * ZCACHE_LOG names the least important level that is printed: error, warn
 * (the default), info, debug, trace.  A line reads
 *
 *     zcache: warn: [rank 3] text
 *
 * and is written with one write(2), so that lines of many ranks do not mix.
 *
 * zc_errorf() is for code that detects a failure and knows the name of the
 * thing that failed: it keeps the sentence for this thread and returns the
 * negative errno, so that the edge (driver, daemon, tool) can show both.
 */
#ifndef ZC_LOG_H
#define ZC_LOG_H

#include <stdbool.h>

enum zc_log_level { ZC_LOG_ERROR, ZC_LOG_WARN, ZC_LOG_INFO, ZC_LOG_DEBUG, ZC_LOG_TRACE };

/* Level in force; read it through zc_log_on(). */
extern enum zc_log_level zc_log_threshold;

/* Reads ZCACHE_LOG; an unknown level is said once and taken as warn.
 * `who` ("rank 3", "zcached") is copied and may be NULL.  Call before threads start. */
void zc_log_init(const char *who);

/* Sends the log to an open descriptor instead of standard error; not closed by us. */
void zc_log_to_fd(int fd);

static inline bool zc_log_on(enum zc_log_level level)
{
    return level <= zc_log_threshold;
}

void zc_log(enum zc_log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#define zc_error(...) zc_log(ZC_LOG_ERROR, __VA_ARGS__)
#define zc_warn(...)  zc_log(ZC_LOG_WARN, __VA_ARGS__)
#define zc_info(...)  zc_log(ZC_LOG_INFO, __VA_ARGS__)
#define zc_debug(...)                                                                              \
    do {                                                                                           \
        if (zc_log_on(ZC_LOG_DEBUG))                                                               \
            zc_log(ZC_LOG_DEBUG, __VA_ARGS__);                                                     \
    } while (0)
#define zc_trace(...)                                                                              \
    do {                                                                                           \
        if (zc_log_on(ZC_LOG_TRACE))                                                               \
            zc_log(ZC_LOG_TRACE, __VA_ARGS__);                                                     \
    } while (0)

/* Where an explanation is kept for somebody else it has so many bytes. */
enum { ZC_TEXT_MAX = 256 };

/* Remembers "text" as this thread's explanation of error `err` (positive errno)
 * and returns -err.  Paths are shortened where that makes it fit into ZC_TEXT_MAX (zc_text.h);
 * of a text that is longer all the same 511 bytes are kept. */
int zc_errorf(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The explanation this thread gave for `err` (positive or negative errno) last,
 * or strerror() when its last explanation was for another error.  Valid until the
 * thread's next zc_errorf(). */
const char *zc_error_text(int err);

/* Forgets this thread's explanation; entry points call it so that none goes stale. */
void zc_error_clear(void);

#endif
