/* zcache_loss_report.h - reports what the aggregators of this process have lost to its launcher. */
#ifndef ZCACHE_LOSS_REPORT_H
#define ZCACHE_LOSS_REPORT_H

struct zc_cache;

/* Appends a line for every file to the file that ZCACHE_LOSSES names, in one write each, so that
 * lines of several processes do not mix:
 *
 *     bytes TAB path TAB ranges ("0-99 200-299") TAB cause
 *
 * Where that file cannot be reached, as on another host, standard error has said it all. */
void zcache_loss_report(struct zc_cache *c);
/* Does the same for bytes not written back yet, in a process that ends without writing them. */
void zcache_losses_report_unwritten(struct zc_cache *c);
/* Returns how often this process has reported losses. */
unsigned zcache_losses_reports(void);

#endif
