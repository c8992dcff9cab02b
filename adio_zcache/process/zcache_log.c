/* zcache_log.c - what the processes of a program say in the log. */
#include "config.h"

#include <errno.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zc_events.h"
#include "zc_lock.h"
#include "zc_log.h"
#include "zc_options.h"
#include "zcache_log.h"

/* Before the program can have closed or replaced it. */
__attribute__((constructor)) static void keep_stderr(void)
{
    zc_log_keep_stderr();
}

static void trace(int rank)
{
    struct zc_settings s;

    if (zc_settings_init(&s) == 0 && s.trace)
        zc_events_start(s.trace, "rank", rank);
    zc_settings_free(&s);
}

static void begin(void)
{
    int rank;

    zc_log_init("zcache");
    if (MPI_Comm_rank(MPI_COMM_WORLD, &rank) == MPI_SUCCESS)
        zc_log_rank(rank);
    else
        rank = -1;
    trace(rank);
}

void zcache_log_begin(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, begin);
}

/* ---- said once ---- */

enum { SAID_MOST = 256 }; /* more things than that a program makes up as it goes */

static struct zc_lock lock = ZC_LOCK_INITIALIZER(ZC_ORDER_PROCESS);
static struct said {
    struct said *next;
    char about[];
} * said; /* for ever; under the lock */
static unsigned nsaid;

bool zcache_log_said(const char *about)
{
    struct said *s;
    bool known = false;

    zc_lock_get(&lock);
    for (s = said; s && !known; s = s->next)
        known = !strcmp(s->about, about);
    s = known || nsaid == SAID_MOST ? NULL : malloc(sizeof *s + strlen(about) + 1);
    known = known || nsaid == SAID_MOST;
    if (s) {
        strcpy(s->about, about);
        s->next = said;
        said = s;
        nsaid++;
    }
    zc_lock_put(&lock);
    return known;
}

void zcache_log_open_failed(const char *path, int rc, bool probed, const char *text)
{
    char about[1200];

    snprintf(about, sizeof about, "open %d %s", rc, path);
    if (probed && (rc == -ENOENT || rc == -EEXIST))
        zc_info("cannot open %s: %s", path, text);
    else if (!zcache_log_said(about))
        zc_warn("cannot open %s: %s", path, text);
}
