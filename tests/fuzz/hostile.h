/* hostile.h - peers of a rig's server that say whatever the steps of an input tell them to. */
#ifndef HOSTILE_H
#define HOSTILE_H

#include "fuzz_rig.h"
#include "session_steps.h"

enum { HOSTILES = 3, HOSTILE_MEMORY = 32 << 10, REMEMBERED = 32 };

/* Numbers that the server gave to anybody: the last ones, in a ring. */
struct numbers {
    uint64_t n[REMEMBERED];
    unsigned count;
};

struct hostile {
    struct crowd *crowd;
    struct zc_tp *tp;
    zc_peer server;
    uint64_t client_id, session; /* 0: refused */
    unsigned char *memory;       /* what the server may reach ... */
    struct zc_mr mr, old;        /* ... and may no more */
    uint64_t answered;           /* tag of the last reply */
};

struct crowd {
    struct rig *rig;
    struct hostile h[HOSTILES];
    struct numbers sessions, handles, views, grants;
    uint64_t honest; /* session that nobody speaks for but its client */
    uint64_t next_tag, next_client;
    unsigned sent;                      /* messages */
    unsigned char last[ZC_MAX_MESSAGE]; /* message, for STEP_AGAIN */
    size_t last_len;
    bool held;            /* the store does not answer */
    unsigned patience_ms; /* how long to wait for a reply */
};

/* The file of the honest client: hostile ones read it, and try to write through that handle. */
#define HONEST_PATH "/honest"

/* All of them say hello. */
void crowd_up(struct crowd *c, struct rig *rig, uint64_t honest);
/* STEP_MESSAGE, _AGAIN, _BYTES (`len` bytes that follow), _GONE. */
void crowd_step(struct crowd *c, const struct step *s, const uint8_t *more, size_t len);
/* Says goodbye for every session there ever was, also of those that are gone. */
void crowd_bye(struct crowd *c);
void crowd_down(struct crowd *c);

#endif
