"""steps_mpi4py.py - one job computes steps, another one reads each as soon as it is finished.

    mpiexec -n 4 python3 steps_mpi4py.py zcache:/scratch/field produce 20 &
    mpiexec -n 2 python3 steps_mpi4py.py zcache:/scratch/field consume 20

Both need daemons, the same ones. As steps.c, which says what the hints mean: Sync publishes a step,
the consumer waits for it at the open and with Set_info, and reads whole steps only. Errors are
exceptions in mpi4py. Needs mpi4py built for MPICH; no numpy.
"""

import sys
from array import array

from mpi4py import MPI

VALUES = 1 << 13
comm = MPI.COMM_WORLD


def hints(**values):
    info = MPI.Info.Create()
    for key, value in values.items():
        info.Set(key, str(value))
    return info


def part():
    """This rank's values of a step."""
    return range(VALUES * comm.rank // comm.size, VALUES * (comm.rank + 1) // comm.size)


def compute(step):
    return array("d", (step + i / VALUES for i in part()))


def place(step):
    return 8 * (VALUES * (step - 1) + part().start)


def produce(name, steps):
    info = hints(zcache_steps="true", zcache_sync_level="staged")
    file = MPI.File.Open(comm, name, MPI.MODE_CREATE | MPI.MODE_WRONLY, info)
    for step in range(1, steps + 1):
        file.Write_at_all(place(step), [compute(step), MPI.DOUBLE])
        file.Sync()
    file.Close()


def consume(name, steps):
    info = hints(zcache_wait_step=1, zcache_wait_limit="1m")
    file = MPI.File.Open(comm, name, MPI.MODE_RDONLY, info)
    wrong = 0
    for step in range(1, steps + 1):
        if step > 1:
            file.Set_info(hints(zcache_wait_step=step))
        got = array("d", bytes(8 * len(part())))
        file.Read_at_all(place(step), [got, MPI.DOUBLE])
        wrong += sum(a != b for a, b in zip(got, compute(step)))
    file.Close()
    wrong = comm.allreduce(wrong)
    if comm.rank == 0:
        print(f"{steps} steps: {wrong} values are wrong")
    return wrong


name, what, steps = sys.argv[1:]
if what == "produce":
    produce(name, int(steps))
else:
    sys.exit(consume(name, int(steps)) != 0)
