/* zc_posts.h - the owner's side of writes that processes of its host leave in shared memory.
 *
 * One for a cache, whatever servers it has.  Writes that were left are made in the order of their
 * stamps, by whoever comes first: a thread that looks now and then, or who has to see what was
 * written before him, which is everybody who reads, flushes, cuts or closes a file (zc_post.h).
 *
 * A write that fails, whose writer has been told that it was made, is lost and told of like what
 * could not be written back (zc_cache_lose()).  While anything is refused by the store, writers are
 * told to ask by message (zc_board.refuses), so that they hear of it at once.
 *
 * Threads: any, without locks.  Errors: negative errno, explained by zc_errorf().
 */
#ifndef ZC_POSTS_H
#define ZC_POSTS_H

#include <stdbool.h>
#include <stdint.h>

#include "zc_cache.h"
#include "zc_list.h"

struct zc_posts;

/* Which open file a number means; it stays open until put.  NULL: none. */
struct zc_posts_files {
    struct zc_handle *(*get)(void *arg, uint64_t number, void **kept);
    void (*put)(void *arg, void *kept);
    void *arg;
};

/* -EOPNOTSUPP: this process can share no memory. */
int zc_posts_create(struct zc_cache *c, struct zc_posts **out);
/* Its boxes are closed, and empty; NULL is fine. */
void zc_posts_destroy(struct zc_posts *p);

/* A writer's box, which says through `files` what is written to.  What others open as board and box
 * are descriptors of this process.  -EOPNOTSUPP: the rings of those that there are take the share
 * of the cache's memory that they may. */
struct zc_posts_box;
int zc_posts_open(struct zc_posts *p, const struct zc_posts_files *files,
                  struct zc_posts_box **out);
void zc_posts_descriptors(const struct zc_posts_box *b, int *board, int *box);
/* What is in it is still taken out; the box is freed then. */
void zc_posts_close(struct zc_posts_box *b);
/* Waits until all that were closed, with these files, are gone. */
void zc_posts_end(struct zc_posts *p, const void *files_arg);

/* Returns when all that was left before is made: waits for the cache.  NULL: nothing was. */
void zc_posts_settle(struct zc_posts *p);

/* What says of all that was left until now that it was; for who must not wait. */
uint64_t zc_posts_now(struct zc_posts *p);
/* Whether all that was left before `until` is made.  False: over() will be called when it is, or
 * when that is to be asked once more, on another thread or this one, and must not block. */
struct zc_posts_wait {
    struct zc_list link;
    void (*over)(struct zc_posts_wait *w);
    uint64_t until; /* a zc_posts_now(); stays until over() */
};
bool zc_posts_settled(struct zc_posts *p, struct zc_posts_wait *w);
/* It is not waited for any more: over() is not called after this. */
void zc_posts_unwait(struct zc_posts *p, struct zc_posts_wait *w);

/* A word of the board for a shared file pointer, and which it is; NULL: all are in use. */
uint64_t *zc_posts_pointer(struct zc_posts *p, unsigned *index);
/* Who looks at it asks by message from now on. */
void zc_posts_pointer_free(struct zc_posts *p, unsigned index);

/* Writes that were made, and their bytes. */
void zc_posts_counts(struct zc_posts *p, uint64_t *writes, uint64_t *bytes);

#endif
