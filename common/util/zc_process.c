/* zc_process.c - whether a process of this host still runs. */
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "zc_fd.h"
#include "zc_process.h"

enum { STATE = 3, STARTED = 22 }; /* fields of stat: proc(5) */

static bool is_there(long pid)
{
    return pid > 0 && (kill((pid_t)pid, 0) == 0 || errno != ESRCH);
}

/* Parses "4711 (zcached) S ..."; the name may hold blanks and brackets.  Returns the field STATE
 * and the rest, NULL where the kernel does not show it; *name is the process's name. */
static char *read_stat(long pid, char *buf, size_t len, const char **name)
{
    char path[64], *open, *close, *got;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    f = zc_fopen(path, "re");
    if (!f)
        return NULL;
    got = fgets(buf, (int)len, f);
    fclose(f);
    open = got ? strchr(buf, '(') : NULL;
    close = got ? strrchr(buf, ')') : NULL;
    if (!open || !close || strlen(close) < 3)
        return NULL;
    *close = '\0';
    *name = open + 1;
    return close + 2;
}

enum zc_process_kind zc_process_kind(long pid)
{
    char buf[1024];
    const char *name;
    char *state;

    if (!is_there(pid))
        return ZC_PROCESS_NONE;
    state = read_stat(pid, buf, sizeof buf, &name);
    if (!state) /* the kernel may hide another user's, or the process has just ended */
        return is_there(pid) ? ZC_PROCESS_OTHER : ZC_PROCESS_NONE;
    if (*state == 'Z' || *state == 'X')
        return ZC_PROCESS_NONE;
    return strcmp(name, "zcached") == 0 ? ZC_PROCESS_ZCACHED : ZC_PROCESS_OTHER;
}

uint64_t zc_process_started(long pid)
{
    char buf[1024];
    const char *name;
    char *p = read_stat(pid, buf, sizeof buf, &name);

    for (int field = STATE; p && field < STARTED; field++) {
        p = strchr(p, ' ');
        p = p ? p + 1 : NULL;
    }
    return p ? strtoull(p, NULL, 10) : 0;
}

bool zc_process_is_gone(long pid, uint64_t started)
{
    uint64_t now;

    if (zc_process_kind(pid) == ZC_PROCESS_NONE)
        return true;
    now = started ? zc_process_started(pid) : 0;
    return now && now != started;
}

/* A container may have its parent's /proc, where numbers are those of the parent. */
static bool proc_is_ours(void)
{
    char self[32];
    ssize_t n = readlink("/proc/self", self, sizeof self - 1);

    if (n <= 0)
        return false;
    self[n] = '\0';
    return strtol(self, NULL, 10) == (long)getpid();
}

void zc_pid_space(struct zc_pid_space *out)
{
    FILE *f = zc_fopen("/proc/sys/kernel/random/boot_id", "re");
    struct stat st;

    *out = (struct zc_pid_space){.ns = 0};
    if (f) {
        if (fgets(out->boot, sizeof out->boot, f))
            out->boot[strcspn(out->boot, "\n")] = '\0';
        fclose(f);
    }
    if (proc_is_ours() && stat("/proc/self/ns/pid", &st) == 0)
        out->ns = st.st_ino;
}

bool zc_pid_space_same_boot(const struct zc_pid_space *a, const struct zc_pid_space *b)
{
    return a->boot[0] && strcmp(a->boot, b->boot) == 0;
}

bool zc_pid_space_same(const struct zc_pid_space *a, const struct zc_pid_space *b)
{
    return a->ns && a->ns == b->ns && zc_pid_space_same_boot(a, b);
}

bool zc_is_this_host(const char *host)
{
    char name[256] = "";

    gethostname(name, sizeof name - 1);
    return strcmp(name, host) == 0;
}
