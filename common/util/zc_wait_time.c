/* zc_wait_time.c - the time that the calling thread has waited, since it began. */
#include "config.h"

#include "zc_wait_time.h"

_Thread_local struct zc_wait_time zc_wait_time;
