/* zcache_used.h - whether a file was opened through zcache, told to who started the program. */
#ifndef ZCACHE_USED_H
#define ZCACHE_USED_H

struct zc_settings;

/* A file is open: makes the one that ZCACHE_USED names, once. */
void zcache_used_tell(const struct zc_settings *s);

#endif
