/* zc_steps.h - steps of files: what a writer has finished, and what readers of other jobs may see.
 *
 * A writer publishes a step when all daemons of the file have all bytes of it.  A reader reads one
 * step, by its number: the bytes and the size of the file as they were when that step was
 * published.  The cache has one version of each byte, so a reader that asks for bytes which were
 * written since gets an error instead, which names the step; it never gets other bytes.
 *
 *     writer:     written --> in `unfinished` --publish n--> in `last`, and in `changed` of readers
 *     reader:     none --read n--> reads step n --the next read n--> ...
 *     a read:     touches neither `unfinished` nor the reader's `changed`: its bytes are step n's
 *
 * 1. A range is in `unfinished` before the first of its new bytes is in a page, and a read is
 *    checked after its bytes were copied: a read that copied a new byte finds its range.
 * 2. What a file holds that this daemon has not seen being written (it was started again
 *    behind its writer) counts as unfinished: all of the file, until the next step is published.
 * 3. A reader may take the step before the last one, too: daemons of a file publish one after the
 *    other, the first one last, and readers ask that one for the number.
 *
 * Opens that say nothing of steps are bystanders: while a file has a writer of another session they
 * read the last step that was published when they opened the file, or refreshed it last; without a
 * writer they read what there is.  What bystanders write all of them see at once; it is of no step.
 *
 * Writers count from the first zc_steps_begin(), write or publication on: an open may still fail.
 * Until then bystanders read what there is, and waits go on, or have ended, as without them.
 *
 * Files are known by (dev, ino) and the time they were made.  What is known of a file without any
 * open is kept for ZC_STEPS_KEPT files.  Not locked: by the server's thread alone.
 */
#ifndef ZC_STEPS_H
#define ZC_STEPS_H

#include <stdbool.h>
#include <stdint.h>

#include "zc_list.h"
#include "zc_store.h"

enum {
    ZC_STEPS_KEPT = 1024,
    ZC_STEPS_MEMORY = 48 << 10, /* bytes that an open may add to its own ranges and to the file's */
    ZC_STEPS_GRACE_MS = 1000,   /* a writer whose session ended may reconnect within this time */
};

/* The steps that a server knows of. */
struct zc_steps {
    struct zc_list files; /* the most recently used one is the last */
    unsigned nfiles;
};

void zc_steps_init(struct zc_steps *s);
void zc_steps_free(struct zc_steps *s); /* after all users have left */

enum zc_steps_role { ZC_STEPS_WRITER, ZC_STEPS_READER, ZC_STEPS_BYSTANDER };

/* The part of an open file that concerns steps. */
struct zc_steps_user;

/* Whether an open by this session that does not mention steps is a bystander: a writer has the file
 * open, and none of the same session. */
bool zc_steps_matter(struct zc_steps *s, const struct zc_attr *attr, const void *session);
/* Adds an open of the file with these attributes by a session.  NULL: no memory. */
struct zc_steps_user *zc_steps_join(struct zc_steps *s, const struct zc_attr *attr,
                                    enum zc_steps_role role, const void *session);
/* Frees it; `closed`: by a CLOSE, not with its session.  NULL: no effect. */
void zc_steps_leave(struct zc_steps *s, struct zc_steps_user *u, bool closed);

/* The steps of this writer had begun before its daemon was started again: counts it. */
void zc_steps_begun(struct zc_steps_user *u);
/* For writers; 0 or a negative errno, explained.  Makes this open the publisher of the file, which
 * has `size` bytes; *step becomes the last published step.  An empty file restarts at step 0. */
int zc_steps_begin(struct zc_steps_user *u, uint64_t size, uint64_t *step);
/* Publishes step `n`, with a file of `size` bytes.  No effect if `n` is published already. */
int zc_steps_publish(struct zc_steps_user *u, uint64_t n, uint64_t size);
/* [lo, hi) is about to be written, or the file to be cut to `size`; also by a bystander.  u NULL:
 * nothing. */
void zc_steps_wrote(struct zc_steps_user *u, uint64_t lo, uint64_t hi);
void zc_steps_cut(struct zc_steps_user *u, uint64_t size);

/* For readers: reads step `n` from now on; 0: none.  -EREMCHG: step `n` cannot be read yet, or no
 * longer; the one that is being read always can. */
int zc_steps_read(struct zc_steps_user *u, uint64_t n);
/* Makes a bystander read the last step from now on. */
void zc_steps_refresh(struct zc_steps_user *u);
/* Called after [lo, hi) was read: 0 if these are bytes of the reader's step, else -EREMCHG,
 * explained.  Without a step to read, an empty range fails as well.  Always 0 if u is NULL or a
 * writer. */
int zc_steps_check(const struct zc_steps_user *u, uint64_t lo, uint64_t hi);
/* Returns where a read up to `end` ends: at the end of the file as of the step. */
uint64_t zc_steps_end(const struct zc_steps_user *u, uint64_t end);
/* Returns the size of the file as of the step; `size` is the current one. */
uint64_t zc_steps_size(const struct zc_steps_user *u, uint64_t size);

/* 0 if step `n` has been published, and *last is the last one; -EAGAIN: not yet.  Otherwise it will
 * not come, explained: -ENODATA: its writers have closed the file; -EOWNERDEAD: their sessions
 * ended without a close. */
int zc_steps_there(const struct zc_steps_user *u, uint64_t n, uint64_t *last);
/* Returns -ETIME, explained: the error of a wait whose time limit is over. */
int zc_steps_late(const struct zc_steps_user *u, uint64_t n);

#endif
