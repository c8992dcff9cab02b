/*
 * Verifies the file or files by POSIX calls, as other programs see them.
 *
 * One of the ranks that share a file reads it, plane after plane across z, and distributes the
 * data, so only one host needs to see the file. In each plane a rank has one cell, whose points it
 * puts into u; a complete dump is checked like one that was read by MPI-IO. With epio the file has
 * only this rank's cell of each plane. Opening and reading is shared with the other benchmark:
 * posix_file.h.
 */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "posix_check.h"
#include "posix_file.h"

struct source {
    const struct grid *grid;
    MPI_Comm comm; /* of the ranks that share the file; rank 0 reads */
    bool first, shared;
    char path[IO_NAME];
    int fd;       /* of the first */
    int64_t at;   /* bytes read so far */
    state *plane; /* room for the largest one */
    struct verdict *v;
};

/* Broadcasts the first rank's result. */
static bool agree(const struct source *s, bool well)
{
    int told = well;
    MPI_Bcast(&told, 1, MPI_INT, 0, s->comm);
    return told;
}

static bool next_plane(struct source *s, int64_t points)
{
    size_t bytes = (size_t)points * sizeof(state);
    ssize_t got = (ssize_t)bytes;
    if (s->first)
        got = posix_file_read(s->fd, s->path, s->plane, bytes, s->at, s->v);
    if (got >= 0 && got < (ssize_t)bytes)
        verdict_fault(s->v, "%s read through POSIX ends at %" PRId64, s->path, s->at + got);
    if (!agree(s, got == (ssize_t)bytes))
        return false;
    MPI_Bcast(s->plane, (int)bytes, MPI_BYTE, 0, s->comm);
    s->at += (int64_t)bytes;
    return true;
}

static void put_plane(const struct source *s, const struct cell *c, int z)
{
    ptrdiff_t step = s->shared ? s->grid->n : c->size[0];
    const state *from = s->plane;
    if (s->shared)
        from += c->low[1] * step + c->low[0];
    for (int y = 0; y < c->size[1]; y++)
        memcpy(c->u + cell_at(c, 0, y, z), from + y * step, (size_t)c->size[0] * sizeof(state));
}

static bool next_dump(struct source *s)
{
    int64_t n = s->grid->n;
    for (int slice = 0; slice < s->grid->q; slice++) {
        const struct cell *c = grid_slice(s->grid, 2, slice);
        for (int z = 0; z < c->size[2]; z++) {
            if (!next_plane(s, s->shared ? n * n : (int64_t)c->size[0] * c->size[1]))
                return false;
            put_plane(s, c, z);
        }
    }
    return true;
}

/* A file with a wrong size is not compared: its dumps would be at wrong offsets. */
static bool source_open(struct source *s, int64_t bytes)
{
    int64_t faults = s->v->faults;
    s->fd = -1;
    if (s->first)
        s->fd = posix_file_open(s->path, bytes, false, s->v);
    return agree(s, s->v->faults == faults);
}

void posix_check(const struct io *io, const struct witness *w, const char *path, int dumps,
                 struct verdict *v)
{
    const struct grid *g = io->grid;
    struct source s = {.grid = g, .v = v};
    char where[VERDICT_TEXT];
    int rank;
    s.comm = io_name(io, path, s.path);
    s.shared = s.comm == io->all;
    MPI_Comm_rank(s.comm, &rank);
    s.first = rank == 0;
    snprintf(where, sizeof where, "%.*s read through POSIX: ", VERDICT_TEXT / 2, s.path);
    s.plane = malloc((size_t)g->n * (size_t)g->n * sizeof *s.plane);
    if (s.plane == NULL)
        bench_abort("out of memory for a plane of %d x %d points", g->n, g->n);
    bool well = source_open(&s, io_expected_size(io, dumps));
    for (int dump = 0; well && dump < dumps; dump++) {
        witness_poison(w);
        well = next_dump(&s);
        if (well)
            v->posix_checked += witness_check(w, dump, where, v);
    }
    if (s.fd >= 0)
        close(s.fd);
    free(s.plane);
}
