/* ctl_picture.h - what daemons do, as one picture: for people, or a line of JSON. */
#ifndef CTL_PICTURE_H
#define CTL_PICTURE_H

#include <stdio.h>

#include "ctl_watch.h"

/* What is known of a daemon.  Samples are the picture's owner's to free. */
struct ctl_seat {
    const char *name, *path;         /* of the address file */
    struct ctl_sample *now, *before; /* NULL: nothing yet; before: nothing to compare with */
    bool late;                       /* asked, and has not answered for long */
    uint64_t silent_s;               /* then: for how long */
};

struct ctl_frame {
    const struct ctl_seat *seats;
    unsigned count;
    uint64_t interval_ms;
    unsigned columns, lines; /* there is room for; 0: no limit */
    bool colours;
};

/* Daemons, why some do not answer, and the busiest files, as many as there is room for. */
void ctl_picture_print(FILE *f, const struct ctl_frame *frame);
/* All sizes in bytes, rates in bytes a second. */
void ctl_picture_json(FILE *f, const struct ctl_frame *frame);

#endif
