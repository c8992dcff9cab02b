/* zc_file_state.c - which states of a file may follow which. */
#include "zc_file_state.h"

#ifdef ZC_DEBUG

#include <assert.h>

#define TO(state) (1u << (state))

void zc_file_check_ctl(enum zc_file_ctl from, enum zc_file_ctl to)
{
    static const unsigned table[] = {
        [ZC_CTL_FREE] = TO(ZC_CTL_HELD) | TO(ZC_CTL_SETTLING),
        [ZC_CTL_HELD] = TO(ZC_CTL_FREE),
        [ZC_CTL_SETTLING] = TO(ZC_CTL_FREE),
    };

    assert(table[from] & TO(to)); /* a thread that has it neither takes nor gives it twice */
}

void zc_file_check_name(enum zc_file_name from, enum zc_file_name to)
{
    static const unsigned table[] = {
        [ZC_NAME_THERE] = TO(ZC_NAME_GOING) | TO(ZC_NAME_GONE),
        [ZC_NAME_GOING] = TO(ZC_NAME_THERE) | TO(ZC_NAME_GONE),
        [ZC_NAME_GONE] = TO(ZC_NAME_THERE),
    };

    assert(from == to || table[from] & TO(to));
}

#else
typedef int zc_file_state_is_for_debug_builds;
#endif
