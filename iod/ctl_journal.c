/* ctl_journal.c - list, show, replay and drop of a journal, without its daemon.
 *
 * A replay writes what is not stored into the files, syncs them, and deletes the journal's segments
 * when all of it is written.  What may not be written (zc_journal_offline.h) is left, unless
 * --force says so; another file than the one that bytes are for is never written to.
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "ctl_journal.h"
#include "ctl_json.h"
#include "zc_error.h"
#include "zc_journal_offline.h"
#include "zc_log.h"
#include "zc_store.h"
#include "zc_store_posix.h"
#include "zc_units.h"

/* A file of the image, and what becomes of it. */
struct target {
    struct zc_sfile *sfile; /* NULL: it is not written to, ... */
    struct zc_error error;  /* ... because of this */
    char *path;
    uint64_t bytes, written;
};

struct run {
    const struct ctl_journal *c;
    struct zc_journal *image;
    struct zc_image_info info;
    const char *fence; /* why nothing of it may be written; NULL: it may */
    json_t *out;       /* NULL: as text */
    struct zc_store *store;
    struct target *targets; /* by number */
    uint32_t ntargets;
    uint64_t files, bytes;
    bool failed;
};

static void complain(struct run *r, const char *text)
{
    fflush(stdout);
    fprintf(stderr, "zcachectl: %s\n", text);
    r->failed = true;
}

static const char *size(uint64_t bytes, char buf[32])
{
    return zc_format_size(bytes, buf, 32);
}

/* ---- list ---- */

static int count_file(void *arg, const struct zc_image_file *f)
{
    struct run *r = arg;

    r->files++;
    r->bytes += f->bytes;
    return 0;
}

static void list_text(const struct run *r, const char *dir)
{
    char a[32], b[32];

    printf("%s: %s%s%s\n", dir, r->info.aside ? "set aside" : "a journal",
           *r->info.reason ? ": " : "", r->info.reason);
    if (r->info.segments == 0) {
        printf("  empty\n");
        return;
    }
    printf("  root %s, seat %016" PRIx64 ", generation %" PRIu64 "\n", r->info.root, r->info.seat,
           r->info.generation);
    printf("  %s in %u segment%s; not stored: %s of %" PRIu64 " file%s\n", size(r->info.bytes, a),
           r->info.segments, r->info.segments == 1 ? "" : "s", size(r->bytes, b), r->files,
           r->files == 1 ? "" : "s");
    if (r->info.damaged)
        printf("  damaged in %u place%s\n", r->info.damaged, r->info.damaged == 1 ? "" : "s");
}

static void add(json_t *o, const char *name, uint64_t value)
{
    json_object_set_new(o, name, json_integer((json_int_t)value));
}

static void list_json(const struct run *r, const char *dir)
{
    json_t *o = json_object();
    char seat[20];

    snprintf(seat, sizeof seat, "%016" PRIx64, r->info.seat);
    json_object_set_new(o, "directory", ctl_json_text(dir));
    json_object_set_new(o, "set_aside", json_boolean(r->info.aside));
    json_object_set_new(o, "reason", ctl_json_text(r->info.reason));
    json_object_set_new(o, "root", ctl_json_text(r->info.root));
    json_object_set_new(o, "seat", json_string(seat));
    add(o, "generation", r->info.generation);
    add(o, "segments", r->info.segments);
    add(o, "segment_bytes", r->info.bytes);
    add(o, "files", r->files);
    add(o, "unstored_bytes", r->bytes);
    add(o, "damaged", r->info.damaged);
    json_array_append_new(r->out, o);
}

static void list_one(struct run *r, const char *dir)
{
    const struct zc_image_walk walk = {.arg = r, .file = count_file};
    int rc = zc_image_open(dir, false, &r->image);

    r->files = r->bytes = 0;
    if (rc == 0)
        rc = zc_image_walk(r->image, &walk);
    if (rc < 0) {
        complain(r, zc_error_text(rc));
    } else {
        zc_image_info(r->image, &r->info);
        if (r->out)
            list_json(r, dir);
        else
            list_text(r, dir);
    }
    zc_image_close(r->image);
    r->image = NULL;
}

static int is_aside(const struct dirent *e)
{
    const char *end = e->d_name + strlen(e->d_name);

    return strncmp(e->d_name, "set-aside.", 10) == 0 && end[-1] >= '0' && end[-1] <= '9';
}

/* The journal, and what it has set aside. */
static void list(struct run *r)
{
    struct dirent **names = NULL;
    int n;

    list_one(r, r->c->dir);
    n = scandir(r->c->dir, &names, is_aside, versionsort);
    for (int i = 0; i < n; i++) {
        char *path = NULL;

        if (asprintf(&path, "%s/%s", r->c->dir, names[i]->d_name) > 0)
            list_one(r, path);
        free(path);
        free(names[i]);
    }
    free(names);
}

/* ---- show ---- */

static json_t *ranges_json(const struct zc_image_file *f)
{
    json_t *list = json_array();

    for (unsigned i = 0; i < f->n; i++) {
        json_t *o = json_object();

        add(o, "offset", f->spans[i].lo);
        add(o, "length", f->spans[i].hi - f->spans[i].lo);
        json_array_append_new(list, o);
    }
    return list;
}

static int show_file(void *arg, const struct zc_image_file *f)
{
    const struct run *r = arg;
    json_t *o;

    if (!r->out) {
        printf("%s: %" PRIu64 " bytes:", f->path, f->bytes);
        for (unsigned i = 0; i < f->n; i++)
            printf("%s %" PRIu64 "-%" PRIu64, i ? "," : "", f->spans[i].lo, f->spans[i].hi - 1);
        printf("%s\n", f->n == ZC_JOURNAL_SPANS ? " (not all of the last)" : "");
        return 0;
    }
    o = json_object();
    json_object_set_new(o, "path", ctl_json_text(f->path));
    add(o, "inode", f->noted.ino);
    add(o, "unstored_bytes", f->bytes);
    json_object_set_new(o, "ranges", ranges_json(f));
    json_array_append_new(r->out, o);
    return 0;
}

static int show(struct run *r)
{
    const struct zc_image_walk walk = {.arg = r, .file = show_file};

    return zc_image_walk(r->image, &walk);
}

/* ---- replay ---- */

static struct target *target_of(struct run *r, uint32_t number)
{
    struct target *more;

    if (number >= r->ntargets) {
        more = realloc(r->targets, (number + 64) * sizeof *more);
        if (!more)
            return NULL;
        memset(more + r->ntargets, 0, (number + 64 - r->ntargets) * sizeof *more);
        r->targets = more;
        r->ntargets = number + 64;
    }
    return &r->targets[number];
}

/* Opens the file at its name if it is the one, and may be written; else t->error says why not. */
static void open_target(struct run *r, const struct zc_image_file *f, struct target *t)
{
    struct zc_attr now = {0};
    const char *why = NULL;
    bool another = false;
    int rc = zc_store_stat(r->store, f->path, &now);

    if (rc == 0)
        why = zc_image_objection(r->image, f, &now, &another);
    if (rc == 0 && !why)
        why = r->fence;
    if (rc == 0 && (!why || (r->c->force && !another))) {
        now.mark = why ? 0 : f->noted.mark; /* shows other journals that another writer came */
        now.set = (struct zc_set){0};
        rc = zc_store_open_file(r->store, f->path, ZC_OPEN_WRITE, 0, &t->sfile, &now);
        why = NULL;
        if (rc == 0 && now.ino != f->noted.ino)
            why = "the file was replaced meanwhile";
    }
    zc_error_keep(&t->error, rc);
    if (rc == 0 && why)
        zc_error_set(&t->error, -ECANCELED, "%s", why);
    if (t->error.rc && t->sfile) {
        zc_store_close_file(t->sfile, ZC_LEVEL_VISIBLE);
        t->sfile = NULL;
    }
}

static int replay_file(void *arg, const struct zc_image_file *f)
{
    struct run *r = arg;
    struct target *t = target_of(r, f->number);

    if (t)
        t->path = strdup(f->path);
    if (!t || !t->path)
        return zc_errorf(ENOMEM, "no memory for %s", f->path);
    t->bytes = f->bytes;
    open_target(r, f, t);
    return 0;
}

static ssize_t replay_read(void *arg, const char *path, void *buf, size_t len, uint64_t off)
{
    const struct run *r = arg;

    return zc_store_read_path(r->store, path, buf, len, off);
}

static int replay_data(void *arg, uint32_t number, uint64_t off, const void *bytes, uint32_t len)
{
    struct run *r = arg;
    struct target *t = &r->targets[number];

    while (t->sfile && !t->error.rc && len > 0) {
        struct iovec iov = {(void *)(uintptr_t)bytes, len};
        ssize_t n = zc_store_pwritev(t->sfile, &iov, 1, off);

        if (n <= 0) {
            zc_error_keep(&t->error, n < 0 ? (int)n : zc_errorf(EIO, "short write"));
            break;
        }
        bytes = (const char *)bytes + n;
        off += (uint64_t)n;
        len -= (uint32_t)n;
        t->written += (uint64_t)n;
    }
    return 0;
}

static void tell_target(const struct run *r, const struct target *t)
{
    json_t *o;

    if (!r->out) {
        printf("%s: %" PRIu64 " bytes %s%s\n", t->path, t->bytes,
               t->error.rc ? "are kept: " : "are written", t->error.text);
        return;
    }
    o = json_object();
    json_object_set_new(o, "path", ctl_json_text(t->path));
    add(o, "unstored_bytes", t->bytes);
    json_object_set_new(o, "written", json_boolean(!t->error.rc));
    json_object_set_new(o, "reason", ctl_json_text(t->error.text));
    json_array_append_new(r->out, o);
}

/* All of it is on the disk, or t->error says why not. */
static void end_target(struct run *r, struct target *t)
{
    int rc = t->sfile && !t->error.rc ? zc_store_sync(t->sfile, ZC_LEVEL_DURABLE) : 0;
    int rc_close = t->sfile ? zc_store_close_file(t->sfile, ZC_LEVEL_DURABLE) : 0;

    zc_error_join(&t->error, rc < 0 ? rc : rc_close);
    tell_target(r, t);
    r->failed = r->failed || t->error.rc;
    free(t->path);
}

static int damage(const struct run *r)
{
    return r->info.damaged && !r->c->force
               ? zc_errorf(EBADMSG,
                           "journal %s is damaged in %u place%s: --force writes what can be read, "
                           "and deletes the rest",
                           r->c->dir, r->info.damaged, r->info.damaged == 1 ? "" : "s")
               : 0;
}

static int replay(struct run *r)
{
    const struct zc_image_walk walk = {
        .arg = r, .file = replay_file, .data = replay_data, .read = replay_read};
    int rc = damage(r);

    if (rc == 0)
        rc = zc_image_fence(r->image, &r->fence);
    if (rc < 0 && r->c->force)
        rc = 0;
    if (r->info.aside && !r->fence)
        r->fence = "it was set aside";
    if (rc == 0)
        rc = zc_store_posix_create(NULL, &r->store);
    if (rc == 0)
        rc = zc_image_walk(r->image, &walk);
    for (uint32_t i = 0; i < r->ntargets; i++)
        if (r->targets[i].path)
            end_target(r, &r->targets[i]);
    free(r->targets);
    zc_store_destroy(r->store);
    if (rc == 0 && r->failed && !r->c->force)
        complain(r, "not all of it is written, and it stays; --force writes what was kept back");
    return rc == 0 && !r->failed ? zc_image_remove(r->image) : rc;
}

/* ---- all of them ---- */

static int drop(struct run *r)
{
    const struct zc_image_walk walk = {.arg = r, .file = count_file};
    char buf[32];
    int rc = zc_image_walk(r->image, &walk);

    if (rc == 0)
        rc = zc_image_remove(r->image);
    if (rc < 0)
        return rc;
    if (r->out)
        list_json(r, r->c->dir);
    else
        printf("%s: %s of %" PRIu64 " file%s are given up\n", r->c->dir, size(r->bytes, buf),
               r->files, r->files == 1 ? "" : "s");
    return 0;
}

static const struct action {
    const char *name, *list; /* of what its JSON object has a list */
    bool change;
    int (*run)(struct run *r);
} actions[] = {
    {"list", "journals", false, NULL},
    {"show", "files", false, show},
    {"replay", "files", true, replay},
    {"drop", "journals", true, drop},
    {0},
};

static const struct action *find(const char *name)
{
    for (const struct action *a = actions; a->name; a++)
        if (strcmp(a->name, name) == 0)
            return a;
    return NULL;
}

bool ctl_journal_knows(const char *action)
{
    return find(action);
}

static void print_json(const struct run *r, const struct action *a)
{
    json_t *o = json_object();

    json_object_set_new(o, "command", json_string("journal"));
    json_object_set_new(o, "action", json_string(a->name));
    json_object_set_new(o, a->list, r->out);
    json_dumpf(o, stdout, JSON_INDENT(2));
    printf("\n");
    json_decref(o);
}

int ctl_journal_run(const struct ctl_journal *c)
{
    const struct action *a = find(c->action);
    struct run r = {.c = c, .out = c->json ? json_array() : NULL};
    int rc = 0;

    if (!a->run)
        list(&r);
    else
        rc = zc_image_open(c->dir, a->change, &r.image);
    if (rc == 0 && a->run) {
        zc_image_info(r.image, &r.info);
        rc = a->run(&r);
    }
    if (rc < 0)
        complain(&r, zc_error_text(rc));
    zc_image_close(r.image);
    if (c->json)
        print_json(&r, a);
    return r.failed ? 1 : 0;
}
