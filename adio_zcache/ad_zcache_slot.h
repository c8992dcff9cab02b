/* ad_zcache_slot.h - what a reading or writing slot asks for, as an access. */
#ifndef AD_ZCACHE_SLOT_H
#define AD_ZCACHE_SLOT_H

#include "adio.h"
#include "zcache_access.h"

/* The arguments of a reading or writing slot.  `offset` is a byte of the file in the
 * contiguous slots and an etype of the view in the strided ones. */
struct zcache_slot_args {
    ADIO_File fd;
    enum zcache_dir dir;
    void *buf;
    MPI_Offset count;
    MPI_Datatype type;
    int file_ptr_type;
    ADIO_Offset offset;
    int strided;
};

/* Makes an access of what the slot asks for, and moves the individual pointer where the slot uses
 * it: by the amount asked for, as MPI has it, also when a read finds less.  Returns 0 or a negative
 * errno, explained; on success zcache_slot_done() gives back what the access refers to. */
int zcache_slot_begin(const struct zcache_slot_args *s, struct zcache_access *a);
void zcache_slot_done(struct zcache_access *a);
/* Makes the access, and measures it; returns the bytes moved or a negative errno. */
int64_t zcache_slot_run(const struct zcache_access *a);
/* Makes *error_code of the result RC of an access to the file PATH; 0 is success. */
void zcache_slot_error(enum zcache_dir dir, const char *path, int rc, int *error_code);

#endif
