"""A plugin of pytest: what came of each test, on all ranks together, as lines of a suite.

    mpiexec -n N python -m pytest -p pytest_lines ...

All ranks run the same tests in the same order; after each one, rank 0 appends to the file that
LINES names "PASS test", "FAIL test reason" or "SKIP test reason", and before it, to LINES.now, its
name, for those who find that it never ended; LINES.ids has pytest's names of all that began.
"""

import os

from mpi4py import MPI

comm = MPI.COMM_WORLD.Dup()
worst = ("PASS", "")
ORDER = ("PASS", "SKIP", "FAIL")


def name_of(nodeid):
    path, _, rest = nodeid.partition("::")
    module = os.path.splitext(os.path.basename(path))[0]
    return (module + "." + rest.replace("::", ".")).replace(" ", "_")


def append(suffix, text, mode="a"):
    with open(os.environ["LINES"] + suffix, mode, encoding="utf-8") as out:
        out.write(text)


def one_line(text):
    return " ".join(str(text).split())[:160]


def reason_of(report):
    if report.skipped:
        if hasattr(report, "wasxfail"):
            return one_line("fails as its authors expect: " + report.wasxfail)
        where = report.longrepr
        text = str(where[2] if isinstance(where, tuple) else where)
        return one_line(text.replace("Skipped: ", "its authors skip it: ", 1))
    crash = getattr(report.longrepr, "reprcrash", None)
    return one_line(crash.message if crash else report.longrepr)


def pytest_runtest_logstart(nodeid, location):
    global worst
    worst = ("PASS", "")
    if comm.rank == 0:
        append(".now", name_of(nodeid), "w")
        append(".ids", nodeid + "\n")


def pytest_runtest_logreport(report):
    global worst
    verdict = "FAIL" if report.failed else "SKIP" if report.skipped else "PASS"
    if ORDER.index(verdict) > ORDER.index(worst[0]):
        worst = (verdict, reason_of(report))


def pytest_runtest_logfinish(nodeid, location):
    everybody = comm.gather(worst)
    if comm.rank:
        return
    # Skipped on one rank alone is a part of the test.
    verdict, reason = max(everybody, key=lambda one: ORDER.index(one[0]))
    if verdict == "SKIP" and any(one[0] == "PASS" for one in everybody):
        verdict, reason = "PASS", ""
    append("", "%s %s%s\n" % (verdict, name_of(nodeid), " " + reason if reason else ""))
    append(".now", "", "w")
