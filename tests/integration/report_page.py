#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Holds a page of "desktrace report" against what "desktrace query" says of the same recording.

Written from docs/REPORT.md and not from the page's own script, so that a mistake there does not hide one here.

Usage: report_page.py DESKTRACE TRACE PAGE
"""

import base64
import collections
import csv
import hashlib
import html
import json
import re
import struct
import subprocess
import sys
import zlib

KINDS = ("cpu", "states", "slices", "values", "logs", "samples", "sleeps", "faults")


def numbers(data):
    number = shift = 0
    for byte in data:
        number |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield number
            number = shift = 0


class Page:
    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            self.text = file.read()
        packed = re.search(r'<script type="text/plain" id="data">([^<]*)</script>', self.text)[1]
        data = zlib.decompress(base64.b64decode(packed, validate=True))
        (n,) = struct.unpack_from("<I", data)
        self.head = json.loads(data[4 : 4 + n])
        assert self.head["version"] == 2
        at, columns = 4 + n, []
        for length in self.head["columns"]:
            columns.append(data[at : at + length])
            at += length
        assert at == len(data), "the columns are all that there is"
        self.numbers = [numbers(column) for column in columns[:4]]
        self.values = struct.iter_unpack("<d", columns[4])
        self.rows = collections.defaultdict(list)
        for group in self.head["groups"]:
            for lane in group["lanes"]:
                self.read_lane(group, lane)
        self.flows = list(self.read_flows(numbers(columns[5])))
        for column in [*self.numbers, self.values]:
            assert next(column, None) is None, "rows that no lane has"

    def read_flows(self, column):
        """Track, depth and start of both ends."""
        at = self.head["start"]
        for _ in range(self.head["flows"]):
            first, *out = (next(column) for _ in range(3))
            at += -(first >> 1) - 1 if first & 1 else first >> 1
            last, *end = (next(column) for _ in range(3))
            yield (*out, at, *end, at + (-(last >> 1) - 1 if last & 1 else last >> 1))
        assert next(column, None) is None, "more flows than the head says"

    def stack(self, number):
        """Innermost first."""
        while number:
            parent, name = self.head["stacks"][2 * number - 2 : 2 * number]
            assert parent < number, "a caller comes before what it calls"
            yield self.head["names"][name]
            number = parent

    def read_lane(self, group, lane):
        assert lane["kind"] in KINDS, lane
        for depth, n in enumerate(lane["lines"]):
            at = self.head["start"]
            for _ in range(n):
                at += next(self.numbers[0])
                if lane["kind"] == "values":
                    self.rows["values"].append((lane["track"], at, next(self.values)[0]))
                    continue
                took, what, more = (next(column) for column in self.numbers[1:])
                assert more == 0 or self.head["grain"] > 0 or lane["kind"] in ("samples", "faults")
                self.add_row(group, lane, depth, (at, took - 1, what, more + 1))

    def add_row(self, group, lane, depth, row):
        at, took, what, n = row
        if lane["kind"] == "cpu":
            self.rows["cpu"].append((int(lane["name"].split()[1]), at, took, self.head["threads"][what][0]))
        elif lane["kind"] == "states":
            self.rows["states"].append((self.head["threads"][lane["thread"]][0], at, took, self.head["names"][what]))
        elif lane["kind"] == "slices":
            self.rows["slices"].append((lane["track"], depth, at, took, self.head["names"][what], group.get("pid", 0)))
        elif lane["kind"] == "samples":
            self.rows["samples"].append((self.head["threads"][lane["thread"]][0], at, "|".join(self.stack(what))))
        elif lane["kind"] == "sleeps":
            thread = self.head["threads"][lane["thread"]][0]
            self.rows["sleeps"].append((thread, at, took, "|".join(self.stack(what))))
        elif lane["kind"] == "faults":
            self.rows["faults"].append((self.head["threads"][lane["thread"]][0], at, n, "|".join(self.stack(what))))
        else:
            self.rows["logs"].append((at, lane["priority"], self.head["names"][what]))

    def check_policy(self):
        policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', self.text)[1]
        scripts = re.findall(r"<script>(.*?)</script>", self.text, re.S)
        styles = re.findall(r"<style>(.*?)</style>", self.text, re.S)
        assert len(scripts) == len(styles) == 1
        for kind, text in (("script", scripts[0]), ("style", styles[0])):
            digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
            assert f"{kind}-src 'sha256-{digest}';" in policy, f"the policy does not have the hash of the {kind}"
        assert policy.startswith("default-src 'none';"), policy
        for address in re.findall(r"""(?:src|href|action)\s*=\s*["']([^"']*)""", self.text):
            assert address.startswith("#"), f"the page points to {address}"


def ask(desktrace, trace, sql):
    done = subprocess.run([desktrace, "query", "--csv", "--no-legend", trace, sql], stdout=subprocess.PIPE, check=False)
    assert done.returncode in (0, 6), done.returncode
    return list(csv.reader(done.stdout.decode().splitlines()))


def without_ties(difference):
    """Which of a waking and a switch at the same nanosecond comes first depends on what else is read of the file."""
    places = [{row[:2] for row, n in difference.items() if (n > 0) == is_more} for is_more in (True, False)]
    return {row: n for row, n in difference.items() if row[:2] not in places[0] & places[1]}


def compare(what, wanted, found):
    difference = collections.Counter(wanted)
    difference.subtract(collections.Counter(found))
    difference = {row: n for row, n in difference.items() if n}
    if what == "states":
        difference = without_ties(difference)
    assert not difference, f"{what}: {len(difference)} rows differ, such as {list(difference.items())[:5]}"
    print(f"{what}: {len(found)} rows")


def check_findings(desktrace, trace, page):
    """The sentences are those of "desktrace why", and a link to a slice leads to one that there is."""
    text = html.unescape(re.sub("<[^>]*>", "", page.text))
    rows = ask(desktrace, trace, "SELECT track_id, ts, dur FROM slice WHERE dur > 0")
    slices = {tuple(map(int, row)) for row in rows}
    links = re.findall(r'data-from="(\d+)" data-to="(\d+)" data-track="(\d+)"', page.text)
    for first, last, track in links:
        place = (int(track), page.head["start"] + int(first), int(last) - int(first))
        assert place in slices, f"a sentence leads to no slice: {place}"
    for question in ("cpu", "waits", "disk"):
        done = subprocess.run([desktrace, "why", question, trace], stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode in (0, 6):
            for line in done.stdout.split("\n\n", maxsplit=1)[0].splitlines():
                assert line in text, f"it does not say: {line}"
    print(f"findings: {len(links)} links to slices")


def cut(name):
    return name.encode()[:200].decode(errors="ignore")


def cut_all(names):
    return "|".join(cut(name) for name in names.split("|")) if names else ""


FLOWS = """
    SELECT a.track_id, a.depth, a.ts, b.track_id, b.depth, b.ts
    FROM flow JOIN slice a ON a.id = slice_out JOIN slice b ON b.id = slice_in"""
# From the function in which it was found to the outermost one.
SAMPLES = """
    WITH RECURSIVE up(sample, id, n, names) AS (
        SELECT id, callsite_id, 0, '' FROM perf_sample
        UNION ALL
        SELECT sample, c.parent_id, n + 1, names || CASE WHEN n THEN '|' ELSE '' END || coalesce(
            (SELECT y.name FROM stack_profile_symbol y WHERE y.symbol_set_id = f.symbol_set_id ORDER BY y.id LIMIT 1),
            nullif(f.name, ''), m.name, '')
        FROM up JOIN stack_profile_callsite c ON c.id = up.id JOIN stack_profile_frame f ON f.id = c.frame_id
        LEFT JOIN stack_profile_mapping m ON m.id = f.mapping)
    SELECT t.tid, s.ts, names FROM up JOIN perf_sample s ON s.id = sample JOIN thread t USING (utid)
    WHERE up.id IS NULL AND s.utid <> 0"""

# By kind of lane: what has a weight.
WEIGHED = SAMPLES.replace("perf_sample", "stack_sample").replace("s.ts, names", "s.ts, s.weight, names")
SOURCES = {"sleeps": "linux.offcpu", "faults": "linux.faults"}

HEAP_STACKS = SAMPLES.split("SELECT t.tid", maxsplit=1)[0].replace("perf_sample", "heap_site")
HEAP_SUMS = HEAP_STACKS + """
    SELECT p.pid, s.heap_name, allocated, at_peak, freed_soon, names FROM up JOIN heap_site s ON s.id = sample
    JOIN process p USING (upid) WHERE up.id IS NULL"""
HEAP_CHANGES = """
    SELECT p.pid, a.heap_name, a.ts, sum(a.size) FROM heap_profile_allocation a JOIN process p USING (upid)
    GROUP BY 1, 2, 3"""


def groups_of(values, width):
    return (values[i : i + width] for i in range(0, len(values), width))


def check_heaps(desktrace, trace, page):
    pids = {group["upid"]: group["pid"] for group in page.head["groups"] if "upid" in group}
    changes, sums = collections.Counter(), []
    for heap in page.head["heaps"]:
        owner = (pids[heap["upid"]], heap["name"])
        for _, at, size in groups_of(heap["changes"], 3):
            changes[(*owner, page.head["start"] + at)] += size
        for stack, *totals in groups_of(heap["sums"], 4):
            sums.append((*owner, *totals, "|".join(page.stack(stack))))
    rows = ask(desktrace, trace, HEAP_CHANGES)
    compare("changes of heaps", [(int(row[0]), row[1], *map(int, row[2:])) for row in rows],
            [(*key, size) for key, size in changes.items()])
    rows = ask(desktrace, trace, HEAP_SUMS)
    compare("sums of heaps", [(int(row[0]), row[1], *map(int, row[2:5]), cut_all(row[5])) for row in rows], sums)


def check_weighed(desktrace, trace, page):
    for kind, source in SOURCES.items():
        rows = ask(desktrace, trace, f"{WEIGHED} AND s.source = '{source}'")
        compare(kind, [(*map(int, row[:3]), cut_all(row[3])) for row in rows], page.rows[kind])


def main(desktrace, trace, path, what="all"):
    page = Page(path)
    page.check_policy()
    if what == "weighed":
        assert page.rows["sleeps"] and page.rows["faults"]
        if not page.head["grain"]:
            check_weighed(desktrace, trace, page)
        return
    check_findings(desktrace, trace, page)
    if page.head["grain"]:
        print("thinned: rows are not compared")
        return
    rows = ask(desktrace, trace, "SELECT s.track_id, s.depth, s.ts, s.dur, ifnull(s.name, ''), 0 FROM slice s")
    compare("slices", [(*map(int, row[:4]), cut(row[4])) for row in rows], [row[:5] for row in page.rows["slices"]])
    rows = ask(desktrace, trace, "SELECT cpu, ts, dur, tid FROM sched JOIN thread USING (utid)")
    compare("sched", [tuple(map(int, row)) for row in rows], page.rows["cpu"])
    sql = "SELECT tid, ts, dur, state FROM thread_state JOIN thread USING (utid) WHERE utid <> 0"
    rows = ask(desktrace, trace, sql)
    compare("states", [(*map(int, row[:3]), row[3]) for row in rows], page.rows["states"])
    rows = ask(desktrace, trace, "SELECT track_id, ts, value FROM counter")
    wanted = [(int(row[0]), int(row[1]), f"{float(row[2]):.15g}") for row in rows]
    compare("counters", wanted, [(*row[:2], f"{row[2]:.15g}") for row in page.rows["values"]])
    rows = ask(desktrace, trace, FLOWS)
    compare("flows", [tuple(map(int, row)) for row in rows], page.flows)
    rows = ask(desktrace, trace, SAMPLES)
    compare("samples", [(int(row[0]), int(row[1]), cut_all(row[2])) for row in rows], page.rows["samples"])
    check_heaps(desktrace, trace, page)
    check_weighed(desktrace, trace, page)
    rows = ask(desktrace, trace, "SELECT s.ts, p.pid FROM process_slice s JOIN process p USING (upid)")
    wanted = collections.Counter((int(ts), int(pid)) for ts, pid in rows)
    wanted.subtract((row[2], row[5]) for row in page.rows["slices"])
    assert all(n <= 0 for n in wanted.values()), "slices are in other programs than they should"


if __name__ == "__main__":
    main(*sys.argv[1:])
