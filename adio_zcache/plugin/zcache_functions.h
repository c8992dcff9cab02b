/*
 * The functions of MPI-IO that take a file handle first, in one table: what is the same for all of
 * them is written once, by a macro F(NAME, (PARAMETERS), (ARGUMENTS)).
 *
 * Functions of MPI-4 are among them whatever mpi.h declares: the plugin may run with an MPI library
 * that is newer than the one it was built with.
 */
#ifndef ZCACHE_FUNCTIONS_H
#define ZCACHE_FUNCTIONS_H

#include <mpi.h>

/* The functions that move data, each also with a large count (_c). AT: with an explicit offset. */
#define ZCACHE_DATA_AT(F, name, buffer)                                                            \
    F(name,                                                                                        \
      (MPI_File fh, MPI_Offset offset, buffer * buf, int count, MPI_Datatype type,                 \
       MPI_Status *status),                                                                        \
      (fh, offset, buf, count, type, status))                                                      \
    F(name##_c,                                                                                    \
      (MPI_File fh, MPI_Offset offset, buffer * buf, MPI_Count count, MPI_Datatype type,           \
       MPI_Status * status),                                                                       \
      (fh, offset, buf, count, type, status))
#define ZCACHE_DATA_AT_REQUEST(F, name, buffer)                                                    \
    F(name,                                                                                        \
      (MPI_File fh, MPI_Offset offset, buffer * buf, int count, MPI_Datatype type,                 \
       MPI_Request *request),                                                                      \
      (fh, offset, buf, count, type, request))                                                     \
    F(name##_c,                                                                                    \
      (MPI_File fh, MPI_Offset offset, buffer * buf, MPI_Count count, MPI_Datatype type,           \
       MPI_Request * request),                                                                     \
      (fh, offset, buf, count, type, request))
#define ZCACHE_DATA_AT_NOTHING(F, name, buffer)                                                    \
    F(name, (MPI_File fh, MPI_Offset offset, buffer * buf, int count, MPI_Datatype type),          \
      (fh, offset, buf, count, type))                                                              \
    F(name##_c,                                                                                    \
      (MPI_File fh, MPI_Offset offset, buffer * buf, MPI_Count count, MPI_Datatype type),          \
      (fh, offset, buf, count, type))
#define ZCACHE_DATA(F, name, buffer)                                                               \
    F(name, (MPI_File fh, buffer * buf, int count, MPI_Datatype type, MPI_Status *status),         \
      (fh, buf, count, type, status))                                                              \
    F(name##_c,                                                                                    \
      (MPI_File fh, buffer * buf, MPI_Count count, MPI_Datatype type, MPI_Status * status),        \
      (fh, buf, count, type, status))
#define ZCACHE_DATA_REQUEST(F, name, buffer)                                                       \
    F(name, (MPI_File fh, buffer * buf, int count, MPI_Datatype type, MPI_Request *request),       \
      (fh, buf, count, type, request))                                                             \
    F(name##_c,                                                                                    \
      (MPI_File fh, buffer * buf, MPI_Count count, MPI_Datatype type, MPI_Request * request),      \
      (fh, buf, count, type, request))
#define ZCACHE_DATA_NOTHING(F, name, buffer)                                                       \
    F(name, (MPI_File fh, buffer * buf, int count, MPI_Datatype type), (fh, buf, count, type))     \
    F(name##_c, (MPI_File fh, buffer * buf, MPI_Count count, MPI_Datatype type),                   \
      (fh, buf, count, type))

#define ZCACHE_DATA_FUNCTIONS(F)                                                                   \
    ZCACHE_DATA_AT(F, read_at, void)                                                               \
    ZCACHE_DATA_AT(F, write_at, const void)                                                        \
    ZCACHE_DATA_AT_REQUEST(F, iread_at, void)                                                      \
    ZCACHE_DATA_AT_REQUEST(F, iwrite_at, const void)                                               \
    ZCACHE_DATA_AT(F, read_at_all, void)                                                           \
    ZCACHE_DATA_AT(F, write_at_all, const void)                                                    \
    ZCACHE_DATA_AT_REQUEST(F, iread_at_all, void)                                                  \
    ZCACHE_DATA_AT_REQUEST(F, iwrite_at_all, const void)                                           \
    ZCACHE_DATA(F, read, void)                                                                     \
    ZCACHE_DATA(F, write, const void)                                                              \
    ZCACHE_DATA_REQUEST(F, iread, void)                                                            \
    ZCACHE_DATA_REQUEST(F, iwrite, const void)                                                     \
    ZCACHE_DATA(F, read_all, void)                                                                 \
    ZCACHE_DATA(F, write_all, const void)                                                          \
    ZCACHE_DATA_REQUEST(F, iread_all, void)                                                        \
    ZCACHE_DATA_REQUEST(F, iwrite_all, const void)                                                 \
    ZCACHE_DATA(F, read_shared, void)                                                              \
    ZCACHE_DATA(F, write_shared, const void)                                                       \
    ZCACHE_DATA_REQUEST(F, iread_shared, void)                                                     \
    ZCACHE_DATA_REQUEST(F, iwrite_shared, const void)                                              \
    ZCACHE_DATA(F, read_ordered, void)                                                             \
    ZCACHE_DATA(F, write_ordered, const void)                                                      \
    ZCACHE_DATA_AT_NOTHING(F, read_at_all_begin, void)                                             \
    ZCACHE_DATA_AT_NOTHING(F, write_at_all_begin, const void)                                      \
    ZCACHE_DATA_NOTHING(F, read_all_begin, void)                                                   \
    ZCACHE_DATA_NOTHING(F, write_all_begin, const void)                                            \
    ZCACHE_DATA_NOTHING(F, read_ordered_begin, void)                                               \
    ZCACHE_DATA_NOTHING(F, write_ordered_begin, const void)

#define ZCACHE_FILE_FUNCTIONS(F)                                                                   \
    ZCACHE_DATA_FUNCTIONS(F)                                                                       \
    F(get_size, (MPI_File fh, MPI_Offset * size), (fh, size))                                      \
    F(set_size, (MPI_File fh, MPI_Offset size), (fh, size))                                        \
    F(preallocate, (MPI_File fh, MPI_Offset size), (fh, size))                                     \
    F(get_group, (MPI_File fh, MPI_Group * group), (fh, group))                                    \
    F(get_amode, (MPI_File fh, int *amode), (fh, amode))                                           \
    F(set_info, (MPI_File fh, MPI_Info info), (fh, info))                                          \
    F(get_info, (MPI_File fh, MPI_Info * info_used), (fh, info_used))                              \
    F(set_view,                                                                                    \
      (MPI_File fh, MPI_Offset disp, MPI_Datatype etype, MPI_Datatype filetype,                    \
       const char *datarep, MPI_Info info),                                                        \
      (fh, disp, etype, filetype, datarep, info))                                                  \
    F(get_view,                                                                                    \
      (MPI_File fh, MPI_Offset * disp, MPI_Datatype * etype, MPI_Datatype * filetype,              \
       char *datarep),                                                                             \
      (fh, disp, etype, filetype, datarep))                                                        \
    F(get_type_extent, (MPI_File fh, MPI_Datatype datatype, MPI_Aint * extent),                    \
      (fh, datatype, extent))                                                                      \
    F(get_type_extent_c, (MPI_File fh, MPI_Datatype datatype, MPI_Count * extent),                 \
      (fh, datatype, extent))                                                                      \
    F(set_atomicity, (MPI_File fh, int flag), (fh, flag))                                          \
    F(get_atomicity, (MPI_File fh, int *flag), (fh, flag))                                         \
    F(sync, (MPI_File fh), (fh))                                                                   \
    F(seek, (MPI_File fh, MPI_Offset offset, int whence), (fh, offset, whence))                    \
    F(get_position, (MPI_File fh, MPI_Offset * offset), (fh, offset))                              \
    F(get_byte_offset, (MPI_File fh, MPI_Offset offset, MPI_Offset * disp), (fh, offset, disp))    \
    F(seek_shared, (MPI_File fh, MPI_Offset offset, int whence), (fh, offset, whence))             \
    F(get_position_shared, (MPI_File fh, MPI_Offset * offset), (fh, offset))                       \
    F(get_errhandler, (MPI_File fh, MPI_Errhandler * errhandler), (fh, errhandler))                \
    F(call_errhandler, (MPI_File fh, int errorcode), (fh, errorcode))                              \
    F(read_at_all_end, (MPI_File fh, void *buf, MPI_Status *status), (fh, buf, status))            \
    F(write_at_all_end, (MPI_File fh, const void *buf, MPI_Status *status), (fh, buf, status))     \
    F(read_all_end, (MPI_File fh, void *buf, MPI_Status *status), (fh, buf, status))               \
    F(write_all_end, (MPI_File fh, const void *buf, MPI_Status *status), (fh, buf, status))        \
    F(read_ordered_end, (MPI_File fh, void *buf, MPI_Status *status), (fh, buf, status))           \
    F(write_ordered_end, (MPI_File fh, const void *buf, MPI_Status *status), (fh, buf, status))

/* The function for the plugin's own files, zcache_entry*.c. Returns an MPI error code, raised. */
#define ZCACHE_DECLARE_ENTRY(name, params, args) int zcache_entry_##name params;
ZCACHE_FILE_FUNCTIONS(ZCACHE_DECLARE_ENTRY)

/* The same for data that are in the file as in memory, or as ROMIO converts them:
 * zcache_entry_data.c. */
#define ZCACHE_DECLARE_PLAIN(name, params, args) int zcache_plain_##name params;
ZCACHE_DATA_FUNCTIONS(ZCACHE_DECLARE_PLAIN)

int zcache_entry_open(MPI_Comm comm, const char *filename, int amode, MPI_Info info, MPI_File *fh);
int zcache_entry_close(MPI_File *fh);
int zcache_entry_delete(const char *filename, MPI_Info info);
int zcache_entry_register_datarep(const char *name, MPI_Datarep_conversion_function *read_fn,
                                  MPI_Datarep_conversion_function *write_fn,
                                  MPI_Datarep_extent_function *extent, void *state);
int zcache_entry_register_datarep_c(const char *name, MPI_Datarep_conversion_function_c *read_fn,
                                    MPI_Datarep_conversion_function_c *write_fn,
                                    MPI_Datarep_extent_function *extent, void *state);

#endif
