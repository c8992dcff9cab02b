"""Writes and reads a data set by two kinds of access, with parallel HDF5.

t_h5py.py FILE
"""

import sys

import h5py
from mpi4py import MPI

N = 1000
comm = MPI.COMM_WORLD
assert h5py.get_config().mpi, "this h5py is built without parallel HDF5"
with h5py.File(sys.argv[1], "w", driver="mpio", comm=comm) as f:
    d = f.create_dataset("d", (N * comm.size,), dtype="i8")
    part = slice(N * comm.rank, N * (comm.rank + 1))
    with d.collective:
        d[part] = range(part.start, part.stop)
comm.Barrier()
with h5py.File(sys.argv[1], "r", driver="mpio", comm=comm) as f:
    other = (comm.rank + 1) % comm.size * N
    assert list(f["d"][other : other + N]) == list(range(other, other + N))
