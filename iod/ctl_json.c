/* ctl_json.c - answers in JSON: one object for each daemon, sizes in bytes. */
#include "config.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "ctl_json.h"
#include "ctl_print.h"
#include "zc_client.h"
#include "zc_log.h"
#include "zc_utf8.h"

json_t *ctl_json_text(const char *s)
{
    char *copy = zc_utf8_copy(s);
    json_t *j = copy ? json_string(copy) : NULL;

    free(copy);
    return j;
}

json_t *ctl_json_who(const char *name, const char *path, const struct zc_addrfile *addr)
{
    json_t *o = json_object();

    json_object_set_new(o, "name", ctl_json_text(name));
    json_object_set_new(o, "address_file", ctl_json_text(path));
    if (addr) {
        json_object_set_new(o, "host", ctl_json_text(addr->host));
        json_object_set_new(o, "pid", json_integer(addr->pid));
        json_object_set_new(o, "root", ctl_json_text(addr->root));
    }
    return o;
}

/* ---- a daemon's document ---- */

int ctl_json_ask(struct zc_client *c, uint32_t what, json_t **document)
{
    json_error_t error;
    char *text;
    int rc = zc_client_info(c, what, &text);

    if (rc < 0)
        return rc;
    *document = json_loads(text, 0, &error);
    free(text);
    return *document ? 0 : zc_errorf(EPROTO, "its answer is no JSON: %s", error.text);
}

json_t *ctl_json_value(const json_t *document, const char *member, const char *name)
{
    return json_object_get(json_object_get(document, member), name);
}

uint64_t ctl_json_number(const json_t *document, const char *member, const char *name)
{
    json_int_t v = json_integer_value(ctl_json_value(document, member, name));

    return v > 0 ? (uint64_t)v : 0;
}

const char *ctl_json_string(const json_t *document, const char *member, const char *name)
{
    const char *s = json_string_value(ctl_json_value(document, member, name));

    return s ? s : "-";
}

const char *ctl_json_about(const json_t *document, const char *counter, const char *what)
{
    const json_t *row = ctl_json_value(document, "counters", counter);
    const char *s = json_string_value(json_object_get(row, what));

    return s ? s : "";
}

/* ---- answers ---- */

static json_t *json_daemon(const struct ctl_command *cmd, struct ctl_daemon *d)
{
    json_t *o = ctl_json_who(d->name, d->path, d->found ? &d->addr : NULL);

    if (d->error.rc < 0)
        json_object_set_new(o, "error", ctl_json_text(d->error.text));
    else if (cmd->counts)
        json_object_set_new(o, "bytes", json_integer((json_int_t)d->count));
    else if (!cmd->control)
        json_object_set(o, cmd->name, json_object_get(d->info, cmd->name));
    return o;
}

/* `daemons` NULL: an empty list; `error` NULL: none. */
static void print_object(const char *command, json_t *daemons, const char *error)
{
    json_t *top = json_object();

    json_object_set_new(top, "command", command ? json_string(command) : json_null());
    json_object_set_new(top, "daemons", daemons ? daemons : json_array());
    if (error)
        json_object_set_new(top, "error", ctl_json_text(error));
    json_dumpf(top, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
    putchar('\n');
    json_decref(top);
}

void ctl_print_json(const struct ctl_command *cmd, struct ctl_daemon *d, int n)
{
    json_t *list = json_array();

    for (int i = 0; i < n; i++)
        json_array_append_new(list, json_daemon(cmd, &d[i]));
    print_object(cmd->name, list, NULL);
}

void ctl_print_json_error(const struct ctl_command *cmd, const char *error)
{
    print_object(cmd ? cmd->name : NULL, NULL, error);
}
