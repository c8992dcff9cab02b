/* zc_log.h - messages of zcache: on standard error, in a file, or to syslog.
 *
 * ZCACHE_LOG names the least important level that is logged: error, warn (the default), info,
 * debug, trace.  ZCACHE_LOG_FILE names a file that lines are appended to instead, by any number of
 * processes; or is "syslog".  A line of a daemon or of a program reads
 *
 *     2026-05-01T12:00:00.123+0200 node7 zcached[4711] warn: text
 *     2026-05-01T12:00:00.124+0200 node3 zcache[812] rank 3 error: text
 *
 * and one of an interactive tool "zcache: warn: text".  A line is written with one write(2), so
 * that lines of many ranks do not mix.
 *
 * zc_errorf() is for code that detects a failure and knows the name of the thing that failed: it
 * keeps the text for this thread and returns the negative errno, so that the edge (driver, daemon,
 * tool) can report both.
 */
#ifndef ZC_LOG_H
#define ZC_LOG_H

#include <stdatomic.h>
#include <stdbool.h>

enum zc_log_level { ZC_LOG_ERROR, ZC_LOG_WARN, ZC_LOG_INFO, ZC_LOG_DEBUG, ZC_LOG_TRACE };

/* Level in force; read through zc_log_on(), set by zc_log_level(). */
extern _Atomic enum zc_log_level zc_log_threshold;

/* Reads ZCACHE_LOG and ZCACHE_LOG_FILE; an unusable value is reported once, and the default used.
 * `who` ("zcached") names the process in each line and is copied; NULL: a tool with short lines,
 * always on standard error.  Call before threads start. */
void zc_log_init(const char *who);

/* Sets this process's rank in MPI_COMM_WORLD.  Call before threads start. */
void zc_log_rank(int rank);

/* Sets the level; from any thread. */
void zc_log_level(enum zc_log_level level);
/* The words of enum zc_log_level, and a NULL. */
extern const char *const zc_log_levels[];

/* For a library in other programs, when it is loaded: a log to standard error goes to a duplicate
 * of what that is now, or nowhere if it is closed.  A later descriptor 2 belongs to the program. */
void zc_log_keep_stderr(void);

/* Returns the descriptor of a log to standard error; -1: standard error is closed, or has become
 * another file. */
int zc_log_stderr(void);

/* Sends the log to an open descriptor instead of standard error; it stays the caller's. */
void zc_log_to_fd(int fd);

/* Sends it to syslog, as facility daemon. */
void zc_log_to_syslog(void);

static inline bool zc_log_on(enum zc_log_level level)
{
    return level <= atomic_load_explicit(&zc_log_threshold, memory_order_relaxed);
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

/* Size of a kept explanation, bytes. */
enum { ZC_TEXT_MAX = 512 };

/* Stores the text as this thread's explanation of error `err` (positive errno) and returns -err.
 * Paths are shortened if that makes it fit into ZC_TEXT_MAX (zc_text.h); 1023 bytes of a longer
 * text are kept. */
int zc_errorf(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The same for "text: cause", and keeps the cause apart, for callers that describe in their own
 * words what failed (which bytes of which file).  `cause` may be part of this thread's last
 * explanation; ZC_TEXT_MAX - 1 bytes of it are kept. */
int zc_errorf_because(int err, const char *cause, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* The same with both texts unchanged, as zc_error_text() and zc_error_cause() returned them
 * elsewhere. */
int zc_error_again(int err, const char *text, const char *cause);

/* Returns this thread's last explanation for `err` (positive or negative errno), or strerror() if
 * the last one was for another error.  Valid until the thread's next zc_errorf(). */
const char *zc_error_text(int err);

/* Returns the cause alone; or the whole explanation, if it was not kept apart. */
const char *zc_error_cause(int err);

/* Forgets this thread's explanation; entry points call it so that none goes stale. */
void zc_error_clear(void);

#endif
