/* zc_store_open.c - which store a cache stands on, and opening it. */
#include "config.h"

#include "zc_store_open.h"
#include "zc_store_posix.h"
#include "zc_store_remote.h"
#include "zc_store_watchdog.h"

static int open_store(const struct zc_store_config *cfg, struct zc_store **out)
{
    struct zc_net_config net = {
        .local = cfg->local, .timeout_ms = cfg->timeout_ms, .name = cfg->name};
    int rc;

    if (!cfg->daemons || !*cfg->daemons) {
        rc = zc_store_posix_create(cfg->root, out);

        if (rc == 0)
            zc_store_posix_ask_first(*out, cfg->ask_first, cfg->ask_arg);
        if (rc == 0)
            zc_store_posix_mark_as(*out, cfg->mark_as);
        if (rc == 0 && cfg->direct)
            zc_store_posix_direct(*out);
        return rc;
    }
    rc = zc_store_remote_create(cfg->daemons, &net, out);
    if (rc == 0 && cfg->ending)
        zc_store_remote_bypass_at_end(*out, cfg->ending);
    return rc;
}

int zc_store_open(const struct zc_store_config *cfg, struct zc_store **out)
{
    struct zc_store *store;
    int rc = open_store(cfg, out);

    if (rc < 0 || !cfg->hang_report_ms)
        return rc;
    store = *out;
    rc = zc_store_watchdog_create(store, cfg->hang_report_ms, out);
    if (rc < 0)
        zc_store_destroy(store);
    return rc;
}
