/* consistency.c - what a program may rely on, one function for each guarantee.
 *
 *     mpicc -o consistency consistency.c
 *     mpiexec -n 4 ./consistency zcache:/scratch/file
 *
 * doc/consistency.md and the guide show the parts between [name] and [end].  A test compares them
 * and runs this program, which exits with 0 if all guarantees hold.
 */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N = 1000 };

static int rank, ranks, wrong;
static char *name;

#define EXPECT(what) expect(what, #what, __LINE__)

static void expect(int holds, const char *what, int line)
{
    if (holds)
        return;
    wrong++;
    fprintf(stderr, "rank %d, line %d: not so: %s\n", rank, line, what);
}

static void ok(int code)
{
    char text[MPI_MAX_ERROR_STRING];
    int len;

    if (code == MPI_SUCCESS)
        return;
    MPI_Error_string(code, text, &len);
    fprintf(stderr, "rank %d: %s\n", rank, text);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static MPI_File opened(MPI_Comm comm, int mode, MPI_Info info)
{
    MPI_File file;

    ok(MPI_File_open(comm, name, mode, info, &file));
    return file;
}

/* Returns the name without its prefix, for calls outside MPI. */
static const char *path(void)
{
    const char *colon = strchr(name, ':');

    return colon ? colon + 1 : name;
}

static void fresh(void)
{
    MPI_Barrier(MPI_COMM_WORLD); /* no rank has it open */
    if (rank == 0)
        unlink(path());
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Fills in N numbers that are unique to this rank and call. */
static void numbers(int *n, int who)
{
    static int times;

    times++;
    for (int i = 0; i < N; i++)
        n[i] = times * 1000000 + who * N + i;
}

static void hints(void)
{
    MPI_File file;
    MPI_Info info;
    char value[MPI_MAX_INFO_VAL + 1] = "256M";
    int found;

    /* [hints] */
    MPI_Info_create(&info);
    MPI_Info_set(info, "zcache_cache_size", "256M");
    MPI_Info_set(info, "cb_nodes", "2");
    MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file);
    MPI_Info_free(&info);
    /* [end] */
    ok(MPI_File_get_info(file, &info));
    ok(MPI_Info_get(info, "zcache_cache_size", MPI_MAX_INFO_VAL, value, &found));
    EXPECT(!strcmp(value, "256M"));
    ok(MPI_Info_free(&info));
    ok(MPI_File_close(&file));
}

static void neighbour(void)
{
    MPI_File file = opened(MPI_COMM_WORLD, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL);
    int mine[N], theirs[N], other = (rank + 1) % ranks;
    MPI_Offset size = sizeof mine;

    numbers(mine, rank);
    /* [neighbour] */
    MPI_File_write_at(file, rank * size, mine, N, MPI_INT, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_read_at(file, other * size, theirs, N, MPI_INT, MPI_STATUS_IGNORE);
    /* theirs is what the other rank wrote */
    /* [end] */
    EXPECT(theirs[N - 1] == mine[N - 1] + (other - rank) * N);
    ok(MPI_File_close(&file));
}

static void collective(void)
{
    MPI_File file = opened(MPI_COMM_WORLD, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL);
    int mine[N], theirs[N], other = (rank + 1) % ranks;
    MPI_Offset size = sizeof mine;

    numbers(mine, rank);
    /* [collective] */
    MPI_File_write_at_all(file, rank * size, mine, N, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_read_at_all(file, other * size, theirs, N, MPI_INT, MPI_STATUS_IGNORE);
    /* the same, without a barrier: the collective read waits for the other ranks */
    /* [end] */
    EXPECT(theirs[N - 1] == mine[N - 1] + (other - rank) * N);
    ok(MPI_File_close(&file));
}

static void two_opens(void)
{
    MPI_File all = opened(MPI_COMM_WORLD, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL), alone;
    int mine[N], back[N];
    MPI_Offset size = sizeof mine;

    numbers(mine, rank);
    /* [two opens] */
    MPI_File_write_at(all, rank * size, mine, N, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_RDWR, MPI_INFO_NULL, &alone);
    MPI_File_read_at(alone, rank * size, back, N, MPI_INT, MPI_STATUS_IGNORE);
    /* back is mine: opens of a file in one job share its pages; in this order, too: */
    back[0] = -1;
    MPI_File_write_at(alone, rank * size, back, 1, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_close(&alone);
    MPI_File_read_at(all, rank * size, back, N, MPI_INT, MPI_STATUS_IGNORE);
    /* [end] */
    EXPECT(back[0] == -1 && back[1] == mine[1] && back[N - 1] == mine[N - 1]);
    ok(MPI_File_close(&all));
}

static void holes(void)
{
    MPI_File file;
    char bytes[10];
    int got;
    MPI_Status status;
    MPI_Offset size;

    fresh();
    file = opened(MPI_COMM_SELF, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL);
    if (rank == 0) {
        /* [holes] */
        MPI_File_write_at(file, 100, "x", 1, MPI_CHAR, MPI_STATUS_IGNORE);
        MPI_File_get_size(file, &size);                           /* 101, cached or not */
        MPI_File_read_at(file, 95, bytes, 10, MPI_CHAR, &status); /* five zeros and the x */
        MPI_Get_count(&status, MPI_CHAR, &got);                   /* 6: the read is short */
        /* [end] */
        EXPECT(size == 101 && got == 6 && !memcmp(bytes, "\0\0\0\0\0x", 6));
    }
    ok(MPI_File_close(&file));
}

/* Reads the number there by POSIX calls. */
static int in_the_file(MPI_Offset at)
{
    int n = 0, fd = open(path(), O_RDONLY);

    if (fd < 0 || pread(fd, &n, sizeof n, at) != (ssize_t)sizeof n)
        n = 0;
    close(fd);
    return n;
}

static void others(void)
{
    MPI_File file;
    int mine[N], seen;
    MPI_Offset at = rank * (MPI_Offset)sizeof mine;

    fresh();
    file = opened(MPI_COMM_WORLD, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL);
    numbers(mine, rank);
    /* [others] */
    MPI_File_write_at(file, at, mine, N, MPI_INT, MPI_STATUS_IGNORE);
    seen = in_the_file(at); /* open(), pread(): the number, or nothing yet */
    MPI_File_sync(file);
    seen = in_the_file(at); /* the number; the same after MPI_File_close */
    /* [end] */
    EXPECT(seen == mine[0]);
    ok(MPI_File_close(&file));
}

static void close_levels(void)
{
    MPI_File file;
    MPI_Info info;
    int mine[N], back[N];
    MPI_Offset at = rank * (MPI_Offset)sizeof mine;

    numbers(mine, rank);
    ok(MPI_Info_create(&info));
    /* [staged] */
    MPI_Info_set(info, "zcache_close_level", "staged");
    MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file);
    MPI_File_write_at_all(file, at, mine, N, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_close(&file); /* a daemon has the bytes: cat may not see them yet, ... */
    MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    MPI_File_read_at_all(file, at, back, N, MPI_INT, MPI_STATUS_IGNORE); /* ... another open does */
    /* [end] */
    EXPECT(!memcmp(mine, back, sizeof mine));
    ok(MPI_File_close(&file));
    EXPECT(in_the_file(at) == mine[0]);
    ok(MPI_Info_free(&info));
}

static void flushing(void)
{
    MPI_File file = opened(MPI_COMM_WORLD, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL);
    int mine[N], found = 0;
    char left[MPI_MAX_INFO_VAL + 1] = "";
    MPI_Offset at = rank * (MPI_Offset)sizeof mine;
    MPI_Info info;

    numbers(mine, rank);
    /* [flush] */
    MPI_File_write_at_all(file, at, mine, N, MPI_INT, MPI_STATUS_IGNORE);
    MPI_Info_create(&info);
    MPI_Info_set(info, "zcache_flush", "start"); /* begins, and returns; also: wait */
    MPI_File_set_info(file, info);
    MPI_Info_free(&info);
    do {
        /* ... compute ... */
        MPI_File_get_info(file, &info);
        MPI_Info_get(info, "zcache_unstored_bytes", MPI_MAX_INFO_VAL, left, &found);
        MPI_Info_free(&info);
    } while (found && strcmp(left, "0")); /* "0": all of it is in the file */
    /* [end] */
    EXPECT(!found || in_the_file(at) == mine[0]);
    ok(MPI_File_close(&file));
}

static void nonblocking(void)
{
    MPI_File file = opened(MPI_COMM_WORLD, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL);
    int mine[N], back[N], first;
    MPI_Offset at = rank * (MPI_Offset)sizeof mine;
    MPI_Request request;

    numbers(mine, rank);
    first = mine[0];
    /* [nonblocking] */
    MPI_File_iwrite_at(file, at, mine, N, MPI_INT, &request);
    /* ... compute; mine may be read, and not written ... */
    MPI_Wait(&request, MPI_STATUS_IGNORE); /* the owner has it: a read from here on sees it */
    mine[0] = 0;                           /* and the buffer is the program's again */
    MPI_File_read_at(file, at, back, N, MPI_INT, MPI_STATUS_IGNORE);
    /* [end] */
    EXPECT(back[0] == first && back[N - 1] == first + N - 1);
    ok(MPI_File_close(&file));
}

static void errors(void)
{
    char text[MPI_MAX_ERROR_STRING] = "", missing[4096];
    int code, class, len;
    MPI_File file;

    snprintf(missing, sizeof missing, "%s.no/such/directory", name);
    /* [errors] */
    code = MPI_File_open(MPI_COMM_WORLD, missing, MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
    if (code != MPI_SUCCESS) { /* on all ranks */
        MPI_Error_class(code, &class);
        MPI_Error_string(code, text, &len); /* names file and cause */
    }
    /* [end] */
    EXPECT(code != MPI_SUCCESS && class == MPI_ERR_NO_SUCH_FILE && strstr(text, "directory"));
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc != 2)
        MPI_Abort(MPI_COMM_WORLD, 2);
    name = argv[1];
    hints();
    neighbour();
    collective();
    two_opens();
    holes();
    others();
    close_levels();
    flushing();
    nonblocking();
    errors();
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d of what it relies on is not so\n", wrong);
    MPI_Finalize();
    return wrong != 0;
}
