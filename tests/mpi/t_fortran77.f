C     The door through mpif.h, in fixed form: handles, a view, an error
C     handler written in Fortran.  "t_fortran77 FILE [returns]".
      program t_fortran77
      implicit none
      include 'mpif.h'
      integer n
      parameter (n = 400)
      integer fh, ierr, rank, nranks, i, got, failed, total, errh, ftype
      integer request
      integer out(n), in(n), status(MPI_STATUS_SIZE)
      integer(kind=MPI_OFFSET_KIND) at
      character*1024 name, how
      integer calls, lastfh, lastcl
      common /seen/ calls, lastfh, lastcl
      external handler

      calls = 0
      failed = 0
      call MPI_INIT(ierr)
      call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
      call MPI_COMM_SIZE(MPI_COMM_WORLD, nranks, ierr)
      call GET_COMMAND_ARGUMENT(1, name)
      call GET_COMMAND_ARGUMENT(2, how)
      call MPI_FILE_OPEN(MPI_COMM_WORLD, name,
     +     MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, fh, ierr)
      if (ierr .ne. MPI_SUCCESS) call MPI_ABORT(MPI_COMM_WORLD, 2, ierr)
      call MPI_FILE_CREATE_ERRHANDLER(handler, errh, ierr)
      if (how .ne. 'returns') then
         call MPI_FILE_SET_ERRHANDLER(fh, errh, ierr)
      end if
      call MPI_ERRHANDLER_FREE(errh, ierr)

C     Every rank has one column of an array of nranks columns.
      call MPI_TYPE_VECTOR(n, 1, nranks, MPI_INTEGER, ftype, ierr)
      call MPI_TYPE_COMMIT(ftype, ierr)
      at = 4 * rank
      call MPI_FILE_SET_VIEW(fh, at, MPI_INTEGER, ftype, 'native',
     +     MPI_INFO_NULL, ierr)
      if (ierr .ne. MPI_SUCCESS) failed = failed + 1
      do 10 i = 1, n
         out(i) = 1000 * rank + i
         in(i) = 0
 10   continue
      at = 0
      call MPI_FILE_WRITE_AT_ALL(fh, at, out, n, MPI_INTEGER, status,
     +     ierr)
      if (ierr .ne. MPI_SUCCESS) failed = failed + 1
      call MPI_FILE_IREAD_AT(fh, at, in, n, MPI_INTEGER, request, ierr)
      call MPI_WAIT(request, status, ierr)
      call MPI_GET_COUNT(status, MPI_INTEGER, got, ierr)
      if (got .ne. n) failed = failed + 1
      do 20 i = 1, n
         if (in(i) .ne. out(i)) failed = failed + 1
 20   continue

      at = -1
      call MPI_FILE_READ_AT(fh, at, in, 1, MPI_INTEGER, status, ierr)
      if (ierr .eq. MPI_SUCCESS) failed = failed + 1
      if (how .ne. 'returns') then
         if (calls .ne. 1 .or. lastfh .ne. fh) failed = failed + 1
         if (lastcl .ne. MPI_ERR_ARG) failed = failed + 1
      end if

      call MPI_FILE_CLOSE(fh, ierr)
      if (fh .ne. MPI_FILE_NULL) failed = failed + 1
      call MPI_TYPE_FREE(ftype, ierr)
      call MPI_BARRIER(MPI_COMM_WORLD, ierr)
      if (rank .eq. 0) call MPI_FILE_DELETE(name, MPI_INFO_NULL, ierr)
      call MPI_ALLREDUCE(failed, total, 1, MPI_INTEGER, MPI_SUM,
     +     MPI_COMM_WORLD, ierr)
      if (rank .eq. 0 .and. total .eq. 0) print *, 't_fortran77: ok'
      if (rank .eq. 0 .and. total .ne. 0) print *, 't_fortran77: FAILED'
      call MPI_FINALIZE(ierr)
      if (total .ne. 0) stop 1
      end

      subroutine handler(fh, code)
      implicit none
      include 'mpif.h'
      integer fh, code, ierr
      integer calls, lastfh, lastcl
      common /seen/ calls, lastfh, lastcl

      calls = calls + 1
      lastfh = fh
      call MPI_ERROR_CLASS(code, lastcl, ierr)
      end
