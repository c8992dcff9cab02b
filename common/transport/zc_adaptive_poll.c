/* zc_adaptive_poll.c - decides whether a wait for messages polls first. */
#include "config.h"

#include "zc_adaptive_poll.h"

void zc_adaptive_poll_init(struct zc_adaptive_poll *s, int processors)
{
    *s = (struct zc_adaptive_poll){.alone = processors == 1, .wary = 1, .until_trial = 1};
}

bool zc_adaptive_poll_checks(const struct zc_adaptive_poll *s)
{
    return s->tries > 0;
}

void zc_adaptive_poll_checked(struct zc_adaptive_poll *s, bool found)
{
    if (found) {
        s->tries = ZC_POLL_TRIES;
        s->wary = 1;
    } else if (--s->tries == 0) {
        s->wary = s->wary < ZC_POLL_WARY_MAX / 2 ? 2 * s->wary : ZC_POLL_WARY_MAX;
        s->until_trial = s->wary;
    }
}

void zc_adaptive_poll_slept(struct zc_adaptive_poll *s, uint64_t ns)
{
    if (!s->alone && !s->tries && ns < ZC_POLL_SHORT_NS && --s->until_trial == 0)
        s->tries = 1;
}
