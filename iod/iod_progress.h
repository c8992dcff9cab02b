/* iod_progress.h - progress of write-back as text: bytes left, rate, and time left. */
#ifndef IOD_PROGRESS_H
#define IOD_PROGRESS_H

#include <stddef.h>
#include <stdint.h>

enum { IOD_PROGRESS_TEXT = 128 };

/* Zeros at the beginning. */
struct iod_progress {
    uint64_t since; /* time of the first call, ns */
    uint64_t at;    /* time of the last call, ns */
    uint64_t left;  /* bytes left at that time */
    double rate;    /* recent average, bytes a second */
};

/* Writes the progress at time `now` (ns) with `left` bytes not written back:
 * "1.5 GiB left, 200 MiB/s, about 8 s".  The first call has no rate yet; a rate of 0 is "nothing
 * moves".  Returns `text`. */
const char *iod_progress(struct iod_progress *p, uint64_t now, uint64_t left,
                         char text[IOD_PROGRESS_TEXT]);

#endif
