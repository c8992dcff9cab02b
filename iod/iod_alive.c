/* iod_alive.c - whether a process of this host still runs. */
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "iod_alive.h"

/* "4711 (zcached) S ..."; the name may hold blanks and brackets. */
static enum iod_process_kind kind_of(char *stat)
{
    char *open = strchr(stat, '('), *close = strrchr(stat, ')');

    if (!open || !close || strlen(close) < 3)
        return IOD_PROCESS_OTHER;
    if (close[2] == 'Z' || close[2] == 'X')
        return IOD_PROCESS_NONE;
    *close = '\0';
    return strcmp(open + 1, "zcached") == 0 ? IOD_PROCESS_ZCACHED : IOD_PROCESS_OTHER;
}

enum iod_process_kind iod_process_kind(long pid)
{
    enum iod_process_kind kind = IOD_PROCESS_OTHER;
    char path[64], stat[256];
    FILE *f;

    if (pid <= 0 || (kill((pid_t)pid, 0) < 0 && errno == ESRCH))
        return IOD_PROCESS_NONE;
    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    f = fopen(path, "re");
    if (!f)
        return errno == ENOENT ? IOD_PROCESS_NONE : IOD_PROCESS_OTHER;
    if (fgets(stat, sizeof stat, f))
        kind = kind_of(stat);
    fclose(f);
    return kind;
}

bool iod_is_this_host(const char *host)
{
    char name[256] = "";

    gethostname(name, sizeof name - 1);
    return strcmp(name, host) == 0;
}
