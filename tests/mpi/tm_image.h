/* tm_image.h - the expected contents of the file: for every byte the access that wrote it.
 *
 * An access has a number, from 1 on; 0 stands for bytes never written, which are zeros.  Also
 * records which ranks have touched which bytes since ranks last met at a barrier.
 */
#ifndef TM_IMAGE_H
#define TM_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

struct tm_image {
    int64_t size, max;
    int64_t settled; /* the size at the last barrier */
    uint32_t *who;   /* max of them */
    uint8_t *readers, *writers;
    uint8_t *through; /* the open they were written through, since the last barrier */
    uint8_t grower;   /* the open that has moved the end since then */
    bool grown;       /* the size has changed since the last barrier */
    bool unsure;      /* there may be bytes that are TM_UNSURE */
    bool end_seen;    /* a rank has queried the end of the file since then */
};

/* The byte that access number `who` leaves at an offset: never 0 nor TM_FILL. */
uint8_t tm_stamp(int64_t off, uint32_t who);
enum { TM_FILL = 1 };        /* contents of memory before a read */
#define TM_UNSURE UINT32_MAX /* for `who`: the byte is undefined */

void tm_image_init(struct tm_image *m, int64_t max);
void tm_image_free(struct tm_image *m);
void tm_image_write(struct tm_image *m, int64_t off, int64_t len, uint32_t who);
void tm_image_resize(struct tm_image *m, int64_t size);
uint8_t tm_image_byte(const struct tm_image *m, int64_t off);

/* All ranks have met: no earlier access conflicts any more. */
void tm_image_barrier(struct tm_image *m);

/* `alone`: the access ends before this rank's next one begins; `waits`: for all that has been
 * written through the same open. */
struct tm_touch {
    int64_t off, len;
    int rank; /* of the world */
    uint8_t open;
    bool write, alone, waits;
};
/* Whether the bytes of the access may not be touched without a barrier before it. */
bool tm_image_conflict(const struct tm_image *m, const struct tm_touch *t);
void tm_image_touch(struct tm_image *m, const struct tm_touch *t);

/* Describes the bytes found at `off`, in terms of the accesses up to number `last`. */
void tm_image_decode(const struct tm_image *m, const uint8_t *found, int64_t n, int64_t off,
                     uint32_t last, char *text, int len);

#endif
