/* fuzz_texts.c - any bytes as an address file, or as the daemon's configuration file.
 *
 * The first byte chooses which.  What is taken is written again, and read as the same.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz.h"
#include "iod_config.h"
#include "iod_ini.h"
#include "zc_addrfile.h"
#include "zc_log.h"
#include "zc_options.h"

static char dir[] = "/tmp/fuzz-texts.XXXXXX";

static void tidy(void)
{
    rmdir(dir);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    fuzz_log();
    REQUIRE(mkdtemp(dir) != NULL, "%s: %s", dir, strerror(errno));
    atexit(tidy);
    return 0;
}

static void explained(int rc)
{
    REQUIRE(rc == 0 || strcmp(zc_error_text(rc), strerror(-rc)) != 0, "the error has no reason: %d",
            rc);
}

/* ---- address files ---- */

/* A value with a carriage return in it is taken and not given. */
static int in_one_line(const struct zc_addrfile *a)
{
    return !strpbrk(a->provider, "\r") && !strpbrk(a->host, "\r") && !strpbrk(a->root, "\r");
}

static void address_file(const char *path)
{
    struct zc_addrfile a, b;
    char copy[64];
    int rc = zc_addrfile_read(path, &a);

    explained(rc);
    if (rc)
        return;
    snprintf(copy, sizeof copy, "%s/a", dir);
    rc = zc_addrfile_write(copy, &a);
    REQUIRE((rc == 0) == in_one_line(&a), "%s", zc_error_text(rc));
    if (rc)
        return;
    memset(&b, 0xee, sizeof b);
    rc = zc_addrfile_read(copy, &b);
    REQUIRE(rc == 0, "%s", zc_error_text(rc));
    unlink(copy);
    REQUIRE(a.protocol == b.protocol && a.pid == b.pid && a.boot_id == b.boot_id, "pid %ld", a.pid);
    REQUIRE(memcmp(&a.secret, &b.secret, sizeof a.secret) == 0, "another secret");
    REQUIRE(strcmp(a.provider, b.provider) == 0, "%s", a.provider);
    REQUIRE(strcmp(a.host, b.host) == 0, "%s", a.host);
    REQUIRE(strcmp(a.root, b.root) == 0, "%s", a.root);
    REQUIRE(a.address_len == b.address_len && memcmp(a.address, b.address, a.address_len) == 0,
            "%zu bytes", a.address_len);
    REQUIRE(a.local_len == b.local_len && memcmp(a.local, b.local, a.local_len) == 0, "%zu bytes",
            a.local_len);
}

/* ---- configuration files ---- */

/* A value in force is shown as text that gives the same value. */
static void shown_again(struct zc_settings *s, const struct zc_option *o)
{
    char text[8192], again[8192];
    int rc;

    zc_option_show(s, o, text, sizeof text);
    if (!zc_option_given(s, o))
        return;
    rc = zc_option_set(s, o, text);
    REQUIRE(rc == 0, "%s = %s: %s", o->name, text, zc_error_text(rc));
    zc_option_show(s, o, again, sizeof again);
    REQUIRE(strcmp(text, again) == 0, "%s: %s became %s", o->name, text, again);
}

static void configuration(const char *path)
{
    struct zc_settings s;
    int rc = zc_settings_init(&s);

    REQUIRE(rc == 0, "%s", zc_error_text(rc));
    zc_error_clear();
    rc = iod_ini_read(path, &s);
    explained(rc);
    if (rc)
        REQUIRE(strncmp(zc_error_text(rc), path, strlen(path)) == 0, "no place: %s",
                zc_error_text(rc));
    for (const struct zc_option *o = zc_options; o->name && rc == 0; o++)
        if (o->scope & ZC_SCOPE_FILE)
            shown_again(&s, o);
    if (rc == 0) {
        zc_error_clear();
        explained(iod_config_check(&s));
    }
    zc_settings_free(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    char path[64];
    int fd;

    if (len == 0)
        return 0;
    fd = memfd_create("text", MFD_CLOEXEC);
    REQUIRE(fd >= 0 && fchmod(fd, 0600) == 0, "%s", strerror(errno));
    REQUIRE(write(fd, data + 1, len - 1) == (ssize_t)(len - 1), "%s", strerror(errno));
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (data[0] & 1)
        configuration(path);
    else
        address_file(path);
    close(fd);
    return 0;
}
