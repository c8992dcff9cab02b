/* ctl_json.c - answers for programs: sizes in bytes, one object a daemon. */
#include "config.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl_print.h"
#include "ctl_text.h"
#include "zc_wire.h"

/* Text of a daemon or a file name need not be UTF-8; what is not is replaced. */
static json_t *json_text(const char *s)
{
    json_t *j = json_string(s);
    char *copy;

    if (j)
        return j;
    copy = strdup(s);
    for (char *p = copy; p && *p; p++)
        if ((unsigned char)*p >= 0x80)
            *p = '?';
    j = copy ? json_string(copy) : NULL;
    free(copy);
    return j;
}

/* A boot id is a name, even if all its digits are decimal. */
static json_t *json_value(const char *name, const char *value)
{
    uint64_t v;

    if (strcmp(name, "boot") != 0 && ctl_text_number(value, &v))
        return json_integer((json_int_t)v);
    return json_text(value);
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

        json_object_set_new(o, "path", json_text(f.path));
        json_object_set_new(o, "handles", json_integer((json_int_t)f.handles));
        json_object_set_new(o, "size_bytes", json_integer((json_int_t)f.size));
        json_object_set_new(o, "cached_bytes", json_integer((json_int_t)f.cached));
        json_object_set_new(o, "dirty_bytes", json_integer((json_int_t)f.dirty));
        json_object_set_new(o, "failed_bytes", json_integer((json_int_t)f.failed));
        json_object_set_new(o, "lost_bytes", json_integer((json_int_t)f.lost));
        json_object_set_new(o, "error", f.error ? json_text(strerror(abs(f.error))) : json_null());
        json_array_append_new(list, o);
    }
    return list;
}

static json_t *json_daemon(const struct ctl_command *cmd, struct ctl_daemon *d)
{
    json_t *o = json_object();

    json_object_set_new(o, "name", json_text(d->name));
    json_object_set_new(o, "address_file", json_text(d->path));
    if (d->found) {
        json_object_set_new(o, "host", json_text(d->addr.host));
        json_object_set_new(o, "pid", json_integer(d->addr.pid));
        json_object_set_new(o, "root", json_text(d->addr.root));
    }
    if (d->rc < 0)
        json_object_set_new(o, "error", json_text(d->error));
    else if (cmd->counts)
        json_object_set_new(o, "bytes", json_integer((json_int_t)d->count));
    else if (cmd->what == ZC_INFO_FILES)
        json_object_set_new(o, cmd->name, json_files(d->text));
    else if (!cmd->control)
        json_object_set_new(o, cmd->name, json_pairs(d->text));
    return o;
}

void ctl_print_json(const struct ctl_command *cmd, struct ctl_daemon *d, int n)
{
    json_t *list = json_array(), *top = json_object();

    for (int i = 0; i < n; i++)
        json_array_append_new(list, json_daemon(cmd, &d[i]));
    json_object_set_new(top, "command", json_string(cmd->name));
    json_object_set_new(top, "daemons", list);
    json_dumpf(top, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
    putchar('\n');
    json_decref(top);
}
