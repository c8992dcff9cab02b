/* ctl_picture.h - one picture of zcachectl top: text, or a line of JSON. */
#ifndef CTL_PICTURE_H
#define CTL_PICTURE_H

#include <stdio.h>

#include "ctl_watch.h"

/* A daemon in the picture.  The caller frees the samples. */
struct ctl_seat {
    const char *name, *path;         /* of the address file */
    struct ctl_sample *now, *before; /* the latest one, and the one before; NULL: none */
    bool late;                       /* its answer to the last request is overdue */
    uint64_t silent_s;               /* seconds since its last answer */
};

struct ctl_frame {
    const struct ctl_seat *seats;
    unsigned count;
    uint64_t interval_ms;
    unsigned columns, lines; /* size of the screen; 0: no limit */
    bool colours;
};

/* Prints the daemons, the errors of those that do not answer, and the busiest files that fit. */
void ctl_picture_print(FILE *f, const struct ctl_frame *frame);
/* Prints the same as a line of JSON: sizes in bytes, rates in bytes a second. */
void ctl_picture_json(FILE *f, const struct ctl_frame *frame);

#endif
