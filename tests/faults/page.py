#!/usr/bin/env python3
"""page.py RESULTS - doc/faults/README.md, from the results of run-faults, to standard output.

RESULTS is a directory: matrix.json, sweep.txt, soak.json, hosts.json, costs.json, and about.txt
with lines "KEY: VALUE".  A part that is missing is said to be.
"""
import collections
import json
import os
import sys

sys.dont_write_bytecode = True

from cells import AXES, all_cells, PROMISES  # noqa: E402
from mechanisms import MECHANISMS, check  # noqa: E402

KINDS = {
    "store-once": "a call of the store below the daemon's cache, of any kind",
    "store-full": "four writes of the store: no space",
    "store-from-then-on": "all calls of the store from the Nth on",
    "daemon-message-lost": "a message of the daemon is lost",
    "daemon-send-fails": "the daemon cannot send a message",
    "daemon-send-breaks": "the daemon's connection breaks with a message",
    "daemon-transfer-fails": "the daemon cannot begin a transfer",
    "daemon-transfer-breaks": "a transfer of the daemon's breaks",
    "client-message-lost": "a message of the aggregator is lost",
    "client-answer-lost": "a message to the aggregator is lost",
    "client-send-fails": "the aggregator cannot send a message",
    "client-send-breaks": "the aggregator's connection breaks with a message",
    "no-memory-once": "an allocation, of either side",
    "no-memory-for-a-while": "twenty allocations, of either side",
}

PARTS = ["matrix", "sweep", "soak", "hosts", "costs"]

HOSTS = {
    "link-down-and-up": "the link of a daemon's host is down for 3 s, of 30 s time-out",
    "link-down-for-long": "... for longer than the time-out of 5 s, then up",
    "partition": "no daemon's host is reached for longer than 5 s, then again",
    "partition-healed": "... for 3 s, of 30 s",
    "slow-link": "one daemon's link is down to 8 Mbit/s",
    "host-replaced": "a daemon's host dies, a spare on another host takes its place",
    "host-lost": "a daemon's host dies, and none takes its place",
}


def lines_of(path):
    if not os.path.exists(path):
        return []
    with open(path) as f:
        return [line.rstrip("\n") for line in f if line.strip()]


def rows(heading, lines):
    out = [heading, [":--"] + ["--:"] * (len(heading) - 1)] + lines
    return "\n".join("| " + " | ".join(str(c) for c in line) + " |" for line in out) + "\n"


def amount(n):
    for unit, size in (("GB", 1e9), ("MB", 1e6)):
        if n >= size:
            return f"{n / size:.1f} {unit}"
    return f"{n:,} bytes"


def percent(x):
    return "-" if x is None else f"{100 * x:.0f} %"


def seconds(x):
    return "-" if x is None else f"{x:.2f} s"


class Page:
    def __init__(self, where):
        self.about = dict(line.split(": ", 1) for line in lines_of(where + "/about.txt"))
        self.matrix = [json.loads(s) for s in lines_of(where + "/matrix.json")]
        self.sweep = [s.split() for s in lines_of(where + "/sweep.txt")]
        self.sweep = [s for s in self.sweep if len(s) == 7 and s[0] in KINDS]
        self.soak = [json.loads(s) for s in lines_of(where + "/soak.json")]
        self.hosts = [json.loads(s) for s in lines_of(where + "/hosts.json")]
        self.costs = json.loads("\n".join(lines_of(where + "/costs.json")) or "null")

    def when(self, part):
        said = self.about.get(part)
        return f"Measured on {said}.\n" if said else "Not measured here.\n"

    def what_was_run(self):
        """Whether all parts are there, and of one state."""
        said = [self.about[p].split(", ")[1:3] for p in PARTS if p in self.about]
        commits = {", ".join(s[:2 if s[1] == "with changes" else 1]) for s in said}
        missing = [p for p in PARTS if p not in self.about]
        text = "All parts were run" if not missing else \
            "Of its parts were run all but " + " and ".join(missing)
        text += f", on {commits.pop()}." if len(commits) == 1 else \
            ", not all on the same commit: each says on which."
        cells = len(all_cells()[0])
        if len(self.matrix) < cells:
            text += f"\nOf the {cells} cells of the matrix {len(self.matrix)} were run."
        return text + "\n"

    def head(self):
        bad = sum(bool(r["violations"]) for r in self.matrix)
        sweep = sum(int(s[1]) for s in self.sweep)
        wrong = sum(sum(map(int, s[4:])) for s in self.sweep)
        kills = sum(r["kills"] for r in self.soak)
        verified = sum(r["verified"] for r in self.matrix + self.soak + self.hosts)
        lost = sum(r["lost_told"] for r in self.matrix + self.soak + self.hosts)
        unseen = sum(r["lost_unseen"] for r in self.matrix + self.soak + self.hosts)
        times = [r["went_on_max_s"] for r in self.soak if r["went_on_max_s"] is not None]
        medians = [r["went_on_median_s"] for r in self.soak if r["went_on_median_s"] is not None]
        return "# Faults: what is promised, and what was seen\n\n" \
            "Made by `make check-faults` (tests/faults/run-faults).  Something dies, stops or fails" \
            "\nat a known moment; then every byte of the file, each of which says when it was " \
            "written, is\ncompared with what the program was told.\n\n" + \
            self.what_was_run() + "\n" + rows(
                ["figure", ""], [
                    ["cells of the kill matrix", len(self.matrix)],
                    ["cells with violations", bad],
                    ["calls that failed in the sweep", sweep],
                    ["of these: wrong in silence, crashed, hung", wrong],
                    ["operations of the soak", f"{sum(r['operations'] for r in self.soak):,}"],
                    ["daemons killed in the soak", kills],
                    ["bytes verified", amount(verified)],
                    ["bytes lost, and told by range", amount(lost)],
                    ["bytes lost unseen", unseen],
                    ["from a restart until the job goes on, longest median",
                     seconds(max(medians, default=None))],
                    ["... the longest of all", seconds(max(times, default=None))],
                ])

    def matrix_part(self):
        _, dropped = all_cells()
        by = collections.OrderedDict()
        for r in self.matrix:
            key = (r["victim"], r["moment"])
            by.setdefault(key, []).append(r)
        moments = AXES["moment"]
        table = []
        for victim in AXES["victim"]:
            line = [victim]
            for moment in moments:
                cells = by.get((victim, moment), [])
                bad = sum(bool(r["violations"]) for r in cells)
                line.append(f"{len(cells)} / {bad}")
            table.append(line)
        said = collections.Counter()
        for r in self.matrix:
            said[(r["rule"], " or ".join(r["promised"]), r["seen"])] += 1
        promises = [[f"\"{rule}\"", promised, seen, n]
                    for (rule, promised, seen), n in sorted(said.items())]
        text = "## The kill matrix\n\n" + self.when("matrix") + \
            "\nCells, and those with violations:\n\n" + rows(["victim"] + moments, table) + \
            "\nWhat is promised (doc/SEMANTICS.md), and what was seen.  *right*: no call failed, " \
            "every byte\nis the last one written.  *told*: calls failed, and what is not right " \
            "lies in a range that\nwas named.  *kept*: the job is dead; what it had seen stored " \
            "is there, and no bytes that\nwere not written.\n\n" + \
            rows(["promise", "promised", "seen", "cells"], promises) + \
            "\nAn open that is the first to meet a daemon, which dies in that moment, fails, " \
            "unless it still\nwaits for an answer when another one is announced: the column " \
            "*handshake*.\n" \
            "\nCombinations without a meaning:\n\n" + \
            rows(["reason", "combinations"], [[why, n] for why, n in dropped.items()])
        bad = [r for r in self.matrix if r["violations"]]
        if bad:
            text += "\nViolations; `tests/faults/check-faults --cell NAME` runs one:\n\n" + rows(
                ["cell", "violation"],
                [[r["name"], r["violations"][0].replace("|", "/")[:200]] for r in bad])
        return text

    def cells_part(self):
        """Promised and seen in every cell."""
        columns = [("embedded", t, "off") for t in AXES["transport"]] + [
            (d, t, r) for d in ("one", "two") for t in AXES["transport"] for r in AXES["replay"]]
        lines = collections.OrderedDict()
        for r in self.matrix:
            line = lines.setdefault((r["victim"], r["moment"], r["restart"]), {})
            line[(r["daemons"], r["transport"], r["replay"])] = r
        table = []
        for key, line in sorted(lines.items(), key=lambda x: [
                list(axis).index(v) for axis, v in zip(AXES.values(), x[0])]):
            seen = [line.get(c) for c in columns]
            promised = [{" or ".join(r["promised"]) for r in line.values() if r["replay"] == kept}
                        for kept in ("on", "off")]
            table.append(list(key) + [" ".join(p) or "-" for p in promised] +
                         ["-" if r is None else ("**" + r["seen"] + "**") if r["violations"] else
                          r["seen"] for r in seen])
        heading = ["victim", "moment", "restart", "promised, kept", "promised, not kept"] + [
            f"{d} {t}" + ("" if d == "embedded" else f" {r}") for d, t, r in columns]
        return "## Every cell\n\nWhere, by which transport, `zcache_replay`; what is in bold is a " \
            "violation.\n\n" + rows(heading, table)

    def sweep_part(self):
        return "## The sweep\n\n" + self.when("sweep") + \
            "\nThe Nth call fails, for all N of a small job: an aggregator's cache, its connection " \
            "to a\ndaemon, the daemon's cache, a store.\n\n" + rows(
                ["what fails", "trials", "right", "told", "wrong in silence", "crash", "hang"],
                [[KINDS[s[0]]] + s[1:] for s in self.sweep])

    def soak_part(self):
        return "## The soak\n\n" + self.when("soak") + \
            "\nTwo daemons, killed at random, one or both, and started again; three ranks write " \
            "and read\nback all the time.  The job goes on with the first turn that has its bytes " \
            "stored, at default\nsettings.  And one daemon with a journal, of which aggregators " \
            "keep nothing\n(`zcache_replay=off`), killed once more when a job has left it what it " \
            "wrote: what they report as\nlost has to come back.  \"fenced\" is the same, but what takes " \
            "the place of the dead daemon is\ndrawn: itself, a spare with another journal or " \
            "without one, later itself again; now and then its\nroot is moved away first, and it " \
            "must not start on the empty directory, or it takes it with\n`--new-root`, and zcachectl " \
            "writes what was set aside to the first root.  There bytes may be\nkept back, which a " \
            "log names, and nothing older may come over what was written later.\n\"rebooted\" is " \
            "\"journal\" with `--journal-sync`; every other death is that of the daemon's host:\nthe " \
            "notes of its journal that were not synced are lost.  `tests/faults/without-fence` " \
            "builds a daemon\nwithout what keeps older bytes from newer ones, which the soak has to " \
            "find.\n\n" \
            + rows(
                ["variant", "seconds", "seed", "operations", "kills", "verified", "lost unseen",
                 "goes on after, median", "longest", "violations"],
                [[r["variant"], f"{r['seconds']:.0f}", r["seed"], f"{r['operations']:,}",
                  r["kills"], amount(r["verified"]), r["lost_unseen"],
                  seconds(r["went_on_median_s"]), seconds(r["went_on_max_s"]),
                  len(r["violations"])] for r in self.soak])

    def hosts_part(self):
        if not self.hosts:
            return "## Several hosts\n\n" + self.when("hosts")
        return "## Several hosts\n\n" + self.when("hosts") + \
            "\nDaemons on two hosts, the job on a third, all played by network namespaces.\n\n" + \
            rows(["what happens", "promised", "seen", "operations", "verified", "lost, and told",
                  "lost unseen", "violations"],
                 [[HOSTS[r["name"]], r["promised"], r["seen"], r["operations"],
                   amount(r["verified"]), r["lost_told"], r["lost_unseen"], len(r["violations"])]
                  for r in self.hosts])

    def costs_part(self):
        text = "## What safety costs\n\n" + self.when("costs")
        if not self.costs:
            return text
        conditions, lines = self.costs["conditions"], []
        for case in self.costs["cases"]:
            for v in case["variants"]:
                line = [case["case"], v["variant"]]
                for key, of in (("write_mb_s", "write"), ("write_close_mb_s", "write_close")):
                    m = v["metrics"][key]
                    line += [m and f"{m['median']:.0f} ({m['lowest']:.0f}-{m['highest']:.0f})",
                             percent(v["of_neither"][of])]
                lines.append(line + [v["runs"] - v["failed"]])
        return text + "\nKeeping what daemons have not stored (`zcache_replay=on`, the default), " \
            "and checksums\n(`zcache_checksum=on`), beside neither, in turns.  MB/s, medians " \
            "(lowest-highest) of runs that\nverified all bytes: " \
            f"{conditions['options']['ranks']} ranks, {conditions['work']}, one daemon, " \
            f"{conditions['store']};\n{conditions['layout']}.  On a busy machine they need " \
            "priority over what else runs\nthere, or the spread says more than the medians." \
            "\n\n" + rows(
                ["case", "variant", "write", "of neither", "write and close", "of neither",
                 "runs"], lines)

    @staticmethod
    def mechanisms_part():
        return "## In `make check`\n\nWhat it runs of each mechanism (tests/):\n\n" + rows(
            ["mechanism", "test: case"],
            [[what, "; ".join(f"`{s}`" for s in shown)] for what, shown in MECHANISMS])

    def text(self):
        return "\n".join([self.head(), self.matrix_part(), self.sweep_part(), self.soak_part(),
                          self.hosts_part(), self.costs_part(), self.mechanisms_part(),
                          self.cells_part()])


def check_quotations(semantics):
    """The rules quote what the document says, today."""
    with open(semantics) as f:
        text = " ".join(f.read().split())
    for _, _, sentence in PROMISES:
        if sentence not in text:
            sys.exit(f"page.py: {semantics} does not say (any more): {sentence}")


if __name__ == "__main__":
    here = os.path.dirname(os.path.abspath(__file__))
    check_quotations(os.path.join(here, "../../doc/SEMANTICS.md"))
    check(os.path.join(here, ".."))
    print(Page(sys.argv[1]).text(), end="")
