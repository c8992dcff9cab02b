/* zcache_vote.h - what ranks bring to the making of a group, and what it comes to for all. */
#ifndef ZCACHE_VOTE_H
#define ZCACHE_VOTE_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "zc_tp_local.h"

/* Of each the least of all ranks counts. */
struct zcache_votes {
    int64_t failed; /* the first rank that cannot take part; none: how many there are */
    int64_t knows;  /* the first that knows a group of the file; the same */
    int64_t near;   /* 1: all are on one host, and reach each other there */
};

/* Of a rank.  No padding: it travels as bytes. */
struct zcache_ballot {
    struct zcache_votes votes; /* near: it reaches rank 0 */
    struct zc_tp_local_card card;
};

/* Collective.  *all: on `root`, what they come to; it tries to reach those who are near.  Others
 * wait for nobody.  0, or a negative errno explained when MPI failed. */
int zcache_vote(MPI_Comm comm, int root, const struct zcache_ballot *mine,
                struct zcache_votes *all);

#endif
