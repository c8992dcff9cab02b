/* zc_vspan.h - cuts the visible bytes of a view along pages and blocks. */
#ifndef ZC_VSPAN_H
#define ZC_VSPAN_H

#include <stdint.h>

#include "zc_view.h"

/* Returns how many visible bytes from `view_off` on, at most `max` (> 0), lie in the same unit
 * (page or block, `unit` bytes) of the file; *first is the offset of the first one.  Views that are
 * not monotone yield one piece at a time.  0 or a negative errno. */
int zc_vspan(const struct zc_view *v, int64_t disp, int64_t view_off, int64_t max, uint64_t unit,
             int64_t *first, int64_t *len);

/* Returns how many of the `len` visible bytes from `view_off` on come before the first one that
 * lies at or after file offset `eof`. */
int64_t zc_vspan_before(const struct zc_view *v, int64_t disp, int64_t view_off, int64_t len,
                        int64_t eof);

#endif
