/* iod_progress.c - progress of write-back as text.
 *
 * The rate is a decaying average: of two samples LATELY apart the later one counts for half.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "iod_progress.h"
#include "zc_units.h"

#define LATELY 5e9 /* ns */

static void look(struct iod_progress *p, uint64_t now, uint64_t left)
{
    double ns = (double)(now - p->at), done = left < p->left ? (double)(p->left - left) : 0;
    double share = ns / (ns + LATELY);

    if (now == p->at)
        return;
    if (p->at == p->since)
        share = 1; /* nothing is known before */
    p->rate = (1 - share) * p->rate + share * done * 1e9 / ns;
    p->at = now;
    p->left = left;
}

/* "90 s", "25 min", "3 h" */
static void put_time(double s, char *text, size_t len)
{
    if (s < 120)
        snprintf(text, len, ", about %.0f s", s < 1 ? 1 : s);
    else if (s < 2 * 3600)
        snprintf(text, len, ", about %.0f min", s / 60);
    else if (s < 100 * 3600)
        snprintf(text, len, ", about %.0f h", s / 3600);
    else
        *text = '\0';
}

const char *iod_progress(struct iod_progress *p, uint64_t now, uint64_t left,
                         char text[IOD_PROGRESS_TEXT])
{
    char size[32], rate[32], time[32];

    if (!p->since) {
        *p = (struct iod_progress){.since = now, .at = now, .left = left};
        snprintf(text, IOD_PROGRESS_TEXT, "%s left", zc_format_size(left, size, sizeof size));
        return text;
    }
    look(p, now, left);
    zc_format_size(left, size, sizeof size);
    if (p->rate < 1) {
        snprintf(text, IOD_PROGRESS_TEXT, "%s left, nothing moves", size);
        return text;
    }
    put_time((double)left / p->rate, time, sizeof time);
    snprintf(text, IOD_PROGRESS_TEXT, "%s left, %s/s%s", size,
             zc_format_size((uint64_t)p->rate, rate, sizeof rate), time);
    return text;
}
