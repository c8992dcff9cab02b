/*
 * The functions of the plugin's files that move data, where the data representation of the view
 * converts them (zcache_datarep.h).
 *
 * ROMIO then moves bytes, those in the file, from or to memory allocated here, through a view of
 * what the types are in the file.  So all that is counted in etypes is right without more; counts
 * in a status are those of the program's datatype.  A rank that cannot convert takes part in
 * collective calls with no data, and keeps its place among the others in ordered ones.  Nonblocking
 * calls and those that begin a split collective access do all at once.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "zc_log.h"
#include "zcache_datarep.h"
#include "zcache_entry_data.h"
#include "zcache_host_pointer.h"
#include "zcache_layout.h"

/* An access of a buffer of the program. */
struct conversion {
    const struct zcache_datarep *rep;
    bool read;
    bool as_asked; /* without conversion: ROMIO refuses the arguments, or bytes stay as they are */
    void *user;
    MPI_Count count;
    MPI_Datatype type;
    struct zcache_datarep_size each, all; /* of an element, and of `count` */
    void *in_file;                        /* all.in_file bytes, or NULL */
    MPI_Status own;                       /* for a program that wants none */
};

static int no_function(const struct zcache_datarep *rep, bool read)
{
    return zc_errorf(EILSEQ,
                     "data representation \"%s\" has no %s conversion function, and items of "
                     "another size in the file",
                     rep->name, read ? "read" : "write");
}

/* As the driver checks ROMIO's buffers. */
static int check_buffer(const struct conversion *c)
{
    struct zcache_layout *l;
    int rc = c->all.in_memory > 0 ? zcache_layout_get(c->type, &l) : 0;

    if (rc || c->all.in_memory == 0)
        return rc;
    rc = zcache_host_pointer_check((const char *)c->user + zcache_layout_first(l));
    zcache_layout_put(l);
    return rc;
}

/* Allocates and fills what is in the file. */
static int convert(struct conversion *c)
{
    int rc = zcache_datarep_check(c->rep, c->read, &c->each, c->all.items);

    rc = rc ? rc : check_buffer(c);
    if (rc)
        return rc;
    c->in_file = malloc(c->all.in_file > 0 ? (size_t)c->all.in_file : 1);
    if (!c->in_file)
        return zc_errorf(ENOMEM, "no memory to convert %lld bytes", (long long)c->all.in_file);
    if (c->read)
        return 0;
    return zcache_datarep_convert(c->rep, false, c->user, c->type, &c->each, c->all.items,
                                  c->in_file);
}

static int prepare(struct conversion *c)
{
    int rc;

    c->as_asked = c->count < 0 || c->type == MPI_DATATYPE_NULL;
    if (c->as_asked)
        return 0;
    rc = zcache_datarep_size(c->rep, c->type, c->count, &c->each, &c->all);
    if (rc)
        return rc;
    if (zcache_datarep_has(c->rep, c->read))
        return convert(c);
    c->as_asked = c->all.in_file == c->all.in_memory;
    return c->as_asked ? 0 : no_function(c->rep, c->read);
}

static int error_of(int rc)
{
    return zcache_mpi_error(zcache_error_class(rc), zc_error_text(rc));
}

/* Returns an MPI error code; then there is nothing to move, but the access takes place. */
static int begin(struct conversion *c, bool read, const void *buf, MPI_Count count,
                 MPI_Datatype type, MPI_File fh)
{
    int rc;

    *c = (struct conversion){.rep = zcache_view_datarep(fh),
                             .read = read,
                             .user = (void *)(uintptr_t)buf,
                             .count = count,
                             .type = type};
    zc_error_clear();
    rc = prepare(c);
    return rc ? error_of(rc) : MPI_SUCCESS;
}

/* After ROMIO's access, of which `status` says how many bytes in the file there were: converts what
 * was read, and corrects the status.  Returns an MPI error code. */
static int end(struct conversion *c, MPI_Status *status)
{
    struct zcache_datarep_size done = c->all;
    MPI_Count bytes = 0;
    int rc = 0;

    PMPI_Get_elements_x(status, MPI_BYTE, &bytes);
    zc_error_clear();
    if (bytes != c->all.in_file)
        rc = zcache_datarep_size_of_first(c->rep, c->type, c->count, bytes, &done);
    if (rc == 0 && c->read)
        rc = zcache_datarep_convert(c->rep, true, c->user, c->type, &c->each, done.items,
                                    c->in_file);
    MPI_Status_set_elements_x(status, MPI_BYTE, rc ? 0 : done.in_memory);
    return rc ? error_of(rc) : MPI_SUCCESS;
}

/* What a rank that cannot convert does in a call of that kind: it moves no data, or it takes its
 * place among the ranks, and no rank waits for it. */
#define LEAVES(name, at) zcache_plain_##name##_c(fh, at##_A c.user, 0, MPI_BYTE, MPI_STATUS_IGNORE)

#define KEEPS_ITS_PLACE(name, at) keep_place(fh, c.all.in_file, c.read)

static int keep_place(MPI_File fh, MPI_Count bytes, bool read)
{
    unsigned turn = zcache_read_turn(fh);
    MPI_Offset at;
    int rc = zcache_ordered_offset(fh, bytes, MPI_BYTE, &at);

    if (read)
        zcache_read_left(fh, turn, 0);
    return rc;
}

/* Defines the function and its twin with a large count: without conversion where there is none, or
 * `plain` says so. */
#define EITHER(name, at, buffer, last, plain)                                                      \
    int zcache_entry_##name(MPI_File fh, at##_P buffer buf, int count, MPI_Datatype type last##_P) \
    {                                                                                              \
        if (!zcache_view_datarep(fh) || (plain))                                                   \
            return zcache_plain_##name(fh, at##_A buf, count, type last##_A);                      \
        return converted_##name(fh, at##_A buf, count, type last##_A);                             \
    }                                                                                              \
    int zcache_entry_##name##_c(MPI_File fh, at##_P buffer buf, MPI_Count count,                   \
                                MPI_Datatype type last##_P)                                        \
    {                                                                                              \
        if (!zcache_view_datarep(fh) || (plain))                                                   \
            return zcache_plain_##name##_c(fh, at##_A buf, count, type last##_A);                  \
        return converted_##name(fh, at##_A buf, count, type last##_A);                             \
    }                                                                                              \
    int zcache_entry_##name##_c(MPI_File fh, at##_P buffer buf, MPI_Count count,                   \
                                MPI_Datatype type last##_P)

#define CONVERT(name, at, buffer, LEAVE)                                                           \
    static int converted_##name(MPI_File fh, at##_P buffer buf, MPI_Count count,                   \
                                MPI_Datatype type, MPI_Status *status)                             \
    {                                                                                              \
        struct conversion c;                                                                       \
        int code = begin(&c, buffer##_IS_READ, buf, count, type, fh), rc;                          \
                                                                                                   \
        if (code == MPI_SUCCESS && c.as_asked)                                                     \
            return zcache_plain_##name##_c(fh, at##_A buf, count, type, status);                   \
        if (status == MPI_STATUS_IGNORE)                                                           \
            status = &c.own;                                                                       \
        if (code == MPI_SUCCESS)                                                                   \
            rc = zcache_plain_##name##_c(fh, at##_A c.in_file, c.all.in_file, MPI_BYTE, status);   \
        else                                                                                       \
            rc = LEAVE(name, at);                                                                  \
        if (code == MPI_SUCCESS && rc == MPI_SUCCESS)                                              \
            code = end(&c, status);                                                                \
        free(c.in_file);                                                                           \
        if (code == MPI_SUCCESS)                                                                   \
            return rc; /* raised */                                                                \
        return zcache_raise(fh, code, "MPI_File_" #name);                                          \
    }                                                                                              \
    EITHER(name, at, buffer, STATUS, false)

/* By the blocking function; the request is complete from the start.  `by_all`: it is a read that
 * waits for other ranks, which here it does not. */
#define CONVERT_START(name, at, buffer, blocking, by_all)                                          \
    static int converted_##name(MPI_File fh, at##_P buffer buf, MPI_Count count,                   \
                                MPI_Datatype type, MPI_Request *request)                           \
    {                                                                                              \
        MPI_Status status;                                                                         \
        int rc;                                                                                    \
                                                                                                   \
        *request = MPI_REQUEST_NULL;                                                               \
        if (by_all)                                                                                \
            zcache_reads_at_once(fh, 1);                                                           \
        rc = converted_##blocking(fh, at##_A buf, count, type, &status);                           \
        if (by_all)                                                                                \
            zcache_reads_at_once(fh, 0);                                                           \
        return zcache_entry_completed(fh, rc, &status, request);                                   \
    }                                                                                              \
    EITHER(name, at, buffer, REQUEST, false)

/* By the blocking function; ROMIO's function that ends the access returns the status.  ROMIO
 * refuses a second one. */
#define CONVERT_BEGIN(name, at, buffer, blocking)                                                  \
    static int converted_##name(MPI_File fh, at##_P buffer buf, MPI_Count count,                   \
                                MPI_Datatype type)                                                 \
    {                                                                                              \
        MPI_Status status =                                                                        \
            fh->split_status; /* not that itself: the driver takes that for a split access */      \
        int rc = converted_##blocking(fh, at##_A buf, count, type, &status);                       \
                                                                                                   \
        if (rc == MPI_SUCCESS) {                                                                   \
            fh->split_status = status;                                                             \
            fh->split_coll_count = 1;                                                              \
        }                                                                                          \
        return rc;                                                                                 \
    }                                                                                              \
    EITHER(name, at, buffer, NOTHING, fh->split_coll_count)

CONVERT(read_at, AT, READ, LEAVES);
CONVERT(write_at, AT, WRITE, LEAVES);
CONVERT(read, NO_AT, READ, LEAVES);
CONVERT(write, NO_AT, WRITE, LEAVES);
CONVERT(read_shared, NO_AT, READ, LEAVES);
CONVERT(write_shared, NO_AT, WRITE, LEAVES);
CONVERT(read_at_all, AT, READ, LEAVES);
CONVERT(write_at_all, AT, WRITE, LEAVES);
CONVERT(read_all, NO_AT, READ, LEAVES);
CONVERT(write_all, NO_AT, WRITE, LEAVES);
CONVERT(read_ordered, NO_AT, READ, KEEPS_ITS_PLACE);
CONVERT(write_ordered, NO_AT, WRITE, KEEPS_ITS_PLACE);

CONVERT_START(iread_at, AT, READ, read_at, false);
CONVERT_START(iwrite_at, AT, WRITE, write_at, false);
CONVERT_START(iread, NO_AT, READ, read, false);
CONVERT_START(iwrite, NO_AT, WRITE, write, false);
CONVERT_START(iread_shared, NO_AT, READ, read_shared, false);
CONVERT_START(iwrite_shared, NO_AT, WRITE, write_shared, false);
CONVERT_START(iread_at_all, AT, READ, read_at_all, true);
CONVERT_START(iwrite_at_all, AT, WRITE, write_at_all, false);
CONVERT_START(iread_all, NO_AT, READ, read_all, true);
CONVERT_START(iwrite_all, NO_AT, WRITE, write_all, false);

CONVERT_BEGIN(read_at_all_begin, AT, READ, read_at_all);
CONVERT_BEGIN(write_at_all_begin, AT, WRITE, write_at_all);
CONVERT_BEGIN(read_all_begin, NO_AT, READ, read_all);
CONVERT_BEGIN(write_all_begin, NO_AT, WRITE, write_all);
CONVERT_BEGIN(read_ordered_begin, NO_AT, READ, read_ordered);
CONVERT_BEGIN(write_ordered_begin, NO_AT, WRITE, write_ordered);
