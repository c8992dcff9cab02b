/* dawdle.h - included before a program (-include): its ranks are late, each at other calls.
 *
 * Before every fourth of these calls a rank sleeps for up to 40 ms, as on a machine that is busy
 * with something else: what is right only while the ranks are abreast goes wrong.
 */
#ifndef DAWDLE_H
#define DAWDLE_H

#include <mpi.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static inline void dawdle(void)
{
    static unsigned seed;

    if (seed == 0)
        seed = (unsigned)getpid();
    if (rand_r(&seed) % 4 == 0)
        nanosleep(&(struct timespec){.tv_nsec = rand_r(&seed) % 40 * 1000000L}, NULL);
}

#define MPI_File_sync(file) (dawdle(), MPI_File_sync(file))
#define MPI_File_write_at(file, at, buf, n, type, status)                                          \
    (dawdle(), MPI_File_write_at(file, at, buf, n, type, status))
#define MPI_File_write_at_all(file, at, buf, n, type, status)                                      \
    (dawdle(), MPI_File_write_at_all(file, at, buf, n, type, status))

#endif
