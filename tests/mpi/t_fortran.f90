! Fortran programs reach the plugin: handles, views, errors, a handler written in Fortran.
! "t_fortran FILE [returns]"; built with mpifort.  "returns": without handlers of its own.
module t_fortran_handler
    use mpi
    implicit none
    integer :: calls = 0, last_fh = -1, last_class = -1
contains
    subroutine handler(fh, code)
        integer :: fh, code, ierr

        calls = calls + 1
        last_fh = fh
        call MPI_Error_class(code, last_class, ierr)
    end subroutine handler

    ! A data representation in which everything is as in memory.
    subroutine extent_of(datatype, extent, extra_state, code)
        integer :: datatype, code, size
        integer(kind=MPI_ADDRESS_KIND) :: extent, extra_state

        call MPI_Type_size(datatype, size, code)
        extent = size
    end subroutine extent_of

    subroutine convert(userbuf, datatype, items, filebuf, position, extra_state, code)
        integer :: userbuf(*), filebuf(*), datatype, items, code
        integer(kind=MPI_OFFSET_KIND) :: position
        integer(kind=MPI_ADDRESS_KIND) :: extra_state

        filebuf(1) = userbuf(1)
        code = MPI_SUCCESS
    end subroutine convert
end module t_fortran_handler

program t_fortran
    use mpi
    use t_fortran_handler
    implicit none
    integer, parameter :: n = 500
    integer :: fh, fh2, ierr, rank, nranks, filetype, i, cls, errh, errh2, failures, total, got
    integer :: request
    integer :: out(n), in(n), status(MPI_STATUS_SIZE)
    integer(kind=MPI_OFFSET_KIND) :: zero, offset, length
    integer(kind=MPI_ADDRESS_KIND) :: state
    character(len=1024) :: name, how

    failures = 0
    zero = 0
    call MPI_Init(ierr)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
    call MPI_Comm_size(MPI_COMM_WORLD, nranks, ierr)
    call get_command_argument(1, name)
    call get_command_argument(2, how)

    call MPI_File_open(MPI_COMM_WORLD, trim(name)//'.does.not.exist', MPI_MODE_RDONLY, &
                       MPI_INFO_NULL, fh, ierr)
    call MPI_Error_class(ierr, cls, i)
    call check(cls == MPI_ERR_NO_SUCH_FILE, 'class of a file that is not there')

    call MPI_File_open(MPI_COMM_WORLD, name, ior(MPI_MODE_CREATE, MPI_MODE_RDWR), MPI_INFO_NULL, &
                       fh, ierr)
    call check(ierr == MPI_SUCCESS, 'open')
    call MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR, MPI_INFO_NULL, fh2, ierr)
    call check(ierr == MPI_SUCCESS .and. fh2 /= fh, 'second open')
    call MPI_Type_vector(n, 1, nranks, MPI_INTEGER, filetype, ierr)
    call MPI_Type_commit(filetype, ierr)
    offset = 4 * rank
    call MPI_File_set_view(fh, offset, MPI_INTEGER, filetype, 'native', MPI_INFO_NULL, ierr)
    call check(ierr == MPI_SUCCESS, 'set_view')
    out = [(1000 * rank + i, i = 1, n)]
    call MPI_File_write_all(fh, out, n, MPI_INTEGER, status, ierr)
    call check(ierr == MPI_SUCCESS, 'write_all')
    call MPI_File_sync(fh, ierr)
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
    call MPI_File_sync(fh2, ierr)
    call MPI_File_get_size(fh2, length, ierr)
    call check(length == 4_MPI_OFFSET_KIND * n * nranks, 'get_size')
    in = 0
    call MPI_File_iread_at(fh, zero, in, n, MPI_INTEGER, request, ierr)
    call MPI_Wait(request, status, ierr)
    call MPI_Get_count(status, MPI_INTEGER, got, ierr)
    call check(got == n .and. all(in == out), 'iread_at')
    call MPI_File_read_at(fh2, zero, in, nranks, MPI_INTEGER, status, ierr)
    call check(all(in(1:nranks) == [(1000 * (i - 1) + 1, i = 1, nranks)]), 'through the other file')

    if (how /= 'returns') call with_handler

    ! Called as they are, or refused: never as if they were in C.
    state = 0
    call MPI_Register_datarep('t_fortran', convert, convert, extent_of, state, ierr)
    if (ierr == MPI_SUCCESS) then
        call MPI_File_set_view(fh, zero, MPI_INTEGER, MPI_INTEGER, 't_fortran', MPI_INFO_NULL, ierr)
    else
        call MPI_Error_class(ierr, cls, i)
        call check(cls == MPI_ERR_CONVERSION, 'class of conversion functions that are refused')
    end if
    call MPI_File_get_errhandler(MPI_FILE_NULL, errh, ierr)
    call check(errh == MPI_ERRORS_RETURN, 'handler of MPI_FILE_NULL')

    call MPI_File_close(fh2, ierr)
    call check(fh2 == MPI_FILE_NULL, 'closed handle is null')
    call MPI_File_close(fh, ierr)
    call MPI_Type_free(filetype, ierr)
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
    if (rank == 0) call MPI_File_delete(name, MPI_INFO_NULL, ierr)
    call MPI_Allreduce(failures, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
    if (rank == 0) then
        if (total == 0) print '(a)', 't_fortran: ok'
        if (total /= 0) print '(a)', 't_fortran: FAILED'
    end if
    call MPI_Finalize(ierr)
    if (total /= 0) stop 1
contains
    subroutine with_handler
        call MPI_File_create_errhandler(handler, errh, ierr)
        call MPI_File_set_errhandler(fh2, errh, ierr)
        call check(ierr == MPI_SUCCESS, 'set_errhandler')
        call MPI_File_get_errhandler(fh2, errh2, ierr)
        call check(ierr == MPI_SUCCESS .and. errh2 == errh, 'get_errhandler')
        call MPI_Errhandler_free(errh2, ierr)
        call MPI_Errhandler_free(errh, ierr)
        offset = -1
        call MPI_File_read_at(fh2, offset, in, 1, MPI_INTEGER, status, ierr)
        call check(calls == 1 .and. last_class == MPI_ERR_ARG, 'handler called')
        call check(last_fh == fh2, 'handler got the file')
        call MPI_File_call_errhandler(fh2, MPI_ERR_IO, ierr)
        call check(calls == 2 .and. last_class == MPI_ERR_IO .and. last_fh == fh2, &
                   'call_errhandler')
    end subroutine with_handler

    subroutine check(good, what)
        logical, intent(in) :: good
        character(len=*), intent(in) :: what

        if (good) return
        print '(a,i0,2a)', 'rank ', rank, ': ', what
        failures = failures + 1
    end subroutine check
end program t_fortran
