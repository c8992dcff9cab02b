/* copies.c - for benchmarks: how long the ranks of a host take to copy what they would write.
 *
 *     copies BYTES TIMES
 *
 * All ranks copy a record of BYTES bytes at a time, TIMES times, each time to another place, which
 * has been touched before.  Prints {"bytes": N, "seconds": X}: N of all ranks, X from when the
 * first one begins to when the last one has ended, of all times: what the memory takes.  Where
 * ranks share cores, the sum of a rank's own times would be the time of a core that it has for
 * itself.
 */
#include <errno.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t number(const char *text)
{
    char *end;
    long long n;

    errno = 0;
    n = strtoll(text, &end, 10);
    if (errno || *end || n < 1) {
        fprintf(stderr, "copies: \"%s\" is no number above 0\n", text);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    return (size_t)n;
}

int main(int argc, char **argv)
{
    size_t bytes, times, wrong = 0;
    double seconds = 0;
    char *from, *to;
    int rank, ranks;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc != 3) {
        fprintf(stderr, "usage: copies BYTES TIMES\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    bytes = number(argv[1]);
    times = number(argv[2]);
    from = malloc(bytes);
    to = malloc(bytes * times);
    if (!from || !to) {
        fprintf(stderr, "copies: no memory for %zu records of %zu bytes\n", times, bytes);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    memset(to, 1, bytes * times);
    for (size_t i = 0; i < times; i++) {
        double turn[2], most[2]; /* the start, negated, and the end, of one host's clock */

        memset(from, (int)i + 2, bytes);
        MPI_Barrier(MPI_COMM_WORLD);
        turn[0] = -MPI_Wtime();
        memcpy(to + i * bytes, from, bytes);
        turn[1] = MPI_Wtime();
        MPI_Reduce(turn, most, 2, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
        if (rank == 0)
            seconds += most[0] + most[1];
    }
    for (size_t i = 0; i < times; i++)
        wrong += to[i * bytes] != (char)(i + 2) || to[(i + 1) * bytes - 1] != (char)(i + 2);
    if (rank == 0)
        printf("{\"bytes\": %zu, \"seconds\": %.9f}\n", bytes * times * (size_t)ranks, seconds);
    free(from);
    free(to);
    MPI_Finalize();
    return wrong != 0;
}
