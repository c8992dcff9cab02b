! write_read.f90 - steps of a computation, each written as a record of one file.
!
!     mpifort -o write_read write_read.f90
!     mpiexec -n 4 ./write_read zcache:/scratch/steps.dat
!
! A grid of nx x ny reals; each rank has some rows of it, which in Fortran's order lie in pieces.
! Computes and writes the steps, closes the file, opens it again, and reads and compares what another
! rank wrote.  The same with "use mpi" and with mpif.h.
program write_read
    use mpi_f08
    implicit none
    integer, parameter :: dp = kind(1.0d0), nx = 96, ny = 256, steps = 8
    integer :: rank, ranks, step, other, n
    integer :: wrong, all_wrong
    real(dp), allocatable :: part(:, :), want(:, :)
    type(MPI_File) :: file
    character(len=4096) :: name

    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks)
    call get_command_argument(1, name)

    n = rows(rank)
    allocate (part(n, ny))
    call open_as(ior(MPI_MODE_CREATE, MPI_MODE_WRONLY), rank)
    do step = 1, steps
        call compute(part, step, rank)
        call write_step()
    end do
    call close_it()
    deallocate (part)

    other = mod(rank + 1, ranks)
    n = rows(other)
    allocate (part(n, ny), want(n, ny))
    wrong = 0
    call open_as(MPI_MODE_RDONLY, other)
    do step = 1, steps
        call compute(want, step, other)
        call read_step()
        wrong = wrong + count(part /= want)
    end do
    call close_it()

    call MPI_Allreduce(wrong, all_wrong, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    if (rank == 0) print '(i0, a, i0, a, i0, a)', steps, ' steps of ', ranks, ' ranks: ', &
        all_wrong, ' values are wrong'
    call MPI_Finalize()
    if (all_wrong /= 0) stop 1

contains

    ! Rows before those of rank r; and how many it has.
    integer function before(r)
        integer, intent(in) :: r
        before = nx * r / ranks
    end function before

    integer function rows(r)
        integer, intent(in) :: r
        rows = before(r + 1) - before(r)
    end function rows

    ! Some work, the same for writer and reader.
    subroutine compute(a, step, r)
        real(dp), intent(out) :: a(:, :)
        integer, intent(in) :: step, r
        integer :: i, j, k
        real(dp) :: x

        do j = 1, size(a, 2)
            do i = 1, size(a, 1)
                x = 1.0_dp / (before(r) + i + step) + j
                do k = 1, 50
                    x = x + 1.0_dp / (k + x)
                end do
                a(i, j) = x
            end do
        end do
    end subroutine compute

    ! Opens the file, which then shows the rows of rank r alone, record after record.
    subroutine open_as(mode, r)
        integer, intent(in) :: mode, r
        type(MPI_Datatype) :: piece
        integer :: ierr
        integer(kind=MPI_OFFSET_KIND), parameter :: zero = 0

        call MPI_File_open(MPI_COMM_WORLD, name, mode, MPI_INFO_NULL, file, ierr)
        call must(ierr, 'open')
        call MPI_Type_create_subarray(2, [nx, ny], [rows(r), ny], [before(r), 0], &
            MPI_ORDER_FORTRAN, MPI_DOUBLE_PRECISION, piece)
        call MPI_Type_commit(piece)
        call MPI_File_set_view(file, zero, MPI_DOUBLE_PRECISION, piece, 'native', MPI_INFO_NULL, ierr)
        call must(ierr, 'set_view')
        call MPI_Type_free(piece)
    end subroutine open_as

    subroutine write_step()
        integer :: ierr

        call MPI_File_write_all(file, part, size(part), MPI_DOUBLE_PRECISION, MPI_STATUS_IGNORE, ierr)
        call must(ierr, 'write')
    end subroutine write_step

    subroutine read_step()
        type(MPI_Status) :: status
        integer :: ierr, got

        call MPI_File_read_all(file, part, size(part), MPI_DOUBLE_PRECISION, status, ierr)
        call must(ierr, 'read')
        call MPI_Get_count(status, MPI_DOUBLE_PRECISION, got)
        if (got /= size(part)) wrong = wrong + 1
    end subroutine read_step

    ! Bytes are in the file when this succeeds; who does not look here may miss that they are not.
    subroutine close_it()
        integer :: ierr

        call MPI_File_close(file, ierr)
        call must(ierr, 'close')
    end subroutine close_it

    ! Files return errors unless told otherwise.
    subroutine must(code, what)
        integer, intent(in) :: code
        character(len=*), intent(in) :: what
        character(len=MPI_MAX_ERROR_STRING) :: text
        integer :: length

        if (code == MPI_SUCCESS) return
        call MPI_Error_string(code, text, length)
        print '(3a)', what, ': ', text(1:length)
        call MPI_Abort(MPI_COMM_WORLD, 1)
    end subroutine must
end program write_read
