/* The function that a program calls where the plugin is not loaded. */
#ifndef ZCACHE_NEXT_H
#define ZCACHE_NEXT_H

/*
 * Finds NAME behind the plugin: in the next library that the linker knows, maybe a tool for
 * profiling; or, where the MPI library was opened privately, in that library. NULL if there is no
 * such function. *KNOWN, NULL in the beginning, remembers it; any thread.
 */
static inline void *zcache_next(void **known, const char *name);

/* Finds NAME and remembers it in *KNOWN; zcache_next() calls it while *KNOWN is NULL. */
void *zcache_next_find(void **known, const char *name);

static inline void *zcache_next(void **known, const char *name)
{
    void *fn = __atomic_load_n(known, __ATOMIC_ACQUIRE);

    return fn ? fn : zcache_next_find(known, name);
}

#endif
