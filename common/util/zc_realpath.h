/* zc_realpath.h - names without symbolic links. */
#ifndef ZC_REALPATH_H
#define ZC_REALPATH_H

/* Resolves the symbolic links of `path`, including the last component, which need not exist; NULL
 * with errno.  The caller frees the result. */
char *zc_realpath(const char *path);
/* The same, but keeps the last component as it is: the name that unlink() removes. */
char *zc_realpath_of_parent(const char *path);

#endif
