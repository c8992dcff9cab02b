"""matrix.py - a cell of the kill matrix: the moment is reached, the victim is struck, what follows
is judged.

The moments, and what shows that they are there:
    handshake    a HELLO has reached the victim (its log; with ranks as victims, a rank's)
    first-write  the same of a WRITE, or a small one has been left in memory
    write-back   zcache_flush=start has been called, and the victim waits before it writes to the
                 store: faultshim.so holds it there, and says so
    sync, close  the same in MPI_File_sync and MPI_File_close
    drain        the same in "zcachectl drain", when the daemons have all and the file has not
In the first two, ranks do not go on by themselves until the victim has been struck.
"""
import signal
import subprocess
import time

from cells import (DAEMONS, KEPT, RIGHT, TOLD, name_of, nothing_is_lost, of_daemon,
                   promise)
from judge import FOREIGN, Seen
from world import AGGREGATOR, OTHER, Late, World

DAEMON_OPTIONS = ("--page-size", "64K", "--cache-size", "16M", "--idle-time", "0",
                  "--high-watermark", "90%", "--low-watermark", "80%")
HINTS = ("cb_nodes=2", "cb_config_list=*:2", "zcache_block_size=256K", "zcache_cache_size=16M")
HERE, ELSEWHERE = "127.0.0.1", "127.0.0.2"
DEFAULT_S = 30  # zcache_timeout's default, for what comes back
CALLS = 6  # of the program that may each take a timeout
SLACK_S = 60


class Result:
    def __init__(self, cell):
        self.cell, self.name = cell, name_of(cell)
        self.promised, self.rule = promise(cell)
        self.seen = None           # right, told, kept, or what else
        self.violations = []
        self.notes = []
        self.verified = self.lost_told = self.lost_unseen = 0
        self.status = None         # of mpiexec
        self.seconds = 0.0
        self.first_error = ""

    def as_dict(self):
        d = {k: v for k, v in vars(self).items() if k != "cell"}
        d.update(self.cell._asdict(), promised=sorted(self.promised))
        return d


class Run:
    def __init__(self, tree, cell, timeout_s, base=None):
        self.cell = cell
        self.n = DAEMONS[cell.daemons]
        gone = cell.victim == "daemon-stop-long" or (of_daemon(cell) and cell.restart == "no" and
                                                     cell.victim != "daemon-stop-short")
        self.timeout_s = timeout_s if gone else DEFAULT_S
        self.short_s = timeout_s * 0.5  # a silence that is none, beside the default
        self.w = World(tree, self.timeout_s, base)
        self.bound_s = CALLS * self.timeout_s + SLACK_S
        self.draining = []

    # ---- before ----

    def chatty(self):
        return "trace" if self.cell.moment in ("handshake", "first-write") else "warn"

    def start_daemon(self, i, listen=HERE):
        self.w.start_daemon(i, listen if self.cell.transport == "fabric" else None, DAEMON_OPTIONS,
                            self.chatty())

    def begin(self):
        c, w = self.cell, self.w
        for i in range(self.n):
            self.start_daemon(i)
        hints = HINTS + (f"zcache_replay={c.replay}",) if self.n else HINTS + (
            "zcache_idle_time=0", "zcache_high_watermark=90%", "zcache_low_watermark=80%")
        w.start_job("phases", f"zcache:{w.file}", w.dir, c.moment, w.hold, *hints,
                    local=c.transport == "local", log=self.chatty())

    # ---- the moment ----

    def victim(self):
        if of_daemon(self.cell):
            return self.w.daemons[0].pid
        if self.cell.victim == "mpiexec-kill":
            return self.w.job.pid
        return self.w.rank_pid(AGGREGATOR if self.cell.victim == "aggregator-kill" else OTHER)

    def at_moment(self):
        c, w = self.cell, self.w
        # A small write to an owner of the same host is no message.
        messages = {
            "handshake": ["< HELLO"],
            "first-write": ["< WRITE", ": left in memory of "],
        }.get(c.moment)
        if messages:
            log = f"{w.dir}/0.log" if of_daemon(c) else w.out
            with open(log, errors="replace") as f:
                text = f.read()
            return any(m in text for m in messages)
        if c.moment == "drain" and not self.draining:
            if any("phase drained" not in w.record(r) for r in range(3)):
                return False
            self.draining = [w.ctl(i, "drain") for i in range(self.n)]
        return w.holds(w.daemons[0].pid if of_daemon(c) else None)

    def reach(self):
        self.w.wait(self.bound_s, f"the moment {self.cell.moment}",
                    lambda: self.w.job.poll() is not None or self.at_moment())
        if self.w.job.poll() is not None and not self.at_moment():
            raise Late(f"the moment {self.cell.moment}: the job has ended before")

    # ---- what is done ----

    def strike(self):
        c, w = self.cell, self.w
        pid = self.victim()
        if c.victim in ("daemon-stop-short", "daemon-stop-long"):
            w.daemons[0].send_signal(signal.SIGSTOP)
            w.release()
            time.sleep(self.short_s if c.victim == "daemon-stop-short" else 1.8 * self.timeout_s)
            w.daemons[0].send_signal(signal.SIGCONT)
        elif of_daemon(c):
            sig = signal.SIGTERM if c.victim == "daemon-term" else signal.SIGKILL
            w.daemons[0].send_signal(sig)
            if sig == signal.SIGTERM:
                w.release()
            w.end_daemon(0, sig, self.bound_s, sent=True)
            w.release()
            if c.restart != "no":
                self.start_daemon(0, ELSEWHERE if c.restart == "new" else HERE)
        else:
            subprocess.run(["kill", "-KILL", str(pid)], check=False)
            w.release()

    def let_go_on(self):
        for p in self.draining:
            try:
                p.wait(self.bound_s)
            except subprocess.TimeoutExpired:
                raise Late("zcachectl drain does not return") from None
        if self.draining:
            for p in [self.w.ctl(i, "resume") for i in self.w.daemons]:
                p.wait()
        self.w.touch("go")

    def finish(self):
        w = self.w
        w.wait(self.bound_s, "the end of the job", lambda: w.job.poll() is not None)
        w.wait(SLACK_S, "the end of all ranks", lambda: not w.job_runs())
        for i in sorted(w.daemons):
            w.end_daemon(i, signal.SIGTERM, self.bound_s)

    # ---- what was seen ----

    def judge(self, result):
        w, c = self.w, self.cell
        killed = not of_daemon(c)
        levels = ("sync", "wait", "close") + (("staged",) if killed and self.n else ())
        seen = Seen(w, levels, killed)
        result.status = w.job.returncode
        result.verified = seen.verified
        result.first_error = seen.errors[0][:300] if seen.errors else ""
        self.judge_bytes(result, seen)
        if killed:
            result.seen = KEPT
        else:
            result.seen = TOLD if seen.errors else RIGHT
            self.judge_calls(result, seen)
        if result.seen not in result.promised | {RIGHT}:
            result.violations.append(f"{result.seen}: not as promised: {result.first_error}")
        self.judge_ends(result)

    def judge_bytes(self, result, seen):
        killed = not of_daemon(self.cell)
        for off, size, kind in seen.wrong:
            where = f"{size} bytes at {off}"
            if kind == FOREIGN:
                result.violations.append(f"bytes that were not written there: {where}")
            elif nothing_is_lost(self.cell):
                result.violations.append(f"lost, though it was to be written: {where}")
            elif not killed and seen.errors and seen.is_named(off, size):
                result.lost_told += size
                continue
            elif not killed and seen.errors:
                result.violations.append(f"lost, and not named: {where}")
            else:
                result.violations.append(f"lost unseen: {where}")
            result.lost_unseen += size
        for off, size, kind in seen.misread:
            if kind == FOREIGN or not seen.errors or not seen.is_named_in_part(off, size):
                result.violations.append(f"read {kind}: piece at {off}")
                result.lost_unseen += size

    def judge_calls(self, result, seen):
        if self.w.job.returncode != (1 if seen.errors else 0):
            result.violations.append(f"the job's status is {self.w.job.returncode}")
        for what in ("open", "close", "wait"):
            if len(seen.verdicts(what)) > 1:
                result.violations.append(f"{what} is good on some ranks, and not on others")

    def judge_ends(self, result):
        for i, status, sig in self.w.ended:
            good = {0, 4} if sig == signal.SIGTERM else {-sig}
            if status not in good:
                result.violations.append(f"daemon {i} ended with {status} after {sig.name}")
            elif status == 4:
                result.notes.append(f"daemon {i} says that it lost bytes")


def run_cell(tree, cell, timeout_s, base=None, keep=False):
    result = Result(cell)
    began = time.monotonic()
    run = Run(tree, cell, timeout_s, base)
    try:
        run.begin()
        run.reach()
        run.strike()
        run.let_go_on()
        run.finish()
        run.judge(result)
    except Late as late:
        result.seen = "not reached" if str(late).startswith("the moment") else "hang"
        result.violations.append(f"{result.seen}: {late}")
    finally:
        kept = keep or None
        result.seconds = time.monotonic() - began
        if kept:
            result.notes.append(f"kept: {run.w.dir}")
        run.w.clean_up(bool(kept))
    return result
