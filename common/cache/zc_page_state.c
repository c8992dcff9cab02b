/* zc_page_state.c - which states of a page may follow which. */
#include "zc_page_state.h"

#ifdef ZC_DEBUG

#include <assert.h>

#define TO(state) (1u << (state))

/* The table has a set of states for each. */
static void check(const unsigned *table, unsigned from, unsigned to)
{
    assert(from == to || table[from] & TO(to));
}

void zc_page_check_on(enum zc_page_on from, enum zc_page_on to)
{
    static const unsigned table[] = {
        [ZC_ON_NONE] = TO(ZC_ON_DIRTY),
        [ZC_ON_DIRTY] = TO(ZC_ON_NONE) | TO(ZC_ON_FAILED) | TO(ZC_ON_FLUSHING),
        [ZC_ON_FAILED] = TO(ZC_ON_NONE) | TO(ZC_ON_FLUSHING),
        [ZC_ON_FLUSHING] = TO(ZC_ON_NONE) | TO(ZC_ON_DIRTY) | TO(ZC_ON_FAILED),
    };

    check(table, from, to);
}

void zc_page_check_fill(enum zc_page_fill from, enum zc_page_fill to)
{
    static const unsigned table[] = {
        [ZC_FILL_NONE] = TO(ZC_FILL_ACCESS) | TO(ZC_FILL_AHEAD) | TO(ZC_FILL_COLLAPSE),
        [ZC_FILL_ACCESS] = TO(ZC_FILL_NONE),
        [ZC_FILL_AHEAD] = TO(ZC_FILL_NONE) | TO(ZC_FILL_ACCESS),
        [ZC_FILL_COLLAPSE] = TO(ZC_FILL_NONE),
    };

    check(table, from, to);
}

void zc_page_check_reads(enum zc_page_reads from, enum zc_page_reads to)
{
    static const unsigned table[] = {
        [ZC_READS_JOINED] = TO(ZC_READS_ALONE) | TO(ZC_READS_NARROW),
        [ZC_READS_ALONE] = TO(ZC_READS_JOINED),
        [ZC_READS_NARROW] = TO(ZC_READS_JOINED),
    };

    check(table, from, to);
}

void zc_page_check_refused(enum zc_page_refused from, enum zc_page_refused to)
{
    static const unsigned table[] = {
        [ZC_REFUSED_NONE] = TO(ZC_REFUSED_TOGETHER) | TO(ZC_REFUSED_ALONE),
        [ZC_REFUSED_TOGETHER] = TO(ZC_REFUSED_NONE) | TO(ZC_REFUSED_ALONE),
        [ZC_REFUSED_ALONE] = TO(ZC_REFUSED_NONE),
    };

    check(table, from, to);
}

void zc_page_check_ahead(enum zc_page_ahead from, enum zc_page_ahead to)
{
    static const unsigned table[] = {
        [ZC_AHEAD_NONE] = TO(ZC_AHEAD_ASKED),
        [ZC_AHEAD_ASKED] = TO(ZC_AHEAD_BEGUN) | TO(ZC_AHEAD_OVER),
        [ZC_AHEAD_BEGUN] = TO(ZC_AHEAD_OVER),
        [ZC_AHEAD_OVER] = TO(ZC_AHEAD_ASKED),
    };

    check(table, from, to);
}

void zc_page_check_stake(enum zc_page_stake from, enum zc_page_stake to)
{
    static const unsigned table[] = {
        [ZC_STAKE_NONE] = TO(ZC_STAKE_RESERVED),
        [ZC_STAKE_KEPT] = TO(ZC_STAKE_NONE) | TO(ZC_STAKE_RESERVED),
        [ZC_STAKE_RESERVED] = TO(ZC_STAKE_NONE) | TO(ZC_STAKE_KEPT),
    };

    check(table, from, to);
}

#else
typedef int zc_page_state_is_for_debug_builds;
#endif
