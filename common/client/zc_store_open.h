/* zc_store_open.h - which store a cache stands on, and opening it. */
#ifndef ZC_STORE_OPEN_H
#define ZC_STORE_OPEN_H

#include <stdbool.h>
#include <stdint.h>

#include "zc_store.h"

/* Zero where nothing is said. */
struct zc_store_config {
    const char *daemons; /* address files (zc_addrfile_list()); NULL or empty: the file system */
    bool local;          /* daemons of this host may be reached without libfabric */
    uint64_t timeout_ms; /* silence after which a daemon counts as gone */
    uint64_t hang_report_ms;      /* a call that takes longer is told in the log; 0: none is */
    const char *name;             /* of this process, for the daemons' logs */
    const int *ending;            /* of daemons: zc_store_remote_bypass_at_end(); or NULL */
    const char *root;             /* of the file system: files below it and only those; NULL: any */
    uint64_t mark_as;             /* of the file system: zc_store_posix_mark_as() */
    bool direct;                  /* of the file system: zc_store_posix_direct() */
    void (*ask_first)(void *arg); /* of the file system: zc_store_posix_ask_first(); or NULL */
    void *ask_arg;
};

/* Connects to the daemons, if there are any.  0, or a negative errno explained by zc_errorf();
 * end it with zc_store_destroy(). */
int zc_store_open(const struct zc_store_config *cfg, struct zc_store **out);

#endif
