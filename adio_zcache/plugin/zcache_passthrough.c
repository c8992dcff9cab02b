/*
 * The exported functions of MPI-IO: each call goes to the plugin or past it.
 *
 * A file is the plugin's if it was opened by it (zcache_handle.h); its name decides about that
 * (zcache_select.h). Calls on other files, and on MPI_FILE_NULL, go to the function that the
 * program would have called without the plugin (zcache_next.h), with the arguments as they are:
 * MPI_File_x to the next MPI_File_x and PMPI_File_x to the next PMPI_File_x, so that a profiler
 * behind the plugin sees them.
 *
 * What is no call on one file is done by both sides: error handlers are the MPI library's, and the
 * plugin notes what they call; the one of MPI_FILE_NULL is set on both sides; a data representation
 * without conversion functions is registered on both.
 */
#include "config.h"

#include <dlfcn.h>
#include <string.h>

#include "ad_zcache_seams.h"
#include "zcache_entry.h"
#include "zcache_flavour.h"
#include "zcache_library.h"
#include "zcache_next.h"
#include "zcache_select.h"

/* Headers of ROMIO since MPICH 5.0 have macros that make these PMPI_File_x. */
#undef MPI_File_create_errhandler
#undef MPI_File_set_errhandler
#undef MPI_File_get_errhandler
#undef MPI_File_call_errhandler

/* What a function returns that this MPI library lacks. */
static int missing(const char *name)
{
    return zcache_raise(MPI_FILE_NULL,
                        zcache_mpi_errorf(MPI_ERR_UNSUPPORTED_OPERATION,
                                          "%s: this MPI library has no such function", name),
                        name);
}

#define FUNCTION(prefix, result, name, type, params, call)                                         \
    result prefix##_##name params;                                                                 \
    result prefix##_##name params                                                                  \
    {                                                                                              \
        static void *known;                                                                        \
        type *next;                                                                                \
                                                                                                   \
        *(void **)&next = zcache_next(&known, #prefix "_" #name);                                  \
        return call;                                                                               \
    }

/* MPI_NAME and PMPI_NAME, which do CALL with the next function of the same name, `next`. */
#define BOTH(result, name, type, params, call)                                                     \
    FUNCTION(MPI, result, name, type, params, call)                                                \
    FUNCTION(PMPI, result, name, type, params, call)

/* ---- on one file ---------------------------------------------------------------- */

#define PASS(prefix, name, params, args)                                                           \
    int prefix##_File_##name params;                                                               \
    int prefix##_File_##name params                                                                \
    {                                                                                              \
        static void *known;                                                                        \
        int(*next) params;                                                                         \
                                                                                                   \
        if (zcache_handle_of(fh))                                                                  \
            return zcache_entry_##name args;                                                       \
        *(void **)&next = zcache_next(&known, #prefix "_File_" #name);                             \
        return next ? next args : missing("MPI_File_" #name);                                      \
    }

#define PASS_BOTH(name, params, args)                                                              \
    PASS(MPI, name, params, args)                                                                  \
    PASS(PMPI, name, params, args)

ZCACHE_FILE_FUNCTIONS(PASS_BOTH)

/* ---- opening and closing --------------------------------------------------------- */

typedef int open_fn(MPI_Comm comm, const char *filename, int amode, MPI_Info info, MPI_File *fh);
typedef int close_fn(MPI_File *fh);
typedef int delete_fn(const char *filename, MPI_Info info);

static int open_file(MPI_Comm comm, const char *filename, int amode, MPI_Info info, MPI_File *fh,
                     open_fn *next)
{
    struct zcache_selected name;
    int rc;

    zcache_library_ready();
    rc = zcache_select(comm, filename, &name);
    if (rc != MPI_SUCCESS) {
        *fh = MPI_FILE_NULL;
        return zcache_raise(MPI_FILE_NULL, rc, "MPI_File_open");
    }
    if (name.ours)
        rc = zcache_entry_open(comm, name.name, amode, info, fh);
    else
        rc = next ? next(comm, name.name, amode, info, fh) : missing("MPI_File_open");
    if (!name.ours && rc != MPI_SUCCESS) /* ranks that open it by zcache ask this one */
        rc = zcache_amode_verdict(comm, name.name, zcache_flavour_amode_in(amode), rc);
    zcache_selected_free(&name);
    return rc;
}

static int close_file(MPI_File *fh, close_fn *next)
{
    if (fh && zcache_handle_of(*fh))
        return zcache_entry_close(fh);
    return next ? next(fh) : missing("MPI_File_close");
}

static int delete_file(const char *filename, MPI_Info info, delete_fn *next)
{
    struct zcache_selected name;
    int rc;

    zcache_library_ready();
    rc = zcache_select(MPI_COMM_SELF, filename, &name);
    if (rc != MPI_SUCCESS)
        return zcache_raise(MPI_FILE_NULL, rc, "MPI_File_delete");
    if (name.ours)
        rc = zcache_entry_delete(name.name, info);
    else
        rc = next ? next(name.name, info) : missing("MPI_File_delete");
    zcache_selected_free(&name);
    return rc;
}

BOTH(int, File_open, open_fn,
     (MPI_Comm comm, const char *filename, int amode, MPI_Info info, MPI_File *fh),
     open_file(comm, filename, amode, info, fh, next))
BOTH(int, File_close, close_fn, (MPI_File * fh), close_file(fh, next))
BOTH(int, File_delete, delete_fn, (const char *filename, MPI_Info info),
     delete_file(filename, info, next))

/* ---- handles --------------------------------------------------------------------- */

typedef MPI_Fint c2f_fn(MPI_File file);
typedef MPI_File f2c_fn(MPI_Fint file);

static MPI_Fint number_of(MPI_File fh, c2f_fn *next)
{
    if (zcache_handle_of(fh))
        return MPIO_File_c2f(fh);
    return next ? next(fh) : 0;
}

static MPI_File file_of(MPI_Fint number, f2c_fn *next)
{
    MPI_File ours = MPIO_File_f2c(number);

    if (ours != MPI_FILE_NULL)
        return ours;
    return next ? next(number) : MPI_FILE_NULL;
}

BOTH(MPI_Fint, File_c2f, c2f_fn, (MPI_File file), number_of(file, next))
BOTH(MPI_File, File_f2c, f2c_fn, (MPI_Fint file), file_of(file, next))

/* MPI-4.1: the same numbers as int, which in the MPICH family is MPI_Fint. */
BOTH(int, File_toint, c2f_fn, (MPI_File file), number_of(file, next))
BOTH(MPI_File, File_fromint, f2c_fn, (int file), file_of(file, next))

/* ---- error handlers --------------------------------------------------------------- */

typedef int create_errhandler_fn(MPI_File_errhandler_function *fn, MPI_Errhandler *errhandler);
typedef int set_errhandler_fn(MPI_File fh, MPI_Errhandler errhandler);

static int create_errhandler(MPI_File_errhandler_function *fn, MPI_Errhandler *errhandler,
                             create_errhandler_fn *next)
{
    int rc = next ? next(fn, errhandler) : missing("MPI_File_create_errhandler");

    if (rc != MPI_SUCCESS || !errhandler)
        return rc;
    rc = zcache_errh_note(*errhandler, fn);
    if (rc != MPI_SUCCESS) {
        PMPI_Errhandler_free(errhandler);
        rc = zcache_raise(MPI_FILE_NULL, rc, "MPI_File_create_errhandler");
    }
    return rc;
}

/* The MPI library refuses what is no file and no handler. */
static int set_errhandler(MPI_File fh, MPI_Errhandler errhandler, set_errhandler_fn *next)
{
    int rc = MPI_SUCCESS;

    zcache_library_ready();
    if (!zcache_handle_of(fh)) {
        rc = next ? next(fh, errhandler) : missing("MPI_File_set_errhandler");
        if (rc != MPI_SUCCESS || fh != MPI_FILE_NULL)
            return rc;
    }
    rc = zcache_errh_set(fh, errhandler);
    return rc == MPI_SUCCESS ? rc : zcache_raise(fh, rc, "MPI_File_set_errhandler");
}

BOTH(int, File_create_errhandler, create_errhandler_fn,
     (MPI_File_errhandler_function * fn, MPI_Errhandler *errhandler),
     create_errhandler(fn, errhandler, next))
BOTH(int, File_set_errhandler, set_errhandler_fn, (MPI_File fh, MPI_Errhandler errhandler),
     set_errhandler(fh, errhandler, next))

/* ---- data representations ----------------------------------------------------------
 * Conversion functions are for the plugin's files alone: no MPI library has them.  The plugin
 * is asked first: it returns MPI_ERR_DUP_DATAREP for a name that is there already, for which MPICH
 * 5.0 and Intel MPI end the program.  If the library fails then, the name stays known to the
 * plugin. */

/* False for Open MPI: OMPIO knows only its own data representations, and would raise an error. */
static bool library_has_datareps(void)
{
    return zcache_flavour != ZCACHE_FLAVOUR_OPENMPI;
}

/* Whether the call is made by the Fortran interface of an MPI library of the MPICH family
 * (libmpichfort, libmpifort), which passes the program's functions on as if they were in C. */
static bool by_fortran(const void *caller)
{
    const char *file;
    Dl_info from;

    if (zcache_flavour == ZCACHE_FLAVOUR_OPENMPI || !dladdr(caller, &from) || !from.dli_fname)
        return false;
    file = strrchr(from.dli_fname, '/');
    file = file ? file + 1 : from.dli_fname;
    return strncmp(file, "libmpi", strlen("libmpi")) == 0 && strstr(file, "fort");
}

static int in_fortran(const char *name)
{
    int rc =
        zcache_mpi_errorf(MPI_ERR_CONVERSION,
                          "data representation \"%s\": conversion functions in Fortran are not "
                          "called; write them in C",
                          name);

    return zcache_raise(MPI_FILE_NULL, rc, "MPI_Register_datarep");
}

#define DATAREP(suffix, conversion)                                                                \
    typedef int datarep##suffix##_fn(const char *name, conversion *read_fn, conversion *write_fn,  \
                                     MPI_Datarep_extent_function *extent, void *state);            \
                                                                                                   \
    static int add_datarep##suffix(const char *name, conversion *read_fn, conversion *write_fn,    \
                                   MPI_Datarep_extent_function *extent, void *state,               \
                                   datarep##suffix##_fn *next, const void *caller)                 \
    {                                                                                              \
        int rc;                                                                                    \
                                                                                                   \
        zcache_library_ready();                                                                    \
        if ((read_fn || write_fn) && by_fortran(caller))                                           \
            return in_fortran(name);                                                               \
        rc = zcache_entry_register_datarep##suffix(name, read_fn, write_fn, extent, state);        \
        if (rc == MPI_SUCCESS && next && library_has_datareps() && !read_fn && !write_fn)          \
            rc = next(name, read_fn, write_fn, extent, state);                                     \
        return rc;                                                                                 \
    }                                                                                              \
    BOTH(int, Register_datarep##suffix, datarep##suffix##_fn,                                      \
         (const char *name, conversion *read_fn, conversion *write_fn,                             \
          MPI_Datarep_extent_function *extent, void *state),                                       \
         add_datarep##suffix(name, read_fn, write_fn, extent, state, next,                         \
                             __builtin_return_address(0)))

DATAREP(, MPI_Datarep_conversion_function)
DATAREP(_c, MPI_Datarep_conversion_function_c)
