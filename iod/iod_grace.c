/* iod_grace.c - how long a daemon goes on serving after SIGTERM. */
#include "config.h"

#include "iod_grace.h"
#include "zc_clock.h"

void iod_grace_begin(struct iod_grace *g, uint64_t now, uint64_t time_ms, uint64_t alone_ms)
{
    g->until = now + time_ms * ZC_NS_PER_MS;
    g->alone = alone_ms * ZC_NS_PER_MS;
    g->since = 0;
}

bool iod_grace_lasts(struct iod_grace *g, uint64_t now, unsigned clients)
{
    if (now >= g->until)
        return false;
    if (clients > 0)
        g->since = 0;
    else if (g->since == 0)
        g->since = now;
    return clients > 0 || now - g->since < g->alone;
}
