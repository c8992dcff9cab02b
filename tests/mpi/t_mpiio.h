/*
 * Common part of the MPI tests. Each is "t_x FILE", where FILE may have a prefix, run with any
 * number of ranks; it prints failed checks, and exits with 0 only without any on all ranks.
 */
#ifndef T_MPIIO_H
#define T_MPIIO_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int t_rank, t_size, t_failures;

/* Large counts are MPI-4's; without them the same tests are made with int. */
#if MPI_VERSION < 4
#define MPI_File_read_at_c   MPI_File_read_at
#define MPI_File_read_all_c  MPI_File_read_all
#define MPI_File_iwrite_at_c MPI_File_iwrite_at
#endif

/* Prints the first failures, and counts the others. */
#define CHECK(cond)                                                                                \
    do {                                                                                           \
        if (!(cond) && t_failures++ < 10)                                                          \
            fprintf(stderr, "%s:%d: rank %d: %s\n", __FILE__, __LINE__, t_rank, #cond);            \
    } while (0)

#define OK(call)                                                                                   \
    do {                                                                                           \
        int ok_rc = (call);                                                                        \
        if (ok_rc != MPI_SUCCESS) {                                                                \
            char ok_text[MPI_MAX_ERROR_STRING] = "";                                               \
            int ok_len;                                                                            \
            MPI_Error_string(ok_rc, ok_text, &ok_len);                                             \
            fprintf(stderr, "%s:%d: rank %d: %s: %s\n", __FILE__, __LINE__, t_rank, #call,         \
                    ok_text);                                                                      \
            MPI_Abort(MPI_COMM_WORLD, 2);                                                          \
        }                                                                                          \
    } while (0)

static inline const char *t_begin(int argc, char **argv, int need)
{
    int given = MPI_THREAD_SINGLE;

    MPI_Init_thread(&argc, &argv, need, &given);
    MPI_Comm_rank(MPI_COMM_WORLD, &t_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &t_size);
    if (argc < 2 || given < need) {
        fprintf(stderr, argc < 2 ? "usage: %s FILE\n" : "%s: skipped, no thread support\n",
                argv[0]);
        MPI_Finalize();
        exit(argc < 2 ? 2 : 77);
    }
    return argv[1];
}

static inline int t_end(const char *name)
{
    int all;

    MPI_Allreduce(&t_failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (t_rank == 0)
        printf("%s: %s (%d ranks)\n", name, all ? "FAILED" : "ok", t_size);
    MPI_Finalize();
    return all ? 1 : 0;
}

static inline int t_class(int rc)
{
    int cls = -1;

    MPI_Error_class(rc, &cls);
    return cls;
}

#endif
