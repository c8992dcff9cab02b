/* zc_paths.h - files selected by a list of directories.
 *
 * A list is absolute paths separated by colons, such as "/scratch:/project/run*".  A path may have
 * patterns of glob(7), which never match a slash.  It selects what it names and everything below
 * that.
 *
 * The location of a file counts, not its name: the name is resolved (relative names, "..", symbolic
 * links; the last component need not exist yet), and so is a path up to its first pattern.  So
 * every name of a file has the same result, except for hard links.
 */
#ifndef ZC_PATHS_H
#define ZC_PATHS_H

#include <stdbool.h>

/* Whether the file `name` is selected by `list`: 1 or 0; a negative errno, explained, if the list
 * is wrong. A name that cannot be resolved is not selected. Calls the file system. */
int zc_paths_select(const char *list, const char *name);

#endif
