/* zc_watch.c - the watchers of a lossy store, called without any lock held.
 *
 * A watcher stays on the list while its callback runs: removal waits for the callback, and the
 * iteration in zc_watchers_tell() continues from its position in the list.
 */
#include "config.h"

#include "zc_watch.h"

void zc_watchers_init(struct zc_watchers *ws)
{
    zc_lock_init(&ws->lock, ZC_ORDER_STORE);
    zc_list_init(&ws->list);
    zc_cond_init(&ws->told);
}

void zc_watchers_destroy(struct zc_watchers *ws)
{
    assert(zc_list_empty(&ws->list));
    pthread_cond_destroy(&ws->told);
    zc_lock_destroy(&ws->lock);
}

void zc_watchers_add(struct zc_watchers *ws, struct zc_watch *w)
{
    w->calls = 0;
    zc_lock_get(&ws->lock);
    zc_list_add_tail(&ws->list, &w->link);
    zc_lock_put(&ws->lock);
}

void zc_watchers_remove(struct zc_watchers *ws, struct zc_watch *w)
{
    zc_lock_get(&ws->lock);
    while (w->calls > 0)
        zc_cond_wait(&ws->told, &ws->lock);
    zc_list_del(&w->link);
    zc_lock_put(&ws->lock);
}

void zc_watchers_tell(struct zc_watchers *ws)
{
    zc_assert_none_held();
    zc_lock_get(&ws->lock);
    zc_list_each (&ws->list, n) {
        struct zc_watch *w = zc_list_entry(n, struct zc_watch, link);

        w->calls++;
        zc_lock_put(&ws->lock);
        w->moved(w);
        zc_lock_get(&ws->lock);
        w->calls--;
        pthread_cond_broadcast(&ws->told);
    }
    zc_lock_put(&ws->lock);
}
