! The same door through mpi_f08, where handles are types. "t_fortran08 FILE [returns]".
module t_fortran08_handler
    use mpi_f08
    implicit none
    integer :: calls = 0, last_class = -1
    type(MPI_File) :: last_fh
contains
    subroutine handler(fh, code)
        type(MPI_File) :: fh
        integer :: code

        calls = calls + 1
        last_fh = fh
        call MPI_Error_class(code, last_class)
    end subroutine handler
end module t_fortran08_handler

program t_fortran08
    use mpi_f08
    use t_fortran08_handler
    implicit none
    integer, parameter :: n = 300
    type(MPI_File) :: fh
    type(MPI_Status) :: status
    type(MPI_Request) :: request
    type(MPI_Errhandler) :: errh, errh2
    integer :: ierr, rank, nranks, i, got, failures, total
    integer(kind=MPI_OFFSET_KIND) :: offset
    integer :: out(n), in(n)
    character(len=1024) :: name, how

    failures = 0
    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, nranks)
    call get_command_argument(1, name)
    call get_command_argument(2, how)
    call MPI_File_open(MPI_COMM_WORLD, name, ior(MPI_MODE_CREATE, MPI_MODE_RDWR), MPI_INFO_NULL, &
                       fh, ierr)
    if (ierr /= MPI_SUCCESS) call MPI_Abort(MPI_COMM_WORLD, 2)
    out = [(1000 * rank + i, i = 1, n)]
    offset = 4_MPI_OFFSET_KIND * n * rank
    call MPI_File_iwrite_at_all(fh, offset, out, n, MPI_INTEGER, request)
    call MPI_Wait(request, status)
    call MPI_Get_count(status, MPI_INTEGER, got)
    if (got /= n) failures = failures + 1
    in = 0
    call MPI_File_read_at_all(fh, offset, in, n, MPI_INTEGER, status)
    if (any(in /= out)) failures = failures + 1
    offset = -1
    call MPI_File_read_at(fh, offset, in, 1, MPI_INTEGER, status, ierr)
    if (ierr == MPI_SUCCESS) failures = failures + 1
    if (how /= 'returns') call with_handler
    call MPI_File_close(fh)
    if (fh /= MPI_FILE_NULL) failures = failures + 1
    call MPI_Barrier(MPI_COMM_WORLD)
    if (rank == 0) call MPI_File_delete(name, MPI_INFO_NULL)
    call MPI_Allreduce(failures, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    if (rank == 0 .and. total == 0) print '(a)', 't_fortran08: ok'
    if (rank == 0 .and. total /= 0) print '(a)', 't_fortran08: FAILED'
    call MPI_Finalize()
    if (total /= 0) stop 1
contains
    subroutine with_handler
        call MPI_File_create_errhandler(handler, errh)
        call MPI_File_set_errhandler(fh, errh)
        call MPI_File_get_errhandler(fh, errh2)
        if (errh2 /= errh) failures = failures + 1
        call MPI_Errhandler_free(errh2)
        call MPI_Errhandler_free(errh)
        call MPI_File_read_at(fh, offset, in, 1, MPI_INTEGER, status, ierr)
        if (calls /= 1 .or. last_fh /= fh .or. last_class /= MPI_ERR_ARG) failures = failures + 1
        call MPI_File_call_errhandler(fh, MPI_ERR_IO)
        if (calls /= 2 .or. last_class /= MPI_ERR_IO) failures = failures + 1
    end subroutine with_handler
end program t_fortran08
