/*
 * Data representations that convert: the list of them, and conversion of buffers.
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "zc_log.h"
#include "zcache_datarep.h"
#include "zcache_error.h"
#include "zcache_mpi_lock.h"

/* Under the lock; what is in it does not change. */
static const struct zcache_datarep *registered;
static struct zcache_mpi_lock lock = ZCACHE_MPI_LOCK_INITIALIZER(ZCACHE_MPI_LOCK_DATAREPS);

static const struct zcache_datarep *find(const char *name)
{
    const struct zcache_datarep *r = registered;

    if (!strcmp(name, "EXTERNAL32")) /* as ROMIO understands it */
        name = "external32";

    while (r && strcmp(r->name, name) != 0)
        r = r->next;
    return r;
}

bool zcache_datarep_is_predefined(const char *name)
{
    static const char *const names[] = {"native", "internal", "external32",
                                        "NATIVE", "INTERNAL", "EXTERNAL32"};

    for (size_t i = 0; name && i < sizeof names / sizeof names[0]; i++)
        if (!strcmp(name, names[i]))
            return true;
    return false;
}

static int add(const struct zcache_datarep *rep)
{
    struct zcache_datarep *r;

    if (zcache_datarep_is_predefined(rep->name) || find(rep->name))
        return zcache_mpi_errorf(MPI_ERR_DUP_DATAREP,
                                 "a data representation \"%s\" is there already", rep->name);
    r = malloc(sizeof *r);
    if (r) {
        *r = *rep;
        r->name = strdup(rep->name);
        r->next = registered;
    }
    if (!r || !r->name) {
        free(r);
        return zcache_mpi_error(MPI_ERR_NO_MEM, "no memory for a data representation");
    }
    registered = r;
    return MPI_SUCCESS;
}

int zcache_datarep_register(const struct zcache_datarep *rep)
{
    size_t len = rep->name ? strlen(rep->name) : 0;
    int rc;

    if (len == 0 || len >= MPI_MAX_DATAREP_STRING)
        return zcache_mpi_errorf(MPI_ERR_ARG,
                                 "the name of a data representation has 1 to %d characters",
                                 MPI_MAX_DATAREP_STRING - 1);
    if (!rep->extent_fn)
        return zcache_mpi_errorf(MPI_ERR_ARG, "data representation \"%s\": no extent function",
                                 rep->name);
    zcache_mpi_lock_get(&lock);
    rc = add(rep);
    zcache_mpi_lock_put(&lock);
    return rc;
}

void zcache_datarep_add_own(struct zcache_datarep *rep)
{
    zcache_mpi_lock_get(&lock);
    rep->next = registered;
    registered = rep;
    zcache_mpi_lock_put(&lock);
}

const struct zcache_datarep *zcache_datarep_find(const char *name)
{
    const struct zcache_datarep *r;

    if (!name)
        return NULL;
    zcache_mpi_lock_get(&lock);
    r = find(name);
    zcache_mpi_lock_put(&lock);
    return r;
}

/* ---- conversion ---- */

static int failed(const struct zcache_datarep *rep, bool read)
{
    return zc_errorf(EILSEQ, "data representation \"%s\": its %s conversion function has failed",
                     rep->name, read ? "read" : "write");
}

int zcache_datarep_check(const struct zcache_datarep *rep, bool read,
                         const struct zcache_datarep_size *each, MPI_Count items)
{
    if (!(read ? rep->read_fn : rep->write_fn) || items <= INT_MAX || each->items <= INT_MAX)
        return 0;
    return zc_errorf(EOVERFLOW,
                     "data representation \"%s\": an element has more items than an int counts; "
                     "register it with MPI_Register_datarep_c",
                     rep->name);
}

/* Calls a function whose count is an int, for as many elements at a time as it can count. */
static int convert_parts(const struct zcache_datarep *rep, bool read,
                         MPI_Datarep_conversion_function *fn, void *user, MPI_Datatype type,
                         const struct zcache_datarep_size *each, MPI_Count items, char *in_file)
{
    MPI_Count elements = INT_MAX / each->items, most = elements * each->items;

    for (MPI_Count done = 0, n; done < items; done += n) {
        n = items <= INT_MAX ? items : items - done < most ? items - done : most;
        if (fn(user, type, (int)n, in_file, done, rep->state) != MPI_SUCCESS)
            return failed(rep, read);
        in_file += elements * each->in_file; /* unless all is done */
    }
    return 0;
}

int zcache_datarep_convert(const struct zcache_datarep *rep, bool read, void *user,
                           MPI_Datatype type, const struct zcache_datarep_size *each,
                           MPI_Count items, void *in_file)
{
    MPI_Datarep_conversion_function *fn = read ? rep->read_fn : rep->write_fn;
    MPI_Datarep_conversion_function_c *fn_c = read ? rep->read_fn_c : rep->write_fn_c;

    if (items == 0)
        return 0;
    if (rep->convert)
        return rep->convert(read, user, type, each, items, in_file);
    if (fn)
        return convert_parts(rep, read, fn, user, type, each, items, in_file);
    return fn_c(user, type, items, in_file, 0, rep->state) == MPI_SUCCESS ? 0 : failed(rep, read);
}
