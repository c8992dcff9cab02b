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


class Results:
    def __init__(self, directory):
        directory = Path(directory)
        self.conditions = json.loads((directory / "conditions.json").read_text())
        self.options = self.conditions["options"]
        lines = (directory / "runs.jsonl").read_text().splitlines()
        runs = [json.loads(line) for line in lines]
        self.runs = [r for r in runs if "seconds" in r]
        self.failures = [r for r in runs if "failed" in r]
        self.micro = {p.stem: p.read_text() for p in sorted(directory.glob("micro/*.txt"))}

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

    def headline(self, what="write", store="slow", compute=None):
        """The work that all variants do."""
        return dict(program="simpario", what=what, store=store, ranks=self.ranks,
                    size=self.options["headline"],
                    compute=self.compute if compute is None else compute)

    def select(self, **want):
        return [r for r in self.runs if all(r[k] == v for k, v in want.items())]

    def failed(self, **want):
        return any(all(r[k] == v for k, v in want.items()) for r in self.failures)

    def values(self, key, **want):
        """Of the runs: a time ("io", "close", "total", ...), or "write" and "write_close", rates."""
        return spread([value(r, key) for r in self.select(**want)])

    def variants(self, order, **want):
        """Those of order that were tried, in this order."""
        return [v for v in order if self.select(**want, variant=v) or self.failed(**want, variant=v)]

    def sizes(self, **want):
        return sorted({r["size"] for r in self.select(**want)}, key=size_bytes)

    def counts(self, **want):
        return sorted({r["ranks"] for r in self.select(**want)})

    def works(self, **want):
        """The sizes of some runs, in the order of the plan: class and interval of BTIO."""
        return list(dict.fromkeys((r["size"], r["ranks"]) for r in self.runs
                                  if all(r[k] == v for k, v in want.items())))


def value(run, key):
    seconds = run["seconds"]
    if key == "rate":
        return seconds["bytes"] / seconds["io"] / 1e6
    if key == "rate_close":
        return seconds["bytes"] / seconds["io_close"] / 1e6
    if key in ("requests", "busy"):
        return run.get("store_asked", {}).get(key)
    return seconds.get(key)
