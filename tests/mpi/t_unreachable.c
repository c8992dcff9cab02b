/*
 * An aggregator that another rank cannot reach.
 *
 *     t_unreachable FILE SECONDS
 *
 * Run so that the network of rank 0, the aggregator, is not that of rank 1, and with a time-out of
 * SECONDS: the first access waits that long, later ones fail at once, for this file and for others
 * that were open. A new open tries again.
 */
#include <stdbool.h>

#include "t_mpiio.h"

enum { RW = MPI_MODE_CREATE | MPI_MODE_RDWR, CALLS = 20, INTS = 4 };

static double timeout;
static bool
    at_once; /* the MPI library polls no requests: nonblocking accesses are made in the call */
static int buf[INTS];

static MPI_File open_file(const char *name, const char *more)
{
    char path[2000];
    MPI_Info info;
    MPI_File fh;

    snprintf(path, sizeof path, "%s%s", name, more);
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "cb_nodes", "1"));
    OK(MPI_Info_set(info, "zcache_local", "false"));
    OK(MPI_File_open(MPI_COMM_WORLD, path, RW, info, &fh));
    OK(MPI_Info_free(&info));
    return fh;
}

static int failing_call(MPI_File fh, int i)
{
    MPI_Status status;
    MPI_Offset size;
    MPI_Request r;
    int rc;

    switch (i % 4) {
    case 0:
        return MPI_File_write_at(fh, 100, buf, INTS, MPI_INT, &status);
    case 1:
        return MPI_File_read_at(fh, 0, buf, INTS, MPI_INT, &status);
    case 2:
        return MPI_File_get_size(fh, &size);
    default:
        rc = MPI_File_iwrite_at(fh, 100, buf, INTS, MPI_INT, &r);
        CHECK(rc == MPI_SUCCESS || at_once);
        return rc == MPI_SUCCESS ? MPI_Wait(&r, &status) : rc;
    }
}

/* Returns the seconds that `n` calls take, all of which fail. */
static double fail(MPI_File fh, int n)
{
    double began = MPI_Wtime();

    for (int i = 0; i < n; i++)
        CHECK(failing_call(fh, i) != MPI_SUCCESS);
    return MPI_Wtime() - began;
}

static void outside(MPI_File fh, MPI_File other)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    MPI_Status status;
    int rc = MPI_File_write_at(fh, 100, buf, INTS, MPI_INT, &status), len;

    MPI_Error_string(rc, text, &len);
    CHECK(t_class(rc) == MPI_ERR_IO && strstr(text, "rank 0"));
    CHECK(fail(fh, CALLS) < timeout);
    CHECK(fail(other, CALLS) < timeout);
    rc = MPI_File_write_at(fh, 100, buf, INTS, MPI_INT, &status);
    MPI_Error_string(rc, text, &len);
    CHECK(t_class(rc) == MPI_ERR_IO && strstr(text, "rank 0"));
}

int main(int argc, char **argv)
{
    const char *name = t_begin(argc, argv, MPI_THREAD_SINGLE), *mpi = getenv("TEST_MPI");
    MPI_File fh, other;
    MPI_Status status;
    double began;

    timeout = argc > 2 ? atof(argv[2]) : 0;
    at_once = mpi && !strcmp(mpi, "abi");
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    fh = open_file(name, "");
    other = open_file(name, ".other");
    if (t_rank)
        outside(fh, other);
    else
        OK(MPI_File_write_at(fh, 0, buf, INTS, MPI_INT, &status));
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_File_close(&fh));
    fh = open_file(name, "");
    began = MPI_Wtime();
    if (t_rank) {
        CHECK(fail(fh, 1) > timeout / 2); /* tried again */
        CHECK(fail(fh, CALLS) < timeout);
        CHECK(fail(other, CALLS) < timeout);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_Wtime() - began < 4 * timeout);
    OK(MPI_File_close(&other));
    OK(MPI_File_close(&fh));
    return t_end("t_unreachable");
}
