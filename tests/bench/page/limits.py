"""The figures of single properties, beside the peer or limit that each is measured against."""

import re
from collections import namedtuple

# What of which benchmark: `ours` beside the best variant whose name begins with `peer`. Of a rate
# more is better, of anything else less. `why` is what a profile of it showed.
Row = namedtuple("Row", "what script case metric ours peer why")

UFS, ZCACHE, PINGPONG = "ufs:", "zcache: embedded", "fi_pingpong"
RATE = "_mb_s"
SMALL_WRITE = "a copy into memory that rank and owner share; the owner copies once more, later"
SMALL_READ = "a copy out of memory that the owner shows; one system call for 64 KiB"
HALF_BY_MESSAGE = "two copies for one, and a ring holds three until it has grown: the next goes by message"
CORES = "ranks take turns on the cores there are; bytes are copied twice"
AGREEING = "ranks wait for each other three times more than with ROMIO alone"
MESSAGES = "the same, and six messages to the daemon"
REOPENED = "the owner's cache is filled again: what is read is copied twice"
MANY = [
    ("create, write, close", "open_us", AGREEING, MESSAGES),
    ("held open", "open_us", AGREEING, MESSAGES),
    ("4K reopened", "read_us", REOPENED, REOPENED),
]
SMALL = [
    ("4K", "write", SMALL_WRITE),
    ("4K", "read", SMALL_READ),
    ("64K", "write", HALF_BY_MESSAGE),
    ("64K", "read", SMALL_READ),
]
ROWS = [
    Row(
        f"{size} independent, {n} ranks: {way}, us",
        *("small", f"{size}, {n} ranks", f"{way}_us", ZCACHE, UFS, why),
    )
    for size, way, why in SMALL
    for n in (2, 4)
] + [
    Row(
        "processor time of a 4 KiB write, 2 ranks, us",
        *("small", "4K, 2 ranks", "write_cpu_us", ZCACHE, UFS),
        SMALL_WRITE,
    ),
    Row(
        "one integer by the shared pointer, 4 ranks, us",
        *("small", "shared pointer, 4 ranks", "write_us", ZCACHE, UFS),
        "the pointer is a word in shared memory; ROMIO locks a file",
    ),
    Row(
        "open + close, 4 ranks, us",
        *("small", "open and close, 4 ranks", "open_us", ZCACHE, UFS),
        AGREEING,
    ),
    *[
        Row(f"{case}, {n} ranks, {where}, us", "small", f"{case}, {n} ranks", metric, ours, UFS, why)
        for case, metric, alone, daemon in MANY
        for n in (2, 4)
        for where, ours, why in (
            ("embedded", ZCACHE, alone),
            ("1 daemon", "zcache: 1 daemon", daemon),
        )
    ],
    Row(
        "open, an integer, close, 2 ranks, from the launcher's start to its end, ms",
        *("smallest", "smallest", "ms", ZCACHE, UFS),
        "the launcher and MPI_Init take nearly all of it",
    ),
    Row(
        "the same by zcache run",
        *("smallest", "smallest", "ms", "zcache run", UFS),
        "a daemon is started and stopped; libfabric starts meanwhile",
    ),
    Row(
        "10 times MPI_File_sync, 4 aggregators: calls of fdatasync, of 1 ms each",
        *("syncs", "1000 us a sync", "syncs", ZCACHE, UFS),
        "each of the aggregators once a round",
    ),
    Row(
        "the same, through a daemon",
        *("syncs", "1000 us a sync", "syncs", "zcache: 1 daemon", UFS),
        "ranks that come one after the other have it do so again (romio_synchronized_flush)",
    ),
    Row(
        "the same, where a sync takes no time",
        *("syncs", "free syncs", "syncs", "zcache: 1 daemon", UFS),
        "no request comes while a sync is under way",
    ),
    Row(
        "64 B collective, 8 ranks, tmpfs: write, MB/s",
        *("pieces", "collective, 64 B, tmpfs", "write" + RATE, ZCACHE, UFS),
        CORES,
    ),
    Row(
        "the same: write + close",
        *("pieces", "collective, 64 B, tmpfs", "write_close" + RATE, ZCACHE, UFS),
        CORES,
    ),
    Row(
        "8 B independent, 8 ranks, tmpfs: write, MB/s",
        *("pieces", "independent, 8 B, tmpfs", "write" + RATE, ZCACHE, UFS),
        CORES,
    ),
    Row(
        "8 B independent, slow store: write + close, MB/s",
        *("pieces", "independent, 8 B, slowfs", "write_close" + RATE, ZCACHE, UFS),
        "nothing is read to be written, and nothing locked",
    ),
    Row(
        "irregular, 8 B, beside two-phase: write, MB/s",
        *("pieces", "irregular, 8 B, tmpfs", "write" + RATE, ZCACHE, "ufs: romio_cb_write=enable"),
        "the view is known to the owner; no exchange in rounds",
    ),
    Row(
        "irregular, many pieces a rank, no room for views",
        *("pieces", "irregular, 8 B, .* pieces a rank, tmpfs", "write" + RATE),
        *("zcache: cache of 8 MiB", "ufs: romio_cb_write=enable"),
        "lists of pieces travel with the bytes",
    ),
    Row(
        "4 KiB cached read by libfabric, there and back, us",
        *("hits", "4 KiB", "us", "zcache", PINGPONG),
        "seals, and a page that is looked up",
    ),
    Row(
        "4 MiB cached read by libfabric, MB/s",
        *("hits", "4 MiB", "mb_s", "zcache", PINGPONG),
        "TCP copies on both sides",
    ),
    Row(
        "aggregator to daemon by libfabric: write + close, MB/s",
        *("forward", "forward", "mb_s", "write + close, to daemon", PINGPONG),
        "one copy more than fi_pingpong has, on two cores that TCP keeps busy",
    ),
    Row(
        "the same: read",
        *("forward", "forward", "mb_s", "read 64 MiB from daemon", PINGPONG),
        "the same; both cores are busy all the time, most of it in TCP",
    ),
    Row(
        "write-back of a full daemon, slow store, MB/s",
        *("drain", "drain", "mb_s", "zcache: flush", "fio"),
        "the store",
    ),
]


def more_is_better(metric):
    return metric.endswith("mb_s")


def medians(results, row):
    """(peer, ours), or None."""
    for case in results.get(row.script, {}).get("cases", []):
        if re.fullmatch(row.case, case["case"]) is None:
            continue
        have = {
            v["variant"]: v["metrics"][row.metric]["median"]
            for v in case["variants"]
            if not v["failed"] and v["metrics"].get(row.metric, {}).get("median")
        }
        peers = [m for name, m in have.items() if name.startswith(row.peer)]
        ours = [m for name, m in have.items() if name.startswith(row.ours)]
        if peers and ours:
            return (max if more_is_better(row.metric) else min)(peers), ours[0]
    return None


def number(x):
    return f"{x:,.2f}" if x < 10 else f"{x:,.0f}"


def rows(results):
    """Lines of a table: what, peer or limit, ours, how many times as good, what limits it."""
    lines = []
    for row in ROWS:
        found = medians(results, row)
        if found is None:
            continue
        peer, ours = found
        ratio = ours / peer if more_is_better(row.metric) else peer / ours
        lines.append(
            [
                row.what,
                row.peer.removesuffix(":"),
                number(peer),
                number(ours),
                f"{ratio:.2f}",
                row.why,
            ]
        )
    return lines
