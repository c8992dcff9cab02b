/* iod_listen.h - where the daemon can be reached from: --listen.
 *
 * Beside its local socket, which is for processes of its own user on its own host.
 */
#ifndef IOD_LISTEN_H
#define IOD_LISTEN_H

#include <stdbool.h>
#include <stddef.h>

enum { IOD_LISTEN_MAX = 256 };

/* What `listen` means for endpoints of libfabric's provider: *address becomes the text of an own
 * address or a host name, inside `buf` (IOD_LISTEN_MAX bytes) or `listen`; NULL: the provider's
 * first. -EINVAL, explained: neither that nor an interface of this host with an IPv4 address;
 * -EADDRNOTAVAIL: another host's. */
int iod_listen_at(const char *listen, const char *provider, char *buf, const char **address);

/* The text of an endpoint's address, "192.0.2.1:4711"; of one that is no IP address its
 * length. */
const char *iod_listen_text(const void *address, size_t len, char *buf, size_t size);

#endif
