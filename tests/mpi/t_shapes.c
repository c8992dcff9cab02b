/* t_shapes.c - random datatypes: what lands in the file is what MPI_Pack takes.
 *
 *     t_shapes [--all] [--romio] FILE [FIRST [LAST]]
 *
 * One process, one type per number: written from memory of that type, read back into it.
 * Prints the type that goes wrong and ends; with --all it prints all of them.
 */
#include <stdlib.h>
#include <string.h>

#include "t_mpiio.h"
#include "tm_shape.h"

enum { ROOM = 1 << 20, COUNT = 2 };

static unsigned char memory[ROOM], back[ROOM], raw[ROOM], packed[ROOM];

static int64_t span(const struct tm_type *t)
{
    return t->high - t->low + (COUNT - 1) * t->extent;
}

/* NULL, or what is wrong. */
static const char *try_memory(MPI_File fh, const struct tm_type *t)
{
    int64_t shift = -t->low;
    MPI_Status status;
    int pos = 0, n = (int)(COUNT * t->size);

    memset(raw, 0, (size_t)n);
    memset(back, 1, (size_t)span(t));
    OK(MPI_Pack(memory + shift, COUNT, t->mpi, packed, ROOM, &pos, MPI_COMM_SELF));
    OK(MPI_File_write_at(fh, 0, memory + shift, COUNT, t->mpi, &status));
    OK(MPI_File_read_at(fh, 0, raw, n, MPI_BYTE, &status));
    if (memcmp(raw, packed, (size_t)n))
        return "written wrong";
    OK(MPI_File_read_at(fh, 0, back + shift, COUNT, t->mpi, &status));
    pos = 0;
    OK(MPI_Pack(back + shift, COUNT, t->mpi, raw, ROOM, &pos, MPI_COMM_SELF));
    return memcmp(raw, packed, (size_t)n) ? "read wrong" : NULL;
}

int main(int argc, char **argv)
{
    int all = 0, first = 1, last = 2000;
    MPI_File fh;

    t_begin(argc, argv, MPI_THREAD_SINGLE);
    for (; argc > 2 && !strncmp(argv[1], "--", 2); argc--, argv++) {
        all |= !strcmp(argv[1], "--all");
        tm_shape_only_romio |= !strcmp(argv[1], "--romio");
    }
    if (argc > 2)
        first = last = atoi(argv[2]);
    if (argc > 3)
        last = atoi(argv[3]);
    for (int i = 0; i < ROOM; i++)
        memory[i] = (unsigned char)tm_mix((uint64_t)i);
    OK(MPI_File_open(MPI_COMM_SELF, argv[1],
                     MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                     &fh));
    for (int i = first; i <= last && (all || !t_failures); i++) {
        struct tm_rng r = {.state = (uint64_t)i << 20};
        struct tm_type *e = tm_shape_etype(&r);
        struct tm_type *t = i & 1 ? tm_shape_memory(&r, e) : tm_shape_file(&r, e, 10000);
        const char *bad;

        if (first == last)
            fprintf(stderr, "%s: extent %lld, from %lld to %lld\n", t->text, (long long)t->extent,
                    (long long)t->low, (long long)t->high);
        bad = span(t) < ROOM && !t->darray ? try_memory(fh, t) : NULL;

        if (bad)
            printf("type %d, %s: %s\n", i, bad, t->text);
        t_failures += bad != NULL;
        tm_types_release(0);
    }
    OK(MPI_File_close(&fh));
    return t_end("t_shapes");
}
