/* iod_path.h - absolute paths: the daemon changes its directory. */
#ifndef IOD_PATH_H
#define IOD_PATH_H

#include <stddef.h>

/* Replaces *path (malloced) by an absolute one.  Symbolic links stay, as programs name files by
 * them. */
int iod_path_absolute(char **path);

/* Writes the directory of an absolute path to `buf`. */
int iod_path_dirname(const char *path, char *buf, size_t len);

#endif
