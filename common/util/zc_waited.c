/* zc_waited.c - what the calling thread has waited for, since it began. */
#include "config.h"

#include "zc_waited.h"

_Thread_local struct zc_waited zc_waited;
