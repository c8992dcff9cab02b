/* zcache_stores.c - the stores this process has open. */
#include "config.h"

#include <errno.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "zc_list.h"
#include "zc_lock.h"
#include "zc_log.h"
#include "zc_store_posix.h"
#include "zc_store_remote.h"
#include "zc_transport.h"
#include "zcache_agg.h"
#include "zcache_jobs.h"
#include "zcache_peer.h"
#include "zcache_stores.h"

struct entry {
    struct zc_list link;
    struct zc_store *store;
    char *daemons; /* NULL: the file system */
    bool local;    /* zc_settings.local */
    unsigned users;
    bool broken;
};

static struct zc_list entries = {&entries, &entries};
static struct zc_lock lock = ZC_LOCK_INITIALIZER(ZC_ORDER_PROCESS);
static bool closes_at_finalize;
static unsigned files; /* open in this process; under lock */
static bool ending;    /* MPI_Finalize has begun; under lock */

static void entry_free(struct entry *e)
{
    zc_list_del(&e->link);
    zcache_agg_stop(e->store);
    zc_store_destroy(e->store);
    free(e->daemons);
    free(e);
}

static void close_all(void)
{
    zcache_jobs_stop();
    zcache_peers_close();
    zc_lock_get(&lock);
    zc_list_each_safe (&entries, n)
        entry_free(zc_list_entry(n, struct entry, link));
    zc_lock_put(&lock);
}

/* For a program that never closes its file: nobody will come any more. */
static void at_exit(void)
{
    bool left;

    zc_lock_get(&lock);
    left = files > 0;
    zc_lock_put(&lock);
    if (left)
        close_all();
}

/*
 * MPI_Finalize deletes the attributes of MPI_COMM_SELF first, while MPI still works. Attributes
 * that were set before ours go after it, and their callbacks may yet use and close files (HDF5 does
 * that for users who do not); other ranks may still be computing. So with a file open all goes on.
 */
static int at_finalize(MPI_Comm comm, int key, void *value, void *extra)
{
    bool busy;

    (void)comm;
    (void)key;
    (void)value;
    (void)extra;
    zc_lock_get(&lock);
    ending = true;
    busy = files > 0;
    zc_lock_put(&lock);
    if (!busy)
        close_all();
    else if (atexit(at_exit))
        zc_error("a file that is never closed may lose what was written to it");
    return MPI_SUCCESS;
}

void zcache_stores_file_opened(void)
{
    zc_lock_get(&lock);
    files++;
    zc_lock_put(&lock);
}

void zcache_stores_file_closed(void)
{
    bool last;

    zc_lock_get(&lock);
    last = --files == 0 && ending;
    zc_lock_put(&lock);
    if (last)
        close_all();
}

static void close_at_finalize(void)
{
    int key;

    zc_assert_held(&lock);
    if (closes_at_finalize)
        return;
    closes_at_finalize = true;
    if (MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_finalize, &key, NULL) == MPI_SUCCESS) {
        MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
        MPI_Comm_free_keyval(&key);
    }
}

static int store_open(const struct zc_settings *s, int rank, struct zc_store **out)
{
    struct zc_net_config net = {.timeout_ms = s->timeout, .local = s->local};
    char host[256] = "?", name[320];

    if (!s->daemons || !*s->daemons)
        return zc_store_posix_create(NULL, out);
    gethostname(host, sizeof host - 1);
    snprintf(name, sizeof name, "%s:%ld rank %d", host, (long)getpid(), rank);
    net.name = name;
    return zc_store_remote_create(s->daemons, &net, out);
}

static struct entry *find(const char *daemons, bool local)
{
    zc_list_each (&entries, n) {
        struct entry *e = zc_list_entry(n, struct entry, link);

        if (!e->broken && (!e->daemons || e->local == local) &&
            !strcmp(e->daemons ? e->daemons : "", daemons ? daemons : ""))
            return e;
    }
    return NULL;
}

static int entry_new(const struct zc_settings *s, int rank, struct entry **out)
{
    struct entry *e = calloc(1, sizeof *e);
    int rc;

    if (!e)
        return zc_errorf(ENOMEM, "no memory for a store");
    rc = store_open(s, rank, &e->store);
    if (rc) {
        free(e);
        return rc;
    }
    e->daemons = s->daemons ? strdup(s->daemons) : NULL;
    e->local = s->local;
    zc_list_add_tail(&entries, &e->link);
    *out = e;
    return 0;
}

bool zcache_is_loss(int rc)
{
    return rc == -ETIMEDOUT || rc == -ECONNRESET || rc == -ECONNREFUSED || rc == -ENOTCONN ||
           rc == -EPIPE || rc == -ESHUTDOWN;
}

/* Its daemons have gone since a file was opened there: others may be in their place.  Without the
 * lock, as a user of the entry: they may take their time. */
static bool is_gone(struct entry *e)
{
    int rc = zc_store_ping(e->store);

    if (!zcache_is_loss(rc) || rc == -ETIMEDOUT) /* who is silent has not been replaced */
        return false;
    zc_info("connecting again: %s", zc_error_text(rc));
    return true;
}

static void let_go(struct entry *e, bool broken)
{
    zc_assert_held(&lock);
    e->users--;
    if (broken)
        e->broken = true;
    if (e->broken && !e->users)
        entry_free(e);
}

/* One that can be used, its user counted; NULL: there is none. */
static struct entry *find_alive(const struct zc_settings *s)
{
    struct entry *e;
    bool gone;

    zc_assert_held(&lock);
    while ((e = find(s->daemons, s->local))) {
        e->users++;
        zc_lock_put(&lock);
        gone = is_gone(e);
        zc_lock_get(&lock);
        if (!gone)
            return e;
        let_go(e, true);
    }
    return NULL;
}

int zcache_store_get(const struct zc_settings *s, int rank, struct zc_store **out)
{
    struct entry *e;
    int rc = 0;

    zc_lock_get(&lock);
    close_at_finalize();
    e = find_alive(s);
    if (!e) {
        rc = entry_new(s, rank, &e);
        if (rc == 0)
            e->users++;
    }
    if (rc == 0)
        *out = e->store;
    zc_lock_put(&lock);
    return rc;
}

void zcache_store_put(struct zc_store *store, int broken)
{
    zc_lock_get(&lock);
    zc_list_each_safe (&entries, n) {
        struct entry *e = zc_list_entry(n, struct entry, link);

        if (e->store == store)
            let_go(e, broken);
    }
    zc_lock_put(&lock);
}

/* ---- what connections are made with ---- */

static struct {
    bool known;
    uint64_t timeout;
    char *provider; /* for ever */
} network;          /* lock */

const char *zcache_net_provider(const struct zc_settings *s)
{
    return s->provider && strcmp(s->provider, ZC_DEFAULT_PROVIDER) ? s->provider : NULL;
}

static const char *provider_of(const char *s)
{
    return s ? s : "";
}

void zcache_net_keep(const struct zc_settings *s)
{
    zc_lock_get(&lock);
    if (!network.known) {
        network.timeout = s->timeout;
        network.provider = s->provider ? strdup(s->provider) : NULL;
        network.known = true;
    }
    zc_lock_put(&lock);
}

bool zcache_net_adopt(struct zc_settings *s)
{
    bool other = false;

    zc_lock_get(&lock);
    if (network.known && (network.timeout != s->timeout ||
                          strcmp(provider_of(network.provider), provider_of(s->provider)))) {
        other = true;
        s->timeout = network.timeout;
        free(s->provider);
        s->provider = network.provider ? strdup(network.provider) : NULL;
    }
    zc_lock_put(&lock);
    return other;
}
