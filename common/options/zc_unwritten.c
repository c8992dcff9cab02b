/* zc_unwritten.c - publishes the bytes that caches of this process have not written back. */
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "zc_fd.h"
#include "zc_lock.h"
#include "zc_log.h"
#include "zc_options.h"
#include "zc_unwritten.h"

enum { MOST = 8192 }; /* entries; further files share the last one */

static struct zc_lock lock = ZC_LOCK_INITIALIZER(ZC_ORDER_PROCESS);

/* Guarded by the lock. */
static bool tried;      /* make() was called */
static uint64_t *bytes; /* each atomic; NULL: disabled */
static char *paths[MOST];
static unsigned npaths;
static int text_fd = -1;
static char *table_name, *text_name;

/* Writes a path as one line; control characters become '?'. */
static bool put_line(const char *path)
{
    size_t len = strlen(path);
    char *line = malloc(len + 2);
    bool ok;

    if (!line)
        return false;
    for (size_t i = 0; i < len; i++)
        line[i] = iscntrl((unsigned char)path[i]) ? '?' : path[i];
    line[len] = '\n';
    ok = write(text_fd, line, len + 1) == (ssize_t)len + 1;
    free(line);
    return ok;
}

/* Creates the table and allocates its blocks: a write to a hole on a full disk would kill the
 * process.
 */
static int make_table(const char *dir)
{
    int fd, rc;

    if (asprintf(&table_name, "%s/XXXXXX.bytes", dir) < 0)
        return -ENOMEM;
    fd = mkostemps(table_name, (int)strlen(".bytes"), O_CLOEXEC);
    if (fd < 0)
        return -errno;
    rc = -posix_fallocate(fd, 0, MOST * sizeof *bytes);
    if (rc == 0) {
        bytes = mmap(NULL, MOST * sizeof *bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        rc = bytes == MAP_FAILED ? -errno : 0;
        bytes = rc ? NULL : bytes;
    }
    close(fd);
    return rc;
}

static int make_text(void)
{
    size_t stem = strlen(table_name) - strlen(".bytes");
    char host[256] = "", line[300];

    if (asprintf(&text_name, "%.*s.paths", (int)stem, table_name) < 0)
        return -ENOMEM;
    text_fd = zc_fd(open(text_name, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_EXCL, 0600));
    if (text_fd < 0)
        return -errno;
    gethostname(host, sizeof host - 1);
    snprintf(line, sizeof line, "%ld %s", (long)getpid(), host);
    npaths = 1;
    return put_line(line) ? 0 : -EIO;
}

static void make(void)
{
    struct zc_settings s;
    int rc = 0;

    zc_assert_held(&lock);
    tried = true;
    if (zc_settings_init(&s) == 0 && s.unwritten) {
        rc = make_table(s.unwritten);
        if (rc == 0)
            rc = make_text();
        if (rc)
            zc_info("%s: what is not written back yet is not kept there: %s", s.unwritten,
                    strerror(-rc));
    }
    zc_settings_free(&s);
    if (rc)
        bytes = NULL;
}

/* Returns the entry of a path, a new one if it has none; 0 on failure. */
static unsigned number_of(const char *path)
{
    for (unsigned i = 1; i < npaths; i++)
        if (paths[i] && !strcmp(paths[i], path))
            return i;
    if (npaths == MOST)
        return MOST - 1;
    if (!put_line(npaths == MOST - 1 ? "(further files)" : path))
        return 0;
    paths[npaths] = strdup(path);
    return npaths++;
}

uint64_t *zc_unwritten_of(const char *path)
{
    unsigned number = 0;

    zc_lock_get(&lock);
    if (!tried)
        make();
    if (bytes)
        number = number_of(path);
    zc_lock_put(&lock);
    return number ? &bytes[number] : NULL;
}

void zc_unwritten_named(void)
{
    zc_lock_get(&lock);
    if (table_name)
        unlink(table_name);
    if (text_name)
        unlink(text_name);
    zc_lock_put(&lock);
}
