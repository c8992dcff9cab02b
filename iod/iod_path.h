/* iod_path.h - paths that still mean the same when the daemon has left its directory. */
#ifndef IOD_PATH_H
#define IOD_PATH_H

#include <stddef.h>

/* Replaces *path (malloced) by an absolute one; symbolic links stay as the user wrote
 * them, for that is how programs will name files. */
int iod_path_absolute(char **path);

/* The directory an absolute path lies in. */
int iod_path_dirname(const char *path, char *buf, size_t len);

#endif
