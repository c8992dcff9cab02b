/* zc_tp_local.h - the transport between processes of one host and one user.
 *
 * Messages are packets of a Unix socket without a name in the file system; RMA is one copy by the
 * kernel from memory to memory (process_vm_readv(2), process_vm_writev(2)).  It needs no libfabric,
 * whose loading takes longer than many a program's I/O, and no receive buffers.
 *
 * Whether two processes can use it depends on namespaces, users and the system's policy on tracing,
 * so it is tried: one process publishes where it has left a nonce, the other reads it.
 */
#ifndef ZC_TP_LOCAL_H
#define ZC_TP_LOCAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "zc_transport.h"

int zc_tp_local_open(const struct zc_tp_config *cfg, struct zc_tp **out);

/* Returns a descriptor that is readable when progress() has work. */
int zc_tp_local_fd(struct zc_tp *tp);

/* Whether it is an address of this transport ... */
bool zc_tp_local_is_address(const void *addr, size_t len);
/* ... of a process that this one can reach, as far as can be known without asking it ... */
bool zc_tp_local_can_reach(const void *addr, size_t len);
/* ... of one that is known to have ended. */
bool zc_tp_local_is_over(const void *addr, size_t len);

/* Whether a process of this kernel still has the socket of an address: 1; 0: no, for good; -EXDEV:
 * unknown, because it belongs to another network namespace, or the address is of another release;
 * or another negative errno.  Does not wait, and sends nothing to that process. */
int zc_tp_local_listens(const void *addr, size_t len);
/* Whether an address was made in this network namespace; false, too, if unknown. */
bool zc_tp_local_same_network(const void *addr, size_t len);

/* Lets another process try to reach this one.  No padding: it may be sent as bytes. */
struct zc_tp_local_probe {
    uint64_t pid, uid;
    uint64_t where;            /* the nonce */
    uint64_t net_dev, net_ino; /* network namespace of the socket names */
    uint64_t pid_ns;           /* inode of the PID namespace that `pid` belongs to */
    unsigned char nonce[16];   /* random */
};

/* Makes this process's probe.  From then on processes of this user may access its memory, also
 * under Yama (PR_SET_PTRACER).  0 or a negative errno, explained. */
int zc_tp_local_probe(struct zc_tp_local_probe *out);

/* Whether this process can reach that one; whether that one is known to have ended. */
bool zc_tp_local_reaches(const struct zc_tp_local_probe *probe);
/* As zc_tp_local_reaches(), with the caller's own probe, for callers that try several. */
bool zc_tp_local_reaches_as(const struct zc_tp_local_probe *mine,
                            const struct zc_tp_local_probe *theirs);
bool zc_tp_local_has_ended(const struct zc_tp_local_probe *probe);
/* Whether it was made in the network namespace of this process. */
bool zc_tp_local_in_network(const struct zc_tp_local_probe *probe);

#endif
