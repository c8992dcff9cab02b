"""world.py - where something is done to daemons and jobs: directories, processes, conditions.

A world has a directory of its own, and ends all of its processes by their ids: those it started,
and those whose environment says FAULTS_WORLD=directory (ranks, MPI's helpers).
"""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

POLL_S = 0.005
START_S = 60
RANKS = 3
AGGREGATOR, OTHER = 0, 2  # with two aggregators, ranks 0 and 1


class Late(Exception):
    """A condition that did not come in time."""


class Stopped(Exception):
    """The whole was ended from outside."""


stopping = threading.Event()


class Tree:
    """What is run: the build tree, and an MPI library's mpiexec."""

    def __init__(self, build):
        self.build = build
        self.zcached = build + "/iod/zcached"
        self.zcachectl = build + "/iod/zcachectl"
        self.stamped = build + "/tests/faults/stamped"
        self.shim = build + "/tests/.libs/faultshim.so"
        self.preload = [p for p in (build + "/tests/.libs/yieldshim.so",
                                    build + "/adio_zcache/.libs/libzcache.so")
                        if os.path.exists(p)]
        self.mpiexec = os.environ.get("MPIEXEC") or shutil.which("mpiexec.mpich") or "mpiexec"
        for path in (self.zcached, self.zcachectl, self.stamped, self.shim):
            if not os.path.exists(path):
                sys.exit(f"no {path}: make -C build/tests faults/stamped faultshim.la yieldshim.la")


def text_of(path):
    try:
        with open(path, errors="replace") as f:
            return f.read()
    except FileNotFoundError:
        return ""


def mpiexec_ports():
    """What keeps mpiexec from listening where a daemon that was killed did."""
    ports = os.path.dirname(os.path.abspath(__file__)) + "/../ports"
    given = subprocess.run([ports], stdout=subprocess.PIPE, text=True).stdout.strip()
    return {"MPIEXEC_PORT_RANGE": given} if given else {}


class World:
    def __init__(self, tree, timeout_s, base=None):
        self.tree = tree
        self.timeout_s = timeout_s
        self.dir = tempfile.mkdtemp(prefix="zcache-faults.", dir=base)
        self.root = self.dir + "/root"
        self.out = self.dir + "/job.log"
        self.file = self.root + "/f"
        self.hold = self.dir + "/hold"
        os.mkdir(self.root)
        self.daemons = {}   # number: the process that is it now
        self.starts = self.reboots = self.new_roots = 0
        self.ended = []     # (number, exit status, what ended it)
        self.job = None
        keep = {k: v for k, v in os.environ.items() if not re.match("ZCACHE_|FAULTSHIM_", k)}
        self.env = dict(keep, LC_ALL="C", FAULTS_WORLD=self.dir, FAULTSHIM_UNDER=self.root,
                        FAULTSHIM_HOLD=self.hold, ZCACHE_TIMEOUT=f"{int(timeout_s * 1000)}ms",
                        ZCACHE_ALLOW_ROOT="true", **mpiexec_ports())

    # ---- processes ----

    def start_daemon(self, i, listen=None, options=(), log="warn"):
        """Returns when it is ready."""
        address = f"{self.dir}/{i}.addr"
        command = [self.tree.zcached, "--address-file", address, "--root", self.root, "--timeout",
                   f"{int(self.timeout_s * 1000)}ms", *options]
        if listen:
            command += ["--listen", listen]
        self.starts += 1
        with open(f"{self.dir}/{i}.log", "a") as out:
            p = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                 env=dict(self.env, LD_PRELOAD=self.tree.shim, ZCACHE_LOG=log))
        self.daemons[i] = p
        ready = re.compile(f"^pid {p.pid}$", re.M)
        self.wait(START_S, f"daemon {i}", lambda: p.poll() is not None or
                  ready.search(text_of(address)))
        if p.poll() is not None:
            raise Late(f"daemon {i} did not start: {text_of(f'{self.dir}/{i}.log')[-500:]}")

    def end_daemon(self, i, sig, within_s, sent=False):
        """Its status is noted.  `sent`: it has had the signal, and a second one means more."""
        p = self.daemons.pop(i)
        if p.poll() is None and not sent:
            p.send_signal(sig)
        try:
            p.wait(within_s)
        except subprocess.TimeoutExpired:
            self.daemons[i] = p
            raise Late(f"daemon {i} does not end {within_s:.0f} s after {sig.name}") from None
        self.ended.append((i, p.returncode, sig))
        return p.returncode

    def start_job(self, *args, local=True, log="warn"):
        daemons = ",".join(f"{self.dir}/{i}.addr" for i in sorted(self.daemons))
        env = dict(self.env, ZCACHE_LOG=log, ZCACHE_LOCAL="true" if local else "false")
        if daemons:
            env["ZCACHE_DAEMONS"] = daemons
        preload = ":".join([self.tree.shim] + self.tree.preload)
        with open(self.out, "a") as out:
            self.job = subprocess.Popen([self.tree.mpiexec, "-n", str(RANKS), "-genv", "LD_PRELOAD",
                                         preload, self.tree.stamped, *args],
                                        stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=env)

    def ours(self):
        """The ids of all processes of this world that run."""
        mark = f"FAULTS_WORLD={self.dir}\0".encode()
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as f:
                    if mark in f.read() + b"\0":
                        found.append(int(pid))
            except OSError:
                continue
        return found

    def job_runs(self):
        daemons = {p.pid for p in self.daemons.values()}
        return self.job.poll() is None or any(p not in daemons for p in self.ours())

    def rank_pid(self, rank):
        found = re.search(r"^pid (\d+)$", self.record(rank), re.M)
        return int(found.group(1)) if found else None

    def record(self, rank):
        return text_of(f"{self.dir}/rank.{rank}")

    def ctl(self, i, *words):
        return subprocess.Popen([self.tree.zcachectl, "--daemons", f"{self.dir}/{i}.addr",
                                 "--timeout", f"{2 * self.timeout_s:.0f}s", *words],
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL, env=self.env)

    def run(self, command):
        """A program to its end, with all that it says."""
        return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, env=self.env, check=False)

    def clean_up(self, keep=False):
        for p in self.ours():
            try:
                os.kill(p, signal.SIGKILL)
            except ProcessLookupError:
                pass
        for p in [self.job, *self.daemons.values()]:
            if p:
                p.wait()
        if not keep:
            shutil.rmtree(self.dir, ignore_errors=True)

    # ---- conditions ----

    def wait(self, seconds, what, condition):
        end = time.monotonic() + seconds
        while not condition():
            if stopping.is_set():
                raise Stopped(what)
            if time.monotonic() > end:
                raise Late(what)
            time.sleep(POLL_S)

    def release(self):
        try:
            os.unlink(self.hold)
        except FileNotFoundError:
            pass

    def holds(self, pid=None):
        """Does a process wait before it writes to the store (this one; or any)?"""
        if pid:
            return os.path.exists(f"{self.hold}.{pid}")
        return any(name.startswith("hold.") for name in os.listdir(self.dir))

    def touch(self, name):
        with open(f"{self.dir}/{name}", "w"):
            pass
