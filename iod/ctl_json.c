/* ctl_json.c - answers for programs: sizes in bytes, one object a daemon. */
#include "config.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl_json.h"
#include "ctl_print.h"
#include "ctl_text.h"
#include "zc_wire.h"

json_t *ctl_json_text(const char *s)
{
    char *copy = ctl_text_utf8(s);
    json_t *j = copy ? json_string(copy) : NULL;

    free(copy);
    return j;
}

/* Names, even if all their characters are digits. */
static bool is_text(const char *name)
{
    static const char *const names[] = {"boot",     "host",  "libfabric",
                                        "provider", "state", "version"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static json_t *json_value(const char *name, const char *value)
{
    uint64_t v;

    if (!is_text(name) && ctl_text_number(value, &v))
        return json_integer((json_int_t)v);
    return ctl_json_text(value);
}

static json_t *json_pairs(char *text)
{
    json_t *o = json_object();
    char *name, *value;

    while (ctl_text_pair(&text, &name, &value))
        json_object_set_new(o, name, json_value(name, value));
    return o;
}

static json_t *json_files(char *text)
{
    json_t *list = json_array();
    struct ctl_file f;

    while (ctl_text_file(&text, &f)) {
        json_t *o = json_object();

        json_object_set_new(o, "path", ctl_json_text(f.path));
        json_object_set_new(o, "handles", json_integer((json_int_t)f.handles));
        json_object_set_new(o, "size_bytes", json_integer((json_int_t)f.size));
        json_object_set_new(o, "cached_bytes", json_integer((json_int_t)f.cached));
        json_object_set_new(o, "dirty_bytes", json_integer((json_int_t)f.dirty));
        json_object_set_new(o, "failed_bytes", json_integer((json_int_t)f.failed));
        json_object_set_new(o, "lost_bytes", json_integer((json_int_t)f.lost));
        json_object_set_new(o, "error",
                            f.error ? ctl_json_text(strerror(abs(f.error))) : json_null());
        json_array_append_new(list, o);
    }
    return list;
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

static json_t *json_daemon(const struct ctl_command *cmd, struct ctl_daemon *d)
{
    json_t *o = ctl_json_who(d->name, d->path, d->found ? &d->addr : NULL);

    if (d->rc < 0)
        json_object_set_new(o, "error", ctl_json_text(d->error));
    else if (cmd->counts)
        json_object_set_new(o, "bytes", json_integer((json_int_t)d->count));
    else if (cmd->what == ZC_INFO_FILES)
        json_object_set_new(o, cmd->name, json_files(d->text));
    else if (!cmd->control)
        json_object_set_new(o, cmd->name, json_pairs(d->text));
    return o;
}

/* Daemons, and why there are none; both may be NULL. */
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
