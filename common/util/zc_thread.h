/* zc_thread.h - threads of zcache inside an application. */
#ifndef ZC_THREAD_H
#define ZC_THREAD_H

#include <pthread.h>

/* Starts run(arg) in a thread named `name` (at most 15 bytes; shows in ps and top) from its first
 * moment on.  All signals are blocked in it: they are for the program's own threads.  0, or a
 * negative errno explained by zc_errorf(). */
int zc_thread_start(pthread_t *out, const char *name, void *(*run)(void *), void *arg);

#endif
