/*
 * Locks around ROMIO's process-wide state.
 *
 * ROMIO keeps a few things for the whole process and initialises them where they are first
 * needed. The linker (--wrap) redirects calls of these functions from other files to here. All
 * that they do is local, so a lock across them cannot wait for another process.
 */
#include "config.h"

#include <pthread.h>

#include "adio.h"
#include "adio_cb_config_list.h"
#include "adio_extern.h"

/* Recursive, because flattening may run inside an initialisation. Lock order (not in the tables of
 * zc_lock.h and zcache_mpi_lock.h): after the turn at the file, before all others, because under it
 * ROMIO calls MPIR_Datatype_iscontig(). */
static pthread_mutex_t once_lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

void __real_MPIR_MPIOInit(int *error_code);
void __wrap_MPIR_MPIOInit(int *error_code);
ADIOI_Flatlist_node *__real_ADIOI_Flatten_and_find(MPI_Datatype type);
ADIOI_Flatlist_node *__wrap_ADIOI_Flatten_and_find(MPI_Datatype type);
int __real_ADIOI_cb_config_list_parse(char *list, ADIO_cb_name_array array, int ranklist[],
                                      int cb_nodes);
int __wrap_ADIOI_cb_config_list_parse(char *list, ADIO_cb_name_array array, int ranklist[],
                                      int cb_nodes);

/*
 * The key under which a communicator remembers the host names of its processes. Two threads that
 * made it twice would leave one rank with a communicator that has the names and one that has
 * not, and the next open would hang: so it exists before the first.
 */
static void make_names_keyval(void)
{
    if (ADIOI_cb_config_list_keyval == MPI_KEYVAL_INVALID)
        PMPI_Comm_create_keyval((MPI_Comm_copy_attr_function *)ADIOI_cb_copy_name_array,
                                (MPI_Comm_delete_attr_function *)ADIOI_cb_delete_name_array,
                                &ADIOI_cb_config_list_keyval, NULL);
}

void __wrap_MPIR_MPIOInit(int *error_code)
{
    pthread_mutex_lock(&once_lock);
    __real_MPIR_MPIOInit(error_code);
    if (*error_code == MPI_SUCCESS)
        make_names_keyval();
    pthread_mutex_unlock(&once_lock);
}

/* The node belongs to the datatype, as its attribute; it is freed with it. */
ADIOI_Flatlist_node *__wrap_ADIOI_Flatten_and_find(MPI_Datatype type)
{
    ADIOI_Flatlist_node *node;

    pthread_mutex_lock(&once_lock);
    node = __real_ADIOI_Flatten_and_find(type);
    pthread_mutex_unlock(&once_lock);
    return node;
}

int __wrap_ADIOI_cb_config_list_parse(char *list, ADIO_cb_name_array array, int ranklist[],
                                      int cb_nodes)
{
    int n;

    pthread_mutex_lock(&once_lock);
    n = __real_ADIOI_cb_config_list_parse(list, array, ranklist, cb_nodes);
    pthread_mutex_unlock(&once_lock);
    return n;
}
