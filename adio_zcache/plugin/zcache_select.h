/* Which files are the plugin's, by their names. */
#ifndef ZCACHE_SELECT_H
#define ZCACHE_SELECT_H

#include <mpi.h>
#include <stdbool.h>

/* The answer for one name. */
struct zcache_selected {
    bool ours;        /* the plugin's; else the MPI library's */
    const char *name; /* what to open it by */
    char *made;       /* that name where it is not the caller's */
};

/*
 * Decides whether the file NAME is the plugin's:
 *   - ROMIO_FSTYPE_FORCE, where it is set, decides for all files: the plugin's if it is zcache:
 *   - a name with a prefix is the plugin's if that is zcache:
 *   - another name is the plugin's if ZCACHE_PATHS selects it (zc_paths.h)
 *   - all others are the MPI library's
 * Where ZCACHE_PATHS is in force rank 0 of COMM decides for all, which is collective: names may be
 * resolved differently on other hosts, and one rank asks the file system instead of all. Else, and
 * where COMM cannot be asked, this rank decides. Returns an MPI error code, not raised; on success
 * zcache_selected_free() frees what was made.
 */
int zcache_select(MPI_Comm comm, const char *name, struct zcache_selected *s);
void zcache_selected_free(struct zcache_selected *s);

/* Whether it is the plugin's, for what cannot return an error: if ZCACHE_PATHS cannot be used, it
 * is not, and that is logged once. */
bool zcache_is_selected(const char *name);

#endif
