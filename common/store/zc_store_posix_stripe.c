/* zc_store_posix_stripe.c - placement of a file: which daemons own its blocks, and the stripe size
 * its file system uses.
 *
 * The first daemon at which a file is opened decides for all jobs.  The placement that the creator
 * of the file asked for is stored in an extended attribute, and so lasts as long as the file; on a
 * file system without extended attributes it lasts only while the daemon has the file open or
 * cached.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>

#include "zc_log.h"
#include "zc_store_posix_internal.h"

/* "WIDTH FIRST", decimal: struct zc_stripe. */
#define ATTRIBUTE "user.zcache.stripe"

/* Reads the attribute.  False: the file has no such attribute, or it is another text; neither
 * number is changed. */
static bool kept(int fd, uint32_t *width, uint32_t *first)
{
    char text[32], rest;
    uint32_t w, f;
    ssize_t len = fgetxattr(fd, ATTRIBUTE, text, sizeof text - 1);

    if (len < 0)
        return false;
    text[len] = 0;
    if (sscanf(text, "%u %u%c", &w, &f, &rest) != 2)
        return false;
    *width = w;
    *first = f;
    return true;
}

static void keep(const struct posix_file *f, const struct zc_attr *attr)
{
    char text[32];
    int len = snprintf(text, sizeof text, "%u %u", attr->width, attr->first);

    if (fsetxattr(f->fd, ATTRIBUTE, text, (size_t)len, 0) < 0)
        zc_debug("%s: striping_factor and start_iodevice are kept in memory alone: %s", f->path,
                 strerror(errno));
}

void zc_posix_stripe_open(const struct posix_file *f, unsigned flags, bool created,
                          const struct zc_attr *wish, struct zc_attr *attr)
{
    attr->width = wish->width;
    attr->first = wish->first;
    if (wish->set.count < 2 || flags & ZC_OPEN_PLACED)
        return;
    if (!created && kept(f->fd, &attr->width, &attr->first))
        return;
    if (attr->first == ZC_FIRST_ANY)
        attr->first = (uint32_t)(f->ino % wish->set.count);
    if (created && (attr->width || attr->first))
        keep(f, attr);
}

/* The beginning of Lustre's extended attribute lustre.lov (struct lov_user_md_v1 and _v3), in the
 * host's byte order. */
enum { LOV_V1 = 0x0bd10bd0, LOV_V3 = 0x0bd30bd0, LOV_STRIPE_SIZE_AT = 24, LOV_MAX = 64 << 10 };

static const char lov_name[] = "lustre.lov";

static uint64_t lustre_stripe(int fd)
{
    ssize_t len = fgetxattr(fd, lov_name, NULL, 0);
    uint32_t magic = 0, size = 0;
    char *lov;

    if (len < (ssize_t)(LOV_STRIPE_SIZE_AT + sizeof size) || len > LOV_MAX)
        return 0;
    lov = malloc((size_t)len);
    if (lov && fgetxattr(fd, lov_name, lov, (size_t)len) == len) {
        memcpy(&magic, lov, sizeof magic);
        memcpy(&size, lov + LOV_STRIPE_SIZE_AT, sizeof size);
    }
    free(lov);
    return magic == LOV_V1 || magic == LOV_V3 ? size : 0;
}

uint64_t zc_posix_store_unit(int fd, const struct stat *st)
{
    uint64_t stripe = lustre_stripe(fd);

    return stripe ? stripe : st->st_blksize > 0 ? (uint64_t)st->st_blksize : 0;
}
