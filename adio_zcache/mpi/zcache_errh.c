/*
 * Error handlers of files: set, get, call, for the files that the plugin serves.
 *
 * A handler is one of the MPI library's, made by its MPI_File_create_errhandler, so that files of
 * both kinds can have it. For what it calls itself the plugin notes the user's function in a table.
 * The handler of MPI_FILE_NULL is set for both.
 *
 * References. The MPI library counts those of its own files; of the plugin's it knows nothing. So a
 * file that is given a handler takes a reference by way of a private communicator: set there, get
 * (one more), set back. The private communicator is made when the first user-defined handler is
 * set, and freed in MPI_Finalize. MPICH lets a communicator have a file's handler; where an MPI
 * library does not, or in a program that has only sessions, the reference comes by way of
 * MPI_FILE_NULL.
 *
 * An entry of the table lives until its handle, an int that the MPI library uses again, is given
 * out again for a handler of a file. One whose handle was freed and became a communicator's
 * handler is stale, and harmless unless a program wrongly sets that on a file.
 */
#include "config.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "zc_lock.h"
#include "zc_log.h"
#include "zcache_errh.h"
#include "zcache_error.h"
#include "zcache_handle.h"
#include "zcache_library.h"
#include "zcache_mpi_lock.h"
#include "zcache_next.h"

struct entry {
    MPI_Errhandler errh;
    MPI_File_errhandler_function *fn;
};

/* The handler of a file, and of none, is set in the turn and under the lock; so either will do to
 * look at it, and in the turn it keeps its reference. */
static struct zcache_mpi_lock turn = ZCACHE_MPI_LOCK_INITIALIZER(ZCACHE_MPI_LOCK_HANDLERS);
static struct zc_lock lock = ZC_LOCK_INITIALIZER(ZC_ORDER_HANDLES);
static MPI_Errhandler null_errh; /* the handler of MPI_FILE_NULL */

/* Under the lock. */
static struct entry *table;
static int table_used, table_size;

/* In the turn. */
static MPI_Comm ref_comm;
static int ref_keyval = MPI_KEYVAL_INVALID;

static void set_initial(void)
{
    zcache_library_ready();
    null_errh = MPI_ERRORS_RETURN;
    ref_comm = MPI_COMM_NULL;
}

/* Initializes null_errh and ref_comm before their first use: predefined handles need not be
 * constants. */
static void begin(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, set_initial);
}

static bool is_predefined(MPI_Errhandler errh)
{
    return errh == MPI_ERRORS_RETURN || zcache_errh_is_fatal(errh);
}

/* NULL if ERRH is no handler of a file. */
static struct entry *find(MPI_Errhandler errh)
{
    zc_assert_held(&lock);
    for (int i = 0; i < table_used; i++) {
        if (table[i].errh == errh)
            return &table[i];
    }
    return NULL;
}

/* Sets a handler, whose reference goes with it, and gives that of the one before back. In the turn.
 */
static void swap(MPI_Errhandler *where, MPI_Errhandler errh)
{
    MPI_Errhandler old;

    zc_lock_get(&lock);
    old = *where;
    *where = errh;
    zc_lock_put(&lock);
    zcache_errh_release(old);
}

static int at_finalize(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)comm;
    (void)value;
    (void)extra;
    (void)keyval;
    zcache_mpi_lock_get(&turn);
    swap(&null_errh, MPI_ERRORS_RETURN);
    if (ref_comm != MPI_COMM_NULL)
        PMPI_Comm_free(&ref_comm);
    ref_comm = MPI_COMM_NULL;
    zcache_mpi_lock_put(&turn);
    zc_lock_get(&lock);
    free(table);
    table = NULL;
    table_used = table_size = 0;
    zc_lock_put(&lock);
    return MPI_SUCCESS;
}

/* In the turn. */
static int make_ref_comm(void)
{
    int rc = PMPI_Comm_dup(MPI_COMM_SELF, &ref_comm);

    if (rc != MPI_SUCCESS) {
        ref_comm = MPI_COMM_NULL;
        return rc;
    }
    PMPI_Comm_set_errhandler(ref_comm, MPI_ERRORS_RETURN);
    rc = PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_finalize, &ref_keyval, NULL);
    if (rc == MPI_SUCCESS)
        rc = PMPI_Comm_set_attr(MPI_COMM_SELF, ref_keyval, NULL);
    return rc;
}

static int ref_by_comm(MPI_Errhandler errh)
{
    MPI_Errhandler same;
    int rc = MPI_SUCCESS;

    if (ref_comm == MPI_COMM_NULL)
        rc = zcache_library_has_world() ? make_ref_comm() : MPI_ERR_COMM;
    if (rc == MPI_SUCCESS)
        rc = PMPI_Comm_set_errhandler(ref_comm, errh);
    if (rc == MPI_SUCCESS)
        rc = PMPI_Comm_get_errhandler(ref_comm, &same);
    if (ref_comm != MPI_COMM_NULL)
        PMPI_Comm_set_errhandler(ref_comm, MPI_ERRORS_RETURN);
    return rc;
}

/* For a moment it is the handler of the library's MPI_FILE_NULL. */
static int ref_by_file_null(MPI_Errhandler errh)
{
    static void *known_get, *known_set;
    int (*get)(MPI_File, MPI_Errhandler *), (*set)(MPI_File, MPI_Errhandler);
    MPI_Errhandler was, same;
    int rc;

    *(void **)&get = zcache_next(&known_get, "PMPI_File_get_errhandler");
    *(void **)&set = zcache_next(&known_set, "PMPI_File_set_errhandler");
    if (!get || !set)
        return MPI_ERR_UNSUPPORTED_OPERATION;
    rc = get(MPI_FILE_NULL, &was);
    if (rc != MPI_SUCCESS)
        return rc;
    rc = set(MPI_FILE_NULL, errh);
    if (rc == MPI_SUCCESS) {
        rc = get(MPI_FILE_NULL, &same);
        set(MPI_FILE_NULL, was);
    }
    zcache_errh_release(was);
    return rc;
}

/* One more reference to ERRH. In the turn. */
static int add_ref(MPI_Errhandler errh)
{
    if (is_predefined(errh) || ref_by_comm(errh) == MPI_SUCCESS)
        return MPI_SUCCESS;
    return ref_by_file_null(errh);
}

void zcache_errh_release(MPI_Errhandler errh)
{
    int finalized = 0;

    if (is_predefined(errh) || errh == MPI_ERRHANDLER_NULL)
        return;
    PMPI_Finalized(&finalized);
    if (!finalized)
        PMPI_Errhandler_free(&errh);
}

MPI_Errhandler zcache_errh_get(MPI_File fh)
{
    struct zcache_handle *h = zcache_handle_of(fh);
    MPI_Errhandler errh;

    begin();
    zcache_mpi_lock_get(&turn);
    errh = h ? h->errh : null_errh;
    if (add_ref(errh) != MPI_SUCCESS)
        errh = MPI_ERRORS_RETURN;
    zcache_mpi_lock_put(&turn);
    return errh;
}

void zcache_errh_inherit(struct zcache_handle *h)
{
    h->errh = zcache_errh_get(MPI_FILE_NULL);
}

/* The user's function that ERRH stands for; NULL if it is no handler of a file. */
static MPI_File_errhandler_function *function_of(MPI_Errhandler errh)
{
    MPI_File_errhandler_function *fn;
    struct entry *e;

    zc_lock_get(&lock);
    e = find(errh);
    fn = e ? e->fn : NULL;
    zc_lock_put(&lock);
    return fn;
}

static void die(MPI_Comm comm, int rc, const char *fn)
{
    char text[ZCACHE_MPI_TEXT_MAX] = "";
    int len;

    PMPI_Error_string(rc, text, &len);
    dprintf(zc_log_stderr(), "Fatal error in %s: %s\n", fn, text);
    PMPI_Abort(comm, rc);
}

/*
 * Call ERRH for *FH, a copy of the user's handle. COMM is what a fatal error ends. Returns what FN
 * shall return: a user's function may change the error code it gets.
 */
static int call(MPI_Errhandler errh, MPI_File *fh, MPI_Comm comm, int rc, const char *fn)
{
    MPI_File_errhandler_function *user;

    if (errh == MPI_ERRORS_RETURN)
        return rc;
    if (zcache_errh_is_fatal(errh)) {
        die(comm, rc, fn);
        return rc;
    }
    user = function_of(errh);
    if (user) {
        MPIO_File_c2f(*fh); /* the handler may be Fortran: give the file a number */
        user(fh, &rc);
    }
    return rc;
}

int zcache_raise(MPI_File fh, int rc, const char *fn)
{
    struct zcache_handle *h = zcache_handle_of(fh);
    MPI_Errhandler errh;

    begin();
    zc_lock_get(&lock);
    errh = h ? h->errh : null_errh;
    zc_lock_put(&lock);
    if (!h)
        fh = MPI_FILE_NULL;
    return call(errh, &fh, h ? fh->comm : MPI_COMM_WORLD, rc, fn);
}

int zcache_raise_closed(MPI_Errhandler errh, int rc, const char *fn)
{
    MPI_File fh = MPI_FILE_NULL;

    return call(errh, &fh, MPI_COMM_WORLD, rc, fn);
}

/* ---- what programs call ---------------------------------------------------- */

/* The entry of ERRH, made where there is none; NULL: no memory. */
static struct entry *find_or_add(MPI_Errhandler errh)
{
    struct entry *e = find(errh), *bigger;
    int size = table_size ? 2 * table_size : 16;

    if (e)
        return e;
    if (table_used == table_size) {
        bigger = realloc(table, size * sizeof(*bigger));
        if (!bigger)
            return NULL;
        table = bigger;
        table_size = size;
    }
    e = &table[table_used++];
    e->errh = errh;
    return e;
}

int zcache_errh_note(MPI_Errhandler errh, MPI_File_errhandler_function *fn)
{
    struct entry *e;

    zc_lock_get(&lock);
    e = find_or_add(errh);
    if (e)
        e->fn = fn;
    zc_lock_put(&lock);
    return e ? MPI_SUCCESS : zcache_mpi_error(MPI_ERR_NO_MEM, "no memory for an error handler");
}

int zcache_errh_set(MPI_File fh, MPI_Errhandler errhandler)
{
    struct zcache_handle *h = zcache_handle_of(fh);
    int rc = MPI_SUCCESS;

    begin();
    zcache_mpi_lock_get(&turn);
    if (!is_predefined(errhandler) && !function_of(errhandler))
        rc = zcache_mpi_error(MPI_ERR_ARG, "not an error handler for files");
    else
        rc = add_ref(errhandler);
    if (rc == MPI_SUCCESS)
        swap(h ? &h->errh : &null_errh, errhandler);
    zcache_mpi_lock_put(&turn);
    return rc;
}

int zcache_entry_get_errhandler(MPI_File fh, MPI_Errhandler *errhandler)
{
    int rc;

    zcache_mpi_lock_get(&turn);
    *errhandler = zcache_handle_of(fh)->errh;
    rc = add_ref(*errhandler); /* which the caller frees */
    zcache_mpi_lock_put(&turn);
    return rc;
}

int zcache_entry_call_errhandler(MPI_File fh, int errorcode)
{
    zcache_raise(fh, errorcode, "MPI_File_call_errhandler");
    return MPI_SUCCESS;
}

/* ---- what ROMIO calls ------------------------------------------------------- */

/*
 * ROMIO raises errors in the middle of its calls, in closing even for a handle that it has freed.
 * Here that does nothing: what the call returns is raised by the entry function.
 */
int MPIO_Err_return_file(MPI_File fh, int rc)
{
    (void)fh;
    return rc;
}

int MPIO_Err_return_comm(MPI_Comm comm, int rc)
{
    (void)comm;
    return rc;
}

/* ROMIO gives handlers back in MPI_File_close and MPI_Finalize. The plugin does it itself. */
int ROMIO_File_set_errhandler(MPI_File fh, MPI_Errhandler errhandler);
int ROMIO_File_set_errhandler(MPI_File fh, MPI_Errhandler errhandler)
{
    (void)fh;
    (void)errhandler;
    return MPI_SUCCESS;
}
