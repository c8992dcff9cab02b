! A file of zcache and one of the MPI library, open at the same time in a Fortran program: numbers,
! data, handlers, requests. "t_both_fortran FILE OTHER"; built with mpifort. A handler does not look
! at the file: MPICH gives Fortran handlers another number for its own files.
module t_both_handler
    use mpi
    implicit none
    integer :: calls = 0, last_class = -1
contains
    subroutine handler(fh, code)
        integer :: fh, code, ierr

        calls = calls + 1
        call MPI_Error_class(code, last_class, ierr)
    end subroutine handler
end module t_both_handler

program t_both_fortran
    use mpi
    use t_both_handler
    implicit none
    integer, parameter :: n = 400
    integer :: fh(2), ierr, rank, nranks, i, k, errh, got, failures, total, request(2)
    integer :: out(n, 2), in(n, 2), statuses(MPI_STATUS_SIZE, 2)
    integer(kind=MPI_OFFSET_KIND) :: offset, where
    character(len=1024) :: name(2)

    failures = 0
    call MPI_Init(ierr)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
    call MPI_Comm_size(MPI_COMM_WORLD, nranks, ierr)
    do k = 1, 2
        call get_command_argument(k, name(k))
        call MPI_File_open(MPI_COMM_WORLD, name(k), ior(MPI_MODE_CREATE, MPI_MODE_RDWR), &
                           MPI_INFO_NULL, fh(k), ierr)
        call check(ierr == MPI_SUCCESS, 'open')
        out(:, k) = [(100000 * k + 1000 * rank + i, i = 1, n)]
    end do
    call check(fh(1) /= fh(2), 'two files have one number')

    offset = 4_MPI_OFFSET_KIND * n * rank
    do k = 1, 2
        call MPI_File_iwrite_at(fh(k), offset, out(1, k), n, MPI_INTEGER, request(k), ierr)
        call check(ierr == MPI_SUCCESS, 'iwrite_at')
    end do
    call MPI_Waitall(2, request, statuses, ierr)
    in = 0
    do k = 1, 2
        call MPI_File_seek(fh(k), offset, MPI_SEEK_SET, ierr)
        call MPI_File_read_all(fh(k), in(1, k), n, MPI_BYTE, statuses, ierr)
        call MPI_Get_count(statuses, MPI_BYTE, got, ierr)
        call check(got == n, 'read_all')
        call MPI_File_get_position(fh(k), where, ierr)
        call check(where == offset + n, 'get_position')
        call MPI_File_read_at_all(fh(k), offset, in(1, k), n, MPI_INTEGER, statuses, ierr)
    end do
    call check(all(in == out), 'what was read')

    call MPI_File_create_errhandler(handler, errh, ierr)
    offset = -1
    do k = 1, 2
        call MPI_File_set_errhandler(fh(k), errh, ierr)
        calls = 0
        call MPI_File_read_at(fh(k), offset, in, 1, MPI_INTEGER, statuses, ierr)
        call check(calls == 1 .and. last_class == MPI_ERR_ARG, 'the handler of a file')
        call MPI_File_set_errhandler(fh(k), MPI_ERRORS_RETURN, ierr)
    end do
    call MPI_Errhandler_free(errh, ierr)
    do k = 1, 2
        call MPI_File_close(fh(k), ierr)
        call check(ierr == MPI_SUCCESS .and. fh(k) == MPI_FILE_NULL, 'close')
        call MPI_Barrier(MPI_COMM_WORLD, ierr)
        if (rank == 0) call MPI_File_delete(name(k), MPI_INFO_NULL, ierr)
        call check(ierr == MPI_SUCCESS, 'delete')
    end do
    call MPI_Allreduce(failures, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
    if (rank == 0 .and. total == 0) print '(a)', 't_both_fortran: ok'
    call MPI_Finalize(ierr)
    if (total /= 0) stop 1
contains
    subroutine check(good, what)
        logical, intent(in) :: good
        character(len=*), intent(in) :: what

        if (good) return
        failures = failures + 1
        print '(a,i0,2a)', 'rank ', rank, ': ', what
    end subroutine check
end program t_both_fortran
