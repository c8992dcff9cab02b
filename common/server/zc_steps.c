/* zc_steps.c - steps of files: what is published, and what readers may see (zc_steps.h). */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "zc_lock.h"
#include "zc_log.h"
#include "zc_step_ranges.h"
#include "zc_steps.h"

struct zc_steps_file {
    struct zc_list link; /* zc_steps.files */
    uint64_t dev, ino;
    int64_t born_ns;
    struct zc_list users;
    unsigned writers; /* number of users that write ... */
    bool begun;       /* ... which count */
    const struct zc_steps_user *publisher;
    bool written;            /* a writer has written since the file became known here */
    bool had_writers, close; /* close: those that counted left by closing the file */
    uint64_t left;           /* ns: when the last one left; 0: there are some */

    uint64_t others;              /* where the bytes that bystanders wrote end */
    uint64_t step, size;          /* the last published step */
    uint64_t before, before_size; /* the step before that ... */
    struct zc_step_ranges last;   /* ... and the bytes that have changed since */
    struct zc_step_ranges unfinished;
};

struct zc_steps_user {
    struct zc_list link; /* zc_steps_file.users */
    struct zc_steps_file *file;
    enum zc_steps_role role;
    const void *session;
    bool counts; /* a writer: has begun, or written */
    bool reads;  /* reads a step */
    bool
        free; /* a bystander that reads all bytes: no job wrote steps at its open or last refresh */
    uint64_t step, size;
    struct zc_step_ranges changed; /* bytes of the step that later steps have changed */
};

void zc_steps_init(struct zc_steps *s)
{
    zc_list_init(&s->files);
    s->nfiles = 0;
}

static void file_free(struct zc_steps *s, struct zc_steps_file *f)
{
    zc_list_del(&f->link);
    s->nfiles--;
    zc_step_ranges_clear(&f->last);
    zc_step_ranges_clear(&f->unfinished);
    free(f);
}

void zc_steps_free(struct zc_steps *s)
{
    zc_list_each_safe (&s->files, n)
        file_free(s, zc_list_entry(n, struct zc_steps_file, link));
}

static bool is_of(const struct zc_steps_file *f, const struct zc_attr *a)
{
    return f->dev == a->dev && f->ino == a->ino;
}

/* Whether the inode number belongs to another file now; without birth times, an empty file is taken
 * for one. */
static bool is_another(const struct zc_steps_file *f, const struct zc_attr *a)
{
    if (f->born_ns && a->born_ns)
        return f->born_ns != a->born_ns;
    return zc_list_empty(&f->users) && a->size == 0 && f->size;
}

static struct zc_steps_file *find(struct zc_steps *s, const struct zc_attr *a)
{
    zc_list_each (&s->files, n) {
        struct zc_steps_file *f = zc_list_entry(n, struct zc_steps_file, link);

        if (is_of(f, a) && !is_another(f, a))
            return f;
    }
    return NULL;
}

/* Forgets the least recently used files that are not open. */
static void make_room(struct zc_steps *s)
{
    zc_list_each_safe (&s->files, n) {
        struct zc_steps_file *f = zc_list_entry(n, struct zc_steps_file, link);

        if (s->nfiles < ZC_STEPS_KEPT)
            return;
        if (zc_list_empty(&f->users))
            file_free(s, f);
    }
}

static void forget_another(struct zc_steps *s, const struct zc_attr *a)
{
    zc_list_each_safe (&s->files, n) {
        struct zc_steps_file *f = zc_list_entry(n, struct zc_steps_file, link);

        if (is_of(f, a) && is_another(f, a) && zc_list_empty(&f->users))
            file_free(s, f);
    }
}

static struct zc_steps_file *get(struct zc_steps *s, const struct zc_attr *a)
{
    struct zc_steps_file *f = find(s, a);

    if (f) {
        zc_list_del(&f->link);
        zc_list_add_tail(&s->files, &f->link);
        return f;
    }
    forget_another(s, a);
    make_room(s);
    f = calloc(1, sizeof *f);
    if (!f)
        return NULL;
    f->dev = a->dev;
    f->ino = a->ino;
    f->born_ns = a->born_ns;
    f->size = a->size;
    zc_list_init(&f->users);
    zc_step_ranges_add_all(&f->unfinished); /* until a writer begins */
    zc_list_add_tail(&s->files, &f->link);
    s->nfiles++;
    return f;
}

bool zc_steps_matter(struct zc_steps *s, const struct zc_attr *attr, const void *session)
{
    const struct zc_steps_file *f = find(s, attr);

    if (!f || !f->writers)
        return false;
    zc_list_each (&f->users, n) {
        const struct zc_steps_user *u = zc_list_entry(n, struct zc_steps_user, link);

        if (u->role == ZC_STEPS_WRITER && u->session == session)
            return false;
    }
    return true;
}

static void begun(struct zc_steps_user *writer)
{
    struct zc_steps_file *f = writer->file;

    writer->counts = true;
    if (f->begun)
        return;
    f->begun = f->had_writers = f->close = true;
    f->left = 0;
    zc_list_each (&f->users, n) {
        struct zc_steps_user *u = zc_list_entry(n, struct zc_steps_user, link);

        if (u->free)
            zc_steps_refresh(u);
    }
}

struct zc_steps_user *zc_steps_join(struct zc_steps *s, const struct zc_attr *attr,
                                    enum zc_steps_role role, const void *session)
{
    struct zc_steps_user *u = calloc(1, sizeof *u);

    if (!u)
        return NULL;
    u->file = get(s, attr);
    if (!u->file) {
        free(u);
        return NULL;
    }
    u->role = role;
    u->session = session;
    zc_list_add_tail(&u->file->users, &u->link);
    u->file->writers += role == ZC_STEPS_WRITER;
    zc_steps_refresh(u);
    return u;
}

void zc_steps_leave(struct zc_steps *s, struct zc_steps_user *u, bool closed)
{
    struct zc_steps_file *f;

    if (!u)
        return;
    f = u->file;
    zc_list_del(&u->link);
    if (f->publisher == u)
        f->publisher = NULL;
    f->close = f->close && (closed || !u->counts);
    if (u->role == ZC_STEPS_WRITER && --f->writers == 0 && f->begun) {
        f->begun = false;
        f->left = zc_now();
    }
    zc_step_ranges_clear(&u->changed);
    free(u);
    if (zc_list_empty(&f->users) && !f->had_writers)
        file_free(s, f);
}

/* ---- writers ---- */

static int is_writer(const struct zc_steps_user *u)
{
    if (u->role == ZC_STEPS_WRITER)
        return 0;
    return zc_errorf(EINVAL, "it was not opened to write steps");
}

static int become_publisher(struct zc_steps_user *u)
{
    struct zc_steps_file *f = u->file;
    int rc = is_writer(u);

    if (rc)
        return rc;
    if (f->publisher && f->publisher != u)
        return zc_errorf(
            EBUSY, "another open of it publishes its steps (zcache_steps): one may at a time");
    f->publisher = u;
    begun(u);
    return 0;
}

void zc_steps_begun(struct zc_steps_user *u)
{
    u->file->close = true; /* it died once, and is back */
    begun(u);
}

/* Restarts the numbering of an emptied file; readers of earlier steps can read nothing any more. */
static void begin_anew(struct zc_steps_file *f)
{
    f->step = f->before = f->size = f->before_size = f->others = 0;
    zc_step_ranges_clear(&f->last);
    zc_step_ranges_clear(&f->unfinished);
    f->written = false;
    zc_list_each (&f->users, n)
        zc_step_ranges_add_all(&zc_list_entry(n, struct zc_steps_user, link)->changed);
}

int zc_steps_begin(struct zc_steps_user *u, uint64_t size, uint64_t *step)
{
    struct zc_steps_file *f = u->file;
    int rc = become_publisher(u);

    if (rc)
        return rc;
    if (size == 0 && f->step)
        begin_anew(f);
    if (!f->written && !f->step) { /* no step and no write so far */
        zc_step_ranges_clear(&f->unfinished);
        f->size = size;
        zc_list_each (&f->users, n)
            zc_steps_refresh(zc_list_entry(n, struct zc_steps_user, link));
    }
    *step = f->step;
    return 0;
}

int zc_steps_publish(struct zc_steps_user *u, uint64_t n, uint64_t size)
{
    struct zc_steps_file *f = u->file;
    int rc = become_publisher(u);

    if (rc || n == f->step)
        return rc;
    if (n < f->step)
        return zc_errorf(EINVAL, "step %llu comes after step %llu", (unsigned long long)n,
                         (unsigned long long)f->step);
    zc_list_each (&f->users, l) {
        struct zc_steps_user *r = zc_list_entry(l, struct zc_steps_user, link);

        if (r->reads)
            zc_step_ranges_merge(&r->changed, &f->unfinished);
    }
    zc_step_ranges_clear(&f->last);
    f->last = f->unfinished;
    f->unfinished = (struct zc_step_ranges){0};
    f->before = f->step;
    f->before_size = f->size;
    f->step = n;
    f->size = size;
    return 0;
}

void zc_steps_wrote(struct zc_steps_user *u, uint64_t lo, uint64_t hi)
{
    if (!u)
        return;
    if (u->role != ZC_STEPS_WRITER) {
        if (hi != UINT64_MAX && hi > u->file->others)
            u->file->others = hi;
        return;
    }
    begun(u);
    u->file->written = true;
    zc_step_ranges_add(&u->file->unfinished, lo, hi);
}

void zc_steps_cut(struct zc_steps_user *u, uint64_t size)
{
    if (!u)
        return;
    if (u->role == ZC_STEPS_WRITER) {
        zc_steps_wrote(u, size, UINT64_MAX);
        return;
    }
    u->file->others = size;
    u->size = u->size < size ? u->size : size;
}

/* ---- readers ---- */

static void read_from(struct zc_steps_user *u, uint64_t step, uint64_t size,
                      const struct zc_step_ranges *changed)
{
    zc_step_ranges_clear(&u->changed);
    if (changed)
        zc_step_ranges_merge(&u->changed, changed);
    u->reads = true;
    u->step = step;
    u->size = size;
}

int zc_steps_read(struct zc_steps_user *u, uint64_t n)
{
    const struct zc_steps_file *f = u->file;

    if (u->role == ZC_STEPS_WRITER)
        return zc_errorf(EINVAL, "it was not opened to read steps");
    if (n == 0)
        u->reads = false;
    else if (n == f->step)
        read_from(u, n, f->size, NULL);
    else if (n == f->before)
        read_from(u, n, f->before_size, &f->last);
    else if (!u->reads || n != u->step)
        return zc_errorf(EREMCHG, "step %llu cannot be read here any more, or yet: step %llu can",
                         (unsigned long long)n, (unsigned long long)f->step);
    return 0;
}

void zc_steps_refresh(struct zc_steps_user *u)
{
    if (!u || u->role != ZC_STEPS_BYSTANDER)
        return;
    read_from(u, u->file->step, u->file->size, NULL);
    u->free = !u->file->begun;
}

int zc_steps_check(const struct zc_steps_user *u, uint64_t lo, uint64_t hi)
{
    if (!u || u->role == ZC_STEPS_WRITER || u->free)
        return 0;
    if (!u->reads)
        return zc_errorf(EREMCHG, "no finished step has been waited for (zcache_wait_step), or the "
                                  "one that was cannot be read here any more");
    if (lo >= hi)
        return 0;
    if (!zc_step_ranges_touch(&u->file->unfinished, lo, hi) &&
        !zc_step_ranges_touch(&u->changed, lo, hi))
        return 0;
    return zc_errorf(EREMCHG,
                     "these bytes of step %llu have been overwritten by a later step, which is "
                     "%s: wait for that (zcache_wait_step)",
                     (unsigned long long)u->step,
                     u->file->step > u->step ? "finished" : "not finished");
}

/* Where the file ends for one that does not see all of it. */
static uint64_t end_of(const struct zc_steps_user *u)
{
    uint64_t others = u->role == ZC_STEPS_BYSTANDER ? u->file->others : 0;

    return others > u->size ? others : u->size;
}

uint64_t zc_steps_end(const struct zc_steps_user *u, uint64_t end)
{
    bool ends = u && u->role != ZC_STEPS_WRITER && !u->free && u->reads && end_of(u) < end;

    return ends ? end_of(u) : end;
}

uint64_t zc_steps_size(const struct zc_steps_user *u, uint64_t size)
{
    if (!u || u->role == ZC_STEPS_WRITER || u->free)
        return size;
    if (!u->reads)
        return 0;
    if (size < u->size) /* of the step, whatever became of it */
        size = u->size;
    return size < end_of(u) ? size : end_of(u);
}

/* Whether the file's writers will not come back. */
static bool is_over(const struct zc_steps_file *f)
{
    uint64_t grace = f->close ? 0 : ZC_STEPS_GRACE_MS * ZC_NS_PER_MS;

    return f->had_writers && f->left && !f->writers && zc_now() - f->left >= grace;
}

int zc_steps_there(const struct zc_steps_user *u, uint64_t n, uint64_t *last)
{
    const struct zc_steps_file *f = u->file;

    *last = f->step;
    if (f->step && f->step >= n)
        return 0;
    if (!is_over(f))
        return -EAGAIN;
    if (f->close)
        return zc_errorf(ENODATA,
                         "step %llu does not come: the job that wrote the steps has closed the "
                         "file; step %llu was the last one",
                         (unsigned long long)n, (unsigned long long)f->step);
    return zc_errorf(
        EOWNERDEAD,
        "step %llu does not come: the job that wrote the steps died in step %llu; step "
        "%llu is the last one that is whole",
        (unsigned long long)n, (unsigned long long)f->step + 1, (unsigned long long)f->step);
}

int zc_steps_late(const struct zc_steps_user *u, uint64_t n)
{
    const struct zc_steps_file *f = u->file;

    return zc_errorf(ETIME,
                     "step %llu was not there in time (zcache_wait_limit): %s, and step %llu "
                     "is the last one",
                     (unsigned long long)n,
                     f->writers ? "a job writes steps of the file" : "no job writes steps of it",
                     (unsigned long long)f->step);
}
