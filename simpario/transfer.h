/*
 * One record to or from the file, in any of the ways MPI has to move it.
 *
 * Blocking calls move it in transfer_begin(); the others move it until transfer_end(), and own the
 * buffer until then. One transfer per file at a time: split collectives allow no more.
 */
#ifndef TRANSFER_H
#define TRANSFER_H

#include <stdbool.h>

#include <mpi.h>

enum access_kind {
    ACCESS_COLLECTIVE,  /* MPI_File_write_at_all */
    ACCESS_INDEPENDENT, /* MPI_File_write_at */
    ACCESS_SPLIT,       /* MPI_File_write_at_all_begin and _end */
    ACCESS_ICOLLECTIVE, /* MPI_File_iwrite_at_all, MPI_Wait */
    ACCESS_NONBLOCKING, /* MPI_File_iwrite_at, MPI_Wait */
    ACCESS_EXCHANGE,    /* MPI_Alltoallv, MPI_File_write_at: exchange.h */
    ACCESS_COUNT
};

enum direction { WRITE, READ };

struct exchange;

struct transfer {
    enum access_kind kind;
    enum direction direction;
    void *buf;
    int phase;                 /* of the pattern; ACCESS_EXCHANGE only, as is ... */
    struct exchange *exchange; /* ... this, which is the caller's */
    int count;
    MPI_Datatype type;
    MPI_Request request; /* between begin and end, where there is one */
    MPI_Status status;   /* valid after transfer_end() */
};

/* In the order of the enumeration; NULL-terminated. */
extern const char *const access_names[ACCESS_COUNT + 1];

/* Whether the application can compute between begin and end. */
bool transfer_overlaps(enum access_kind kind);

/* Whether all ranks that share the file have to make the calls. */
bool transfer_collective(enum access_kind kind);

/* The caller sets the members up to `type`. `offset` is in bytes of the view. Both return MPI's
 * error code, and are collective if the MPI calls are. */
int transfer_begin(struct transfer *t, MPI_File fh, MPI_Offset offset);
int transfer_end(struct transfer *t, MPI_File fh);
/* Return the names of the MPI calls, for messages. */
const char *transfer_begin_name(const struct transfer *t);
const char *transfer_end_name(const struct transfer *t);

#endif
