#!/usr/bin/env python3
"""curves.py RESULTS DIRECTORY - the figures of the page of seeds.sh, from its measured results.

Writes seeds-CASE.svg into DIRECTORY for each case that has a curve, and prints their names by
case as a JSON object.  Needs no package beside Python's own; the same results give the same bytes.
"""

import json
import math
import sys
from pathlib import Path
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 640, 360
LEFT, RIGHT, TOP, BOTTOM = 64, 200, 34, 46
COLOURS = ["#1f6fb4", "#d1495b", "#3a7d44", "#8a5fbf", "#b07d2b"]


def median(variant, key):
    return variant.get("metrics", {}).get(key, {}).get("median")


def memory_curves(cases):
    """Throughput by the amount of data, in caches of the daemon."""
    lines = {}
    for case in cases:
        if not case["case"].startswith("memory: "):
            continue
        x = float(case["case"].split()[1])
        for variant in case["variants"]:
            way = variant["variant"]
            for key, what in (("write_mb_s", "seen"), ("write_close_mb_s", "until stored")):
                y = median(variant, key)
                if y:
                    lines.setdefault(f"{way}, {what}", []).append((x, y))
    return lines, "data, in caches of the daemon"


def prefetch_curves(cases):
    """Throughput of reading by the number of aggregators; what has none is a level line."""
    lines, level = {}, {}
    for case in cases:
        if case["case"] != "prefetch":
            continue
        for variant in case["variants"]:
            way, y = variant["variant"], median(variant, "seen_mb_s")
            if not y:
                continue
            if way.endswith(" aggregators"):
                lines.setdefault("zcache", []).append((float(way.split()[1]), y))
            else:
                level[way] = y
    xs = [x for x, _ in lines.get("zcache", [])]
    if xs:
        lines.update({way: [(min(xs), y), (max(xs), y)] for way, y in level.items()})
    return lines, "aggregators"


def ticks(low, high):
    """Powers of ten, and 2 and 5 of each."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    all_of = [m * 10**d for d in decades for m in (1, 2, 5)]
    return [t for t in all_of if low <= t <= high]


def axis(values, base):
    """The logarithmic place of a value, from 0 to 1, and the ends of the axis."""
    low, high = min(values), max(values)
    low, high = low / base, high * base

    def place(v):
        return (math.log(v) - math.log(low)) / (math.log(high) - math.log(low))

    return place, low, high


def text(x, y, what, anchor="middle", more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{more}>{escape(what)}</text>'


def number(v):
    return f"{v:g}"


def axes(place_x, place_y, xs, low, high, label):
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM
    out = []
    for t in ticks(low, high):
        y = bottom - place_y(t) * (bottom - TOP)
        out.append(f'<path class="grid" d="M{LEFT} {y:.1f}H{right}"/>')
        out.append(text(LEFT - 6, y + 4, number(t), "end"))
    for x in xs:
        at = LEFT + place_x(x) * (right - LEFT)
        out.append(text(at, bottom + 17, number(x)))
    out.append(f'<path class="axis" d="M{LEFT} {TOP}V{bottom}H{right}"/>')
    out.append(text((LEFT + right) / 2, HEIGHT - 10, label))
    out.append(text(LEFT, TOP - 12, "MB/s", "end"))
    return out


def draw(lines, label):
    """The figure as SVG, both axes logarithmic; lines: {name: [(x, y), ...]}."""
    xs = sorted({x for points in lines.values() for x, _ in points})
    place_x, _, _ = axis(xs, 1.1)
    place_y, low, high = axis([y for points in lines.values() for _, y in points], 1.3)
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}">',
        "<style>text{font:12px sans-serif;fill:#333}.grid{stroke:#e6e6e6}"
        ".axis{stroke:#666;fill:none}.line{fill:none;stroke-width:2}</style>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
    ]
    out += axes(place_x, place_y, xs, low, high, label)
    for i, (name, points) in enumerate(lines.items()):
        colour = COLOURS[i % len(COLOURS)]
        places = [
            (LEFT + place_x(x) * (right - LEFT), bottom - place_y(y) * (bottom - TOP))
            for x, y in sorted(points)
        ]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        out.append(f'<polyline class="line" stroke="{colour}" points="{path}"/>')
        out += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places]
        y = TOP + 18 * i
        out.append(f'<path class="line" stroke="{colour}" d="M{right + 12} {y}h14"/>')
        out.append(text(right + 30, y + 4, name, "start", ' font-size="11"'))
    return "\n".join(out + ["</svg>", ""])


def main():
    cases = json.loads(Path(sys.argv[1]).read_text())["cases"]
    names = {}
    for case, curves in (("memory", memory_curves), ("prefetch", prefetch_curves)):
        lines, label = curves(cases)
        if not any(len(points) > 1 for points in lines.values()):
            continue
        names[case] = f"seeds-{case}.svg"
        (Path(sys.argv[2]) / names[case]).write_text(draw(lines, label))
    print(json.dumps(names))


main()
