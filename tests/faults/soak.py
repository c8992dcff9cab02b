#!/usr/bin/env python3
"""soak.py - daemons are killed and started again, at random and for long, under a job that checks
all it reads.

What is drawn comes from the seed.  A kill comes when the job has made some turns more; of a daemon
with a journal mostly in the moment in which it writes to the store, with bytes that are staged.
The job "goes on" with the first turn that ends, after all daemons are ready again, by seeing its
bytes stored.

Besides two daemons, of which aggregators keep what is not stored, by each transport, there is one
with a journal, of which they keep nothing: they report as lost what a dead daemon had not stored,
and all of it has to come back.  There a job is short, and leaves what it has written to the daemon,
which is killed once more before it is seen what is in the file.

The variant "fenced" is the same, but what takes the place of a dead daemon is drawn: itself, a
spare with a journal of its own or without one, and then itself again; now and then the root is
moved away meanwhile, and an empty directory is in its place, on which it must not start.  At the
end each journal is started once, now and then on such a directory with --new-root: it sets all
aside, and zcachectl writes that to the root.  Bytes may be kept back, but then a log names them;
nothing older comes over what was written later.

The variant "rebooted" is "journal" with --journal-sync, and every other death of the daemon is that
of its host, in a model (reboot.py): the file system is another host's, and has all that was stored;
the journal lacks the notes that were not synced.  All has to come back there, too.
"""
import argparse
import concurrent.futures
import glob
import json
import os
import random
import shutil
import signal
import statistics
import sys
import time

sys.dont_write_bytecode = True

from judge import FOREIGN, PIECE, Seen
from matrix import HINTS, DAEMON_OPTIONS
from reboot import reboot
from world import Late, Stopped, Tree, World, stopping, text_of

TIMEOUT_S = 30   # zcache's default
VARIANTS = ["local", "fabric", "journal", "fenced", "rebooted"]
JOURNALS = ("journal", "fenced", "rebooted")  # variants of many short jobs
JOURNAL = ("--journal-size", "16M")
JOURNAL_HINTS = ("zcache_replay=off", "zcache_close_level=staged")
ROUND_S = 6      # a job of it
SUCCESSORS = ["first", "spare", None, None]
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
        self.fenced = variant == "fenced"
        self.reboots = variant == "rebooted"
        self.journal = variant in JOURNALS
        self.now = None  # the journal of the daemon, of one that has one
        self.odd = []
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

    def start(self, i, journal="first", more=()):
        """`journal`: which of this seat; None: without one."""
        listen = self.draw.choice(["127.0.0.1", "127.0.0.2"]) if self.fabric else None
        options = self.draw.choice([LAZY, EAGER])
        self.now = journal if self.journal else None
        if self.now:
            options += (*JOURNAL, "--journal", self.directory(), *more)
        if self.reboots:
            options += ("--journal-sync",)
        self.w.start_daemon(i, listen, options)

    def directory(self):
        return f"{self.w.dir}/0.{self.now}.journal"

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

    def wait_for_a_store_write(self):
        """The daemon waits before it writes to a file, and has something to write; or the job has
        ended."""
        self.w.touch("hold")
        self.w.wait(10 * TIMEOUT_S, "a write to the store",
                    lambda: self.ended() or self.w.holds(self.w.daemons[0].pid))

    def kill_some(self):
        victims = self.draw.choice([[0], [1], [0, 1]]) if self.n > 1 else [0]
        if self.journal and self.draw.random() < 0.7:
            self.wait_for_a_store_write()
        for i in victims:
            self.w.end_daemon(i, signal.SIGKILL, TIMEOUT_S)
        self.w.release()
        if self.reboots and self.draw.random() < 0.5:
            reboot(self.directory(), self.draw)
            self.w.reboots += 1
        if self.fenced and self.draw.random() < 0.2:
            self.refuse_other_root()
        for i in victims:
            self.start(i, self.draw.choice(SUCCESSORS) if self.fenced else "first")
        return len(victims)

    def refuse_other_root(self):
        """A daemon with a journal does not start on a directory that has its root's name only."""
        away = self.w.root + ".away"
        os.rename(self.w.root, away)
        os.mkdir(self.w.root)
        try:
            self.start(0)
            raise Late("a daemon started on another root")
        except Late as late:
            if "did not start" not in str(late):
                raise
            self.w.daemons.pop(0, None)
        finally:
            if 0 not in self.w.daemons and not os.listdir(self.w.root):
                os.rmdir(self.w.root)
                os.rename(away, self.w.root)

    def take_new_root(self):
        """With --new-root it does, and sets aside what its journal has, which zcachectl can write
        to the root that it is of; then the daemon can have its first root again."""
        away, journal = self.w.root + ".away", self.now
        before = set(glob.glob(self.directory() + "/set-aside.*"))
        self.w.end_daemon(0, signal.SIGKILL, TIMEOUT_S)
        had = glob.glob(self.directory() + "/segment.*")
        os.rename(self.w.root, away)
        os.mkdir(self.w.root)
        self.start(0, journal, ("--new-root",))
        self.w.end_daemon(0, signal.SIGTERM, 10 * TIMEOUT_S)
        shutil.rmtree(self.w.root)
        os.rename(away, self.w.root)
        aside = set(glob.glob(self.directory() + "/set-aside.*")) - before
        if had and not aside:
            self.odd.append("--new-root has set nothing aside")
        for image in sorted(aside):
            replay = self.w.run([self.w.tree.zcachectl, "journal", "replay", "--force", image])
            if replay.returncode:
                self.odd.append(f"replay of {image}: {replay.stdout}")
        self.start(0, journal, ("--new-root",))
        self.w.new_roots += 1
        return 1

    def finish(self):
        """How many daemons are killed in the end."""
        self.w.wait(10 * TIMEOUT_S, "the end of the job", self.ended)
        self.w.wait(TIMEOUT_S, "the end of all ranks", lambda: not self.w.job_runs())
        kills = self.kill_some() if self.journal else 0
        if self.fenced and self.now and self.draw.random() < 0.3:
            kills += self.take_new_root()
        for journal in ["spare", "first"] if self.fenced else []:
            self.w.end_daemon(0, signal.SIGTERM, 10 * TIMEOUT_S)
            self.start(0, journal)
        for i in sorted(self.w.daemons):
            self.w.end_daemon(i, signal.SIGTERM, 10 * TIMEOUT_S)
        return kills


def soak(tree, variant, seconds, seed, base=None, keep=False):
    """What is said of it on the page."""
    job = Job(tree, variant, seconds, seed, base=base)
    times, kills, violations = [], 0, []
    began = time.monotonic()
    try:
        while job.wait_for_turns(job.draw.randint(1, 6 if job.journal else 40)):
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
    result = judge(job.w, job.w.job.returncode, violations, excuse=job.fenced or not job.journal,
                   by_logs=job.fenced)
    if job.fenced:
        result["violations"] = [f"seed {seed}: {v}" for v in result["violations"] +
                                result["other_errors"] + job.odd + odd_ends(job.w, (0, 4))]
    elif job.journal:
        result["violations"] = [f"seed {seed}: {v}" for v in
                                result["violations"] + lost_by_journals(job.w, result)]
    elif result["errors"]:
        result["violations"].append("not as promised: " + result["first_error"])
    result.update(variant=variant, seconds=time.monotonic() - began, seed=seed, kills=kills,
                  reboots=job.w.reboots, new_roots=job.w.new_roots, went_on=times)
    job.w.clean_up(keep)
    return result


def soak_journal(tree, variant, seconds, seed, keep=False, kills=None):
    """One job after the other, and what is said of all."""
    end, total = time.monotonic() + seconds, None
    while total is None or (time.monotonic() < end and not total["violations"] and
                            not (kills and total["kills"] >= kills) and not stopping.is_set()):
        r = soak(tree, variant, ROUND_S, seed, keep=keep)
        seed += 1
        if total is None:
            total = r
            continue
        for key in ("turns", "operations", "written", "verified", "errors", "lost_told",
                    "lost_unseen", "violations", "seconds", "kills", "reboots",
                    "new_roots", "went_on"):
            total[key] += r[key]
        total["first_error"] = total["first_error"] or r["first_error"]
    return total


def run(tree, variant, seconds, seed, keep, kills=None):
    if variant in JOURNALS:
        result = soak_journal(tree, variant, seconds, seed, keep=keep, kills=kills)
    else:
        result = soak(tree, variant, seconds, seed, keep=keep)
    times = result.pop("went_on")
    result.update(went_on_median_s=statistics.median(times) if times else None,
                  went_on_max_s=max(times, default=None))
    return result


def odd_ends(w, good):
    """Of daemons: by a kill that is none, or with another status than a good one."""
    return [f"daemon {i} ended with {status} at {sig.name}" for i, status, sig in w.ended
            if status not in ((-sig,) if sig == signal.SIGKILL else good)]


def lost_by_journals(w, result):
    """Calls fail as a daemon has died, but for no other reason, and all that it had taken comes
    back."""
    lost = ["the job has done nothing"] if not result["verified"] else []
    lost += result["other_errors"]
    lost += odd_ends(w, (0,))
    for log in glob.glob(w.dir + "/*.log"):
        lost += [line for line in text_of(log).splitlines()
                 if ("lost: " in line or "kept back: " in line) and
                 "an earlier daemon had taken" in line]
    return lost


def judge(where, status, violations, excuse=True, by_logs=False):
    """`where` has the records and the logs of a job that nothing may be lost of, or that is told
    of each loss, or a daemon's log is (by_logs); which is no excuse where it says so."""
    turns = read_turns(where.dir)[0]
    last = turns[-1] if turns else Turn("0 0 0 0 0")
    seen = Seen(where)
    found = seen.wrong + seen.misread
    unseen = [w for w in found if w[2] == FOREIGN or not (seen.errors or by_logs) or
              not excuse or not seen.is_named_in_part(w[0], w[1])]
    violations = violations + [f"{kind}: {size} bytes at {off}" for off, size, kind in unseen]
    violations += [f"reverted: {size} bytes at {off}" for off, size in seen.reverted]
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
    parser.add_argument("--kills", type=int,
                        help="the variants with journals end after so many in all")
    parser.add_argument("--zcached", help="the daemon, instead of that of the build tree")
    parser.add_argument("--keep", action="store_true", help="keep the directories")
    args = parser.parse_args()
    for sig in (signal.SIGINT, signal.SIGTERM):
        signal.signal(sig, lambda *_: stopping.set())
    tree = Tree(os.path.abspath(os.environ.get("top_builddir", "build")))
    tree.zcached = args.zcached or tree.zcached
    bad, variants = 0, args.variant or VARIANTS
    each = args.kills and -(-args.kills // sum(v in JOURNALS for v in variants))
    with concurrent.futures.ThreadPoolExecutor(len(VARIANTS)) as pool:
        runs = [pool.submit(run, tree, v, args.seconds, args.seed, args.keep, each)
                for v in variants]
        for one in runs:
            result = one.result()
            print(json.dumps(result), flush=True)
            bad += len(result["violations"])
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
