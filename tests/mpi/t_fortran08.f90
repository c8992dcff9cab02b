! The same door through mpi_f08, where handles are types. "t_fortran08 FILE".
program t_fortran08
    use mpi_f08
    implicit none
    integer, parameter :: n = 300
    type(MPI_File) :: fh
    type(MPI_Status) :: status
    type(MPI_Request) :: request
    integer :: ierr, rank, nranks, i, got, failures, total
    integer(kind=MPI_OFFSET_KIND) :: offset
    integer :: out(n), in(n)
    character(len=1024) :: name

    failures = 0
    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, nranks)
    call get_command_argument(1, name)
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
    call MPI_File_close(fh)
    if (fh /= MPI_FILE_NULL) failures = failures + 1
    call MPI_Barrier(MPI_COMM_WORLD)
    if (rank == 0) call MPI_File_delete(name, MPI_INFO_NULL)
    call MPI_Allreduce(failures, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    if (rank == 0 .and. total == 0) print '(a)', 't_fortran08: ok'
    if (rank == 0 .and. total /= 0) print '(a)', 't_fortran08: FAILED'
    call MPI_Finalize()
    if (total /= 0) stop 1
end program t_fortran08
