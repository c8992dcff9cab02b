/* zc_process.c - whether a process of this host still runs. */
#include "config.h"

#include <dirent.h>
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
 * and the rest, NULL where the kernel does not show it; *name is the thread's name. */
static char *parse_stat(const char *path, char *buf, size_t len, const char **name)
{
    char *open, *close, *got;
    FILE *f;

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

static char *read_stat(long pid, char *buf, size_t len, const char **name)
{
    char path[64];

    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    return parse_stat(path, buf, len, name);
}

static bool has_ended(const char *state)
{
    return *state == 'Z' || *state == 'X';
}

static bool thread_lives(long pid, long thread)
{
    char path[64], buf[1024];
    const char *name, *state;

    snprintf(path, sizeof path, "/proc/%ld/task/%ld/stat", pid, thread);
    state = parse_stat(path, buf, sizeof buf, &name);
    return state && !has_ended(state);
}

long zc_process_thread(long pid)
{
    char path[64];
    const struct dirent *e;
    long found = 0;
    DIR *d;

    snprintf(path, sizeof path, "/proc/%ld/task", pid);
    d = zc_opendir(path);
    while (d && !found && (e = readdir(d))) {
        long thread = strtol(e->d_name, NULL, 10);

        if (thread > 0 && thread_lives(pid, thread))
            found = thread;
    }
    if (d)
        closedir(d);
    return found;
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
    if (has_ended(state) && !zc_process_thread(pid))
        return ZC_PROCESS_NONE;
    return strcmp(name, "zcached") == 0 ? ZC_PROCESS_ZCACHED : ZC_PROCESS_OTHER;
}

static uint64_t inode_of(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 ? st.st_ino : 0;
}

/* Finds by how many clock ticks this process's time namespace shifts the times since the boot; the
 * kernel shows that of the namespace for children.  False: unknown. */
static bool time_shift(int64_t *ticks)
{
    uint64_t mine = inode_of("/proc/thread-self/ns/time");
    long long seconds = 0, ns = 0;
    bool known = false;
    char line[128];
    FILE *f;

    *ticks = 0;
    if (!mine)
        return true; /* a kernel without such namespaces */
    if (mine != inode_of("/proc/thread-self/ns/time_for_children"))
        return false;
    f = zc_fopen("/proc/self/timens_offsets", "re");
    while (f && !known && fgets(line, sizeof line, f))
        known = sscanf(line, "boottime %lld %lld", &seconds, &ns) == 2 ||
                sscanf(line, "7 %lld %lld", &seconds, &ns) == 2; /* CLOCK_BOOTTIME, Linux 5.6 */
    if (f)
        fclose(f);
    *ticks = (int64_t)seconds * sysconf(_SC_CLK_TCK) + ns * sysconf(_SC_CLK_TCK) / 1000000000;
    return known;
}

uint64_t zc_process_started(long pid)
{
    char buf[1024];
    const char *name;
    char *p = read_stat(pid, buf, sizeof buf, &name);
    int64_t shift;

    for (int field = STATE; p && field < STARTED; field++) {
        p = strchr(p, ' ');
        p = p ? p + 1 : NULL;
    }
    return p && time_shift(&shift) ? strtoull(p, NULL, 10) - (uint64_t)shift : 0;
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
    if (proc_is_ours() && stat("/proc/thread-self/ns/pid", &st) == 0)
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
