# SPDX-License-Identifier: LGPL-2.1-or-later
"""Counts the slices of a recording of Chromium, and compares them with what inspect says.

Written from the format's description and not from our decoders: every event gets its time in CLOCK_MONOTONIC, which
all of Chromium's own clocks count from, so the service's clock snapshots are not needed.

New versions of Chromium write few events with phases of the older format, or none. --make writes a recording of two
programs that has all of these phases, for the same comparison.

Usage: count-slices.py TRACE INSPECT.json
       count-slices.py --make TRACE
"""

import json
import os
import sys
from collections import defaultdict

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "integration"))
import trace_file  # noqa: E402  pylint: disable=wrong-import-position

MONOTONIC, BOOTTIME = 3, 6
BEGIN, END, INSTANT, COUNTER, COMPLETE = 1, 2, 3, 4, 5
# LegacyEvent.phase: what the event is, and whether it belongs to others by its id and not by its track.
PHASES = {
    "B": (BEGIN, False),
    "E": (END, False),
    "X": (COMPLETE, False),
    "I": (INSTANT, False),
    "i": (INSTANT, False),
    "R": (INSTANT, False),
    "b": (BEGIN, True),
    "e": (END, True),
    "n": (INSTANT, True),
}
LEGACY = {"X", "b", "e", "n"}  # what inspect counts beyond the types
UNSCOPED_ID, LOCAL_ID, GLOBAL_ID = 6, 10, 11
SLICES_MIN = 1000  # a page that is painted for seconds; less is no recording of it
MADE_SLICES_MIN = 6


class Sequence:
    """What a writer's packets refer to."""

    def __init__(self, number):
        self.names, self.categories = {}, {}
        self.own_track = ("sequence", number)
        self.track, self.clock = self.own_track, None
        self.times = {}
        self.pid = None

    def take(self, packet):
        self.pid = packet.get(79, [self.pid])[0]
        if packet.get(13, [0])[0] & 1:
            self.names, self.categories = {}, {}
            self.track, self.clock = self.own_track, None
        for defaults in map(trace_file.message, packet.get(59, [])):
            self.clock = defaults.get(58, [self.clock])[0]
            for event in map(trace_file.message, defaults.get(11, [])):
                self.track = event.get(11, [self.track])[0]
        for interned in map(trace_file.message, packet.get(12, [])):
            for known, entries in ((self.categories, 1), (self.names, 2)):
                for entry in map(trace_file.message, interned.get(entries, [])):
                    known[entry[1][0]] = entry[2][0].decode()
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


def text(event, number):
    return event[number][0].decode() if number in event else None


def category_of(sequence, event):
    """The first, as a number or in the event itself."""
    for iids in event.get(3, []):
        return sequence.categories[trace_file.packed(iids)[0] if isinstance(iids, bytes) else iids]
    return text(event, 22)


def async_track(sequence, event, legacy):
    """Events with the same id belong together, in what the id is unique in: a scope, or else a category; a process."""
    kind = next((n for n in (UNSCOPED_ID, LOCAL_ID, GLOBAL_ID) if n in legacy), None)
    scope = text(legacy, 7) or category_of(sequence, event)
    return kind, legacy.get(kind, [0])[0], scope, sequence.pid if kind == LOCAL_ID else None


def read_event(sequence, event):
    """Track, type, name, duration, and the legacy phase that took the place of a type."""
    kind, name, duration, phase = event.get(9, [0])[0], text(event, 23), 0, ""
    track = event.get(11, [sequence.track])[0]
    for legacy in map(trace_file.message, event.get(6, [])):
        if not kind:
            phase = chr(legacy.get(2, [0])[0])
            kind, is_async = PHASES.get(phase, (0, False))
            track = async_track(sequence, event, legacy) if is_async else track
        if not name and 1 in legacy:
            name = sequence.names[legacy[1][0]]
        duration = legacy.get(3, [0])[0] * 1000
        duration = duration if duration < 1 << 63 else 0
    if 10 in event:
        name = sequence.names[event[10][0]]
    return track, kind, name, duration, phase


def read_events(data):
    """Time, track, type, name, duration and phase of each event."""
    sequences = {}
    for packet in map(trace_file.message, trace_file.packets(data)):
        number = packet[10][0]
        if number == 1:
            continue  # the service's own
        sequence = sequences.setdefault(number, Sequence(number))
        sequence.take(packet)
        at = sequence.time(packet)
        for event in map(trace_file.message, packet.get(11, [])):
            yield at, *read_event(sequence, event)


def count(data):
    """[slices that ended, slices that did not, instants, ns] of each name, how many events of each type or legacy phase
    there are, and the ends without a begin."""
    counts, tracks, kinds, unmatched = defaultdict(lambda: [0, 0, 0, 0]), defaultdict(list), defaultdict(int), 0
    for event in sorted(enumerate(read_events(data)), key=lambda e: (e[1][0], e[0])):
        at, track, kind, name, duration, phase = event[1]
        kinds[phase or kind] += 1
        if kind == BEGIN:
            tracks[track].append((name, at))
        elif kind == INSTANT:
            counts[name][2] += 1
        elif kind == COMPLETE:
            counts[name][0] += 1
            counts[name][3] += duration
        elif kind == END and tracks[track]:
            name, since = tracks[track].pop()
            counts[name][0] += 1
            counts[name][3] += at - since
        elif kind == END:
            unmatched += 1
    for names in tracks.values():
        for name, _ in names:
            counts[name][1] += 1
    return counts, kinds, unmatched


def number(value):
    """As a varint."""
    data = bytearray()
    while value >= 128:
        data.append(value & 127 | 128)
        value >>= 7
    return bytes((*data, value))


def field(key, value):
    if isinstance(value, int):
        return number(key << 3) + number(value & (1 << 64) - 1)
    value = value.encode() if isinstance(value, str) else value
    return number(key << 3 | 2) + number(len(value)) + value


def fields(of):
    return b"".join(field(key, value) for key, value in of)


def legacy_event(name, category, phase, *more):
    return fields([(22, category), (23, name), (6, fields([(2, ord(phase)), *more]))])


MADE_EVENTS = [
    legacy_event("whole", "a", "X", (3, 250)),
    legacy_event("of unknown length", "a", "X", (3, -1)),
    legacy_event("outer", "a", "B"),
    legacy_event("one id", "a", "b", (UNSCOPED_ID, 7)),
    legacy_event("other category", "c", "b", (UNSCOPED_ID, 7)),
    legacy_event("in a scope", "a", "b", (UNSCOPED_ID, 7), (7, "scope")),
    legacy_event("of a program", "a", "b", (LOCAL_ID, 7)),
    legacy_event("of all programs", "a", "b", (GLOBAL_ID, 7)),
    legacy_event("within", "a", "n", (UNSCOPED_ID, 7)),
    legacy_event("mark", "a", "I"),
    legacy_event("of a program", "a", "e", (LOCAL_ID, 7)),
    legacy_event("in a scope", "c", "e", (UNSCOPED_ID, 7), (7, "scope")),
    legacy_event("one id", "a", "e", (UNSCOPED_ID, 7)),
    legacy_event("nobody's", "a", "e", (UNSCOPED_ID, 8)),
    legacy_event("outer", "a", "E"),
]


def make(path):
    """The events of both programs in turn, of which each has its own sequence, with times in nanoseconds."""
    packets = [fields([(10, n), (79, 100 + n), (13, 1), (59, fields([(58, MONOTONIC)]))]) for n in (2, 3)]
    clocks = fields([(1, fields([(1, clock), (2, 1000)])) for clock in (MONOTONIC, BOOTTIME)])
    packets.append(fields([(10, 1), (6, clocks)]))
    for at, event in enumerate(MADE_EVENTS):
        for n in (2, 3):
            packets.append(fields([(10, n), (8, 2000 + 100 * at + n), (58, MONOTONIC), (11, event)]))
    with open(path, "wb") as file:
        file.write(fields([(1, packet) for packet in packets]))


def main():
    if sys.argv[1] == "--make":
        make(sys.argv[2])
        return
    with open(sys.argv[1], "rb") as file:
        counts, kinds, unmatched = count(file.read())
    with open(sys.argv[2], encoding="utf-8") as file:
        said = json.load(file)
    total = sum(c[0] + c[1] for c in counts.values())
    print(f"{total} slices, {len(counts)} names, {unmatched} ends of slices from before; events by type: {dict(kinds)}")
    slices_min = MADE_SLICES_MIN if LEGACY <= {*kinds} else SLICES_MIN
    assert total >= slices_min, "this is no recording of a page"
    inspected = {s["name"]: [s["count"], s["open"], s["instants"], s["total_ns"]] for s in said["slices"]}
    wrong = {n: (inspected.get(n), counts.get(n)) for n in {*inspected, *counts} if inspected.get(n) != counts.get(n)}
    assert not wrong, f"inspect and the file differ: {wrong}"
    print(f"inspect has the same: {sum(s['count'] + s['open'] for s in said['slices'])} slices")
    assert said["unmatched_slice_ends"] == unmatched, (said["unmatched_slice_ends"], unmatched)
    assert said["undecodable_events"] == said["forgotten_events"] == 0, said["undecodable_events"]


main()
