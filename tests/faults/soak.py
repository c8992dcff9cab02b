#!/usr/bin/env python3
"""soak.py - daemons are killed and started again, at random and for long, under a job that checks
all it reads.

What is drawn comes from the seed.  A kill comes when the job has made some turns more.  The job
"goes on" with the first turn that ends, after all daemons are ready again, by seeing its bytes
stored.

Besides two daemons, of which aggregators keep what is not stored, by each transport, there is one
with a journal, of which they keep nothing: they report as lost what a dead daemon had not stored,
and all of it has to come back.  There a job is short, and leaves what it has written to the daemon,
which is killed once more before it is seen what is in the file.
"""
import argparse
import concurrent.futures
import glob
import json
import os
import random
import signal
import statistics
import sys
import time

sys.dont_write_bytecode = True

from judge import FOREIGN, PIECE, Seen
from matrix import HINTS, DAEMON_OPTIONS
from world import Late, Stopped, Tree, World, stopping, text_of

TIMEOUT_S = 30   # zcache's default
VARIANTS = ["local", "fabric", "journal"]
JOURNAL = ("--journal-size", "16M")
JOURNAL_HINTS = ("zcache_replay=off", "zcache_close_level=staged")
ROUND_S = 2      # a job of it
LAZY, EAGER = DAEMON_OPTIONS, ("--page-size", "64K", "--cache-size", "16M")


class Turn:
    """A line of what the program says of its turns."""

    def __init__(self, line):
        self.turn, self.stored, self.written, self.verified, self.wrong = map(int, line.split())


def read_turns(path, begin=0):
    """Those from that byte on, and where the next ones will be."""
    text = ""
    if os.path.exists(path + "/turns"):
        with open(path + "/turns") as f:
            f.seek(begin)
            text = f.read()
    text = text[:text.rfind("\n") + 1]  # the rest of a line may come while we read
    return [Turn(line) for line in text.splitlines()], begin + len(text)


class Job:
    """A soaking program, its daemons, and how far it is."""

    def __init__(self, tree, variant, seconds, seed, base=None):
        self.w = World(tree, TIMEOUT_S, base)
        self.fabric = variant == "fabric"
        self.journal = variant == "journal"
        self.n = 1 if self.journal else 2
        self.draw = random.Random(seed)
        self.known, self.read_to = [], 0
        try:
            for i in range(self.n):
                self.start(i)
            self.w.start_job("soak", f"zcache:{self.w.file}", self.w.dir, str(seconds), str(seed),
                             *HINTS, *(JOURNAL_HINTS if self.journal else []),
                             local=not self.fabric)
        except (Late, Stopped):
            self.w.clean_up()
            raise

    def start(self, i):
        listen = self.draw.choice(["127.0.0.1", "127.0.0.2"]) if self.fabric else None
        options = self.draw.choice([LAZY, EAGER])
        if self.journal:
            options += (*JOURNAL, "--journal", f"{self.w.dir}/{i}.journal")
        self.w.start_daemon(i, listen, options)

    def turns(self):
        """All there are by now."""
        more, self.read_to = read_turns(self.w.dir, self.read_to)
        self.known += more
        return self.known

    def ended(self):
        return self.w.job.poll() is not None

    def wait_for_turns(self, n):
        """False: the job has ended before."""
        last = len(self.turns()) + n
        self.w.wait(10 * TIMEOUT_S, "turns", lambda: self.ended() or len(self.turns()) >= last)
        return not self.ended()

    def wait_until_stored(self):
        """Seconds until a turn has ended that saw its bytes stored, or was told that they are
        not."""
        began, had = time.monotonic(), len(self.turns())
        self.w.wait(10 * TIMEOUT_S, "the job to go on", lambda: self.ended() or
                    any(t.stored for t in self.turns()[had:]))
        return None if self.ended() else time.monotonic() - began

    def kill_some(self):
        victims = self.draw.choice([[0], [1], [0, 1]]) if self.n > 1 else [0]
        for i in victims:
            self.w.end_daemon(i, signal.SIGKILL, TIMEOUT_S)
        for i in victims:
            self.start(i)
        return len(victims)

    def finish(self):
        """How many daemons are killed in the end."""
        self.w.wait(10 * TIMEOUT_S, "the end of the job", self.ended)
        self.w.wait(TIMEOUT_S, "the end of all ranks", lambda: not self.w.job_runs())
        kills = self.kill_some() if self.journal else 0
        for i in sorted(self.w.daemons):
            self.w.end_daemon(i, signal.SIGTERM, 10 * TIMEOUT_S)
        return kills


def soak(tree, variant, seconds, seed, base=None, keep=False):
    """What is said of it on the page."""
    job = Job(tree, variant, seconds, seed, base=base)
    times, kills, violations = [], 0, []
    began = time.monotonic()
    try:
        while job.wait_for_turns(job.draw.randint(1, 40)):
            kills += job.kill_some()
            took = job.wait_until_stored()
            if took is not None:
                times.append(took)
        kills += job.finish()
    except Late as late:
        violations.append(f"hang: {late}")
    except Stopped:
        job.w.clean_up(keep)
        raise
    result = judge(job.w, job.w.job.returncode, violations, excuse=not job.journal)
    if job.journal:
        result["violations"] = [f"seed {seed}: {v}" for v in
                                result["violations"] + lost_by_journals(job.w, result)]
    elif result["errors"]:
        result["violations"].append("not as promised: " + result["first_error"])
    result.update(variant=variant, seconds=time.monotonic() - began, seed=seed, kills=kills,
                  went_on=times)
    job.w.clean_up(keep)
    return result


def soak_journal(tree, seconds, seed, keep=False):
    """One job after the other, and what is said of all."""
    end, total = time.monotonic() + seconds, None
    while total is None or (time.monotonic() < end and not total["violations"] and
                            not stopping.is_set()):
        r = soak(tree, "journal", ROUND_S, seed, keep=keep)
        seed += 1
        if total is None:
            total = r
            continue
        for key in ("turns", "operations", "written", "verified", "errors", "lost_told",
                    "lost_unseen", "violations", "seconds", "kills", "went_on"):
            total[key] += r[key]
        total["first_error"] = total["first_error"] or r["first_error"]
    return total


def run(tree, variant, seconds, seed, keep):
    if variant == "journal":
        result = soak_journal(tree, seconds, seed, keep=keep)
    else:
        result = soak(tree, variant, seconds, seed, keep=keep)
    times = result.pop("went_on")
    result.update(went_on_median_s=statistics.median(times) if times else None,
                  went_on_max_s=max(times, default=None))
    return result


def lost_by_journals(w, result):
    """Calls fail as a daemon has died, but for no other reason, and all that it had taken comes
    back."""
    lost = ["the job has done nothing"] if not result["verified"] else []
    lost += result["other_errors"]
    lost += [f"daemon {i} ended with {status} at {sig.name}" for i, status, sig in w.ended
             if status != (-sig if sig == signal.SIGKILL else 0)]
    for log in glob.glob(w.dir + "/*.log"):
        lost += [line for line in text_of(log).splitlines()
                 if "lost: " in line and "an earlier daemon had taken" in line]
    return lost


def judge(where, status, violations, excuse=True):
    """`where` has the records and the logs of a job that nothing may be lost of, or that is told
    of each loss; which is no excuse where it says so."""
    turns = read_turns(where.dir)[0]
    last = turns[-1] if turns else Turn("0 0 0 0 0")
    seen = Seen(where)
    found = seen.wrong + seen.misread
    unseen = [w for w in found if w[2] == FOREIGN or not seen.errors or not excuse or
              not seen.is_named_in_part(w[0], w[1])]
    violations = violations + [f"{kind}: {size} bytes at {off}" for off, size, kind in unseen]
    if status != (1 if seen.errors or last.wrong else 0):
        violations.append(f"the job's status is {status}")
    return {"turns": last.turn, "operations": (last.written + last.verified) // PIECE,
            "written": last.written, "verified": last.verified + seen.verified,
            "other_errors": [e[:300] for e in seen.errors if not seen.ranges(e)][:3],
            "errors": len(seen.errors), "first_error": (seen.errors or [""])[0][:300],
            "lost_told": sum(w[1] for w in seen.wrong if w not in unseen),
            "lost_unseen": sum(w[1] for w in unseen), "violations": violations[:20]}


class Where:
    """A directory that another program has filled."""

    def __init__(self, path):
        self.dir, self.file, self.out = path, path + "/root/f", path + "/job.log"

    def record(self, rank):
        return text_of(f"{self.dir}/rank.{rank}")


def judge_soak(path, name, promised, status, hangs):
    result = judge(Where(path), status, [f"hang: {h}" for h in hangs])
    result.update(name=name, promised=promised, seen="told" if result["errors"] else "right")
    if promised == "right" and result["errors"]:
        result["violations"].append("not as promised: " + result["first_error"])
    return result


def main():
    parser = argparse.ArgumentParser(description="daemons are killed and started again; a line "
                                     "of JSON for each variant")
    parser.add_argument("--seconds", type=int, default=1200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--variant", action="append", choices=VARIANTS)
    parser.add_argument("--keep", action="store_true", help="keep the directories")
    args = parser.parse_args()
    for sig in (signal.SIGINT, signal.SIGTERM):
        signal.signal(sig, lambda *_: stopping.set())
    tree = Tree(os.path.abspath(os.environ.get("top_builddir", "build")))
    bad = 0
    with concurrent.futures.ThreadPoolExecutor(len(VARIANTS)) as pool:
        runs = [pool.submit(run, tree, v, args.seconds, args.seed, args.keep)
                for v in args.variant or VARIANTS]
        for one in runs:
            result = one.result()
            print(json.dumps(result), flush=True)
            bad += len(result["violations"])
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
