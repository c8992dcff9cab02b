"""The figures, as SVG and PNG.  The same results give the same bytes."""

import io
from statistics import mean

import matplotlib
from PIL import Image

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator  # noqa: E402

from data import PLAIN, size_bytes, spread, value  # noqa: E402
from names import (  # noqa: E402
    CURVES,
    LEVEL_COLOURS,
    LEVELS,
    PARTS,
    STORES,
    VARIANTS,
    label,
    level_label,
)

plt.rcParams.update(
    {
        "svg.hashsalt": "zcache",
        "svg.fonttype": "none",
        "font.family": "DejaVu Sans",
        "font.size": 8.5,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.titlesize": 9,
        "axes.titleweight": "bold",
        "axes.grid": True,
        "grid.color": "#E6E6E6",
        "grid.linewidth": 0.6,
        "axes.axisbelow": True,
        "legend.frameon": False,
        "lines.linewidth": 1.4,
        "lines.markersize": 5,
        "figure.dpi": 110,
    }
)


def save(figure, directory, name):
    """64 colours are all that the PNG needs, and a third of the bytes."""
    look = dict(bbox_inches="tight", pad_inches=0.08)
    figure.savefig(directory / f"{name}.svg", metadata={"Date": None}, **look)
    pixels = io.BytesIO()
    figure.savefig(pixels, format="png", **look)
    plt.close(figure)
    Image.open(pixels).convert("RGB").quantize(64).save(directory / f"{name}.png", optimize=True)


def bytes_text(n):
    for unit, power in (("MiB", 20), ("KiB", 10)):
        if n >= 1 << power:
            return f"{n / (1 << power):g} {unit}"
    return f"{n:g} B"


def rate_text(v, _=None):
    return f"{v:,.0f}" if v >= 1 else f"{v:g}"


# ---- curves ---------------------------------------------------------------------------------


def curve(axes, results, variant, points, key):
    """points: (x, what to select)."""
    data = [(x, results.values(key, variant=variant, **want)) for x, want in points]
    data = [(x, s) for x, s in data if s.n]
    if len(data) < min(2, len(points)):  # one point of several is in the table
        return
    look = VARIANTS[variant]
    xs, medians = [x for x, _ in data], [s.median for _, s in data]
    errors = [[s.median - s.low for _, s in data], [s.high - s.median for _, s in data]]
    axes.errorbar(
        xs,
        medians,
        yerr=errors,
        color=look.colour,
        marker=look.marker,
        elinewidth=1,
        label=look.label,
        markeredgecolor="white",
        markeredgewidth=0.5,
    )


def panel(axes, results, points, key, title):
    for variant in CURVES:
        curve(axes, results, variant, points, key)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks([x for x, _ in points])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(FuncFormatter(rate_text))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.set_title(title, loc="left")


def legend_below(figure, axes, columns=4):
    """One legend for all, in the order of names.py."""
    found = {}
    for a in axes:
        for handle, text in zip(*a.get_legend_handles_labels()):
            found.setdefault(text, handle)
    order = [v.label for v in VARIANTS.values() if v.label in found]
    figure.legend(
        [found[t] for t in order],
        order,
        loc="upper center",
        ncol=columns,
        bbox_to_anchor=(0.5, 0.0),
        handletextpad=0.5,
        columnspacing=1.4,
    )


def by_record(results, what, compute):
    sizes = results.sizes(
        program="simpario", what=what, store="slow", ranks=results.ranks, how=PLAIN
    )
    return [(size_bytes(s), dict(results.headline(what, compute=compute), size=s)) for s in sizes]


def by_ranks(results, what, compute):
    fixed = results.options["fixed"]
    counts = results.counts(program="simpario", what=what, store="slow", size=fixed, how=PLAIN)
    return [(n, dict(results.headline(what, compute=compute), ranks=n, size=fixed)) for n in counts]


def label_records(axes, points):
    axes.xaxis.set_major_formatter(FuncFormatter(lambda v, _: bytes_text(v)))
    axes.set_xlabel("record of one rank in one phase")
    if len(points) > 4:  # side by side, they would touch
        axes.tick_params(axis="x", labelrotation=30)


def label_ranks(axes, points):
    axes.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
    axes.set_xlabel("ranks")


def computes(results):
    return [
        (0, "no computing"),
        (results.compute, f"{results.compute:g} s of computing in each phase"),
    ]


def store_line(axes, results):
    rate = float(results.options["rate"])
    axes.axhline(rate, color="#666666", linewidth=0.8, linestyle=(0, (4, 3)), zorder=1)
    axes.annotate(
        "store",
        (1, rate),
        xycoords=("axes fraction", "data"),
        xytext=(-2, 2),
        textcoords="offset points",
        ha="right",
        va="bottom",
        color="#666666",
        fontsize=7.5,
    )


def writes(results, points_of, label_x):
    """Throughput of writing: without and with the close, without and with computing."""
    if not points_of(results, "write", 0):
        return None
    figure, axes = plt.subplots(
        2, 2, figsize=(7.4, 5.6), sharex=True, sharey="row", layout="constrained"
    )
    for row, (key, name) in enumerate(
        (("rate", "MB/s, writes"), ("rate_close", "MB/s, writes and close"))
    ):
        for column, (compute, title) in enumerate(computes(results)):
            a = axes[row][column]
            points = points_of(results, "write", compute)
            panel(a, results, points, key, title if row == 0 else "")
            store_line(a, results)
            label_x(a, points)
            if row == 0:
                a.set_xlabel("")
        axes[row][0].set_ylabel(name)
    legend_below(figure, axes.flat)
    return figure


def reads(results):
    """Throughput of reading: by record and by ranks."""
    if not by_record(results, "read", 0):
        return None
    figure, axes = plt.subplots(2, 2, figsize=(7.4, 5.6), sharey=True, layout="constrained")
    for row, (points_of, label_x) in enumerate(
        ((by_record, label_records), (by_ranks, label_ranks))
    ):
        for column, (compute, title) in enumerate(computes(results)):
            a = axes[row][column]
            points = points_of(results, "read", compute)
            panel(a, results, points, "rate", title if row == 0 else "")
            store_line(a, results)
            label_x(a, points)
        axes[row][0].set_ylabel("MB/s, reads")
    legend_below(figure, axes.flat, 3)
    return figure


# ---- bars -----------------------------------------------------------------------------------


def bars(axes, results, rows, parts):
    """rows: (text, what to select), from top to bottom; the number and the spread are those of the
    sum, the parts those of its median.  What is below zero shortens the part before it."""
    drawn = set()
    for y, (_, want) in enumerate(rows):
        whole = sum_of(results, parts, want)
        if not whole.n:
            axes.annotate(
                "failed", (0, y), xytext=(4, 0), textcoords="offset points", va="center", fontsize=8
            )
            continue
        widths = []
        for part in parts:
            width = middle(results, parts, part, want)
            if width < 0 and widths:
                widths[-1] = max(0, widths[-1] + width)
            widths.append(max(0, width))
        left = 0
        for part, width in zip(parts, widths):
            if width > 0:
                axes.barh(
                    y,
                    width,
                    left=left,
                    height=0.62,
                    color=PARTS[part][1],
                    edgecolor="white",
                    linewidth=0.5,
                    label=None if part in drawn else PARTS[part][0],
                )
                drawn.add(part)
                left += width
        axes.errorbar(
            whole.median,
            y,
            xerr=[[whole.median - whole.low], [whole.high - whole.median]],
            color="#333333",
            capsize=2,
            elinewidth=0.8,
        )
        axes.annotate(
            f"{whole.median:.2f}",
            (max(left, whole.high), y),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            fontsize=8,
        )
    axes.set_yticks(range(len(rows)), [text for text, _ in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.grid(axis="y", visible=False)
    axes.margins(x=0.12)
    axes.set_xlim(left=0)
    axes.set_xlabel("seconds")


def sum_of(results, parts, want):
    return spread([total(r, parts) for r in results.select(**want)])


def total(run, parts):
    return sum(value(run, p) or 0 for p in parts)


def middle(results, parts, part, want):
    """One part of the run that is the median of the sum, or the mean of the two that make it."""
    runs = sorted(results.select(**want), key=lambda r: total(r, parts))
    return mean(value(r, part) or 0 for r in runs[(len(runs) - 1) // 2 : len(runs) // 2 + 1])


def btio(results):
    works = results.works()
    if not works:
        return None
    order = ["ufs", "tuned", "ompio"] + LEVELS + ["embedded"]
    rows_of = []
    for size, ranks, how in works:
        want = dict(program="btio", what="write", size=size, ranks=ranks, how=how)
        rows_of.append(
            [(level_label(v), dict(want, variant=v)) for v in results.variants(order, **want)]
        )
    figure, axes = plt.subplots(
        len(works),
        1,
        squeeze=False,
        layout="constrained",
        figsize=(7.4, 0.5 + sum(0.32 * len(r) + 0.7 for r in rows_of)),
    )
    for a, rows, (size, ranks, how) in zip(axes.flat, rows_of, works):
        bars(a, results, rows, ["open", "compute", "io", "close"])
        name, interval = size.split(":")
        a.set_title(
            f"BT class {name}, {ranks} ranks, {how}, a dump every {steps(interval)}", loc="left"
        )
    legend_parts(figure, axes.flat[0])
    return figure


def steps(interval):
    return "step" if interval == "1" else f"{interval} steps"


def legend_parts(figure, axes):
    handles, texts = axes.get_legend_handles_labels()
    figure.legend(handles, texts, loc="upper center", ncol=len(texts), bbox_to_anchor=(0.55, 0.0))


def levels(results):
    """What is left to wait for, with each level of write-back."""
    have = results.variants(LEVELS, **results.headline())
    if not have:
        return None
    figure, axes = plt.subplots(
        1, 2, figsize=(7.4, 2.2), sharey=True, sharex=True, layout="constrained"
    )
    for a, (compute, title) in zip(axes, computes(results)):
        want = results.headline(compute=compute)
        bars(a, results, [(level_label(v), dict(want, variant=v)) for v in have], ["io", "close"])
        a.set_title(title, loc="left")
    legend_parts(figure, axes[0])
    return figure


def stores(results):
    have = [s for s in STORES if results.select(**results.headline(store=s))]
    if not have:
        return None
    tried = results.everywhere(CURVES, have)
    figure, axes = plt.subplots(
        1, len(have), figsize=(7.4, 2.9), sharey=True, squeeze=False, layout="constrained"
    )
    for a, store in zip(axes.flat, have):
        want = results.headline(store=store)
        rows = [(label(v), dict(want, variant=v)) for v in tried]
        bars(a, results, rows, ["io", "close"])
        a.set_title(STORES[store], loc="left")
    legend_parts(figure, axes.flat[0])
    return figure


# ---- over time ------------------------------------------------------------------------------


def timeline(results):
    """Bytes that are dirty at both levels, while the job runs."""
    want = dict(results.headline("timeline"))
    have = [v for v in LEVELS if results.select(**want, variant=v)]
    if not have:
        return None
    figure, axes = plt.subplots(
        len(have),
        1,
        figsize=(7.4, 0.6 + 1.15 * len(have)),
        sharex=True,
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    for a, variant in zip(axes.flat, have):
        run = results.select(**want, variant=variant)[0]
        samples = run["timeline"]
        seconds = [0] + samples["seconds"]
        first = [0] + [b / 1e6 for b in samples["dirty_bytes"]]
        both = [0] + [b / 1e6 for b in samples["unstored_bytes"]]
        second = [max(0, b - f) for f, b in zip(first, both)]
        a.stackplot(
            seconds,
            first,
            second,
            colors=[LEVEL_COLOURS[0], LEVEL_COLOURS[1]],
            labels=["in ranks (level 1)", "in the daemon (level 2)"],
            linewidth=0,
        )
        end, total = seconds[-1], run["seconds"]["total"]
        a.plot([end, total], [both[-1], 0], color="#666666", linewidth=0.9, linestyle=(0, (1, 2)))
        a.axvline(total, color="#666666", linewidth=0.8)
        a.annotate(
            "closed",
            (total, 1),
            xycoords=("data", "axes fraction"),
            xytext=(3, -8),
            textcoords="offset points",
            fontsize=7.5,
            color="#444444",
        )
        a.set_title(level_label(variant), loc="left")
        a.set_ylabel("MB")
    axes[-1][0].set_ylim(bottom=0)
    axes[-1][0].set_xlim(0, 1.08 * max(r["seconds"]["total"] for r in results.select(**want)))
    axes[-1][0].set_xlabel("seconds since before the open")
    legend_parts(figure, axes[0][0])
    return figure


def draw(results, directory):
    """All of them; the names of those that there is anything to draw of."""
    made = {
        "write-by-record": lambda: writes(results, by_record, label_records),
        "write-by-ranks": lambda: writes(results, by_ranks, label_ranks),
        "read": lambda: reads(results),
        "btio": lambda: btio(results),
        "levels": lambda: levels(results),
        "timeline": lambda: timeline(results),
        "stores": lambda: stores(results),
    }
    drawn = []
    for name, make in made.items():
        made_of = make()
        if made_of is not None:
            save(made_of, directory, name)
            drawn.append(name)
    return drawn
