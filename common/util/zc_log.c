/* zc_log.c - one line per message, one write(2) per line; a sentence per thread
 * that explains its last error.
 *
 * errno is left as it was by every function here.
 */
#include "config.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "zc_log.h"
#include "zc_text.h"

enum { WHO_MAX = 64, LINE_MAX_BYTES = 1024, TEXT_MAX = 512 };

enum zc_log_level zc_log_threshold = ZC_LOG_WARN;

static const char *const level_names[] = {"error", "warn", "info", "debug", "trace"};
enum { NLEVELS = sizeof(level_names) / sizeof(level_names[0]) };

static char log_who[WHO_MAX]; /* "[rank 3] " or empty; set before threads start */
static int log_fd = STDERR_FILENO;

static _Thread_local struct {
    int err; /* positive errno that `text` explains; 0: none */
    char text[TEXT_MAX];
} explanation;

/* One write per line; a short write on a full pipe is continued, an error is
 * nothing we could report anywhere. */
static void write_line(const char *s, size_t len)
{
    while (len > 0) {
        ssize_t n = write(log_fd, s, len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return;
        s += n;
        len -= (size_t)n;
    }
}

void zc_log(enum zc_log_level level, const char *fmt, ...)
{
    char line[LINE_MAX_BYTES];
    int saved = errno, head, body;
    size_t len;
    va_list ap;

    if (!zc_log_on(level))
        return;
    head = snprintf(line, sizeof(line), "zcache: %s: %s", level_names[level], log_who);
    len = (size_t)head;
    va_start(ap, fmt);
    body = vsnprintf(line + len, sizeof(line) - len, fmt, ap);
    va_end(ap);
    if (body < 0)
        body = 0;
    if ((size_t)body < sizeof(line) - len)
        len += (size_t)body;
    else
        len = sizeof(line) - 1; /* cut; the last byte becomes the newline */
    line[len++] = '\n';
    write_line(line, len);
    errno = saved;
}

void zc_log_init(const char *who)
{
    const char *env = getenv("ZCACHE_LOG");
    unsigned level;

    if (who)
        snprintf(log_who, sizeof(log_who), "[%.*s] ", WHO_MAX - 4, who);
    else
        log_who[0] = '\0';
    zc_log_threshold = ZC_LOG_WARN;
    if (!env || !*env)
        return;
    for (level = 0; level < NLEVELS; level++) {
        if (strcmp(env, level_names[level]) == 0) {
            zc_log_threshold = (enum zc_log_level)level;
            return;
        }
    }
    zc_warn("ZCACHE_LOG=%s is no log level; taken as warn (error, warn, info, debug, trace)", env);
}

void zc_log_to_fd(int fd)
{
    log_fd = fd;
}

int zc_errorf(int err, const char *fmt, ...)
{
    int saved = errno;
    va_list ap;

    va_start(ap, fmt);
    zc_text_vformat(explanation.text, sizeof(explanation.text), ZC_TEXT_MAX, fmt, ap);
    va_end(ap);
    explanation.err = err;
    errno = saved;
    return -err;
}

const char *zc_error_text(int err)
{
    if (err < 0)
        err = -err;
    if (err != 0 && explanation.err == err)
        return explanation.text;
    return strerror(err);
}

void zc_error_clear(void)
{
    explanation.err = 0;
}
