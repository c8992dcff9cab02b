/* zcache_agg_conn.h - connections of this process to aggregators, shared by its files.
 *
 * Made at the first access that needs one, kept until MPI_Finalize.  An aggregator that is not
 * reached within the time-out is not tried again for files that were open then: every call would
 * wait as long.  A file that is opened later tries once more.  Threads: any; different aggregators
 * are connected to at the same time.
 *
 * The contact of an aggregator is its address, followed by the secret by which both know that they
 * are of one job.  It travels among the job's ranks only: through MPI, and in rendezvous records.
 */
#ifndef ZCACHE_AGG_CONN_H
#define ZCACHE_AGG_CONN_H

#include "zc_client.h"
#include "zc_settings.h"
#include "zc_wire.h"

enum { ZCACHE_CONTACT = ZC_MAX_ADDRESS + ZC_SECRET_SIZE }; /* bytes at most */

/* Returns how many bytes of a contact are the address; 0 if it is no contact. */
static inline size_t zcache_contact_address(size_t contact_len)
{
    return contact_len > ZC_SECRET_SIZE ? contact_len - ZC_SECRET_SIZE : 0;
}

/* Returns how many attempts have failed so far; a file asks when it is opened. */
uint64_t zcache_agg_conn_failures(void);
/* Finds or makes the connection to that contact.  `label` names the aggregator in messages.
 * An aggregator that was not reached since `failures_before` gives the same error at once.  `past`:
 * the client whose connection broke, or NULL; the server ends its session before the new one
 * begins. */
int zcache_agg_conn_get(const void *contact, size_t len, const char *label,
                        const struct zc_settings *s, uint64_t failures_before,
                        struct zc_client *past, struct zc_client **out);
/* Returns a working connection that an earlier call made; NULL if there is none.  Does not wait. */
struct zc_client *zcache_agg_conn_find(const void *contact, size_t len);

#endif
