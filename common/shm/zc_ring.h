/* zc_ring.h - rings in memory shared with the owner of a file's bytes, for small writes: a write is
 * complete for its writer once it is in the ring.
 *
 *     the owner                                             a writer, one of many
 *     struct zc_ring_control    stamps, doorbell       <-->
 *     struct zc_ring_header     the writer's own ring  <--  struct zc_ring_entry, its bytes
 *
 * A writer takes the next stamp before it puts an entry into its ring (client/zc_client_ring.c).
 * The owner applies entries in the order of their stamps, before any request that comes after them
 * (zc_shmring.c), as if each had been applied at once.  A writer that dies leaves whole
 * entries only, because `head` moves last.  A stamp whose entry never comes is void: that is known
 * when all entries are applied and no writer of an open ring is `putting`.  Neither side trusts the
 * other: it copies a field before it checks it.
 *
 * A ring is used from its beginning to `end`, which the owner moves up, as far as it has memory,
 * when a large entry has found the ring full.  Behind it no more than a marker (ZC_RING_WRAP) takes
 * memory.
 */
#ifndef ZC_RING_H
#define ZC_RING_H

#include <stdbool.h>
#include <stdint.h>

enum {
    ZC_RING_UNIT = 64,            /* writes begin at multiples of this */
    ZC_RING_ENTRY_MAX = 64 << 10, /* most bytes of data in one */
    ZC_RING_VIEW_MAX = 1 << 10,   /* most bytes of its encoded view */
    ZC_RING_SIZE = 4 << 20,       /* bytes of a ring at most; a power of two */
    ZC_RING_FIRST = 256 << 10,    /* ... in use at first; no entry needs more */
    ZC_RING_GROWS_FOR = 16 << 10, /* bytes of the smallest entry that makes a ring grow: a message
                                     takes smaller ones as well, and they are put faster where
                                     memory is still cached from the last time */
    ZC_RING_HEADER = 4096,        /* bytes of shared memory in front of it */
    ZC_POINTERS = 64,
    ZC_RING_CONTROL = 4096, /* bytes of shared memory */
};

/* A write; its data follows.  A write through a view carries that view, so the owner needs no other
 * message to apply it: the displacement (8 bytes), the encoded view (zc_view.h) and padding come
 * before the data, zc_ring_entry_prefix() bytes in all. */
struct zc_ring_entry {
    uint64_t stamp;
    uint64_t handle, off; /* as in a WRITE or VWRITE */
    uint32_t len;
    uint32_t view; /* 0: none; ZC_RING_WRAP; else bytes of its encoding */
};

/* Not a write: the next entry is at the beginning of the ring. */
#define ZC_RING_WRAP UINT32_MAX

/* All fields are atomic; each cache line is written by one side, except that of `stamps`. */
struct zc_ring_control {
    _Alignas(64) uint64_t stamps;  /* stamps given so far */
    _Alignas(64) uint64_t applied; /* of them, in order: applied, failed and reported, or void */
    uint32_t refuses;              /* nonzero: send writes by message, since they may fail */
    _Alignas(64) uint32_t asleep;  /* the owner sleeps: the writer that sets it to 0 rings */
    uint32_t doorbell;             /* a futex word (zc_futex.h): nonzero, it rings */
    _Alignas(64) uint64_t pointers[ZC_POINTERS]; /* shared file pointers, as below */
};

struct zc_ring_header {
    _Alignas(64) uint64_t head; /* bytes ever put; written by the writer, as is: */
    uint32_t putting; /* set before a stamp is taken, 0 when head has been moved behind its write */
    uint32_t full;    /* how many large entries have found no room */
    _Alignas(64) uint64_t tail; /* bytes ever taken out; written by the owner, as are: */
    uint32_t closed;            /* entries put from now on may be ignored */
    uint32_t views;             /* nonzero: the owner accepts writes through views */
    uint32_t end;               /* entries end here, counted in bytes from the ring's beginning */
};

static inline unsigned char *zc_ring_data(struct zc_ring_header *b)
{
    return (unsigned char *)b + ZC_RING_HEADER;
}

/* Bytes between an entry and its data, which begins at a multiple of 32 for faster copying. */
static inline uint32_t zc_ring_entry_prefix(uint32_t view)
{
    return view ? (view + 8 + 31) / 32 * 32 : 0;
}

/* Bytes that an entry takes in a ring; len is at most ZC_RING_ENTRY_MAX, view ZC_RING_VIEW_MAX.
 */
static inline uint32_t zc_ring_entry_size(uint32_t len, uint32_t view)
{
    uint32_t all = (uint32_t)sizeof(struct zc_ring_entry) + zc_ring_entry_prefix(view) + len;

    return (all + ZC_RING_UNIT - 1) / ZC_RING_UNIT * ZC_RING_UNIT;
}

/* Returns whether all stamps given before this call are applied. */
static inline bool zc_ring_drained(const struct zc_ring_control *b)
{
    uint64_t given = __atomic_load_n(&b->stamps, __ATOMIC_SEQ_CST);

    return __atomic_load_n(&b->applied, __ATOMIC_ACQUIRE) >= given;
}

/* A shared file pointer in one word: the epoch (zc_coord.h) in the upper 16 bits, below it the
 * value. ZC_POINTER_ASK: it does not fit or is gone, so send a POINTER message. */
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

/* Adds to the pointer.  False: send a POINTER message; nothing has changed. */
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
