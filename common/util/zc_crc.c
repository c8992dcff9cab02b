/* zc_crc.c - CRC-32C by ISA-L. */
#include "config.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "zc_crc.h"
#include "zc_log.h"

enum { STEP = 1 << 30 }; /* the library counts bytes in an int */

/* The function that <isa-l/crc.h> declares. */
static unsigned (*crc32_iscsi)(unsigned char *buf, int len, unsigned init);
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int status;
static char why[200];

static void fail(int err)
{
    const char *text = dlerror();

    status = -err;
    strncpy(why, text ? text : "it has no crc32_iscsi", sizeof why - 1);
}

static void load(void)
{
    void *lib = dlopen("libisal.so.2", RTLD_NOW | RTLD_LOCAL);

    if (!lib) {
        fail(ENOENT);
        return;
    }
    *(void **)&crc32_iscsi = dlsym(lib, "crc32_iscsi");
    if (!crc32_iscsi)
        fail(ELIBBAD);
}

int zc_crc_load(void)
{
    pthread_once(&once, load);
    return status ? zc_errorf(-status,
                              "no checksums without ISA-L: %s (Debian: apt-get install libisal2; "
                              "or zcache_checksum=off)",
                              why)
                  : 0;
}

uint32_t zc_crc(const void *buf, size_t len)
{
    unsigned char *at = (unsigned char *)(uintptr_t)buf; /* only read */
    uint32_t crc = UINT32_MAX;

    while (len) {
        size_t n = len < STEP ? len : STEP;

        crc = crc32_iscsi(at, (int)n, crc);
        at += n;
        len -= n;
    }
    return ~crc;
}
