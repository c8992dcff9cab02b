/* t_job_key.c - the key of this job, as each rank finds it.
 *
 *     t_job_key        all ranks have the same one, before and after MPI_Init; rank 0 prints it
 *     t_job_key spawn  and those that are spawned have others
 *     t_job_key apart  each prints its own
 *     t_job_key able   whether processes can be spawned at all: nothing of ours is used
 */
#include "config.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A part of the plugin, which no program can be linked with. */
#include "../../adio_zcache/process/zcache_job_key.c"

static int failed;

/* Found anew it is the same: the MPI library talks through PMI_FD meanwhile. */
static void find_again(void)
{
    char before[KEY_SIZE];

    memcpy(before, key, KEY_SIZE);
    key[0] = 0;
    make_key();
    if (strcmp(before, key)) {
        fprintf(stderr, "key \"%s\", before MPI_Init \"%s\"\n", key, before);
        failed = 1;
    }
}

/* How many ranks of `comm` have the key of this one. */
static int same_as_mine(MPI_Comm comm)
{
    char mine[KEY_SIZE], *all;
    int n, same = 0;

    MPI_Comm_size(comm, &n);
    all = malloc((size_t)n * KEY_SIZE);
    memcpy(mine, zcache_job_key(), KEY_SIZE);
    MPI_Allgather(mine, KEY_SIZE, MPI_CHAR, all, KEY_SIZE, MPI_CHAR, comm);
    for (int i = 0; i < n; i++)
        same += !strcmp(all + i * KEY_SIZE, mine);
    free(all);
    return same;
}

/* Parents and children: no child has a parent's key. */
static void compare(MPI_Comm inter, int is_child)
{
    MPI_Comm all;
    int here = same_as_mine(MPI_COMM_WORLD), everywhere;

    MPI_Intercomm_merge(inter, is_child, &all);
    everywhere = same_as_mine(all);
    if (here != everywhere) {
        fprintf(stderr, "a spawned process has the key \"%s\", too\n", zcache_job_key());
        failed = 1;
    }
    MPI_Comm_free(&all);
    MPI_Comm_disconnect(&inter);
}

static void spawn(char *program)
{
    MPI_Comm children;

    MPI_Comm_spawn(program, MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children,
                   MPI_ERRCODES_IGNORE);
    compare(children, 0);
}

static int able(int argc, char **argv)
{
    static char word[] = "able", *args[] = {word, NULL};
    MPI_Comm parent, children;

    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        MPI_Comm_disconnect(&parent);
    } else {
        MPI_Comm_spawn(argv[0], args, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children,
                       MPI_ERRCODES_IGNORE);
        MPI_Comm_disconnect(&children);
    }
    return MPI_Finalize();
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    MPI_Comm parent;
    int rank, size;

    if (!strcmp(what, "able"))
        return able(argc, argv);
    zcache_job_key();
    MPI_Init(&argc, &argv);
    find_again();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        compare(parent, 1);
    } else if (!strcmp(what, "apart")) {
        puts(zcache_job_key());
    } else {
        if (same_as_mine(MPI_COMM_WORLD) != size) {
            fprintf(stderr, "rank %d has the key \"%s\"\n", rank, zcache_job_key());
            failed = 1;
        }
        if (rank == 0)
            puts(zcache_job_key());
        if (!strcmp(what, "spawn"))
            spawn(argv[0]);
    }
    MPI_Finalize();
    return failed;
}
