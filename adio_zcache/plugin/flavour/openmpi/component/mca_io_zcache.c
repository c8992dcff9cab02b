/*
 * mca_io_zcache - zcache as an io component of Open MPI, for builds of Open MPI that load
 * components.
 *
 * For each file Open MPI asks its components for their priorities. This one takes the files whose
 * names select zcache, and leaves all others to the other components. Handles, error handlers,
 * Fortran and profiling are Open MPI's own. Each process decides by itself, by the name only, so
 * ZCACHE_PATHS must be the same in all processes.
 *
 * The core's file handle is the private data that Open MPI keeps with its own handle. Errors are
 * returned, and Open MPI raises them, except those of MPI_File_close, which it ignores: see
 * io_close().
 *
 * Compiled with Open MPI's own headers, without those of the flavour (../include): MPI_File is
 * Open MPI's here and the core's in zcache_functions.h, and both are pointers.
 */
#include "ompi_config.h"

#include <stdio.h>
#include <string.h>

#include "ompi/errhandler/errhandler.h"
#include "ompi/file/file.h"
#include "ompi/info/info.h"
#include "ompi/mca/io/io.h"
#include "opal/util/info.h"

typedef int(MPI_Datarep_conversion_function_c)(void *, MPI_Datatype, MPI_Count, void *, MPI_Offset,
                                               void *);
#include "zcache_functions.h"
#include "zcache_select.h"

/* Returns the core's handle of Open MPI's. */
static MPI_File core_of(const ompi_file_t *fh)
{
    return (MPI_File)fh->f_io_selected_data;
}

/* Copies what Open MPI passes, which need not be a whole MPI_Info: the hints of its file handles
 * are of the base type. The caller frees the copy with drop_info(). Returns an MPI error code. */
static int copy_info(struct opal_info_t *from, MPI_Info *copy)
{
    struct opal_info_t *base;
    int rc;

    *copy = MPI_INFO_NULL;
    if (!from)
        return MPI_SUCCESS;
    rc = PMPI_Info_create(copy);
    if (rc != MPI_SUCCESS)
        return rc;
    base = &(*copy)->super;
    return opal_info_dup(from, &base) == OPAL_SUCCESS ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

static void drop_info(MPI_Info *copy)
{
    if (*copy != MPI_INFO_NULL)
        PMPI_Info_free(copy);
}

/* ---- which files ---------------------------------------------------------------------- */

/* Priority, higher than that of any other component. */
enum { FIRST = 1000 };

static const mca_io_base_module_2_0_0_t module;

/* Refuses another release series of Open MPI, whose structures differ: Open MPI itself compares
 * only the version of the framework. */
static int init_query(bool progress_threads, bool mpi_threads)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "", wanted[64];
    int len;

    (void)progress_threads;
    (void)mpi_threads;
    snprintf(wanted, sizeof wanted, "Open MPI v%d.%d.", OMPI_MAJOR_VERSION, OMPI_MINOR_VERSION);
    if (PMPI_Get_library_version(version, &len) == MPI_SUCCESS &&
        !strncmp(version, wanted, strlen(wanted)))
        return OMPI_SUCCESS;
    fprintf(stderr, "zcache: mca_io_zcache.so is for Open MPI %d.%d, and this is %.20s: not used\n",
            OMPI_MAJOR_VERSION, OMPI_MINOR_VERSION, version);
    return OMPI_ERR_NOT_AVAILABLE;
}

static const mca_io_base_module_2_0_0_t *
file_query(ompi_file_t *fh, struct mca_io_base_file_t **private_data, int *priority)
{
    *private_data = NULL;
    *priority = FIRST;
    return zcache_is_selected(fh->f_filename) ? &module : NULL;
}

static int file_unquery(ompi_file_t *fh, struct mca_io_base_file_t *private_data)
{
    (void)fh;
    (void)private_data;
    return OMPI_SUCCESS;
}

static int delete_query(const char *name, struct opal_info_t *info,
                        struct mca_io_base_delete_t **private_data, bool *usable, int *priority)
{
    (void)info;
    *private_data = NULL;
    *usable = zcache_is_selected(name);
    *priority = FIRST;
    return OMPI_SUCCESS;
}

static int delete_unselect(const char *name, struct opal_info_t *info,
                           struct mca_io_base_delete_t *private_data)
{
    (void)name;
    (void)info;
    (void)private_data;
    return OMPI_SUCCESS;
}

static int delete_select(const char *name, struct opal_info_t *info,
                         struct mca_io_base_delete_t *private_data)
{
    struct zcache_selected s;
    MPI_Info hints = MPI_INFO_NULL;
    int rc = zcache_select(MPI_COMM_SELF, name, &s);

    (void)private_data;
    if (rc == MPI_SUCCESS)
        rc = copy_info(info, &hints);
    if (rc == MPI_SUCCESS)
        rc = zcache_entry_delete(s.name, hints);
    drop_info(&hints);
    zcache_selected_free(&s);
    return rc;
}

/* ---- opening and closing ---------------------------------------------------------------- */

/* Copies the hints in force to Open MPI's handle: MPI_File_get_info does not ask the component. */
static void publish_hints(ompi_file_t *fh, MPI_File core)
{
    char key[MPI_MAX_INFO_KEY + 1], value[MPI_MAX_INFO_VAL + 1];
    MPI_Info info;
    int n = 0, found;

    if (!fh->super.s_info || zcache_entry_get_info(core, &info) != MPI_SUCCESS)
        return;
    PMPI_Info_get_nkeys(info, &n);
    for (int i = 0; i < n; i++) {
        if (PMPI_Info_get_nthkey(info, i, key) == MPI_SUCCESS &&
            PMPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &found) == MPI_SUCCESS && found)
            opal_info_set(fh->super.s_info, key, value);
    }
    PMPI_Info_free(&info);
}

static int io_open(struct ompi_communicator_t *comm, const char *name, int amode,
                   struct opal_info_t *info, ompi_file_t *fh)
{
    struct zcache_selected s;
    MPI_File core = NULL;
    MPI_Info hints = MPI_INFO_NULL;
    int rc = zcache_select(MPI_COMM_SELF, name, &s);

    if (rc == MPI_SUCCESS)
        rc = copy_info(info, &hints);
    if (rc == MPI_SUCCESS)
        rc = zcache_entry_open(comm, s.name, amode, hints, &core);
    drop_info(&hints);
    zcache_selected_free(&s);
    if (rc != MPI_SUCCESS)
        return rc;
    fh->f_io_selected_data = (struct mca_io_base_file_t *)core;
    publish_hints(fh, core);
    return MPI_SUCCESS;
}

/*
 * Open MPI's MPI_File_close returns success whatever the component returns. So an error, which
 * means that bytes are missing in the file, is printed here and passed to the file's error handler.
 */
static void raise_of_close(ompi_file_t *fh, int rc)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int len;

    PMPI_Error_string(rc, text, &len);
    fprintf(stderr, "zcache: MPI_File_close has failed, though Open MPI returns no error: %s\n",
            text);
    ompi_errhandler_invoke(fh->error_handler, &ompi_mpi_file_null.file,
                           (int)OMPI_ERRHANDLER_TYPE_FILE, rc, "MPI_File_close");
}

/* Closes a file; also called for one whose open has failed. */
static int io_close(ompi_file_t *fh)
{
    MPI_File core = core_of(fh);
    int rc;

    if (!core)
        return MPI_SUCCESS;
    fh->f_io_selected_data = NULL;
    rc = zcache_entry_close(&core);
    if (rc != MPI_SUCCESS)
        raise_of_close(fh, rc);
    return rc;
}

/* ---- the functions on a file ---------------------------------------------------------------- */

/* The core's functions, with its handle; Open MPI does not use all of them. */
#define IO(name, params, args)                                                                     \
    __attribute__((unused)) static int io_##name params                                            \
    {                                                                                              \
        fh = core_of(fh);                                                                          \
        return zcache_entry_##name args;                                                           \
    }
ZCACHE_FILE_FUNCTIONS(IO)

static int io_view(ompi_file_t *fh, MPI_Offset disp, MPI_Datatype etype, MPI_Datatype filetype,
                   const char *datarep, struct opal_info_t *info)
{
    MPI_Info hints;
    int rc = copy_info(info, &hints);

    if (rc == MPI_SUCCESS)
        rc = io_set_view(fh, disp, etype, filetype, datarep, hints);
    drop_info(&hints);
    return rc;
}

#define IS(name) .io_module_file_##name = io_##name
static const mca_io_base_module_2_0_0_t module = {
    IS(open),
    IS(close),
    IS(set_size),
    IS(preallocate),
    IS(get_size),
    IS(get_amode),
    .io_module_file_set_view = io_view,
    IS(get_view),
    IS(read_at),
    IS(read_at_all),
    IS(write_at),
    IS(write_at_all),
    IS(iread_at),
    IS(iwrite_at),
    IS(iread_at_all),
    IS(iwrite_at_all),
    IS(read),
    IS(read_all),
    IS(write),
    IS(write_all),
    IS(iread),
    IS(iwrite),
    IS(iread_all),
    IS(iwrite_all),
    IS(seek),
    IS(get_position),
    IS(get_byte_offset),
    IS(read_shared),
    IS(write_shared),
    IS(iread_shared),
    IS(iwrite_shared),
    IS(read_ordered),
    IS(write_ordered),
    IS(seek_shared),
    IS(get_position_shared),
    IS(read_at_all_begin),
    IS(read_at_all_end),
    IS(write_at_all_begin),
    IS(write_at_all_end),
    IS(read_all_begin),
    IS(read_all_end),
    IS(write_all_begin),
    IS(write_all_end),
    IS(read_ordered_begin),
    IS(read_ordered_end),
    IS(write_ordered_begin),
    IS(write_ordered_end),
    IS(get_type_extent),
    IS(set_atomicity),
    IS(get_atomicity),
    IS(sync),
};

static int register_datarep(const char *name, MPI_Datarep_conversion_function *read_fn,
                            MPI_Datarep_conversion_function *write_fn,
                            MPI_Datarep_extent_function *extent, void *state)
{
    return zcache_entry_register_datarep(name, read_fn, write_fn, extent, state);
}

extern mca_io_base_component_2_0_0_t mca_io_zcache_component;
mca_io_base_component_2_0_0_t mca_io_zcache_component = {
    .io_version = {MCA_IO_BASE_VERSION_2_0_0, .mca_component_name = "zcache",
                   MCA_BASE_MAKE_VERSION(component, OMPI_MAJOR_VERSION, OMPI_MINOR_VERSION, 0)},
    .io_data = {MCA_BASE_METADATA_PARAM_CHECKPOINT},
    .io_init_query = init_query,
    .io_file_query = file_query,
    .io_file_unquery = file_unquery,
    .io_delete_query = delete_query,
    .io_delete_unquery = delete_unselect,
    .io_delete_select = delete_select,
    .io_register_datarep = register_datarep,
};
