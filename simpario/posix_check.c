/*
 * The file as other programs see it.
 *
 * One rank reads it from front to back and compares each piece with the content that has to be
 * there. Opening and reading is as in any benchmark: posix_file.h.
 */
#include "config.h"

#include <stdlib.h>
#include <unistd.h>

#include "posix_check.h"
#include "posix_file.h"

#define PIECE ((size_t)4 << 20)

static void check_contents(int fd, const char *path, const struct content *c, int64_t bytes,
                           bool gaps, struct verdict *v)
{
    char *buf = malloc(PIECE);
    if (buf == NULL) {
        verdict_fault(v, "no memory to read %s", path);
        return;
    }
    for (int64_t offset = 0; offset < bytes;) {
        size_t want = bytes - offset < (int64_t)PIECE ? (size_t)(bytes - offset) : PIECE;
        ssize_t got = posix_file_read(fd, path, buf, want, offset, v);
        if (got < 0)
            break;
        struct content_fault fault;
        int64_t wrong = content_check(c, offset, buf, got, gaps, &fault);
        if (wrong > 0)
            verdict_fault(v, "%s read through POSIX: %s", path, fault.text);
        v->wrong += wrong;
        v->posix_checked += content_bytes(c, offset, got);
        /* The wrong size is reported already. */
        if ((size_t)got < want)
            break;
        offset += got;
    }
    free(buf);
}

void posix_check(const char *path, const struct content *c, int64_t bytes, bool longer_ok,
                 bool gaps, struct verdict *v)
{
    int fd = posix_file_open(path, bytes, longer_ok, v);
    if (fd < 0)
        return;
    check_contents(fd, path, c, bytes, gaps, v);
    close(fd);
}
