/* zc_tp_local.h - the transport between processes of one host and one user.
 *
 * Messages are packets of a Unix socket, which no name in the file system stands for; RMA is
 * one copy by the kernel from memory to memory (process_vm_readv(2), process_vm_writev(2)).
 * It needs no libfabric, whose loading takes longer than many a program's I/O, and no
 * receive buffers.
 *
 * Whether two processes can use it depends on namespaces, users and the system's policy on
 * tracing, so it is tried: one process says where it has left a stamp, the other reads it.
 */
#ifndef ZC_TP_LOCAL_H
#define ZC_TP_LOCAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "zc_transport.h"

int zc_tp_local_open(const struct zc_tp_config *cfg, struct zc_tp **out);

/* Readable when there is something to do for progress(). */
int zc_tp_local_fd(struct zc_tp *tp);

/* True for an address of this transport ... */
bool zc_tp_local_is_address(const void *addr, size_t len);
/* ... of a process that this one can use it with, as far as can be seen without asking it. */
bool zc_tp_local_can_reach(const void *addr, size_t len);
/* ... of one that is known to have ended. */
bool zc_tp_local_is_over(const void *addr, size_t len);

/* What a process hands to another one so that it can try.  No padding: it may travel as bytes. */
struct zc_tp_local_card {
    uint64_t pid, uid;
    uint64_t where;            /* the stamp */
    uint64_t net_dev, net_ino; /* network namespace: the sockets' names belong to it */
    unsigned char stamp[16];   /* random */
};

/* Own card.  From then on processes of this user may reach this one's memory where Yama asks
 * for that (PR_SET_PTRACER).  0 or a negative errno, explained. */
int zc_tp_local_card(struct zc_tp_local_card *out);

/* True when this process can reach that one; when it knows that that one is no more. */
bool zc_tp_local_reaches(const struct zc_tp_local_card *card);
/* The same for who tries several: with his own card at hand. */
bool zc_tp_local_reaches_as(const struct zc_tp_local_card *mine,
                            const struct zc_tp_local_card *theirs);
bool zc_tp_local_has_ended(const struct zc_tp_local_card *card);

#endif
