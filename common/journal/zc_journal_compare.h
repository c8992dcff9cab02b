/* zc_journal_compare.h - compares contents of files with a journal's pending bytes, at a start. */
#ifndef ZC_JOURNAL_COMPARE_H
#define ZC_JOURNAL_COMPARE_H

#include <stdbool.h>
#include <stdint.h>

#include "zc_extent.h"
#include "zc_journal.h"

enum { ZC_COMPARE_PAGE = 1 << 20 }; /* bytes; extents are relative to the beginning of a page */

struct zc_compare;

/* Reads by sink->read(), a page at most at a time.  NULL: no memory. */
struct zc_compare *zc_compare_new(const struct zc_journal_sink *sink);
void zc_compare_free(struct zc_compare *c);

/* What explains bytes of the file. */
enum zc_compare_how {
    ZC_COMPARE_ALL,    /* all that is in zc_journal_compare.c */
    ZC_COMPARE_STRICT, /* but no zeros, and no end */
    ZC_COMPARE_EXACT,  /* the pending bytes themselves */
};

/* Adds the parts of [lo, hi), within a page, to *same where the file has the same as `bytes`; to
 * call in the order of the writes.  0 or -ENOMEM. */
int zc_compare_data(struct zc_compare *c, const struct zc_journal_file *f, uint64_t lo, uint64_t hi,
                    const unsigned char *bytes, enum zc_compare_how how, struct zc_extents *same);
/* Adds all of [lo, hi) to *same if the file's bytes there have this checksum.  0 or -ENOMEM. */
int zc_compare_sum(struct zc_compare *c, const struct zc_journal_file *f, uint64_t lo, uint64_t hi,
                   uint64_t sum, enum zc_compare_how how, struct zc_extents *same);
/* Whether all pending bytes of the page at `base` are in *same, or are zeros in the file. */
bool zc_compare_explains(struct zc_compare *c, const struct zc_journal_file *f, uint64_t base,
                         const struct zc_extents *pending, enum zc_compare_how how,
                         const struct zc_extents *same);

#endif
