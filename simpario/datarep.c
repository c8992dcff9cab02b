/*
 * The representation of data in the file.
 */
#include "config.h"

#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "bench.h"
#include "datarep.h"

const char *const datarep_names[] = {"native", "external32", "registered", NULL};

static const char registered[] = "simpario: most significant byte first";

static int extent_of(MPI_Datatype type, MPI_Aint *extent, void *state)
{
    int size, rc = MPI_Type_size(type, &size);
    (void)state;
    *extent = size;
    return rc;
}

static void turn(unsigned char *words, int n)
{
    for (int i = 0; i < n; i++, words += 8) {
        uint64_t word;
        memcpy(&word, words, sizeof word);
        word = htobe64(word);
        memcpy(words, &word, sizeof word);
    }
}

/* Sets how many elements of a type `n` items are.  Blocks are read and written as a whole. */
static int elements(MPI_Datatype type, int n, MPI_Offset position, int *count)
{
    int size, rc = MPI_Type_size(type, &size);
    if (rc != MPI_SUCCESS || position != 0 || (int64_t)n * 8 % size != 0 || n > INT32_MAX / 8)
        return MPI_ERR_OTHER;
    *count = n / (size / 8);
    return MPI_SUCCESS;
}

static int to_file(void *user, MPI_Datatype type, int n, void *file, MPI_Offset position,
                   void *state)
{
    int at = 0, count, rc = elements(type, n, position, &count);
    (void)state;
    if (rc == MPI_SUCCESS)
        rc = MPI_Pack(user, count, type, file, n * 8, &at, MPI_COMM_SELF);
    if (rc == MPI_SUCCESS)
        turn(file, n);
    return rc;
}

static int from_file(void *user, MPI_Datatype type, int n, void *file, MPI_Offset position,
                     void *state)
{
    int at = 0, count, rc = elements(type, n, position, &count);
    (void)state;
    if (rc != MPI_SUCCESS)
        return rc;
    turn(file, n);
    return MPI_Unpack(file, n * 8, &at, user, count, type, MPI_COMM_SELF);
}

const char *datarep_name(enum datarep datarep)
{
    static bool done;
    if (datarep != DATAREP_REGISTERED)
        return datarep_names[datarep];
    if (!done)
        bench_check(MPI_Register_datarep(registered, from_file, to_file, extent_of, NULL),
                    "MPI_Register_datarep", NULL);
    done = true;
    return registered;
}
