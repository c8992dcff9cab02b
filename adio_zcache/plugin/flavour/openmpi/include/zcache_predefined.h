/*
 * The predefined handles of Open MPI: addresses of variables in libmpi.
 *
 * zcache_predefined_find() fills them in before any call of MPI (zcache_library.h). Until then, and
 * if Open MPI has no such variable, they are NULL.
 */
#ifndef ZCACHE_PREDEFINED_H
#define ZCACHE_PREDEFINED_H

#define ZCACHE_PREDEFINED(F)                                                                       \
    F(ompi_mpi_comm_world)                                                                         \
    F(ompi_mpi_comm_self)                                                                          \
    F(ompi_mpi_comm_null)                                                                          \
    F(ompi_mpi_group_null)                                                                         \
    F(ompi_mpi_file_null)                                                                          \
    F(ompi_mpi_win_null)                                                                           \
    F(ompi_mpi_info_null)                                                                          \
    F(ompi_request_null)                                                                           \
    F(ompi_mpi_errhandler_null)                                                                    \
    F(ompi_mpi_errors_are_fatal)                                                                   \
    F(ompi_mpi_errors_abort)                                                                       \
    F(ompi_mpi_errors_return)                                                                      \
    F(ompi_mpi_op_null)                                                                            \
    F(ompi_mpi_op_band)                                                                            \
    F(ompi_mpi_op_bor)                                                                             \
    F(ompi_mpi_op_land)                                                                            \
    F(ompi_mpi_op_lor)                                                                             \
    F(ompi_mpi_op_max)                                                                             \
    F(ompi_mpi_op_min)                                                                             \
    F(ompi_mpi_op_sum)                                                                             \
    F(ompi_mpi_datatype_null)                                                                      \
    F(ompi_mpi_byte)                                                                               \
    F(ompi_mpi_packed)                                                                             \
    F(ompi_mpi_char)                                                                               \
    F(ompi_mpi_signed_char)                                                                        \
    F(ompi_mpi_unsigned_char)                                                                      \
    F(ompi_mpi_short)                                                                              \
    F(ompi_mpi_unsigned_short)                                                                     \
    F(ompi_mpi_int)                                                                                \
    F(ompi_mpi_unsigned)                                                                           \
    F(ompi_mpi_long)                                                                               \
    F(ompi_mpi_unsigned_long)                                                                      \
    F(ompi_mpi_long_long_int)                                                                      \
    F(ompi_mpi_unsigned_long_long)                                                                 \
    F(ompi_mpi_int32_t)                                                                            \
    F(ompi_mpi_int64_t)                                                                            \
    F(ompi_mpi_uint64_t)                                                                           \
    F(ompi_mpi_float)                                                                              \
    F(ompi_mpi_double)                                                                             \
    F(ompi_mpi_float_int)                                                                          \
    F(ompi_mpi_double_int)                                                                         \
    F(ompi_mpi_long_int)                                                                           \
    F(ompi_mpi_short_int)                                                                          \
    F(ompi_mpi_longdbl_int)                                                                        \
    F(ompi_mpi_2int)                                                                               \
    F(ompi_mpi_long_double)                                                                        \
    F(ompi_mpi_integer)                                                                            \
    F(ompi_mpi_real)                                                                               \
    F(ompi_mpi_dblprec)                                                                            \
    F(ompi_mpi_2integer)                                                                           \
    F(ompi_mpi_2real)                                                                              \
    F(ompi_mpi_2dblprec)                                                                           \
    F(ompi_mpi_aint)                                                                               \
    F(ompi_mpi_ub)                                                                                 \
    F(ompi_mpi_lb)                                                                                 \
    F(ompi_mpi_offset)                                                                             \
    F(ompi_mpi_count)                                                                              \
    F(ompi_mpi_wchar)                                                                              \
    F(ompi_mpi_cplex)                                                                              \
    F(ompi_mpi_dblcplex)                                                                           \
    F(ompi_mpi_complex8)                                                                           \
    F(ompi_mpi_complex16)                                                                          \
    F(ompi_mpi_complex32)                                                                          \
    F(ompi_mpi_c_float_complex)                                                                    \
    F(ompi_mpi_c_double_complex)                                                                   \
    F(ompi_mpi_c_long_double_complex)                                                              \
    F(ompi_mpi_cxx_cplex)                                                                          \
    F(ompi_mpi_cxx_dblcplex)                                                                       \
    F(ompi_mpi_cxx_ldblcplex)                                                                      \
    F(ompi_mpi_int8_t)                                                                             \
    F(ompi_mpi_int16_t)                                                                            \
    F(ompi_mpi_uint8_t)                                                                            \
    F(ompi_mpi_uint16_t)                                                                           \
    F(ompi_mpi_uint32_t)                                                                           \
    F(ompi_mpi_c_bool)                                                                             \
    F(ompi_mpi_cxx_bool)                                                                           \
    F(ompi_mpi_character)                                                                          \
    F(ompi_mpi_logical)                                                                            \
    F(ompi_mpi_integer1)                                                                           \
    F(ompi_mpi_integer2)                                                                           \
    F(ompi_mpi_integer4)                                                                           \
    F(ompi_mpi_integer8)                                                                           \
    F(ompi_mpi_integer16)                                                                          \
    F(ompi_mpi_real2)                                                                              \
    F(ompi_mpi_real4)                                                                              \
    F(ompi_mpi_real8)                                                                              \
    F(ompi_mpi_real16)                                                                             \
    F(ompi_mpi_2cplex)                                                                             \
    F(ompi_mpi_2dblcplex)

#define ZCACHE_PREDEFINED_MEMBER(name) void *name;
extern struct zcache_predefined {
    ZCACHE_PREDEFINED(ZCACHE_PREDEFINED_MEMBER)
} zcache_predefined;
#undef ZCACHE_PREDEFINED_MEMBER

void zcache_predefined_find(void);

#endif
