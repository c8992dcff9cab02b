/* hostile.h - peers of a rig's server that send what the steps of an input say.
 *
 * They know the server's secret, so that it accepts them, but not the keys of the honest client's
 * session.
 */
#ifndef HOSTILE_H
#define HOSTILE_H

#include "fuzz_rig.h"
#include "session_steps.h"
#include "zc_handshake.h"

enum { HOSTILES = 3, HOSTILE_MEMORY = 32 << 10, REMEMBERED = 32, MANY_SESSIONS = 1024 };

/* The last numbers that the server gave to any peer, in a ring. */
struct numbers {
    uint64_t n[REMEMBERED];
    unsigned count;
};

struct hostile {
    struct crowd *crowd;
    struct zc_tp *tp;
    zc_peer server;
    uint64_t client_id, session; /* 0: refused */
    unsigned char *memory;       /* memory that the server may access: */
    struct zc_mr mr, old;        /* registered now, and not any more */
    uint64_t answered;           /* tag of the last reply */
    struct zc_handshake shake;   /* of the last HELLO */
    uint64_t greeted;            /* and its tag */
};

/* A session that a peer has opened.  All peers may send in its name. */
struct opened {
    uint64_t session;
    struct zc_keys keys;
};

struct crowd {
    struct rig *rig;
    struct hostile h[HOSTILES];
    struct numbers sessions, handles, views, grants;
    struct opened opened[MANY_SESSIONS];
    unsigned nopened;
    uint64_t next_tag, next_client;
    unsigned sent;                      /* messages */
    unsigned char last[ZC_MAX_MESSAGE]; /* message, for STEP_AGAIN */
    size_t last_len;
    bool held;            /* the store does not answer */
    unsigned patience_ms; /* how long to wait for a reply */
};

/* The file of the honest client: hostile ones read it, and try to write through that handle. */
#define HONEST_PATH "/honest"

/* All of them say hello.  `honest` is the number of a session that they have no keys of. */
void crowd_up(struct crowd *c, struct rig *rig, uint64_t honest);
/* STEP_MESSAGE, _AGAIN, _BYTES (`len` bytes that follow), _GONE. */
void crowd_step(struct crowd *c, const struct step *s, const uint8_t *more, size_t len);
/* Says goodbye for every session there ever was, also of those that are gone. */
void crowd_bye(struct crowd *c);
void crowd_down(struct crowd *c);

#endif
