"""write_read_mpi4py.py - steps of a computation, each written as a record of one file.

    mpiexec -n 4 python3 write_read_mpi4py.py zcache:/scratch/steps.dat

Each rank has some columns of a grid. Computes and writes the steps, closes the file, opens it
again, and reads and compares what another rank wrote. Errors are exceptions in mpi4py, those of
the close, too. Needs mpi4py built for MPICH; no numpy.
"""

import sys
from array import array

from mpi4py import MPI

ROWS, COLS, STEPS = 256, 96, 8
comm = MPI.COMM_WORLD


def columns(rank):
    return range(COLS * rank // comm.size, COLS * (rank + 1) // comm.size)


def compute(step, rank):
    """Some work, the same for writer and reader."""
    return array("d", (step + row / (1.0 + col) for row in range(ROWS) for col in columns(rank)))


def open_columns(name, mode, rank):
    """The file, showing the columns of a rank alone, record after record."""
    mine = columns(rank)
    piece = MPI.DOUBLE.Create_subarray([ROWS, COLS], [ROWS, len(mine)], [0, mine.start]).Commit()
    file = MPI.File.Open(comm, name, mode)
    file.Set_view(0, MPI.DOUBLE, piece)
    piece.Free()
    return file


def main(name):
    file = open_columns(name, MPI.MODE_CREATE | MPI.MODE_WRONLY, comm.rank)
    for step in range(STEPS):
        file.Write_all([compute(step, comm.rank), MPI.DOUBLE])
    file.Close()

    other = (comm.rank + 1) % comm.size
    file = open_columns(name, MPI.MODE_RDONLY, other)
    wrong = 0
    for step in range(STEPS):
        want = compute(step, other)
        part = array("d", bytes(8 * len(want)))
        file.Read_all([part, MPI.DOUBLE])
        wrong += sum(a != b for a, b in zip(part, want))
    file.Close()

    wrong = comm.allreduce(wrong)
    if comm.rank == 0:
        print(f"{STEPS} steps of {comm.size} ranks: {wrong} values are wrong")
    sys.exit(wrong != 0)


main(sys.argv[1])
