/* zc_tenant.h - tenants of a server: cache, store and threads are divided among tenants, however
 * many clients or open files each has.
 *
 * With munge all clients of a user are one tenant, so that a user cannot get more by its clients'
 * names.  Else all belong to one user, and the clients of a job are one tenant, by their names in
 * HELLO (zc_whoami.h); a client that names no job is a tenant of its own.
 *
 * Clients for whose tenant there is no memory share one.
 *
 * Called by the server's thread, unless a comment says otherwise.
 */
#ifndef ZC_TENANT_H
#define ZC_TENANT_H

#include <stdbool.h>
#include <stddef.h>

#include "zc_few.h"
#include "zc_pool.h"

struct zc_handle;
struct zc_session;

/* Called when a session begins, is authenticated, and ends. */
void zc_tenant_enter(struct zc_session *ss);
void zc_tenant_leave(struct zc_session *ss);

/* Returns how many of `all` the session's tenant may hold: with several tenants only its part, so
 * that waiting holders do not block other tenants. */
unsigned zc_tenant_part(const struct zc_session *ss, unsigned all);
/* Returns how many it holds; without tenants 0. */
unsigned zc_tenant_holds(const struct zc_session *ss, enum zc_few_kind kind);
void zc_tenant_took(const struct zc_session *ss, enum zc_few_kind kind);
void zc_tenant_gave(const struct zc_session *ss, enum zc_few_kind kind);
/* Returns how many idle ones the session's tenant has; without tenants: `all`. */
unsigned zc_tenant_idle(const struct zc_session *ss, enum zc_few_kind kind, unsigned all);
/* It has `more` idle ones. */
void zc_tenant_idles(const struct zc_session *ss, enum zc_few_kind kind, int more);

/* The tenant's turns on the pool.  Any thread, for a live session. */
struct zc_pool_flow *zc_tenant_flow(const struct zc_session *ss);
/* Charges an open file to the tenant. */
void zc_tenant_charge(const struct zc_session *ss, struct zc_handle *h);

/* Returns the part of a client's name that identifies its job, or else its process; points into
 * `name`. */
const char *zc_tenant_job(const char *name, size_t *len);

#endif
