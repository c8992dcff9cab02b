"""Writes and reads a file from Python.

    t_io.py FILE

Every rank writes lines of its own, collectively and then by nonblocking requests; all of them are
read back by another rank, and the file is compared byte for byte.

environment: TEST_LIBFABRIC, the release of libfabric that the ranks must have, and the daemon
must not
"""

import os
import sys

from mpi4py import MPI

LINE = 1000
LINES = 200


def line(number):
    return (b"%08d" % number * (LINE // 8))[:LINE]


def check_libfabric(fh, wanted):
    info = fh.Get_info()
    ranks, daemon = info.Get("zcache_agg_libfabric"), info.Get("zcache_iod_libfabric")
    assert ranks == wanted, "ranks have libfabric %s, not %s" % (ranks, wanted)
    assert daemon not in (None, wanted), "the daemon has libfabric %s" % daemon
    info.Free()


def main(name):
    comm = MPI.COMM_WORLD
    rank, size = comm.rank, comm.size
    info = MPI.Info.Create({"zcache_block_size": "64K", "zcache_counters": "true"})
    fh = MPI.File.Open(comm, name, MPI.MODE_CREATE | MPI.MODE_RDWR, info)
    filetype = MPI.BYTE.Create_vector(LINES, LINE, LINE * size).Commit()

    # Lines take turns between ranks, in the first half through a view.
    fh.Set_view(rank * LINE, MPI.BYTE, filetype)
    fh.Write_all(b"".join(line(i * size + rank) for i in range(LINES)))
    fh.Set_view(0, MPI.BYTE, MPI.BYTE)
    first = LINES * size
    requests = [
        fh.Iwrite_at((first + i * size + rank) * LINE, line(first + i * size + rank))
        for i in range(LINES)
    ]
    MPI.Request.Waitall(requests)
    fh.Sync()
    comm.Barrier()

    other = (rank + 1) % size
    back = bytearray(LINE * LINES)
    fh.Set_view(other * LINE, MPI.BYTE, filetype)
    status = MPI.Status()
    fh.Read_all(back, status)
    assert status.Get_count(MPI.BYTE) == len(back)
    assert back == b"".join(line(i * size + other) for i in range(LINES))
    assert fh.Get_size() == 2 * first * LINE

    # What fails is an exception that names the file.
    try:
        MPI.File.Open(comm, name + ".not/there", MPI.MODE_RDONLY)
    except MPI.Exception as error:
        assert error.Get_error_class() in (MPI.ERR_NO_SUCH_FILE, MPI.ERR_BAD_FILE), error
        if name.startswith("zcache:"):
            assert name.partition(":")[2] in str(error), error
    else:
        raise AssertionError("a file that is not there was opened")

    if os.environ.get("TEST_LIBFABRIC"):
        check_libfabric(fh, os.environ["TEST_LIBFABRIC"])
    fh.Close()
    filetype.Free()
    info.Free()
    if rank == 0:
        with open(name.partition(":")[2], "rb") as plain:
            for number in range(2 * first):
                assert plain.read(LINE) == line(number), "line %d" % number
            assert not plain.read(1)
        MPI.File.Delete(name)
    comm.Barrier()


main(sys.argv[1])
