/* zcache_losses.h - what the aggregators of this process have lost, told to who started it. */
#ifndef ZCACHE_LOSSES_H
#define ZCACHE_LOSSES_H

struct zc_cache;

/* Appends a line for every file to the file that ZCACHE_LOSSES names, in one write each, so that
 * lines of several processes do not mix:
 *
 *     bytes TAB path TAB ranges ("0-99 200-299") TAB cause
 *
 * Where that file cannot be reached, as on another host, standard error has said it all. */
void zcache_losses_report(struct zc_cache *c);

#endif
