/*
 * Data representations that convert: those that programs register (MPI-4.1, 14.5.3), and in the
 * plugin external32 (zcache_external32.c).
 *
 * An item is an element of a predefined datatype; a predefined pair has two.  What an item takes in
 * the file is what the representation's extent function tells, without alignment.  A derived type
 * is in the file what its constructor makes of these: what is counted in elements scales, and
 * displacements in bytes stay as they are (14.5.1: a portable datatype has none); keeps_gaps is an
 * exception.
 *
 * The extent function is called with a view and with each access.  Functions that return int return
 * 0 or a negative errno, explained by zc_errorf(): -EILSEQ where the program's function has failed.
 */
#ifndef ZCACHE_DATAREP_H
#define ZCACHE_DATAREP_H

#include <mpi.h>
#include <stdbool.h>

struct zcache_datarep_size;
typedef int zcache_datarep_fn(bool read, void *user, MPI_Datatype type,
                              const struct zcache_datarep_size *each, MPI_Count items,
                              void *in_file);

/* Stays until the process ends. */
struct zcache_datarep {
    const struct zcache_datarep *next;
    const char *name;
    /* One of zcache itself; NULL: it is the program's, which has the functions below.  As
     * zcache_datarep_convert(). */
    zcache_datarep_fn *convert;
    bool keeps_gaps; /* a type of which no item has another size is in the file as in memory */
    /* The first two of MPI_Register_datarep(), or the last two of MPI_Register_datarep_c(); NULL:
     * bytes are in the file as in memory. */
    MPI_Datarep_conversion_function *read_fn, *write_fn;
    MPI_Datarep_conversion_function_c *read_fn_c, *write_fn_c;
    /* Returns an MPI error code, or one of zcache itself a negative errno, explained. */
    MPI_Datarep_extent_function *extent_fn;
    void *state;
};

/* Registers a copy of `*rep`, of the program.  Any thread.  Returns an MPI error code. */
int zcache_datarep_register(const struct zcache_datarep *rep);
/* Adds one of zcache itself, which stays where it is.  Calls no MPI. */
void zcache_datarep_add_own(struct zcache_datarep *rep);
/* Returns the one of that name, or NULL.  Any thread. */
const struct zcache_datarep *zcache_datarep_find(const char *name);

/* Whether it has a conversion function for reads or for writes; for any. */
static inline bool zcache_datarep_has(const struct zcache_datarep *rep, bool read)
{
    if (rep->convert)
        return true;
    return read ? rep->read_fn || rep->read_fn_c : rep->write_fn || rep->write_fn_c;
}
static inline bool zcache_datarep_converts(const struct zcache_datarep *rep)
{
    return zcache_datarep_has(rep, true) || zcache_datarep_has(rep, false);
}

/* Whether MPI has one of that name, which may be in capitals, as in ROMIO. */
bool zcache_datarep_is_predefined(const char *name);

/* Makes what `type` is in the file, of bytes, and committed.  The caller frees *in_file. */
int zcache_datarep_type(const struct zcache_datarep *rep, MPI_Datatype type, MPI_Datatype *in_file);

/* What elements of a type are: items, and their bytes in the file and in memory, without gaps. */
struct zcache_datarep_size {
    MPI_Count items, in_file, in_memory;
    bool resized; /* an item has another size in the file */
};

/* Sets those of one element, and of `count`. */
int zcache_datarep_size(const struct zcache_datarep *rep, MPI_Datatype type, MPI_Count count,
                        struct zcache_datarep_size *each, struct zcache_datarep_size *all);
/* Sets those of the first items of `count` elements, which are whole in so many bytes of a file. */
int zcache_datarep_size_of_first(const struct zcache_datarep *rep, MPI_Datatype type,
                                 MPI_Count count, MPI_Count bytes,
                                 struct zcache_datarep_size *size);

/* Whether `items` of a buffer of elements of which `each` is one can be converted: a function that
 * counts in int gets whole elements.  0, or a negative errno. */
int zcache_datarep_check(const struct zcache_datarep *rep, bool read,
                         const struct zcache_datarep_size *each, MPI_Count items);
/* Converts the first items of such a buffer from (`read`) or to what they are in the file, in
 * `in_file`.  The representation has a function for that. */
int zcache_datarep_convert(const struct zcache_datarep *rep, bool read, void *user,
                           MPI_Datatype type, const struct zcache_datarep_size *each,
                           MPI_Count items, void *in_file);

#endif
