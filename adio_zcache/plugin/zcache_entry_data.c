/*
 * The functions of the plugin's files that move data, each also with a large count, for data that
 * are in the file as in memory.  zcache_entry_datarep.c calls them.
 *
 * DATA makes a function and its _c twin, START those that return a request. AT and NO_AT say
 * whether there is an explicit offset; STATUS, REQUEST and NOTHING what comes last. A count beyond
 * int becomes one element of a type that is freed after the call, or, where the access may go on
 * (KEEP), with the file.
 */
#include "config.h"

#include <limits.h>

#include "zcache_entry.h"
#include "zcache_entry_data.h"
#include "zcache_type_large_count.h"

enum big_types { FREE, KEEP };

/*
 * Comes after a read that may be collective: other ranks must not wait for one that failed.  A read
 * that waits for no rank is left as it is.
 */
static void read_over(MPI_File fh, int rc, unsigned turn, bool nonblocking)
{
    if (rc != MPI_SUCCESS)
        zcache_read_left(fh, turn, nonblocking);
}

/* Undo what zcache_type_large_count did, or leave it to the end of the file. */
static void done_with(MPI_Datatype *big, MPI_File fh, enum big_types what)
{
    struct zcache_handle *h = what == KEEP ? zcache_handle_of(fh) : NULL;

    if (h)
        zcache_handle_keep(h, big);
    else
        PMPI_Type_free(big);
}

/* What every large count begins with. A null type is left for ROMIO to find. */
static bool needs_big(MPI_Count count, MPI_Datatype type)
{
    return count > INT_MAX && type != MPI_DATATYPE_NULL;
}

#define LARGE(name, at, buffer, last, keep)                                                        \
    int zcache_plain_##name##_c(MPI_File fh, at##_P buffer buf, MPI_Count count,                   \
                                MPI_Datatype type last##_P)                                        \
    {                                                                                              \
        MPI_Datatype big;                                                                          \
        int rc;                                                                                    \
                                                                                                   \
        if (!needs_big(count, type))                                                               \
            return zcache_plain_##name(fh, at##_A buf, count < 0 ? -1 : (int)count,                \
                                       type last##_A);                                             \
        rc = zcache_type_large_count(count, type, &big);                                           \
        if (rc != MPI_SUCCESS)                                                                     \
            return zcache_raise(fh, rc, "MPI_File_" #name "_c");                                   \
        rc = zcache_plain_##name(fh, at##_A buf, 1, big last##_A);                                 \
        done_with(&big, fh, keep);                                                                 \
        return rc;                                                                                 \
    }                                                                                              \
    int zcache_plain_##name##_c(MPI_File fh, at##_P buffer buf, MPI_Count count,                   \
                                MPI_Datatype type last##_P)

#define DATA(name, alone, at, buffer, last, keep)                                                  \
    ENTRY_AT(zcache_plain, name, at##_V, alone,                                                    \
             (MPI_File fh, at##_P buffer buf, int count, MPI_Datatype type last##_P),              \
             (fh, at##_A buf, count, type last##_A));                                              \
    LARGE(name, at, buffer, last, keep)

/* As DATA(), for a collective read, which waits for the other ranks. */
#define READ_ALL(name, at, last, keep)                                                             \
    int ROMIO_File_##name(MPI_File fh, at##_P void *buf, int count, MPI_Datatype type last##_P);   \
    int zcache_plain_##name(MPI_File fh, at##_P void *buf, int count, MPI_Datatype type last##_P)  \
    {                                                                                              \
        unsigned turn = zcache_read_turn(fh);                                                      \
        int rc = zcache_check_offset(fh, at##_V);                                                  \
                                                                                                   \
        if (rc == MPI_SUCCESS)                                                                     \
            rc = ROMIO_File_##name(fh, at##_A buf, count, type last##_A);                          \
        read_over(fh, rc, turn, false);                                                            \
        return zcache_leave(NULL, fh, rc, "MPI_File_" #name);                                      \
    }                                                                                              \
    LARGE(name, at, READ, last, keep)

/*
 * Starting a nonblocking access. In atomic mode ROMIO blocks but reports the bytes asked for as
 * those read; so there the blocking function does the work, and the request is complete from the
 * start.
 */
enum started { ALONE, READ_BY_ALL, WRITTEN_BY_ALL };

static bool must_block(MPI_File fh, enum started what)
{
    return what == ALONE && fh->atomicity;
}

int zcache_entry_completed(MPI_File fh, int rc, MPI_Status *status, MPI_Request *request)
{
    MPI_Count bytes = 0;

    if (rc == MPI_SUCCESS) {
        PMPI_Get_elements_x(status, MPI_BYTE, &bytes);
        MPIO_Completed_request_create(&fh, bytes, &rc, request);
    }
    return rc;
}

#define START(name, alone, at, buffer, blocking, what)                                             \
    int ROMIO_File_##name(MPI_File fh, at##_P buffer buf, int count, MPI_Datatype type,            \
                          MPI_Request *request);                                                   \
    int zcache_plain_##name(MPI_File fh, at##_P buffer buf, int count, MPI_Datatype type,          \
                            MPI_Request *request)                                                  \
    {                                                                                              \
        struct zcache_handle *taken;                                                               \
        unsigned turn = zcache_read_turn(fh);                                                      \
        MPI_Status status;                                                                         \
        int rc = zcache_check_offset(fh, at##_V);                                                  \
                                                                                                   \
        *request = MPI_REQUEST_NULL;                                                               \
        if (rc == MPI_SUCCESS && must_block(fh, what)) {                                           \
            rc = zcache_plain_##blocking(fh, at##_A buf, count, type, &status);                    \
            return zcache_entry_completed(fh, rc, &status, request);                               \
        }                                                                                          \
        taken = zcache_enter(fh, alone);                                                           \
        if (rc == MPI_SUCCESS)                                                                     \
            rc = ROMIO_File_##name(fh, at##_A buf, count, type, request);                          \
        if (what == READ_BY_ALL)                                                                   \
            read_over(fh, rc, turn, true);                                                         \
        return zcache_leave(taken, fh, rc, "MPI_File_" #name);                                     \
    }                                                                                              \
    LARGE(name, at, buffer, REQUEST, KEEP)

/*
 * An ordered access. ROMIO passes a token from rank to rank, and counts on the collective access
 * that follows to hold back the first, which ours does not. So the offsets are agreed on at once,
 * and the access is one with an explicit offset (AT_ALL), which ROMIO refuses in sequential mode.
 */
#define ORDERED(name, at_all, buffer, last, keep)                                                  \
    int ROMIO_File_##name(MPI_File fh, buffer buf, int count, MPI_Datatype type last##_P);         \
    int zcache_plain_##name(MPI_File fh, buffer buf, int count, MPI_Datatype type last##_P)        \
    {                                                                                              \
        unsigned turn = zcache_read_turn(fh);                                                      \
        MPI_Offset at;                                                                             \
        int rc, sequential;                                                                        \
                                                                                                   \
        sequential = fh->access_mode & ADIO_SEQUENTIAL;                                            \
        rc = zcache_ordered_offset(fh, count, type, &at);                                          \
        if (rc == MPI_SUCCESS) {                                                                   \
            fh->access_mode &= ~sequential;                                                        \
            rc = ROMIO_File_##at_all(fh, at, buf, count, type last##_A);                           \
            fh->access_mode |= sequential;                                                         \
            if (buffer##_IS_READ)                                                                  \
                read_over(fh, rc, turn, false);                                                    \
        }                                                                                          \
        return zcache_leave(NULL, fh, rc, "MPI_File_" #name);                                      \
    }                                                                                              \
    LARGE(name, NO_AT, buffer, last, keep)

/* ---- independent ------------------------------------------------------------------ */

DATA(read_at, ALONE_NEVER, AT, READ, STATUS, FREE);
DATA(write_at, ALONE_NEVER, AT, WRITE, STATUS, FREE);
START(iread_at, ALONE_NEVER, AT, READ, read_at, ALONE);
START(iwrite_at, ALONE_NEVER, AT, WRITE, write_at, ALONE);
DATA(read, ALONE_ALWAYS, NO_AT, READ, STATUS, FREE);
DATA(write, ALONE_ALWAYS, NO_AT, WRITE, STATUS, FREE);
START(iread, ALONE_ALWAYS, NO_AT, READ, read, ALONE);
START(iwrite, ALONE_ALWAYS, NO_AT, WRITE, write, ALONE);
DATA(read_shared, ALONE_ALWAYS, NO_AT, READ, STATUS, FREE);
DATA(write_shared, ALONE_ALWAYS, NO_AT, WRITE, STATUS, FREE);
START(iread_shared, ALONE_ALWAYS, NO_AT, READ, read_shared, ALONE);
START(iwrite_shared, ALONE_ALWAYS, NO_AT, WRITE, write_shared, ALONE);

/* ---- collective ------------------------------------------------------------------- */

READ_ALL(read_at_all, AT, STATUS, FREE);
DATA(write_at_all, ALONE_NEVER, AT, WRITE, STATUS, FREE);
START(iread_at_all, ALONE_NEVER, AT, READ, read_at_all, READ_BY_ALL);
START(iwrite_at_all, ALONE_NEVER, AT, WRITE, write_at_all, WRITTEN_BY_ALL);
READ_ALL(read_all, NO_AT, STATUS, FREE);
DATA(write_all, ALONE_NEVER, NO_AT, WRITE, STATUS, FREE);
START(iread_all, ALONE_NEVER, NO_AT, READ, read_all, READ_BY_ALL);
START(iwrite_all, ALONE_NEVER, NO_AT, WRITE, write_all, WRITTEN_BY_ALL);
ORDERED(read_ordered, read_at_all, READ, STATUS, FREE);
ORDERED(write_ordered, write_at_all, WRITE, STATUS, FREE);

/* ---- split collective --------------------------------------------------------------- */

READ_ALL(read_at_all_begin, AT, NOTHING, KEEP);
DATA(write_at_all_begin, ALONE_NEVER, AT, WRITE, NOTHING, KEEP);
READ_ALL(read_all_begin, NO_AT, NOTHING, KEEP);
DATA(write_all_begin, ALONE_NEVER, NO_AT, WRITE, NOTHING, KEEP);
ORDERED(read_ordered_begin, read_at_all_begin, READ, NOTHING, KEEP);
ORDERED(write_ordered_begin, write_at_all_begin, WRITE, NOTHING, KEEP);

/* ROMIO copies the status that zcache_split_end() has set. */
#define END(name, buffer)                                                                          \
    int ROMIO_File_##name(MPI_File fh, buffer buf, MPI_Status *status);                            \
    int zcache_entry_##name(MPI_File fh, buffer buf, MPI_Status *status)                           \
    {                                                                                              \
        int code = fh->split_coll_count ? zcache_split_end(fh) : MPI_SUCCESS;                      \
        int rc = ROMIO_File_##name(fh, buf, status);                                               \
                                                                                                   \
        return zcache_leave(NULL, fh, code == MPI_SUCCESS ? rc : code, "MPI_File_" #name);         \
    }                                                                                              \
    int zcache_entry_##name(MPI_File fh, buffer buf, MPI_Status *status)

END(read_at_all_end, READ);
END(write_at_all_end, WRITE);
END(read_all_end, READ);
END(write_all_end, WRITE);
END(read_ordered_end, READ);
END(write_ordered_end, WRITE);
