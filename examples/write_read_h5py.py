"""write_read_h5py.py - steps of a computation in a dataset of HDF5.

    mpiexec -n 4 python3 write_read_h5py.py zcache:/scratch/steps.h5

Each rank has some columns of a grid. Computes and writes the steps, closes the file, opens it
again, and reads and compares what another rank wrote. Needs h5py and mpi4py built for MPICH, the
former with a parallel HDF5.
"""

import sys

import h5py
import numpy
from mpi4py import MPI

ROWS, COLS, STEPS = 256, 96, 8
comm = MPI.COMM_WORLD


def columns(rank):
    return slice(COLS * rank // comm.size, COLS * (rank + 1) // comm.size)


def compute(step, rank):
    """Some work, the same for writer and reader."""
    mine = columns(rank)
    row, col = numpy.ogrid[0:ROWS, mine.start : mine.stop]
    return step + row / (1.0 + col)


def main(name):
    with h5py.File(name, "w", driver="mpio", comm=comm) as file:
        steps = file.create_dataset("steps", (STEPS, ROWS, COLS), "f8")
        for step in range(STEPS):
            part = compute(step, comm.rank)
            with steps.collective:
                steps[step, :, columns(comm.rank)] = part

    other = (comm.rank + 1) % comm.size
    wrong = 0
    with h5py.File(name, "r", driver="mpio", comm=comm) as file:
        steps = file["steps"]
        for step in range(STEPS):
            want = compute(step, other)
            with steps.collective:
                part = steps[step, :, columns(other)]
            wrong += int((part != want).sum())

    wrong = comm.allreduce(wrong)
    if comm.rank == 0:
        print(f"{STEPS} steps of {comm.size} ranks: {wrong} values are wrong")
    sys.exit(wrong != 0)


main(sys.argv[1])
