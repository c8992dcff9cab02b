/* zc_memory_limit.c - the limits on the memory of this process.
 *
 * /proc/self/cgroup names the group of this process in each hierarchy, /proc/self/mountinfo where
 * hierarchies are mounted, and which of their groups is seen there; cgroups(7), proc(5).
 */
#include "config.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "zc_fd.h"
#include "zc_memory_limit.h"

enum {
    NAME_MAX_HERE = 4096,
    LINE_MAX_HERE = 8192,
    UNDER_MAX = 255,
};

/* Version 1 has a limit of every group; this or more is none (PAGE_COUNTER_MAX in pages). */
static const uint64_t no_limit = (uint64_t)1 << 62;

struct search {
    const char *under;
    void (*fn)(void *arg, const struct zc_memory_limit *);
    void *arg;
};

static void found(const struct search *s, uint64_t bytes, bool shared, const char *text,
                  const char *path)
{
    struct zc_memory_limit l = {.bytes = bytes, .shared = shared};

    snprintf(l.text, sizeof l.text, "%s%.*s", text, ZC_MEMORY_LIMIT_TEXT - 40, path);
    s->fn(s->arg, &l);
}

/* ---- lines of a file ---- */

struct lines {
    int fd;
    size_t at, len; /* of what was read and not returned yet */
    char buf[LINE_MAX_HERE];
};

static bool open_lines(struct lines *f, const struct search *s, const char *name)
{
    char path[UNDER_MAX + NAME_MAX_HERE];

    snprintf(path, sizeof path, "%.*s%s", UNDER_MAX, s->under, name);
    f->fd = zc_fd(open(path, O_RDONLY | O_CLOEXEC));
    f->at = f->len = 0;
    return f->fd >= 0;
}

/* Returns the next line without its newline; NULL at the end, where the file is closed.  A line
 * that does not fit is cut into several. */
static char *next_line(struct lines *f)
{
    char *line = f->buf + f->at, *end = memchr(line, '\n', f->len);
    ssize_t n;

    if (!end) {
        memmove(f->buf, line, f->len);
        line = f->buf;
        f->at = 0;
        while (!end && f->len < sizeof f->buf - 1 &&
               (n = read(f->fd, f->buf + f->len, sizeof f->buf - 1 - f->len)) > 0) {
            f->len += (size_t)n;
            end = memchr(line, '\n', f->len);
        }
        if (f->len == 0) {
            close(f->fd);
            return NULL;
        }
    }
    if (!end) {
        f->buf[f->len] = '\0';
        f->at = f->len = 0;
        return line;
    }
    *end = '\0';
    f->len -= (size_t)(end + 1 - line);
    f->at = (size_t)(end + 1 - f->buf);
    return line;
}

/* ---- control groups ---- */

/* Returns the number in a file; UINT64_MAX: none, such as "max". */
static uint64_t number_in(const struct search *s, const char *dir, const char *file)
{
    char path[NAME_MAX_HERE + 64], *end;
    uint64_t n = UINT64_MAX;
    struct lines f;
    const char *line;

    snprintf(path, sizeof path, "%s/%s", dir, file);
    if (!open_lines(&f, s, path))
        return n;
    line = next_line(&f);
    if (!line)
        return n;
    n = strtoull(line, &end, 10);
    if (end == line || *end || n >= no_limit)
        n = UINT64_MAX;
    close(f.fd);
    return n;
}

static void group(const struct search *s, const char *dir, bool v2)
{
    static const char *const files[2][2] = {{"memory.limit_in_bytes", NULL},
                                            {"memory.max", "memory.high"}};

    for (int i = 0; i < 2; i++) {
        const char *file = files[v2][i];
        uint64_t bytes = file ? number_in(s, dir, file) : UINT64_MAX;
        char path[NAME_MAX_HERE + 64];

        if (bytes == UINT64_MAX)
            continue;
        snprintf(path, sizeof path, "%s/%s", dir, file);
        found(s, bytes, true, "", path);
    }
}

/* The group `path` of a hierarchy mounted at `mount`, and those that it is in. */
static void groups(const struct search *s, const char *mount, const char *path, bool v2)
{
    char dir[NAME_MAX_HERE];
    size_t top = strlen(mount);
    int n = snprintf(dir, sizeof dir, "%s%s", mount, strcmp(path, "/") ? path : "");

    if (n < 0 || (size_t)n >= sizeof dir)
        return;
    for (;;) {
        group(s, dir, v2);
        if (strlen(dir) <= top)
            return;
        *strrchr(dir, '/') = '\0';
    }
}

/* Undoes the escapes of mountinfo: "\040" is a blank. */
static void unescape(char *s)
{
    char *to = s;

    for (; *s; s++) {
        unsigned c;

        if (*s == '\\' && sscanf(s + 1, "%3o", &c) == 1) {
            *to++ = (char)c;
            s += 3;
        } else {
            *to++ = *s;
        }
    }
    *to = '\0';
}

/* A mount in a container may show only the part of the hierarchy below the group `root`.  Returns
 * `path` relative to that; NULL: it is not in that part, or is relative to it already. */
static const char *path_below(const char *root, const char *path)
{
    size_t len = strlen(root);

    if (!strcmp(root, "/"))
        return path;
    if (strncmp(path, root, len) != 0 || (path[len] && path[len] != '/'))
        return NULL;
    return path[len] ? path + len : "/";
}

/* Whether a comma-separated list has the word. */
static bool has_word(const char *list, const char *word)
{
    size_t len = strlen(word);

    for (const char *p = list; *p; p += strcspn(p, ",") + (p[strcspn(p, ",")] == ','))
        if (strcspn(p, ",") == len && strncmp(p, word, len) == 0)
            return true;
    return false;
}

/* Whether a line of mountinfo is a mount of the hierarchy; cuts it into *root, the group that is
 * mounted, and *mount, where. */
static bool is_mount(char *line, bool v2, char **root, char **mount)
{
    char *sep = strstr(line, " - "), *type, *save, *options;

    if (!sep)
        return false;
    type = strtok_r(sep + 3, " ", &save);
    strtok_r(NULL, " ", &save); /* what is mounted */
    options = strtok_r(NULL, " ", &save);
    if (!type || !options || strcmp(type, v2 ? "cgroup2" : "cgroup") ||
        (!v2 && !has_word(options, "memory")))
        return false;
    strtok_r(line, " ", &save);
    strtok_r(NULL, " ", &save);
    strtok_r(NULL, " ", &save);
    *root = strtok_r(NULL, " ", &save);
    *mount = strtok_r(NULL, " ", &save);
    if (!*root || !*mount)
        return false;
    unescape(*root);
    unescape(*mount);
    return true;
}

/* Looks at the group and those above it in the first mount that shows it; with `any`, in the first
 * mount of the hierarchy, `path` being relative to its root.  Returns whether there is such a
 * mount.
 */
static bool look_in_mount(const struct search *s, const char *path, bool v2, bool any)
{
    struct lines f;
    char *line, *root, *mount;
    bool done = false;

    if (!open_lines(&f, s, "/proc/self/mountinfo"))
        return false;
    while ((line = next_line(&f))) {
        const char *below;

        if (done || !is_mount(line, v2, &root, &mount))
            continue;
        below = path_below(root, path);
        if (!below && any)
            below = path;
        if (below)
            groups(s, mount, below, v2);
        done = below;
    }
    return done;
}

static void hierarchy(const struct search *s, const char *path, bool v2)
{
    if (!look_in_mount(s, path, v2, false))
        look_in_mount(s, path, v2, true);
}

/* Lines are "ID:CONTROLLERS:PATH"; version 2 has ID 0 and no controllers. */
static void control_groups(const struct search *s)
{
    struct lines f;
    char *line;

    if (!open_lines(&f, s, "/proc/self/cgroup"))
        return;
    while ((line = next_line(&f))) {
        char *list = strchr(line, ':'), *path = list ? strchr(list + 1, ':') : NULL;

        if (!path)
            continue;
        *path++ = '\0';
        if (!strcmp(line, "0:"))
            hierarchy(s, path, true);
        else if (has_word(list + 1, "memory"))
            hierarchy(s, path, false);
    }
}

/* ---- all of them ---- */

static void host(const struct search *s)
{
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);

    if (pages > 0 && size > 0)
        found(s, (uint64_t)pages * (uint64_t)size, true, "this host's memory", "");
}

static void own(const struct search *s)
{
    struct rlimit l;

    if (getrlimit(RLIMIT_AS, &l) == 0 && l.rlim_cur != RLIM_INFINITY)
        found(s, l.rlim_cur, false, "ulimit -v", "");
    if (getrlimit(RLIMIT_DATA, &l) == 0 && l.rlim_cur != RLIM_INFINITY)
        found(s, l.rlim_cur, false, "ulimit -d", "");
}

void zc_memory_limit_each_under(const char *under,
                                void (*fn)(void *arg, const struct zc_memory_limit *), void *arg)
{
    const struct search s = {under, fn, arg};

    host(&s);
    control_groups(&s);
    own(&s);
}

void zc_memory_limit_each(void (*fn)(void *arg, const struct zc_memory_limit *), void *arg)
{
    zc_memory_limit_each_under("", fn, arg);
}

static void lower(void *arg, const struct zc_memory_limit *l)
{
    struct zc_memory_limits *all = arg;
    struct zc_memory_limit *least = l->shared ? &all->shared : &all->own;

    if (l->bytes < least->bytes)
        *least = *l;
}

void zc_memory_limits_find(struct zc_memory_limits *out)
{
    *out = (struct zc_memory_limits){.shared = {.bytes = UINT64_MAX, .shared = true},
                                     .own = {.bytes = UINT64_MAX}};
    zc_memory_limit_each(lower, out);
}
