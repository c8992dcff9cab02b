/* zcache_order.h - collective reads come after what the ranks wrote before they came to them.
 *
 * MPI leaves that to the program; ROMIO's two-phase reads exchange data and so wait for all ranks,
 * and programs rely on it.  Nobody can know that no other rank has written since, for independent
 * writes are known to who makes them alone; so a file that can be written to is waited for at each
 * collective read, and one that cannot at none.
 */
#ifndef ZCACHE_ORDER_H
#define ZCACHE_ORDER_H

#include <stdbool.h>

#include "adio.h"

/* Whether collective reads through this handle wait; the same on every rank. */
bool zcache_order_wanted(ADIO_File fd);
/* Waits for all ranks, if it is wanted; 0 or a negative errno, explained.  Collective. */
int zcache_order_wait(ADIO_File fd);
/* The same, begun: *others is complete when all ranks have come; MPI_REQUEST_NULL: go ahead. */
void zcache_order_begin(ADIO_File fd, MPI_Request *others);
/* For a rank that has left a collective read before it came to wait: comes to it now, so that the
 * others go on.  `waits`: until they have come, too; else at the latest when the file is closed. */
void zcache_order_join(ADIO_File fd, bool waits);
/* When all ranks are closing the file. */
void zcache_order_end(ADIO_File fd);

#endif
