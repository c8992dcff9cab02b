/* zc_post.h - small writes that a process leaves in memory which it shares with the owner of the
 * bytes, and that have been made with that.
 *
 *     the owner                                       a writer, one of many
 *     struct zc_board    stamps, who is awake   <-->
 *     struct zc_postbox  the writer's own ring  <--   struct zc_letter, its bytes
 *
 * Every write takes the next stamp before it is put into the ring (zc_post_put()).  The owner takes
 * them out in the order of their stamps, and before it does anything that shall come after them: so
 * they are as if they had been made at once (server/zc_posts.c says how, client/zc_client_post.c
 * leaves them).  A writer that dies leaves whole writes only, for `head` comes last.  A stamp whose
 * write never comes is void, which is known once everything is taken out and no writer of an open
 * box is `putting`: then all that were given before are over (zc_posts.c).  Who does not
 * trust the other side copies what it says, and looks at the copy.
 */
#ifndef ZC_POST_H
#define ZC_POST_H

#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    ZC_POST_UNIT = 64,      /* writes begin at multiples of this */
    ZC_POST_MAX = 64 << 10, /* bytes of one, at most */
    ZC_POST_VIEW = 1 << 10, /* bytes of the view that it goes through, encoded, at most */
    ZC_POSTBOX = 256 << 10, /* bytes of a ring; a power of two */
    ZC_POSTBOX_HEAD = 4096, /* of shared memory in front of it */
    ZC_POINTERS = 64,
    ZC_BOARD = 4096, /* bytes of shared memory */
};

/* A write; its bytes follow.  What goes through a view has that with it, so that nothing has to be
 * known of views to make it: the displacement, 8 bytes, the view, encoded (zc_view.h), and bytes
 * of no meaning as zc_post_before() counts them come before the others. */
struct zc_letter {
    uint64_t stamp;
    uint64_t handle, off; /* as in a WRITE or VWRITE */
    uint32_t len;
    uint32_t view; /* 0: through none; or bytes of its encoding; or ... */
};

/* ... it is no write: what follows is at the beginning of the ring. */
#define ZC_POST_GAP UINT32_MAX

/* All fields atomic; each line of the processor's cache is written by one side, but `stamps`. */
struct zc_board {
    _Alignas(64) uint64_t stamps; /* so many have been given */
    _Alignas(64) uint64_t taken;  /* so many are over: made, failed and told of, or void */
    uint32_t refuses;             /* writes are to be made by message: they might fail */
    _Alignas(64) uint32_t asleep; /* the owner does not look: who sets it to 0 rings */
    sem_t bell;                   /* shared */
    _Alignas(64) uint64_t pointers[ZC_POINTERS]; /* shared file pointers, as below */
};

struct zc_postbox {
    _Alignas(64) uint64_t head; /* bytes ever put; the writer's, as is: */
    uint32_t putting; /* set before a stamp is taken, 0 when head has been moved behind its write */
    _Alignas(64) uint64_t tail; /* bytes ever taken out; the owner's, as are: */
    uint32_t closed;            /* what is put from now on may not be taken */
    uint32_t views;             /* the owner takes writes through views */
};

static inline unsigned char *zc_postbox_ring(struct zc_postbox *b)
{
    return (unsigned char *)b + ZC_POSTBOX_HEAD;
}

/* Bytes between a letter and those that are written: they begin at a multiple of 32, for the sake
 * of who copies them. */
static inline uint32_t zc_post_before(uint32_t view)
{
    return view ? (view + 8 + 31) / 32 * 32 : 0;
}

/* Room that a write of so many bytes takes in a ring; at most ZC_POST_MAX, ZC_POST_VIEW. */
static inline uint32_t zc_post_room(uint32_t len, uint32_t view)
{
    uint32_t all = (uint32_t)sizeof(struct zc_letter) + zc_post_before(view) + len;

    return (all + ZC_POST_UNIT - 1) / ZC_POST_UNIT * ZC_POST_UNIT;
}

/* Whether every write that came before this call has been made. */
static inline bool zc_board_clear(const struct zc_board *b)
{
    uint64_t given = __atomic_load_n(&b->stamps, __ATOMIC_SEQ_CST);

    return __atomic_load_n(&b->taken, __ATOMIC_ACQUIRE) >= given;
}

/* A shared file pointer in one word: of which epoch (zc_coord.h) in the upper 16 bits, below it the
 * value.  One that does not fit, or is no more, is asked for by message. */
#define ZC_POINTER_ASK UINT64_MAX
#define ZC_POINTER_MAX ((1ull << 48) - 1)

static inline uint64_t zc_pointer_word(uint64_t epoch, uint64_t value)
{
    return (epoch % 0xffff) << 48 | value;
}

static inline bool zc_pointer_is_of(uint64_t word, uint64_t epoch)
{
    return word >> 48 == epoch % 0xffff;
}

/* False: it has to be asked for; nothing has changed. */
static inline bool zc_pointer_add(uint64_t *word, uint64_t epoch, uint64_t value, uint64_t *was)
{
    uint64_t now = __atomic_load_n(word, __ATOMIC_SEQ_CST);

    do {
        *was = now & ZC_POINTER_MAX;
        if (!zc_pointer_is_of(now, epoch) || value > ZC_POINTER_MAX - *was)
            return false;
    } while (!__atomic_compare_exchange_n(word, &now, now + value, false, __ATOMIC_SEQ_CST,
                                          __ATOMIC_SEQ_CST));
    return true;
}

#endif
