/* zc_log.h - what zcache says: on standard error, in a file, or to syslog.
 *
 * ZCACHE_LOG names the least important level that is said: error, warn (the default), info, debug,
 * trace.  ZCACHE_LOG_FILE names a file that lines are appended to instead, by any number of
 * processes; "syslog" stands for that.  A line of a daemon or of a program reads
 *
 *     2026-05-01T12:00:00.123+0200 node7 zcached[4711] warn: text
 *     2026-05-01T12:00:00.124+0200 node3 zcache[812] rank 3 error: text
 *
 * and one of a tool that a person waits for, "zcache: warn: text".  It is written with one
 * write(2), so that lines of many ranks do not mix.
 *
 * zc_errorf() is for code that detects a failure and knows the name of the
 * thing that failed: it keeps the sentence for this thread and returns the
 * negative errno, so that the edge (driver, daemon, tool) can show both.
 */
#ifndef ZC_LOG_H
#define ZC_LOG_H

#include <stdatomic.h>
#include <stdbool.h>

enum zc_log_level { ZC_LOG_ERROR, ZC_LOG_WARN, ZC_LOG_INFO, ZC_LOG_DEBUG, ZC_LOG_TRACE };

/* Level in force; read it through zc_log_on(), set it by zc_log_level(). */
extern _Atomic enum zc_log_level zc_log_threshold;

/* Reads ZCACHE_LOG and ZCACHE_LOG_FILE; what cannot be used is said once, and the default taken.
 * `who` ("zcached") names the process in each line and is copied; NULL: a tool with short lines,
 * always on standard error.  Call before threads start. */
void zc_log_init(const char *who);

/* This process is that rank of MPI_COMM_WORLD.  Call before threads start. */
void zc_log_rank(int rank);

/* From any thread: says so much from now on. */
void zc_log_level(enum zc_log_level level);
/* The words of enum zc_log_level, and a NULL. */
extern const char *const zc_log_levels[];

/* Sends the log to an open descriptor instead of standard error; not closed by us. */
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

/* Where an explanation is kept for somebody else it has so many bytes. */
enum { ZC_TEXT_MAX = 512 };

/* Remembers "text" as this thread's explanation of error `err` (positive errno)
 * and returns -err.  Paths are shortened where that makes it fit into ZC_TEXT_MAX (zc_text.h);
 * of a text that is longer all the same 1023 bytes are kept. */
int zc_errorf(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The same for "text: cause", where the cause is also kept apart: who says in other words what was
 * tried (which bytes of which file) asks for it alone.  `cause` may be of this thread's last
 * explanation; ZC_TEXT_MAX - 1 bytes of it are kept. */
int zc_errorf_because(int err, const char *cause, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* The same with both as they are, as zc_error_text() and zc_error_cause() gave them elsewhere. */
int zc_error_again(int err, const char *text, const char *cause);

/* The explanation this thread gave for `err` (positive or negative errno) last,
 * or strerror() when its last explanation was for another error.  Valid until the
 * thread's next zc_errorf(). */
const char *zc_error_text(int err);

/* The cause alone; all of that explanation, where it was not kept apart. */
const char *zc_error_cause(int err);

/* Forgets this thread's explanation; entry points call it so that none goes stale. */
void zc_error_clear(void);

#endif
