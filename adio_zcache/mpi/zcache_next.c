/* The function that a program would have called without the plugin. */
#include "config.h"

#include <dlfcn.h>

#include "zcache_library.h"
#include "zcache_next.h"

void *zcache_next_find(void **known, const char *name)
{
    void *fn = dlsym(RTLD_NEXT, name);

    if (!fn)
        fn = zcache_library_symbol(name);
    __atomic_store_n(known, fn, __ATOMIC_RELEASE);
    return fn;
}
