/* iod_progress.h - how far the writing back is, in words: what is left, how fast it goes, and how
 * long that will take. */
#ifndef IOD_PROGRESS_H
#define IOD_PROGRESS_H

#include <stddef.h>
#include <stdint.h>

enum { IOD_PROGRESS_TEXT = 128 };

/* Begins as zeros. */
struct iod_progress {
    uint64_t since; /* ns; the first look */
    uint64_t at;    /* the last one */
    uint64_t left;  /* bytes, then */
    double rate;    /* bytes a second, lately */
};

/* At time `now` (ns) so many bytes are not written back yet: "1.5 GiB left, 200 MiB/s, about 8 s".
 * The first look knows no rate; one that is 0 says "nothing moves".  Returns `text`. */
const char *iod_progress(struct iod_progress *p, uint64_t now, uint64_t left,
                         char text[IOD_PROGRESS_TEXT]);

#endif
