"""cells.py - the cells of the kill matrix, what has no meaning, and what is promised.

A cell is named by its six values, "daemon-kill:sync:same:two:fabric:on".
"""
import collections
import itertools

AXES = collections.OrderedDict([
    ("victim", ["daemon-kill", "daemon-stop-short", "daemon-stop-long", "daemon-term",
                "aggregator-kill", "rank-kill", "mpiexec-kill"]),
    ("moment", ["handshake", "first-write", "write-back", "sync", "close", "drain"]),
    ("restart", ["no", "same", "new"]),
    ("daemons", ["embedded", "one", "two"]),
    ("transport", ["local", "fabric"]),
    ("replay", ["on", "off"]),
])
DAEMONS = {"embedded": 0, "one": 1, "two": 2}

Cell = collections.namedtuple("Cell", list(AXES))


def name_of(cell):
    return ":".join(cell)


def of_daemon(cell):
    return cell.victim.startswith("daemon-")


# Why a combination has no meaning; the first that fits is counted.
EVICTED = [
    ("there is no daemon to be a victim",
     lambda c: c.daemons == "embedded" and of_daemon(c)),
    ("there is no daemon to drain",
     lambda c: c.daemons == "embedded" and c.moment == "drain"),
    ("no daemon has died that could be started again",
     lambda c: c.restart != "no" and not of_daemon(c)),
    ("a stopped daemon goes on by itself: a second one for the same files is the operator's error",
     lambda c: c.restart != "no" and "stop" in c.victim),
    ("without daemons nothing is kept for them",
     lambda c: c.daemons == "embedded" and c.replay == "on"),
    ("a daemon's local address is new with each start: \"same\" does not exist",
     lambda c: c.restart == "same" and c.transport == "local"),
]


def all_cells():
    """Those that have a meaning, and how many were dropped for which reason."""
    dropped = collections.OrderedDict((why, 0) for why, _ in EVICTED)
    cells = []
    for values in itertools.product(*AXES.values()):
        cell = Cell(*values)
        for why, fits in EVICTED:
            if fits(cell):
                dropped[why] += 1
                break
        else:
            cells.append(cell)
    return cells, dropped


# What may be seen.
#   right   the job ends with status 0, no call fails, every byte is the last one written
#   told    calls fail, and every byte that is not the last one written lies in a range that an
#           error or a log names, or was in a write that failed
#   kept    the job is dead; what it had seen stored (or staged, with daemons) is there, and of
#           later writes any bytes may be, and none else
RIGHT, TOLD, KEPT = "right", "told", "kept"

# The first that fits holds.  Quotations are from doc/SEMANTICS.md, which is compared.  An open that
# is the first to meet a daemon is not promised to wait for another one.
PROMISES = [
    (lambda c: not of_daemon(c), {KEPT},
     "what was synced is in the file; of later writes any may be, whole bytes, and none else"),
    (lambda c: c.victim == "daemon-stop-short", {RIGHT},
     "A daemon that is merely slow says so, and is waited for."),
    (lambda c: c.victim == "daemon-stop-long", {RIGHT, TOLD},
     "A daemon that is away, or silent, for `zcache_timeout` counts as gone"),
    (lambda c: c.restart == "no" or c.moment == "handshake", {RIGHT, TOLD},
     "A daemon that is away, or silent, for `zcache_timeout` counts as gone"),
    (lambda c: c.victim == "daemon-term" and c.replay == "on", {RIGHT},
     "zcached writes everything back on SIGTERM before it exits with 0."),
    (lambda c: c.victim == "daemon-term", {RIGHT, TOLD},
     "What is named may be more than was lost, never less."),
    (lambda c: c.replay == "on", {RIGHT},
     "what was handed to a daemon stays in the aggregator's cache, clean, until the daemon says "
     "that it is in the file"),
    (lambda c: True, {RIGHT, TOLD},
     "Loss is never silent: sync, `zcache_flush=wait` and close fail on every rank, and name the "
     "file, the bytes and their range"),
]


def nothing_is_lost(cell):
    """Whatever is told, the file is right: what the daemon had it wrote before it ended."""
    return cell.victim in ("daemon-term", "daemon-stop-short") and (
        cell.restart != "no" or cell.victim == "daemon-stop-short")


def promise(cell):
    """What may be seen, and the sentence that says so."""
    for fits, outcomes, text in PROMISES:
        if fits(cell):
            return outcomes, text
    raise AssertionError(cell)


if __name__ == "__main__":
    found, why_not = all_cells()
    print(len(found), dict(why_not))
