/* ad_zcache_hints.h - MPI_Info <-> the option table. */
#ifndef AD_ZCACHE_HINTS_H
#define AD_ZCACHE_HINTS_H

#include <stdint.h>

#include "adio.h"
#include "zc_options.h"

struct zcache_file;

/* What the hint zcache_flush asks for. */
enum zcache_flush { ZCACHE_FLUSH_NONE, ZCACHE_FLUSH_START, ZCACHE_FLUSH_WAIT };

#define ZCACHE_HINT "zcache_" /* what names of hints begin with */

/* Says of a hint what is wrong with it: rank 0 of the file does, and once in a process, however
 * many files and calls it is given to. */
__attribute__((format(printf, 3, 4))) void zcache_hints_complain(ADIO_File fd, const char *hint,
                                                                 const char *fmt, ...);

/* On rank 0 of an open: what is wrong with the environment is said, once. */
void zcache_hints_environment(void);
/* Settings as text, and as much of it as most have, for a message. */
struct zcache_hints_text {
    int32_t len; /* of all */
    char start[4092];
};

/* ad_zcache_settle.c.  Opening: every rank takes the settings of rank 0 of the file's communicator,
 * but that the timeout is what connections have: the least of all ranks', ms, or INT64_MAX.  By
 * rank 0, which has them then; 0 or a negative errno, explained.  *all: allocated ... */
int zcache_hints_decide(ADIO_File fd, int64_t timeout, struct zcache_hints_text *t, char **all);
/* ... by every rank, collective, with what rank 0 has decided ... */
int zcache_hints_take(ADIO_File fd, int rank, int64_t timeout, const struct zcache_hints_text *t,
                      char *all);
/* ... not collective: the settings are those of the file's group now, and were asked for so ... */
struct zcache_wished {
    struct zc_agreed agreed;
    uint64_t striping_factor, start_iodevice; /* as in zc_settings */
    bool created; /* the file, by this open: its blocks are no one else's choice */
};
void zcache_hints_joined(ADIO_File fd, const struct zcache_wished *wished);
/* ... and, collective, once the aggregators have it open: what they do becomes the settings. */
int zcache_hints_settle(ADIO_File fd);
/* Echoes the values in force. */
void zcache_hints_echo(ADIO_File fd);

/* The memory that aggregators have now. */
void zcache_hints_tell_size(MPI_Info info, uint64_t bytes);

/* Makes what MPI_File_set_info asked for the setting of all ranks; collective.  Returns the largest
 * zcache_flush of any rank; *step becomes the value of zcache_wait_step, 0: none. */
int zcache_hints_change(ADIO_File fd, uint64_t *step);
/* Another call was given hints, too, and says so of those that only MPI_File_set_info changes. */
void zcache_hints_no_change(ADIO_File fd);

#endif
