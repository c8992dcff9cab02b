"""soak.py - daemons are killed and started again, at random and for long, under a job that checks
all it reads; and what it costs aggregators to keep what daemons have, without any faults.

What is drawn comes from the seed.  A kill comes when the job has made some turns more.  The job
"goes on" with the first turn that ends, after all daemons are ready again, by seeing its bytes
stored.
"""
import random
import signal
import statistics
import time

from judge import Seen
from matrix import HINTS, DAEMON_OPTIONS
from world import Late, World

TIMEOUT_S = 30   # zcache's default
DAEMONS = 2
LAZY, EAGER = DAEMON_OPTIONS, ("--page-size", "64K", "--cache-size", "16M")


class Turn:
    """A line of what the program says of its turns."""

    def __init__(self, line):
        self.turn, self.stored, self.written, self.verified, self.wrong = map(int, line.split())


class Job:
    """A soaking program, its daemons, and how far it is."""

    def __init__(self, tree, transport, seconds, seed, replay="on", base=None):
        self.w = World(tree, TIMEOUT_S, base)
        self.fabric = transport == "fabric"
        self.draw = random.Random(seed)
        self.known, self.read_to = [], 0
        for i in range(DAEMONS):
            self.start(i)
        self.w.start_job("soak", f"zcache:{self.w.file}", self.w.dir, str(seconds), str(seed),
                         *HINTS, f"zcache_replay={replay}", local=not self.fabric)

    def start(self, i):
        listen = self.draw.choice(["127.0.0.1", "127.0.0.2"]) if self.fabric else None
        self.w.start_daemon(i, listen, self.draw.choice([LAZY, EAGER]))

    def turns(self):
        """All there are by now."""
        try:
            with open(self.w.dir + "/turns") as f:
                f.seek(self.read_to)
                lines = f.read().splitlines(True)
        except FileNotFoundError:
            return self.known
        for line in lines:
            if line.endswith("\n"):
                self.known.append(Turn(line))
                self.read_to += len(line)
        return self.known

    def ended(self):
        return self.w.job.poll() is not None

    def wait_for_turns(self, n):
        """False: the job has ended before."""
        last = len(self.turns()) + n
        self.w.wait(10 * TIMEOUT_S, "turns", lambda: self.ended() or len(self.turns()) >= last)
        return not self.ended()

    def wait_until_stored(self):
        """Seconds until a turn has ended that saw its bytes stored."""
        began, had = time.monotonic(), len(self.turns())
        self.w.wait(10 * TIMEOUT_S, "the job to go on", lambda: self.ended() or
                    any(t.stored for t in self.turns()[had:]))
        return None if self.ended() else time.monotonic() - began

    def kill_some(self):
        victims = self.draw.choice([[0], [1], [0, 1]])
        for i in victims:
            self.w.end_daemon(i, signal.SIGKILL, TIMEOUT_S)
        for i in victims:
            self.start(i)
        return len(victims)

    def finish(self):
        self.w.wait(10 * TIMEOUT_S, "the end of the job", self.ended)
        self.w.wait(TIMEOUT_S, "the end of all ranks", lambda: not self.w.job_runs())
        for i in sorted(self.w.daemons):
            self.w.end_daemon(i, signal.SIGTERM, 10 * TIMEOUT_S)


def soak(tree, transport, seconds, seed, base=None, keep=False):
    """What is said of it on the page."""
    job = Job(tree, transport, seconds, seed, base=base)
    times, kills, violations = [], 0, []
    began = time.monotonic()
    try:
        while job.wait_for_turns(job.draw.randint(1, 40)):
            kills += job.kill_some()
            took = job.wait_until_stored()
            if took is not None:
                times.append(took)
        job.finish()
    except Late as late:
        violations.append(f"hang: {late}")
    result = judge(job, violations)
    result.update(transport=transport, seconds=time.monotonic() - began, seed=seed, kills=kills,
                  went_on_median_s=statistics.median(times) if times else None,
                  went_on_max_s=max(times, default=None))
    job.w.clean_up(keep)
    return result


def judge(job, violations):
    turns = job.turns()
    last = turns[-1] if turns else Turn("0 0 0 0 0")
    seen = Seen(job.w)
    if job.w.job.returncode:
        violations.append(f"the job's status is {job.w.job.returncode}: "
                          f"{(seen.errors or ['no error was told'])[0][:300]}")
    violations += [f"lost: {size} bytes at {off}: {kind}" for off, size, kind in seen.wrong]
    violations += [line for r in range(3) for line in job.w.record(r).splitlines()
                   if line.startswith("wrong")]
    unseen = last.wrong + sum(size for _, size, _ in seen.wrong)
    return {"turns": last.turn, "operations": (last.written + last.verified) // (64 << 10),
            "written": last.written, "verified": last.verified + seen.verified,
            "lost_unseen": 0 if seen.errors else unseen, "wrong": unseen,
            "violations": violations[:20]}


def retention(tree, transport, runs, seconds, base=None):
    """Bytes written in a second, with and without keeping, in turns: {replay: [rates]}."""
    rates = {"on": [], "off": []}
    for run in range(runs):
        for replay in rates:
            job = Job(tree, transport, seconds, run, replay, base)
            try:
                began = time.monotonic()
                job.finish()
                rates[replay].append(job.turns()[-1].written / (time.monotonic() - began))
            finally:
                job.w.clean_up()
    return rates
