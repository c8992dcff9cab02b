"""The results as a Markdown page: the answer first, then figures and tables, then conditions."""

import limits
from figures import bytes_text, by_ranks, by_record, computes, steps
from names import CURVES, LEVELS, PEERS, STORES, VARIANTS, label, level_label
from data import size_bytes, work


def cell(spread, digits):
    """median (lowest-highest)"""
    if not spread.n:
        return "-"
    return (
        f"{spread.median:,.{digits}f}"
        if spread.n == 1
        else f"{spread.median:,.{digits}f} ({spread.low:,.{digits}f}–{spread.high:,.{digits}f})"
    )


def rate_cell(spread):
    return cell(spread, 0 if spread.n and spread.median >= 10 else 1)


def percent(x):
    return "-" if x is None else f"{100 * x:.0f} %"


def more_or_less(ratio):
    return f"{percent(1 - ratio)} less" if ratio <= 1 else f"{percent(ratio - 1)} more"


def table(heading, rows):
    align = [":--"] + ["--:"] * (len(heading) - 1)
    lines = [heading, align] + rows
    return "\n".join("| " + " | ".join(str(c) for c in line) + " |" for line in lines) + "\n"


class Page:
    def __init__(self, results, drawn):
        self.r = results
        self.drawn = drawn
        self.c = results.conditions

    # ---- numbers of the work that all variants do -------------------------------------------
    def at(self, key, variant, compute=None, **want):
        """A median, or None."""
        return self.r.values(
            key, **self.r.headline(compute=compute), variant=variant, **want
        ).median

    @property
    def bytes(self):
        return self.r.phases * self.r.ranks * size_bytes(self.r.options["headline"])

    @property
    def store_seconds(self):
        """What the slow store needs for these bytes, requests of 1 MiB."""
        requests = self.bytes / (1 << 20)
        return (
            self.bytes / 1e6 / float(self.r.options["rate"])
            + requests * float(self.r.options["op-us"]) / 1e6
        )

    def hidden(self, variant, base):
        """The part of base's visible I/O that variant does not show."""
        mine, all_of_it = self.at("io_close", variant), self.at("io_close", base)
        return 1 - mine / all_of_it if mine is not None and all_of_it else None

    def best_peer(self, compute=None):
        have = [(self.at("io_close", v, compute), v) for v in PEERS]
        return min((h for h in have if h[0] is not None), default=(None, None))

    def figure(self, name, text):
        return f"![{text}]({name}.svg)\n" if name in self.drawn else ""

    # ---- sections ---------------------------------------------------------------------------
    def text(self):
        parts = [
            "# Results\n",
            self.introduction(),
        ]
        for heading, body in (
            (
                "How much of the I/O is hidden, and what limits the rest",
                self.answer() + self.levels(),
            ),
            (
                "Writing",
                self.curves("write", by_record, "write-by-record")
                + self.curves("write", by_ranks, "write-by-ranks"),
            ),
            ("Reading", self.reading()),
            ("Other patterns and accesses", self.shapes()),
            ("BTIO", self.btio()),
            ("The same on other stores", self.stores()),
            ("Beside peers and limits", self.limits()),
            ("What was measured, and with what", self.conditions()),
            ("Single properties", self.micro()),
        ):
            if body:
                parts.append(f"## {heading}\n\n{body}")
        return "\n".join(parts)

    def introduction(self):
        text = (
            f"Measured on {self.c['date']} with {self.c['zcache']}, by `{self.c['command']}` on one"
            " machine. Every run verified all of its bytes, or its number is missing. Figures and"
            " tables show medians and, behind them, the lowest and highest; parts of a bar are"
            f" those of the run in the middle; runs of each kind: {self.repetitions()}, in turn"
            " with all others.\n"
        )
        if float(self.c["load"]) > 0.5 * int(self.c["cores"]):
            text += (
                "\n**The machine was not quiet: the minute before had a load of"
                f" {self.c['load']} on {self.c['cores']} cores.** Ratios say little then, absolute"
                " figures nothing.\n"
            )
        return text

    def repetitions(self):
        counts = {}
        for r in self.r.runs:
            if r["what"] == "timeline":
                continue
            counts[work(r)] = counts.get(work(r), 0) + 1
        if not counts:
            return "0"
        low, high = min(counts.values()), max(counts.values())
        return str(low) if low == high else f"{low} to {high}"

    def answer(self):
        both, none = self.at("io_close", "one"), self.at("io_close", "none")
        peer, peer_name = self.best_peer()
        if None in (both, none, peer):
            return "The runs that would answer this are missing; see below.\n"
        first, second = self.hidden("aggregator", "none"), self.hidden("daemon", "none")
        last = self.store_seconds / self.r.phases
        io, close = self.at("io", "one"), self.at("close", "one")
        total, opening = self.at("total", "one"), self.at("open", "one")
        ideal = max(self.r.phases * self.r.compute, self.store_seconds)
        unstored = self.left_at_close()
        text = (
            f"{self.r.ranks} ranks write {bytes_text(size_bytes(self.r.options['headline']))} each"
            f" in {self.r.phases} phases, with {self.r.compute:g} s of computing in each:"
            f" {self.bytes / 1e6:.0f} MB, for which the slow store needs"
            f" {self.store_seconds:.2f} s.\n\nWhat I/O costs is all the time from behind the open"
            " until after the close that is not computing.\n\n- **Without anything hidden**, the"
            f" application spends {peer:.2f} s on writes and the close with the best of what it has"
            f" without zcache ({label(peer_name)}), and {none:.2f} s through zcache with nothing"
            " writing back in the background.\n- **Level 1 alone** (ranks to daemon) hides"
            f" {percent(first)} of the latter, **level 2 alone** (daemon to file)"
            f" {percent(second)}: without level 1, ranks hand over only what they have no room for,"
            " and the rest at the close. **Both together hide"
            f" {percent(self.hidden('one', 'none'))}**: {both:.2f} s remain. That is"
            f" {more_or_less(both / peer)} than with {label(peer_name)}.\n- **The rest**:"
            f" {io:.3f} s in {self.r.phases} phases, which hand the data over to the ranks that"
            f" cache it, barriers included, and {close:.3f} s in the close. What the last phase"
            " wrote has no computing to hide behind: that alone keeps the store busy for"
            f" {last:.3f} s.{unstored}\n- **In total**, from open to close, the job takes"
            f" {total:.2f} s, {opening:.2f} s of them in the open. The longer of computing and of"
            f" what the store needs is {ideal:.2f} s; it takes {total / ideal:.2f} times that.\n"
        )
        return text + self.answer_fabric() + self.answer_read() + self.answer_btio()

    def left_at_close(self):
        """What the close finds to do, where a run was watched."""
        runs = self.r.select(**self.r.headline("timeline"), variant="one")
        if not runs or not runs[0]["timeline"]["seconds"]:
            return ""
        first = runs[0]["timeline"]["dirty_bytes"][-1] / 1e6
        both = runs[0]["timeline"]["unstored_bytes"][-1] / 1e6
        return (
            f" In a run that was watched, {both:.0f} MB were in no file yet when the last phase"
            f" ended, {first:.0f} MB of them in the ranks:"
            f" {both / float(self.r.options['rate']):.3f} s for the store."
        )

    def answer_fabric(self):
        """The way between hosts: what it costs once, and what after that."""
        whole, first, io = (
            self.at("io_close", "fabric"),
            self.at("first", "fabric"),
            self.at("io", "fabric"),
        )
        if None in (whole, first, io):
            return ""
        return (
            f"- **Through libfabric**, as between hosts, writes and close take {whole:.2f} s."
            f" {first:.2f} s of them are the first write, which waits until each of the"
            f" {self.r.ranks} ranks has started libfabric and connected, on"
            f" {self.c['cores']} cores; the {self.r.phases - 1} others take"
            f" {max(io - first, 0):.3f} s.\n"
        )

    def answer_read(self):
        """What reading ahead hides."""

        def at(variant, compute):
            return self.r.values(
                "io", **self.r.headline("read", compute=compute), variant=variant
            ).median

        mine, alone = at("one", self.r.compute), at("one", 0)
        peers = [(at(v, self.r.compute), v) for v in PEERS]
        peer, peer_name = min((p for p in peers if p[0] is not None), default=(None, None))
        if None in (mine, alone, peer):
            return ""
        return (
            f"- **Reading** the same from a cold start costs {alone:.2f} s with nothing to hide"
            f" behind, {mine:.2f} s with both levels reading ahead while the application computes:"
            f" {percent(1 - mine / alone)} are hidden. {label(peer_name)}: {peer:.2f} s. Nothing can"
            " read ahead of the first phase.\n"
        )

    def answer_btio(self):
        for size, ranks, how in self.r.works()[:1]:
            want = dict(program="btio", what="write", size=size, ranks=ranks, how=how)
            v = {
                name: self.r.values("io_close", **want, variant=name).median
                for name in ["none", "aggregator", "daemon", "one"] + PEERS
            }
            peer = min(((v[p], p) for p in PEERS if v[p] is not None), default=None)
            if v["one"] is None or not v["none"] or peer is None:
                continue
            hides = {
                name: percent(1 - v[name] / v["none"]) if v[name] is not None else "-"
                for name in ("aggregator", "daemon", "one")
            }
            alone = self.r.values("compute", **want, variant="one").median
            return (
                f"- **A solver that computes on all cores** (BT class {size.split(':')[0]},"
                f" {ranks} ranks on {self.c['cores']} cores, {alone:.2f} s of computing alone): I/O"
                f" makes it {v['one']:.2f} s longer with both levels, {v['none']:.2f} s without"
                f" write-back, {peer[0]:.2f} s with {label(peer[1])}. Level 1 alone hides"
                f" {hides['aggregator']}, level 2 alone {hides['daemon']}, both {hides['one']}."
                " What is done in the background is done on the cores that compute.\n"
            )
        return ""

    def levels(self):
        rows = []
        for v in LEVELS + ["fabric", "two", "embedded", "uncached"] + PEERS:
            with_it, without = self.at("io_close", v), self.at("io_close", v, 0)
            if with_it is None and without is None:
                continue
            want = dict(self.r.headline(), variant=v)
            rows.append(
                [
                    level_label(v),
                    cell(self.r.values("io_close", **self.r.headline(compute=0), variant=v), 2),
                    cell(self.r.values("io_close", **want), 2),
                    cell(self.r.values("io", **want), 3),
                    cell(self.r.values("close", **want), 3),
                    "-" if v in PEERS else percent(self.hidden(v, "none")),
                    cell(self.r.values("total", **want), 2),
                    cell(self.r.values("requests", **want), 0),
                ]
            )
        if not rows:
            return ""
        return (
            "\n"
            + self.figure("levels", "Time in writes and close with each level of write-back")
            + "\n"
            + table(
                [
                    "seconds",
                    "writes + close, no computing",
                    "writes + close",
                    "of it: writing",
                    "close",
                    "hidden, of no write-back",
                    "open to close",
                    "requests to the store",
                ],
                rows,
            )
            + f"\nBut for the first column, with {self.r.compute:g} s of computing in each phase. "
            "Both levels: the default with one daemon.\n"
            + self.timeline()
        )

    def timeline(self):
        if not self.r.select(**self.r.headline("timeline")):
            return ""
        return (
            "\n"
            + self.figure("timeline", "Bytes dirty at both levels over time")
            + "\nBytes that are in no file yet, while the job runs; looked at every 10 ms, which"
            " slows these runs down a little. A dotted line leads from the last look, at the end"
            " of the last phase, to the end of the close.\n"
        )

    def curves(self, what, points_of, name):
        axis = "record" if points_of is by_record else "ranks"
        fixed = (
            f"{self.r.ranks} ranks"
            if points_of is by_record
            else f"records of {bytes_text(size_bytes(self.r.options['fixed']))}"
        )
        if not points_of(self.r, what, 0):
            return ""
        text = "" if name is None else f"{self.figure(name, f'Throughput by {axis}')}\n"
        for compute, title in computes(self.r):
            points = points_of(self.r, what, compute)
            if not points:
                continue
            head = [f"MB/s, {title}"] + [
                bytes_text(x) if axis == "record" else f"{x} ranks" for x, _ in points
            ]
            rows = []
            for v in CURVES:
                cells = [self.rates(what, v, want) for _, want in points]
                if any(c != "-" for c in cells):
                    rows.append([label(v)] + cells)
            text += table(head, rows) + "\n"
        both = "Without / with the close; " if what == "write" else ""
        return (
            text
            + f"{both}{fixed}, {self.r.phases} phases, contiguous, collective, on the slow"
            " store.\n\n"
        )

    def rates(self, what, variant, want):
        want = dict(want, variant=variant)
        if not self.r.select(**want):
            return "failed" if self.r.failed(**want) else "-"
        rate = rate_cell(self.r.values("rate", **want))
        return (
            rate if what == "read" else f"{rate} / {rate_cell(self.r.values('rate_close', **want))}"
        )

    def reading(self):
        tables = self.curves("read", by_record, None) + self.curves("read", by_ranks, None)
        return tables and (
            self.figure("read", "Throughput of reading by record and by ranks")
            + "\n"
            + "All caches are empty when a run begins.\n\n"
            + tables
        )

    def shapes(self):
        """Visible I/O of other patterns, and of other calls of MPI."""
        shapes = self.r.shapes()
        want = dict(self.r.headline(), size=self.r.options["fixed"])
        rows = []
        for v in CURVES if shapes else []:
            cells = [
                (
                    cell(self.r.values("io_close", **dict(want, how=s, variant=v)), 2)
                    if self.r.select(**dict(want, how=s, variant=v))
                    else "failed" if self.r.failed(**dict(want, how=s, variant=v)) else "-"
                )
                for s in shapes
            ]
            if any(c != "-" for c in cells):
                rows.append([label(v)] + cells)
        if not rows:
            return ""
        arrays = (
            " (arrays: 360 x 180 x 35 floats each, from one rank)"
            if any(s.startswith("arrays:") for s in shapes)
            else ""
        )
        return (
            table(["seconds, writes + close"] + [s.replace(":", ", ") for s in shapes], rows)
            + f"\n{self.r.ranks} ranks, {self.r.phases} phases, records of"
            f" {bytes_text(size_bytes(self.r.options['fixed']))}{arrays}, {self.r.compute:g} s of"
            " computing in each phase, on the slow store.\n"
        )

    def btio(self):
        text = self.figure("btio", "BTIO: time in computing, writes and close")
        for size, ranks, how in self.r.works():
            rows = []
            for v in PEERS + LEVELS + ["embedded"]:
                want = dict(
                    program="btio", what="write", size=size, ranks=ranks, how=how, variant=v
                )
                if self.r.select(**want):
                    rows.append(
                        [level_label(v)]
                        + [
                            cell(self.r.values(k, **want), d)
                            for k, d in (("compute", 2), ("io", 2), ("close", 3), ("total", 2))
                        ]
                    )
                elif self.r.failed(**want):
                    rows.append([level_label(v), "failed", "-", "-", "-"])
            name, interval = size.split(":")
            written = self.r.select(program="btio", what="write", size=size, ranks=ranks, how=how)[
                0
            ]["seconds"]["bytes"]
            text += "\n" + table(
                [
                    f"class {name}, {how}, {ranks} ranks, seconds",
                    "computing alone",
                    "writing",
                    "close",
                    "open to close",
                ],
                rows,
            )
            text += (
                f"\n{written / 1e6:.0f} MB, a dump every {steps(interval)}, on the slow store;"
                " residual and error norms as published for the class, all dumps compared with"
                " what is in the file. Computing alone: with the same MPI library just before each"
                " run, writing nothing. Writing is what the run takes longer, less open and close;"
                " below zero, it is less than what the speed of the machine changes from one run"
                " to the next.\n"
            )
        return text

    def stores(self):
        have = [s for s in STORES if self.r.select(**self.r.headline(store=s))]
        rows = []
        for v in self.r.everywhere(CURVES, have):
            row = [label(v)]
            for s in have:
                for key in ("io_close", "total"):
                    want = dict(self.r.headline(store=s), variant=v)
                    row.append(
                        cell(self.r.values(key, **want), 2)
                        if self.r.select(**want)
                        else "failed" if self.r.failed(**want) else "-"
                    )
            rows.append(row)
        head = ["seconds, with computing"] + [
            f"{STORES[s]}: {k}" for s in have for k in ("writes + close", "open to close")
        ]
        return rows and self.figure(
            "stores", "Time in writes and close on several stores"
        ) + "\n" + table(head, rows)

    def conditions(self):
        c = self.c
        used = [v for v in VARIANTS if self.r.select(variant=v)]
        text = table(
            ["", ""],
            [
                [
                    "machine",
                    (
                        f"{c['processor']}, {c['cores']} cores, {c['memory']}; {c['system']},"
                        f" {c['kernel']}"
                    ),
                ],
                ["load when it began", c["load"]],
                ["zcache", c["zcache"]],
                ["MPI", ", ".join(self.r.libraries)],
                [
                    "transport",
                    (
                        "ranks and daemons are on one host and reach each other through the"
                        f" kernel; where libfabric is named, through libfabric {c['libfabric']},"
                        f" provider {c['provider']}"
                    ),
                ],
                ["layout", c["layout"]],
                ["command", f"`{c['command']}`"],
                ["date", c["date"]],
            ],
        )
        text = text.replace(":--", "---").replace("--:", "---")
        if c["layout"].startswith("with yieldshim"):
            text += (
                "\nMore ranks than cores: ranks of MPICH run with a library that lets a rank that"
                " waits give up its core (`tests/yieldshim.c`), those of Open MPI with"
                " `mpi_yield_when_idle`. Without, ranks wait mostly for each other's time slices,"
                " with any MPI-IO.\n"
            )
        text += (
            "\nSimParIO computes by sleeping, which leaves the cores to what works in the"
            " background, as spare cores of a node would; BTIO computes on all cores there are.\n\n"
        )
        text += table(
            ["store", "what it is"],
            [[STORES[s], c["stores"][s]] for s in STORES if s in c["stores"]],
        )
        text += "\n" + table(
            ["variant", "what it is", "hints"],
            [
                [
                    label(v),
                    VARIANTS[v].about,
                    " ".join(f"`{h}`" for h in c["variants"][v].split("|")[-1].split()),
                ]
                for v in used
            ],
        ).replace("--:", ":--")
        text += (
            "\nThe work is that of the paper on multiple-level data staging for Blue Gene/P, whose"
            " design zcache follows: SimParIO in phases, and BTIO. What it calls synchronous"
            " forwarding is ROMIO writing straight to the slow store here; forwarding without"
            " cache goes through a daemon that has none; its two-phase I/O is ROMIO's, its"
            " view-based I/O without write-back, with one level and with both are"
            f" \"{label('none')}\", \"{label('aggregator')}\" and \"{label('one')}\". Its phases"
            f" compute for 0.5 s, those here for {self.r.compute:g} s; its BTIO dumps every 5"
            " steps, the one here as often as the tables say.\n"
        )
        for name, why in c["left_out"].items():
            text += f"\nLeft out: {STORES.get(name) or label(name)}: {why}.\n"
        for f in self.r.failures:
            text += (
                f"\nFailed: {label(f['variant'])}, {f['program']} {f['what']},"
                f" {STORES[f['store']]}, {f['ranks']} ranks, {f['size']}, {f['how']}:"
                f" {f['failed']}\n"
            )
        return text

    def limits(self):
        lines = limits.rows(self.r.figures)
        if not lines:
            return ""
        return (
            'Medians of what "Single properties" has below. Times as good: more than 1 is better'
            " than the peer, or nearer than the limit allows.\n\n"
            + table(
                ["", "peer or limit", "has", "zcache", "times as good", "what limits it"], lines
            )
        )

    def micro(self):
        if not self.r.micro:
            return ""
        text = "What `tests/bench/*.sh` print; each script's `--help` says what it measures.\n"
        for name, lines in self.r.micro.items():
            text += f"\n### {name}\n\n```\n{lines.rstrip()}\n```\n"
        return text
