/* zcache_host_pointer.h - whether a buffer can be reached by the processor at all. */
#ifndef ZCACHE_HOST_POINTER_H
#define ZCACHE_HOST_POINTER_H

/* Returns -EFAULT, explained, when the byte at `p` cannot be read: a null pointer, or memory of a
 * device, which the program has to copy to the host first.  Costs a system call where the thread's
 * last question was about another place.  Any thread. */
int zcache_host_pointer_check(const void *p);

#endif
