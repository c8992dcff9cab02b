/* zc_spin.c - whether a wait for messages begins with looking. */
#include "config.h"

#include "zc_spin.h"

void zc_spin_init(struct zc_spin *s, int processors)
{
    *s = (struct zc_spin){.alone = processors == 1, .wary = 1, .until_trial = 1};
}

bool zc_spin_looks(const struct zc_spin *s)
{
    return s->tries > 0;
}

void zc_spin_looked(struct zc_spin *s, bool found)
{
    if (found) {
        s->tries = ZC_SPIN_TRIES;
        s->wary = 1;
    } else if (--s->tries == 0) {
        s->wary = s->wary < ZC_SPIN_WARY_MAX / 2 ? 2 * s->wary : ZC_SPIN_WARY_MAX;
        s->until_trial = s->wary;
    }
}

void zc_spin_slept(struct zc_spin *s, uint64_t ns)
{
    if (!s->alone && !s->tries && ns < ZC_SPIN_SHORT_NS && --s->until_trial == 0)
        s->tries = 1;
}
