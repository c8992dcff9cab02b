/* iod_listen.h - the address that the daemon listens at: --listen.
 *
 * Its local socket, for processes of its own user on its host, is independent of that.
 */
#ifndef IOD_LISTEN_H
#define IOD_LISTEN_H

#include <stdbool.h>
#include <stddef.h>

enum { IOD_LISTEN_MAX = 256 };

/* Resolves `listen` for endpoints of libfabric's provider.  Sets *address to an address of this
 * host or a host name, as text inside `buf` (IOD_LISTEN_MAX bytes) or `listen`; NULL: the
 * provider's first address.  -EINVAL, explained: neither that nor an interface of this host with an
 * IPv4 address; -EADDRNOTAVAIL: an address of another host. */
int iod_listen_at(const char *listen, const char *provider, char *buf, const char **address);

/* Writes an endpoint's address as text, "192.0.2.1:4711"; one that is no IP address, by its length.
 * Returns `buf`. */
const char *iod_listen_text(const void *address, size_t len, char *buf, size_t size);

#endif
