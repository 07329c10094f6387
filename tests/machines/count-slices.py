# SPDX-License-Identifier: LGPL-2.1-or-later
"""Counts the slices of a recording of Chromium, and compares them with what inspect says.

Written from the format's description and not from our decoders: every event gets its time in CLOCK_MONOTONIC, which
all of Chromium's own clocks count from, so the service's clock snapshots are not needed.

Usage: count-slices.py TRACE INSPECT.json
"""

import json
import os
import sys
from collections import defaultdict

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "integration"))
import trace_file  # noqa: E402  pylint: disable=wrong-import-position

MONOTONIC = 3
BEGIN, END, INSTANT = 1, 2, 3
MARK = ord("R")
SLICES_MIN = 1000  # a page that is painted for seconds; less is no recording of it


class Sequence:
    """What a writer's packets refer to."""

    def __init__(self):
        self.names = {}
        self.track = self.clock = None
        self.times = {}

    def take(self, packet):
        if packet.get(13, [0])[0] & 1:
            self.names, self.track, self.clock = {}, None, None
        for defaults in map(trace_file.message, packet.get(59, [])):
            self.clock = defaults.get(58, [self.clock])[0]
            for event in map(trace_file.message, defaults.get(11, [])):
                self.track = event.get(11, [self.track])[0]
        for interned in map(trace_file.message, packet.get(12, [])):
            for name in map(trace_file.message, interned.get(2, [])):
                self.names[name[1][0]] = name[2][0].decode()
        for snapshot in map(trace_file.message, packet.get(6, [])):
            clocks = {c[1][0]: c for c in map(trace_file.message, snapshot[1])}
            for number, clock in clocks.items():
                if 64 <= number < 128:
                    assert clock[3][0] and clock.get(4, [1])[0] == 1 and MONOTONIC in clocks, clocks
                    self.times[number] = clocks[MONOTONIC][2][0]

    def time(self, packet):
        """Counts on with every packet, whatever is in it."""
        if 8 not in packet:
            return None
        clock = packet.get(58, [self.clock])[0]
        if clock == MONOTONIC:
            return packet[8][0]
        self.times[clock] += packet[8][0]
        return self.times[clock]


def read_events(data):
    """Track, time, type and name of each event."""
    sequences = defaultdict(Sequence)
    for packet in map(trace_file.message, trace_file.packets(data)):
        number = packet[10][0]
        if number == 1:
            continue  # the service's own
        sequence = sequences[number]
        sequence.take(packet)
        at = sequence.time(packet)
        for event in map(trace_file.message, packet.get(11, [])):
            kind = event.get(9, [0])[0]
            for legacy in map(trace_file.message, event.get(6, [])):
                kind = INSTANT if legacy[2][0] == MARK else kind
            name = event.get(23, [None])[0]
            if 10 in event:
                name = sequence.names[event[10][0]]
            yield event.get(11, [sequence.track])[0], at, kind, name


def count(data):
    """[slices that ended, slices that did not, instants, ns] of each name, and the ends without a begin."""
    counts, tracks, unmatched = defaultdict(lambda: [0, 0, 0, 0]), defaultdict(list), 0
    for event in sorted(enumerate(read_events(data)), key=lambda e: (e[1][1], e[0])):
        track, at, kind, name = event[1]
        if kind == BEGIN:
            tracks[track].append((name, at))
        elif kind == INSTANT:
            counts[name][2] += 1
        elif kind == END and tracks[track]:
            name, since = tracks[track].pop()
            counts[name][0] += 1
            counts[name][3] += at - since
        elif kind == END:
            unmatched += 1
    for names in tracks.values():
        for name, _ in names:
            counts[name][1] += 1
    return counts, unmatched


def main():
    with open(sys.argv[1], "rb") as file:
        counts, unmatched = count(file.read())
    with open(sys.argv[2], encoding="utf-8") as file:
        said = json.load(file)
    total = sum(c[0] + c[1] for c in counts.values())
    print(f"{total} slices, {len(counts)} names, {unmatched} ends of slices from before")
    assert total >= SLICES_MIN, "this is no recording of a page"
    inspected = {s["name"]: [s["count"], s["open"], s["instants"], s["total_ns"]] for s in said["slices"]}
    wrong = {n: (inspected.get(n), counts.get(n)) for n in {*inspected, *counts} if inspected.get(n) != counts.get(n)}
    assert not wrong, f"inspect and the file differ: {wrong}"
    assert said["unmatched_slice_ends"] == unmatched, (said["unmatched_slice_ends"], unmatched)
    assert said["undecodable_events"] == said["forgotten_events"] == 0, said["undecodable_events"]


main()
