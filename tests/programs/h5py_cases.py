"""What h5py programs do with a file that all ranks have open, each compared with what was meant.

Run by h5py.suite under pytest, on all ranks; files are in TMPDIR.
"""

import os

import h5py
import numpy as np
import pytest
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
ROWS, COLUMNS = 40, 333


def values(of_rank, generation=0):
    first = (generation * size + of_rank) * ROWS * COLUMNS
    return np.arange(first, first + ROWS * COLUMNS, dtype="i8").reshape(ROWS, COLUMNS)


@pytest.fixture
def name(request):
    path = comm.bcast(os.path.join(os.environ["TMPDIR"], request.node.name + ".h5"))
    yield path
    comm.Barrier()
    if rank == 0 and os.path.exists(path):
        os.unlink(path)
    comm.Barrier()


def opened(name, mode="w", **options):
    return h5py.File(name, mode, driver="mpio", comm=comm, **options)


def rows(of_rank):
    return slice(of_rank * ROWS, (of_rank + 1) * ROWS)


def check_file(name, dataset="d", generation=0):
    """The file as rank 0 sees it without MPI."""
    comm.Barrier()
    if rank == 0:
        with h5py.File(name, "r") as f:
            for r in range(size):
                assert np.array_equal(f[dataset][rows(r)], values(r, generation))
    comm.Barrier()


def test_independent_rows(name):
    with opened(name) as f:
        f.create_dataset("d", (size * ROWS, COLUMNS), "i8")[rows(rank)] = values(rank)
    check_file(name)


def test_collective_rows(name):
    with opened(name) as f:
        d = f.create_dataset("d", (size * ROWS, COLUMNS), "i8")
        with d.collective:
            d[rows(rank)] = values(rank)
    check_file(name)


def test_columns_in_turn(name):
    with opened(name) as f:
        d = f.create_dataset("d", (ROWS, COLUMNS * size), "i8")
        with d.collective:
            d[:, rank::size] = values(rank)
        other = (rank + 1) % size
        comm.Barrier()
        f.flush()
        comm.Barrier()
        with d.collective:
            assert np.array_equal(d[:, other::size], values(other))


def test_rows_of_all_in_turn(name):
    """Many small pieces, each rank by itself."""
    with opened(name) as f:
        d = f.create_dataset("d", (ROWS * size, COLUMNS), "i8")
        d[rank::size] = values(rank)
        comm.Barrier()
        for r in range(size):
            assert np.array_equal(d[r::size], values(r))


def test_points(name):
    """A selection with no regular step."""
    chosen = np.cumsum(1 + np.arange(ROWS) % 5) - 1
    with opened(name) as f:
        d = f.create_dataset("d", (size, chosen[-1] + 1, COLUMNS), "i8", fillvalue=-1)
        with d.collective:
            d[rank, chosen] = values(rank)
    comm.Barrier()
    meant = np.full((chosen[-1] + 1, COLUMNS), -1, "i8")
    with h5py.File(name, "r") as f:
        for r in range(size):
            meant[chosen] = values(r)
            assert np.array_equal(f["d"][r], meant)


def test_records(name):
    """One field of a compound type at a time."""
    record = np.dtype([("a", "i4"), ("b", "f8"), ("c", "S5")])
    mine = np.zeros(ROWS, record)
    mine["a"], mine["b"], mine["c"] = rank, np.arange(ROWS) / 7, b"of %d" % rank
    with opened(name) as f:
        d = f.create_dataset("d", (size * ROWS,), record)
        for field in record.names:
            d[rows(rank), field] = mine[field]
    comm.Barrier()
    other = (rank + 1) % size
    with h5py.File(name, "r") as f:
        mine["a"], mine["c"] = other, b"of %d" % other
        assert np.array_equal(f["d"][rows(other)], mine)


def test_chunked(name):
    with opened(name) as f:
        d = f.create_dataset("d", (size * ROWS, COLUMNS), "i8", chunks=(7, 50))
        with d.collective:
            d[rows(rank)] = values(rank)
    check_file(name)


def test_compressed(name):
    with opened(name) as f:
        d = f.create_dataset(
            "d", (size * ROWS, COLUMNS), "i8", chunks=(ROWS, COLUMNS), compression="gzip"
        )
        with d.collective:
            d[rows(rank)] = values(rank)
    check_file(name)


def test_grows(name):
    with opened(name) as f:
        d = f.create_dataset("d", (0, COLUMNS), "i8", chunks=(16, 64), maxshape=(None, COLUMNS))
        for step in range(3):
            d.resize(((step + 1) * size * ROWS, COLUMNS))
            with d.collective:
                d[step * size * ROWS + rank * ROWS : step * size * ROWS + (rank + 1) * ROWS] = (
                    values(rank, step)
                )
    comm.Barrier()
    with opened(name, "r") as f:
        for step in range(3):
            for r in range(size):
                at = (step * size + r) * ROWS
                assert np.array_equal(f["d"][at : at + ROWS], values(r, step))


def test_atomic(name):
    with opened(name) as f:
        f.atomic = True
        d = f.create_dataset("d", (size * ROWS, COLUMNS), "i8")
        d[rows(rank)] = values(rank)
        comm.Barrier()
        other = (rank + 1) % size
        assert np.array_equal(d[rows(other)], values(other))
    check_file(name)


def test_flushed(name):
    """What was flushed is there for others while the file is open."""
    with opened(name) as f:
        d = f.create_dataset("d", (size * ROWS, COLUMNS), "i8")
        for generation in range(2):
            d[rows(rank)] = values(rank, generation)
            f.flush()
            check_file(name, generation=generation)


def test_hints(name):
    hints = MPI.Info.Create()
    for key, value in {"cb_nodes": "2", "cb_config_list": "*:2", "striping_unit": "4096"}.items():
        hints[key] = value
    with opened(name, info=hints) as f:
        d = f.create_dataset("d", (size * ROWS, COLUMNS), "i8")
        with d.collective:
            d[rows(rank)] = values(rank)
    hints.Free()
    check_file(name)


def test_aligned(name):
    with opened(name, alignment_threshold=1, alignment_interval=65536) as f:
        for r in range(size):
            f.create_dataset("of %d" % r, (ROWS, COLUMNS), "i8")
        f["of %d" % rank][...] = values(rank)
        assert f["of %d" % rank].id.get_offset() % 65536 == 0
    comm.Barrier()
    with opened(name, "r") as f:
        for r in range(size):
            assert np.array_equal(f["of %d" % r], values(r))


def test_groups_and_attributes(name):
    with opened(name) as f:
        for r in range(size):
            g = f.create_group("of %d" % r)
            g.attrs["rank"] = r
            g.create_dataset("d", (ROWS, COLUMNS), "i8")
        f["of %d/d" % rank][...] = values(rank)
    comm.Barrier()
    with h5py.File(name, "r") as f:
        other = (rank + 1) % size
        assert f["of %d" % other].attrs["rank"] == other
        assert np.array_equal(f["of %d/d" % other], values(other))


def test_written_again(name):
    with opened(name) as f:
        f.create_dataset("d", (size * ROWS, COLUMNS), "i8")[rows(rank)] = values(rank)
    with opened(name, "r+") as f:
        with f["d"].collective:
            f["d"][rows(rank)] = values(rank, 1)
    check_file(name, generation=1)


def test_shorter_than_before(name):
    with opened(name) as f:
        f.create_dataset("big", (size * ROWS, 10 * COLUMNS), "i8")[rows(rank)] = 7
    big = os.path.getsize(name)
    comm.Barrier()
    with opened(name) as f:
        f.create_dataset("d", (size * ROWS, COLUMNS), "i8")[rows(rank)] = values(rank)
    check_file(name)
    assert os.path.getsize(name) < big


def test_appended(name):
    for generation in range(3):
        with opened(name, "a") as f:
            f.create_dataset("d%d" % generation, (size * ROWS, COLUMNS), "i8")[rows(rank)] = values(
                rank, generation
            )
    for generation in range(3):
        check_file(name, "d%d" % generation, generation)


def test_file_of_one(name):
    own = name + ".%d" % rank
    with h5py.File(own, "w", driver="mpio", comm=MPI.COMM_SELF) as f:
        f["d"] = values(rank)
    with h5py.File(own, "r") as f:
        assert np.array_equal(f["d"], values(rank))
    os.unlink(own)


def test_name_with_prefix(name):
    with opened(os.environ["TEST_PREFIX"] + name) as f:
        f.create_dataset("d", (size * ROWS, COLUMNS), "i8")[rows(rank)] = values(rank)
    check_file(name)


def test_not_there(name):
    with pytest.raises(OSError):
        opened(name + ".not", "r")
