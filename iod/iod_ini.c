/* iod_ini.c - reads the configuration file by inih, and counts its lines for messages.
 *
 * The first error is kept; later ones may follow from it.
 */
#include "config.h"

#include <errno.h>
#include <ini.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "iod_ini.h"
#include "zc_error.h"
#include "zc_fd.h"

enum { LINE_MAX_BYTES = 8192 };

struct reading {
    struct zc_settings *settings;
    const char *path;
    FILE *file;
    int line;
    struct zc_error error; /* the first one */
};

static void keep_error(struct reading *r, int rc)
{
    if (!r->error.rc)
        zc_error_set(&r->error, rc, "%s:%d: %s", r->path, r->line, zc_error_text(rc));
}

/* inih would take the rest of a long line for another line. */
static char *next_line(char *buf, int cap, void *arg)
{
    struct reading *r = arg;
    size_t n;

    if (r->error.rc || !fgets(buf, cap, r->file))
        return NULL;
    r->line++;
    n = strlen(buf);
    if (n + 1 == (size_t)cap && buf[n - 1] != '\n') {
        keep_error(r, zc_errorf(EINVAL, "line is longer than %d bytes", cap - 2));
        return NULL;
    }
    return buf;
}

static int one_value(void *arg, const char *section, const char *name, const char *value)
{
    struct reading *r = arg;
    int rc;

    if (*section && strcmp(section, "zcached") != 0) {
        keep_error(r, zc_errorf(EINVAL, "only the section [zcached] is known here"));
        return 0;
    }
    rc = zc_option_assign(r->settings, ZC_SCOPE_FILE, name, value);
    if (rc < 0)
        keep_error(r, rc);
    return rc == 0;
}

int iod_ini_read(const char *path, struct zc_settings *s)
{
    struct reading r = {.settings = s, .path = path};
    int line;

    r.file = zc_fopen(path, "re");
    if (!r.file)
        return zc_errorf(errno, "--config: cannot read %s: %s", path, strerror(errno));
    ini_allow_multiline = false;
    ini_use_stack = false; /* or its limit on lines would be 200 bytes */
    ini_max_line = LINE_MAX_BYTES;
    line = ini_parse_stream(next_line, &r, one_value, &r);
    if (ferror(r.file)) {
        int err = errno;

        fclose(r.file);
        return zc_errorf(err, "--config: cannot read %s: %s", path, strerror(err));
    }
    if (line > 0 && !r.error.rc) {
        r.line = line;
        keep_error(&r, zc_errorf(EINVAL, "no \"name = value\" on this line"));
    }
    fclose(r.file);
    return zc_error_raise(&r.error);
}
