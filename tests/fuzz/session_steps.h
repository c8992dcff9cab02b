/* session_steps.h - an input of fuzz_sessions: steps of 16 bytes, one after the other. */
#ifndef SESSION_STEPS_H
#define SESSION_STEPS_H

#include <stdint.h>

enum step_kind {
    STEP_MESSAGE, /* a message made of the fields below */
    STEP_AGAIN,   /* the last one once more: whole, cut, or with another byte; an odd `key`: as it
                   * is, else with a new tag and seal */
    STEP_BYTES,   /* the bytes of the next steps, the same */
    STEP_GONE,    /* an endpoint is closed, and another one comes in its place */
    STEP_STORE,   /* the store fails, is slow, holds calls, lets them go */
    STEP_HONEST,  /* the honest client does something */
    STEP_STOP,    /* the server is told to stop */
    STEP_KINDS
};

/* Every byte means something, whatever it is; hostile.c says what. */
struct step {
    uint8_t kind;
    uint8_t who;    /* bits 0-1: which peer; 2-4: whose session */
    uint8_t type;   /* of the message: index into session_types */
    uint8_t flags;  /* bits 0-5: of the header; 6: AUTH for HELLO; 7: the MAC is wrong */
    uint8_t handle; /* below 192: one that a reply named; else invented */
    uint8_t path;   /* bits 0-2: which; OPEN: the rest are open_flags */
    uint8_t what;   /* level, what, version, ... */
    uint8_t off;    /* these are index into session_numbers, or small */
    uint8_t len;
    uint8_t key;  /* where memory is said to lie */
    uint8_t view; /* number of a view, or of a lock or record */
    uint8_t disp;
    uint8_t size;
    uint8_t payload; /* bits 0-3: which view is sent; 4: damaged; 5: data of another length */
    uint8_t wait;    /* for the reply: 0 does not */
    uint8_t extra;
};

#define SESSION_NUMBERS                                                                            \
    0, 1, 2, 8, 63, 64, 100, 512, 4095, 4096, 4097, 8192, 12288, 16128, 16129, 20000, 32768,       \
        65535, 65536, 262144, 1 << 20, (1 << 20) + 1, INT32_MAX, UINT32_MAX, INT64_C(1) << 32,     \
        (INT64_C(1) << 62) - 1, INT64_C(1) << 62, INT64_MAX - 4096, INT64_MAX - 1, INT64_MAX,      \
        UINT64_C(1) << 63, UINT64_MAX - 1, UINT64_MAX

/* In an order that stays: the corpus depends on it. */
#define SESSION_TYPES                                                                              \
    ZC_T_OPEN, ZC_T_CLOSE, ZC_T_READ, ZC_T_WRITE, ZC_T_VREAD, ZC_T_VWRITE, ZC_T_LIST_READ,         \
        ZC_T_LIST_WRITE, ZC_T_VIEW_INSTALL, ZC_T_VIEW_DROP, ZC_T_FLUSH, ZC_T_TRUNCATE,             \
        ZC_T_ALLOCATE, ZC_T_GETATTR, ZC_T_BACKLOG, ZC_T_LOCK, ZC_T_UNLOCK, ZC_T_POINTER,           \
        ZC_T_RENDEZVOUS, ZC_T_INFO, ZC_T_CONTROL, ZC_T_STAT, ZC_T_UNLINK, ZC_T_HELLO, ZC_T_PING,   \
        ZC_T_BYE, ZC_T_PENDING, ZC_T_READ | ZC_REPLY, ZC_T_STEP

#endif
