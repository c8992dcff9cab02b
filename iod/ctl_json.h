/* ctl_json.h - parts of answers in JSON.  The caller owns values returned, unless noted. */
#ifndef CTL_JSON_H
#define CTL_JSON_H

#include <jansson.h>

#include "zc_addrfile.h"

struct zc_client;

/* Returns a text of a daemon, or a file name; bytes that are not UTF-8 become U+FFFD. */
json_t *ctl_json_text(const char *s);

/* Returns an object that identifies a daemon; addr NULL: its address file could not be read. */
json_t *ctl_json_who(const char *name, const char *path, const struct zc_addrfile *addr);

/* Asks a daemon for members of its document (enum zc_info, added up).  0, or a negative errno
 * explained by zc_errorf(). */
int ctl_json_ask(struct zc_client *c, uint32_t what, json_t **document);

/* Returns a value of a member of a document, which owns it; NULL: there is none. */
json_t *ctl_json_value(const json_t *document, const char *member, const char *name);
/* Return it as a number, or 0; as a text, or "-". */
uint64_t ctl_json_number(const json_t *document, const char *member, const char *name);
const char *ctl_json_string(const json_t *document, const char *member, const char *name);

/* Returns a property of a counter in a document ("kind", "unit", "help"), or "". */
const char *ctl_json_about(const json_t *document, const char *counter, const char *what);

#endif
