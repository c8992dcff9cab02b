/*
 * One record to or from the file: the calls of MPI for each kind of access.
 */
#include "config.h"

#include <stddef.h>

#include "exchange.h"
#include "transfer.h"

const char *const access_names[ACCESS_COUNT + 1] = {
    "collective", "independent", "split", "icollective", "nonblocking", "exchange", NULL};

/* By kind and direction. */
static const struct {
    const char *begin, *end;
} names[ACCESS_COUNT][2] = {
    [ACCESS_COLLECTIVE] = {{"MPI_File_write_at_all", NULL}, {"MPI_File_read_at_all", NULL}},
    [ACCESS_INDEPENDENT] = {{"MPI_File_write_at", NULL}, {"MPI_File_read_at", NULL}},
    [ACCESS_SPLIT] = {{"MPI_File_write_at_all_begin", "MPI_File_write_at_all_end"},
                      {"MPI_File_read_at_all_begin", "MPI_File_read_at_all_end"}},
    [ACCESS_ICOLLECTIVE] = {{"MPI_File_iwrite_at_all", "MPI_Wait of MPI_File_iwrite_at_all"},
                            {"MPI_File_iread_at_all", "MPI_Wait of MPI_File_iread_at_all"}},
    [ACCESS_NONBLOCKING] = {{"MPI_File_iwrite_at", "MPI_Wait of MPI_File_iwrite_at"},
                            {"MPI_File_iread_at", "MPI_Wait of MPI_File_iread_at"}},
    [ACCESS_EXCHANGE] = {{"MPI_File_write_at of an exchange", NULL},
                         {"MPI_File_read_at of an exchange", NULL}},
};

bool transfer_overlaps(enum access_kind kind)
{
    return names[kind][WRITE].end != NULL;
}

bool transfer_collective(enum access_kind kind)
{
    return kind != ACCESS_INDEPENDENT && kind != ACCESS_NONBLOCKING;
}

const char *transfer_begin_name(const struct transfer *t)
{
    return names[t->kind][t->direction].begin;
}

const char *transfer_end_name(const struct transfer *t)
{
    const char *end = names[t->kind][t->direction].end;
    return end != NULL ? end : transfer_begin_name(t);
}

/* The status is of the rank's record, not of its part of the file. */
static int exchange(struct transfer *t, MPI_File fh)
{
    bool moved;
    int err = exchange_move(t->exchange, t->direction, fh, t->phase, t->buf, &moved);
    MPI_Status_set_elements(&t->status, t->type, err == MPI_SUCCESS && moved ? t->count : 0);
    return err;
}

/* Writes and reads differ in their names only. */
#define DEFINE_BEGIN(write, iwrite)                                                                \
    static int begin_##write(struct transfer *t, MPI_File fh, MPI_Offset at)                       \
    {                                                                                              \
        switch (t->kind) {                                                                         \
        case ACCESS_COLLECTIVE:                                                                    \
            return MPI_File_##write##_at_all(fh, at, t->buf, t->count, t->type, &t->status);       \
        case ACCESS_INDEPENDENT:                                                                   \
            return MPI_File_##write##_at(fh, at, t->buf, t->count, t->type, &t->status);           \
        case ACCESS_SPLIT:                                                                         \
            return MPI_File_##write##_at_all_begin(fh, at, t->buf, t->count, t->type);             \
        case ACCESS_ICOLLECTIVE:                                                                   \
            return MPI_File_##iwrite##_at_all(fh, at, t->buf, t->count, t->type, &t->request);     \
        case ACCESS_NONBLOCKING:                                                                   \
            return MPI_File_##iwrite##_at(fh, at, t->buf, t->count, t->type, &t->request);         \
        case ACCESS_EXCHANGE:                                                                      \
            return exchange(t, fh);                                                                \
        case ACCESS_COUNT:                                                                         \
            break;                                                                                 \
        }                                                                                          \
        return MPI_ERR_ARG;                                                                        \
    }
DEFINE_BEGIN(write, iwrite)
DEFINE_BEGIN(read, iread)

int transfer_begin(struct transfer *t, MPI_File fh, MPI_Offset offset)
{
    return t->direction == WRITE ? begin_write(t, fh, offset) : begin_read(t, fh, offset);
}

int transfer_end(struct transfer *t, MPI_File fh)
{
    if (!transfer_overlaps(t->kind))
        return MPI_SUCCESS;
    if (t->kind != ACCESS_SPLIT)
        return MPI_Wait(&t->request, &t->status);
    if (t->direction == WRITE)
        return MPI_File_write_at_all_end(fh, t->buf, &t->status);
    return MPI_File_read_at_all_end(fh, t->buf, &t->status);
}
