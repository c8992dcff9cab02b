/* zc_watch.h - callbacks for progress of a lossy store (zc_store.h). */
#ifndef ZC_WATCH_H
#define ZC_WATCH_H

#include "zc_lock.h"
#include "zc_store.h"

struct zc_watchers {
    struct zc_lock lock; /* guards all of this */
    struct zc_list list; /* struct zc_watch */
    zc_cond told;
};

void zc_watchers_init(struct zc_watchers *ws);
void zc_watchers_destroy(struct zc_watchers *ws); /* the list is empty */
void zc_watchers_add(struct zc_watchers *ws, struct zc_watch *w);
void zc_watchers_remove(struct zc_watchers *ws, struct zc_watch *w); /* waits for its calls */
/* Calls moved() of all watchers; no lock may be held. */
void zc_watchers_tell(struct zc_watchers *ws);

#endif
