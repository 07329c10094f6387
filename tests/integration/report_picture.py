#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Holds an SVG of "desktrace report" against what "desktrace query" says of the same time of the recording.

Usage: report_picture.py DESKTRACE TRACE SVG FROM TO      times in seconds, as given to --from and --to
"""

import csv
import subprocess
import sys
from xml.etree import ElementTree

LABELS, WIDTH = 190, 1000
# Slices of which others may not take the place: rows that are shorter than a pixel are drawn together.
WIDE = 3
NS = "{http://www.w3.org/2000/svg}"


def ask(desktrace, trace, sql):
    command = [desktrace, "query", "--csv", "--no-legend", trace, sql]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 6), done.stderr
    return list(csv.reader(done.stdout.splitlines()))


def main(desktrace, trace, svg, begin, end):
    root = ElementTree.parse(svg).getroot()
    assert root.tag == NS + "svg", root.tag
    allowed = {NS + name for name in ("svg", "title", "style", "marker", "path", "rect", "text", "g")}
    foreign = {element.tag for element in root.iter()} - allowed
    assert not foreign, foreign
    drawn = {}
    for rect in root.iter(NS + "rect"):
        title = rect.find(NS + "title")
        if title is not None and not any(rect.get("class") == name for name in ("run", "wait", "block")):
            place = float(rect.get("x")), float(rect.get("width"))
            drawn.setdefault(title.text.rsplit(", ", 1)[0], []).append(place)
    zero = int(ask(desktrace, trace, "SELECT min(ts) FROM (SELECT ts FROM slice UNION ALL SELECT ts FROM counter"
                                     " UNION ALL SELECT ts FROM sched)")[0][0])
    first, last = zero + int(float(begin) * 1e9), zero + int(float(end) * 1e9)
    per_ns = (WIDTH - LABELS) / (last - first)
    sql = f"""SELECT max(ts, {first}), min(ts + dur, {last}), name FROM slice
              WHERE dur > 0 AND ts < {last} AND ts + dur > {first}"""
    n = 0
    for ts, over, name in ask(desktrace, trace, sql):
        x, width = LABELS + (int(ts) - first) * per_ns, (int(over) - int(ts)) * per_ns
        if width < WIDE or len(name) > 60:
            continue
        n += 1
        near = [one for one in drawn.get(name, []) if abs(one[0] - x) < 0.3 and abs(one[1] - width) < 0.3]
        assert near, f"{name} at {x:.1f}, {width:.1f} wide, is not there: {drawn.get(name)}"
    assert n > 0, "no slice is wide enough"
    print(f"# {n} slices are in their places")


main(*sys.argv[1:])
