/* ctl_json.h - pieces of JSON that several answers have.  The caller owns what is returned. */
#ifndef CTL_JSON_H
#define CTL_JSON_H

#include <jansson.h>

#include "zc_addrfile.h"

/* Text of a daemon or a file name need not be UTF-8; what is not is U+FFFD. */
json_t *ctl_json_text(const char *s);

/* Which daemon it is; addr NULL: its address file tells nothing. */
json_t *ctl_json_who(const char *name, const char *path, const struct zc_addrfile *addr);

#endif
