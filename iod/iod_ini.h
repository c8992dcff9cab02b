/* iod_ini.h - the configuration file: "name = value" lines, the names of the flags. */
#ifndef IOD_INI_H
#define IOD_INI_H

#include "zc_options.h"

/* Sets the values of the file in *s.  Returns 0, or a negative errno explained as "FILE:LINE: ...".
 */
int iod_ini_read(const char *path, struct zc_settings *s);

#endif
