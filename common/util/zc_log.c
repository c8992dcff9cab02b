/* zc_log.c - one line per message, one write(2) per line; a sentence per thread that explains its
 * last error.
 *
 * No function here changes errno.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "zc_fd.h"
#include "zc_locale.h"
#include "zc_log.h"
#include "zc_text.h"

/* The number of the duplicate of standard error: high, since programs count on low numbers. */
enum { DUPLICATE = 64, NOT_KEPT = -2, NONE = -1 };

enum { WHO_MAX = 64, LINE_MAX_BYTES = 1280, TEXT_MAX = 1024, TO_SYSLOG = -1 };

_Atomic enum zc_log_level zc_log_threshold = ZC_LOG_WARN;

const char *const zc_log_levels[] = {"error", "warn", "info", "debug", "trace", NULL};
static const int priorities[] = {LOG_ERR, LOG_WARNING, LOG_INFO, LOG_DEBUG, LOG_DEBUG};

/* All set before threads start, except for the descriptor. */
static char log_host[HOST_NAME_MAX + 1];
static char log_who[WHO_MAX];  /* "zcached"; empty: short lines */
static char log_rank[WHO_MAX]; /* "rank 3 " or empty */
static _Atomic int log_fd = STDERR_FILENO;
static int kept_fd = NOT_KEPT;  /* the duplicate of standard error, or NONE ... */
static struct stat kept_stderr; /* ... and the file it refers to */

static _Thread_local struct {
    int err; /* positive errno that `text` explains; 0: none */
    char text[TEXT_MAX];
    char cause[ZC_TEXT_MAX]; /* at its end; empty: it is all of it */
} explanation;

/* Writes a line in one call; continues a short write on a full pipe, ignores errors, which could be
 * reported nowhere. */
static void write_line(int fd, const char *s, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, s, len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return;
        s += n;
        len -= (size_t)n;
    }
}

static bool is_kept(int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 && st.st_dev == kept_stderr.st_dev &&
           st.st_ino == kept_stderr.st_ino && st.st_rdev == kept_stderr.st_rdev;
}

void zc_log_keep_stderr(void)
{
    int saved = errno, mode = fcntl(STDERR_FILENO, F_GETFL);

    kept_fd = NONE;
    if (mode >= 0 && (mode & O_ACCMODE) != O_RDONLY && fstat(STDERR_FILENO, &kept_stderr) == 0) {
        kept_fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, DUPLICATE);
        if (kept_fd < 0) /* ulimit -n */
            kept_fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    }
    errno = saved;
}

/* A program may close all descriptors, and the number of the duplicate may then be that of one of
 * its own files. */
int zc_log_stderr(void)
{
    if (kept_fd == NOT_KEPT)
        return STDERR_FILENO;
    if (kept_fd == NONE)
        return NONE;
    return is_kept(kept_fd) ? kept_fd : is_kept(STDERR_FILENO) ? STDERR_FILENO : NONE;
}

/* Time with milliseconds and offset, host, process. */
static size_t print_origin(char *line, size_t len)
{
    struct timespec now;
    struct tm tm;
    char date[32], zone[8];

    clock_gettime(CLOCK_REALTIME, &now);
    localtime_r(&now.tv_sec, &tm);
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &tm);
    strftime(zone, sizeof zone, "%z", &tm);
    return (size_t)snprintf(line, len, "%s.%03ld%s %s %s[%ld] ", date, now.tv_nsec / 1000000, zone,
                            log_host, log_who, (long)getpid());
}

/* Makes the text before the message; syslog adds time, host, process and level itself. */
static size_t print_head(char *line, size_t len, enum zc_log_level level, int fd)
{
    size_t n = 0;

    if (fd == TO_SYSLOG)
        return (size_t)snprintf(line, len, "%s", log_rank);
    if (log_who[0])
        n = print_origin(line, len);
    else
        n = (size_t)snprintf(line, len, "zcache: ");
    return n + (size_t)snprintf(line + n, len - n, "%s%s: ", log_rank, zc_log_levels[level]);
}

/* Replaces control characters: names and paths of other users must not begin a line or send escape
 * sequences to a terminal.  Terminals take 0x80 to 0x9f, alone or after 0xc2, as control, too. */
static void clean(char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        unsigned char before = i ? (unsigned char)text[i - 1] : 0;
        bool high = c >= 0x80 && c <= 0x9f;

        if (high && before == 0xc2)
            text[i - 1] = text[i] = '?';
        else if (c < ' ' || c == 0x7f || (high && before < 0x80))
            text[i] = '?';
    }
}

void zc_log(enum zc_log_level level, const char *fmt, ...)
{
    char line[LINE_MAX_BYTES];
    int saved = errno, fd = log_fd, body;
    size_t head, len;
    locale_t before;
    va_list ap;

    if (!zc_log_on(level))
        return;
    before = zc_locale_enter();
    head = len = print_head(line, sizeof line, level, fd);
    va_start(ap, fmt);
    body = vsnprintf(line + len, sizeof(line) - len, fmt, ap);
    va_end(ap);
    zc_locale_leave(before);
    if (body < 0)
        body = 0;
    if ((size_t)body < sizeof(line) - len)
        len += (size_t)body;
    else
        len = sizeof(line) - 1; /* cut; the last byte becomes the newline */
    line[len] = '\0';
    clean(line + head, len - head);
    if (fd == TO_SYSLOG) {
        syslog(priorities[level], "%s", line);
    } else {
        line[len++] = '\n';
        write_line(fd == STDERR_FILENO ? zc_log_stderr() : fd, line, len);
    }
    errno = saved;
}

void zc_log_to_fd(int fd)
{
    log_fd = fd;
}

void zc_log_to_syslog(void)
{
    openlog(log_who[0] ? log_who : "zcache", LOG_PID | LOG_NDELAY, LOG_DAEMON);
    log_fd = TO_SYSLOG;
}

void zc_log_level(enum zc_log_level level)
{
    atomic_store_explicit(&zc_log_threshold, level, memory_order_relaxed);
}

static void init_level(const char *name)
{
    zc_log_level(ZC_LOG_WARN);
    if (!name || !*name)
        return;
    for (unsigned i = 0; zc_log_levels[i]; i++) {
        if (strcmp(name, zc_log_levels[i]) == 0) {
            zc_log_level((enum zc_log_level)i);
            return;
        }
    }
    zc_warn("ZCACHE_LOG=%s is no log level; taken as warn (error, warn, info, debug, trace)", name);
}

static void init_file(const char *name)
{
    int fd;

    if (!name || !*name)
        return;
    if (strcmp(name, "syslog") == 0) {
        zc_log_to_syslog();
        return;
    }
    fd = zc_fd(open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0644));
    if (fd < 0)
        zc_warn("ZCACHE_LOG_FILE=%s cannot be opened: %s; messages go to standard error", name,
                strerror(errno));
    else
        zc_log_to_fd(fd);
}

void zc_log_init(const char *who)
{
    snprintf(log_who, sizeof log_who, "%s", who ? who : "");
    log_rank[0] = '\0';
    if (gethostname(log_host, sizeof log_host) != 0)
        snprintf(log_host, sizeof log_host, "-");
    log_host[sizeof log_host - 1] = '\0';
    init_level(getenv("ZCACHE_LOG"));
    if (who)
        init_file(getenv("ZCACHE_LOG_FILE"));
}

void zc_log_rank(int rank)
{
    snprintf(log_rank, sizeof log_rank, "rank %d ", rank);
}

int zc_errorf(int err, const char *fmt, ...)
{
    int saved = errno;
    va_list ap;

    va_start(ap, fmt);
    zc_text_vformat(explanation.text, sizeof(explanation.text), ZC_TEXT_MAX, fmt, ap);
    va_end(ap);
    explanation.err = err;
    explanation.cause[0] = '\0';
    errno = saved;
    return -err;
}

int zc_error_again(int err, const char *text, const char *cause)
{
    char kept[ZC_TEXT_MAX];

    snprintf(kept, sizeof kept, "%s", cause);
    zc_errorf(err, "%s", text);
    memcpy(explanation.cause, kept, sizeof kept);
    return -err;
}

int zc_errorf_because(int err, const char *cause, const char *fmt, ...)
{
    int saved = errno;
    char text[PATH_MAX + ZC_TEXT_MAX];
    locale_t before = zc_locale_enter();
    size_t len;
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text) - ZC_TEXT_MAX, fmt, ap);
    va_end(ap);
    zc_locale_leave(before);
    len = strlen(text);
    snprintf(text + len, sizeof(text) - len, ": %s", cause);
    zc_error_again(err, text, cause);
    errno = saved;
    return -err;
}

static bool explained(int err)
{
    return err != 0 && explanation.err == abs(err);
}

const char *zc_error_text(int err)
{
    return explained(err) ? explanation.text : strerror(abs(err));
}

const char *zc_error_cause(int err)
{
    return explained(err) && explanation.cause[0] ? explanation.cause : zc_error_text(err);
}

void zc_error_clear(void)
{
    explanation.err = 0;
}
