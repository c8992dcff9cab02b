/* zcache_loss_report.c - reports losses of this process, a line for each file. */
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "zc_cache.h"
#include "zc_fd.h"
#include "zc_log.h"
#include "zc_options.h"
#include "zcache_loss_report.h"

/* Writes a text; control characters, which may end a field or the line, become '?'. */
static void put_text(FILE *f, const char *s)
{
    for (; *s; s++)
        fputc(iscntrl((unsigned char)*s) ? '?' : *s, f);
}

static void put_line(FILE *f, const struct zc_loss *l)
{
    fprintf(f, "%" PRIu64 "\t", l->bytes);
    put_text(f, l->path);
    for (unsigned i = 0; i < l->nspans; i++)
        fprintf(f, "%c%" PRIu64 "-%" PRIu64, i ? ' ' : '\t', l->spans[i].lo, l->spans[i].hi - 1);
    fputc('\t', f);
    put_text(f, l->cause);
    fputc('\n', f);
}

static void report(void *arg, const struct zc_loss *l)
{
    FILE *f = arg;

    put_line(f, l);
}

/* Appends each line by one write, so that lines of processes do not mix. */
static void append(int fd, const char *text)
{
    while (*text) {
        size_t n = strcspn(text, "\n") + 1;

        if (write(fd, text, n) != (ssize_t)n)
            return;
        text += n;
    }
}

static unsigned reports; /* atomic */

static void tell(struct zc_cache *c,
                 void (*each)(struct zc_cache *c, void (*fn)(void *arg, const struct zc_loss *l),
                              void *arg))
{
    struct zc_settings s;
    char *text = NULL;
    size_t len;
    FILE *f;
    int fd = -1;

    __atomic_add_fetch(&reports, 1, __ATOMIC_RELEASE);
    if (zc_settings_init(&s) == 0 && s.losses)
        fd = zc_fd(open(s.losses, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    zc_settings_free(&s);
    f = fd < 0 ? NULL : open_memstream(&text, &len);
    if (f) {
        each(c, report, f);
        if (fclose(f) == 0)
            append(fd, text);
    }
    free(text);
    if (fd >= 0)
        close(fd);
}

void zcache_loss_report(struct zc_cache *c)
{
    tell(c, zc_cache_losses);
}

void zcache_losses_report_unwritten(struct zc_cache *c)
{
    tell(c, zc_cache_unwritten);
}

unsigned zcache_losses_reports(void)
{
    return __atomic_load_n(&reports, __ATOMIC_ACQUIRE);
}
