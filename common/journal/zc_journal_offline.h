/* zc_journal_offline.h - reads a journal, or what was set aside, without a daemon.
 *
 * An image is a directory with segments: a journal that no daemon has open, or a set-aside.N in one
 * (zc_journal_aside.c).  It is locked against daemons while it is open.
 *
 * Calls on one image are made by one thread, and may block.  They return 0 or a negative errno,
 * explained.
 */
#ifndef ZC_JOURNAL_OFFLINE_H
#define ZC_JOURNAL_OFFLINE_H

#include "zc_journal.h"

/* Description of an image. */
struct zc_image_info {
    bool aside;       /* set aside by a journal, ... */
    char reason[256]; /* ... for this reason; else empty */
    const char *root; /* directory of its files; empty: no segments.  Owned by the image */
    uint64_t seat, generation;
    unsigned segments;
    uint64_t bytes; /* of the segments */
    unsigned damaged;
};

/* Bytes of a file that are not stored. */
struct zc_image_file {
    uint32_t number; /* in this image */
    const char *path;
    struct zc_attr noted;                /* attributes that the journal noted */
    const struct zc_journal_span *spans; /* sorted; the last of ZC_JOURNAL_SPANS may have gaps */
    unsigned n;
    uint64_t bytes;
    bool unexplained; /* with zc_image_walk.read: other programs may have written there meanwhile */
};

/* A callback's non-zero result ends the walk, which returns it. */
struct zc_image_walk {
    void *arg;
    int (*file)(void *arg, const struct zc_image_file *f); /* each file once, before ... */
    /* ... the bytes of all, in the order of staging; NULL: skips them. */
    int (*data)(void *arg, uint32_t number, uint64_t off, const void *bytes, uint32_t len);
    /* Reads files, as zc_journal_sink.read does.  NULL: contents are not compared. */
    ssize_t (*read)(void *arg, const char *path, void *buf, size_t len, uint64_t off);
};

/* Opens an image.  `change`: the journal must not be open elsewhere.  -EBUSY: a daemon or another
 * such program has it open. -ENOENT: it does not exist; -EINVAL: it is no journal. */
int zc_image_open(const char *dir, bool change, struct zc_journal **out);
void zc_image_info(struct zc_journal *j, struct zc_image_info *out);
int zc_image_walk(struct zc_journal *j, const struct zc_image_walk *walk);
/* Returns why a replay must not write it, by the rules of a daemon's start, without checking files;
 * NULL: it may. */
int zc_image_fence(struct zc_journal *j, const char **why);
/* Returns why the file with these attributes, found at its name, must not get its bytes: it is
 * another file, was changed by others, or its contents are unexplained and decide, by the rules of
 * a daemon's start; NULL: it may.
 * *no_match: it is another file. */
const char *zc_image_objection(struct zc_journal *j, const struct zc_image_file *f,
                               const struct zc_attr *now, bool *no_match);
/* Deletes the segments, durably; and the directory if it was set aside. */
int zc_image_remove(struct zc_journal *j);
void zc_image_close(struct zc_journal *j);

#endif
