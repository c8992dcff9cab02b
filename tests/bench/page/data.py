"""What compare.sh left: its runs, and medians with their spread.

Times are seconds, rates MB/s of 10^6 bytes.  A run without a number is not among the runs but
among the failures.
"""

import json
import statistics
from collections import namedtuple
from pathlib import Path

# n is the number of runs; each of the others is None where there is none.
Spread = namedtuple("Spread", "median low high n")
NOTHING = Spread(None, None, None, 0)

UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def size_bytes(text):
    """128K -> 131072."""
    return int(text[:-1]) * UNITS[text[-1]] if text[-1] in UNITS else int(text)


def spread(values):
    values = [v for v in values if v is not None]
    if not values:
        return NOTHING
    return Spread(statistics.median(values), min(values), max(values), len(values))


# What makes a piece of work by one variant, whichever the round.
WORK = ("program", "what", "store", "ranks", "size", "compute", "how", "variant")
PLAIN = "contiguous:collective"


def work(run):
    return tuple(run[k] for k in WORK)


class Results:
    def __init__(self, directory):
        directory = Path(directory)
        self.conditions = json.loads((directory / "conditions.json").read_text())
        self.options = self.conditions["options"]
        lines = (directory / "runs.jsonl").read_text().splitlines()
        runs = [json.loads(line) for line in lines]
        self.failures = [r for r in runs if "failed" in r]
        # Where one run was not right, those before it are no figure either.
        spoilt = {work(r) for r in self.failures}
        self.runs = [r for r in runs if "seconds" in r and work(r) not in spoilt]
        self.micro = {p.stem: p.read_text() for p in sorted(directory.glob("micro/*.txt"))}
        self.figures = {
            p.stem: json.loads(p.read_text()) for p in sorted(directory.glob("micro/*.json"))
        }

    # What all runs of a kind have in common, from the options.
    @property
    def compute(self):
        return float(self.options["compute"])

    @property
    def ranks(self):
        return int(self.options["ranks"])

    @property
    def phases(self):
        return int(self.options["phases"])

    @property
    def libraries(self):
        return sorted({r["library"] for r in self.runs})

    def headline(self, what="write", store="slow", compute=None):
        """The work that all variants do."""
        return dict(
            program="simpario",
            what=what,
            store=store,
            ranks=self.ranks,
            how=PLAIN,
            size=self.options["headline"],
            compute=self.compute if compute is None else compute,
        )

    def shapes(self):
        """Patterns and accesses other than that, in the order of the plan."""
        return list(
            dict.fromkeys(
                r["how"]
                for r in self.runs + self.failures
                if r["program"] == "simpario" and r["how"] != PLAIN
            )
        )

    def select(self, **want):
        return [r for r in self.runs if all(r[k] == v for k, v in want.items())]

    def failed(self, **want):
        return any(all(r[k] == v for k, v in want.items()) for r in self.failures)

    def values(self, key, **want):
        """Of the runs: see value()."""
        return spread([value(r, key) for r in self.select(**want)])

    def variants(self, order, **want):
        """Those of order that were tried, in this order."""
        return [
            v for v in order if self.select(**want, variant=v) or self.failed(**want, variant=v)
        ]

    def everywhere(self, order, stores):
        """Those of order that were tried on all of the stores."""
        return [
            v
            for v in order
            if stores and all(self.variants([v], **self.headline(store=s)) for s in stores)
        ]

    def sizes(self, **want):
        return sorted({r["size"] for r in self.select(**want)}, key=size_bytes)

    def counts(self, **want):
        return sorted({r["ranks"] for r in self.select(**want)})

    def works(self):
        """Class and interval, ranks, and method of BTIO, in the order of the plan."""
        return list(
            dict.fromkeys(
                (r["size"], r["ranks"], r["how"])
                for r in self.runs
                if r["program"] == "btio" and r["what"] == "write"
            )
        )


def value(run, key):
    """ "total", "open", "compute" and "close" as measured, the maximum over the ranks; BTIO's
    "compute" is that of computing alone just before.

    What I/O costs is all that is left of the total, waiting for other ranks included: "io_close",
    and without the close "io".  The longest that any rank spends in its own calls is less where
    ranks take turns at being the slowest, and would be faster than the store.  Below zero where
    computing was faster than alone by more than what I/O took.
    """
    seconds = run["seconds"]
    if key in ("io", "io_close", "rate", "rate_close"):
        if seconds["compute"] is None:
            return None
        left = seconds["total"] - (seconds["open"] or 0) - seconds["compute"]
        if key in ("io", "rate"):
            left -= seconds["close"]
        if key in ("io", "io_close"):
            return left
        return seconds["bytes"] / left / 1e6 if left > 0 else None
    if key in ("requests", "busy"):
        return run.get("store_asked", {}).get(key)
    return seconds.get(key)
