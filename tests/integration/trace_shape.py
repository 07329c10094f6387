#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a viewer would draw of the programs in a trace: threads, slices in slices, arrows, counters.

Usage: trace_shape.py FILE                 prints it
       trace_shape.py FILE EXPRESSION      exits 0 when it holds

In the expression, where WHERE is "THREAD" or the name of another track:
  threads    {name: process ids that have such a thread}
  processes  {pid: name}
  slices     {"WHERE: OUTER > INNER": how often}
  arrows     {"WHERE: SLICE -> WHERE: SLICE": how often}, an instant being a slice without length
  crossing   the same, of those from one process to another
  counters   {name: values in order of time}
  states     {track: names in order of time}
  instants   {"WHERE: NAME": how often}
  open       slices that have no end
"""

import collections
import struct
import sys

from trace_file import message, packed, packets

TIMESTAMP, SEQUENCE, INTERNED, FLAGS, CLOCK, DEFAULTS = 8, 10, 12, 13, 58, 59
CLOCK_SNAPSHOT, TRACK_EVENT, TRACK_DESCRIPTOR = 6, 11, 60
SLICE_BEGIN, SLICE_END, INSTANT, COUNTER, STATE = 1, 2, 3, 4, 5
EVENT_TYPE, EVENT_NAME_IID, EVENT_TRACK, EVENT_NAME, EVENT_VALUE, EVENT_DOUBLE = 9, 10, 11, 23, 30, 44
EVENT_FLOWS, INTERNED_NAMES = (47, 48), 2
BOOTTIME, SEQUENCE_CLOCK = 6, 64

Event = collections.namedtuple("Event", "time kind track name flows value")
Slice = collections.namedtuple("Slice", "track path begin end flows")


def text(values):
    return values[0].decode(errors="replace") if values else ""


class Sequence:
    def __init__(self):
        self.names, self.track, self.time = {}, 0, 0


class Shape:
    def __init__(self, path):
        self.threads, self.processes = collections.defaultdict(set), {}
        self.tracks, self.events, self.sequences = {}, [], collections.defaultdict(Sequence)
        with open(path, "rb") as file:
            for data in packets(file.read()):
                self.packet(message(data))
        # Of one time: in the order in which they were written.
        self.events.sort(key=lambda event: event.time)
        self.all_slices, self.marks, self.open = [], [], 0  # marks: what arrows lead to, with its depth
        self.slices, self.instants = collections.Counter(), collections.Counter()
        self.counters, self.states = collections.defaultdict(list), collections.defaultdict(list)
        self.nest()
        self.arrows, self.crossing = collections.Counter(), collections.Counter()
        self.connect()

    # The file

    def packet(self, packet):
        sequence = self.sequences[packet.get(SEQUENCE, [0])[0]]
        if packet.get(FLAGS, [0])[0] & 1:
            sequence.names = {}
        for snapshot in map(message, packet.get(CLOCK_SNAPSHOT, [])):
            times = {clock[1][0]: clock[2][0] for clock in map(message, snapshot.get(1, []))}
            sequence.time = times.get(SEQUENCE_CLOCK, sequence.time)
        for defaults in map(message, packet.get(DEFAULTS, [])):
            for event in map(message, defaults.get(TRACK_EVENT, [])):
                sequence.track = event.get(EVENT_TRACK, [0])[0]
        for interned in map(message, packet.get(INTERNED, [])):
            for entry in map(message, interned.get(INTERNED_NAMES, [])):
                sequence.names[entry[1][0]] = text(entry.get(2))
        time = packet.get(TIMESTAMP, [0])[0]
        if packet.get(CLOCK, [0])[0] != BOOTTIME and sequence.track:
            sequence.time = time = sequence.time + time
        for track in map(message, packet.get(TRACK_DESCRIPTOR, [])):
            self.describe(track)
        for event in map(message, packet.get(TRACK_EVENT, [])):
            self.event(time, event, sequence)

    def describe(self, track):
        uuid, parent = track.get(1, [0])[0], track.get(5, [0])[0]
        name, pid = text(track.get(2)), None
        for process in map(message, track.get(3, [])):
            pid = process[1][0]
            self.processes[pid] = text(process.get(6))
        for thread in map(message, track.get(4, [])):
            pid, name = thread[1][0], text(thread.get(5))
            self.threads[name].add(pid)
        self.tracks[uuid] = name, pid, parent

    def pid_of(self, uuid):
        for _ in range(16):
            _, pid, parent = self.tracks.get(uuid, ("", 0, 0))
            if pid is not None:
                return pid
            uuid = parent
        return 0

    def event(self, time, event, sequence):
        name = text(event.get(EVENT_NAME)) or sequence.names.get(event.get(EVENT_NAME_IID, [0])[0], "")
        flows = []
        for value in sum((event.get(field, []) for field in EVENT_FLOWS), []):
            flows += [struct.unpack("<Q", value[i : i + 8])[0] for i in range(0, len(value), 8)]
        value = event.get(EVENT_VALUE, [None])[0]
        if EVENT_DOUBLE in event:
            value = struct.unpack("<d", event[EVENT_DOUBLE][0])[0]
        track = event.get(EVENT_TRACK, [sequence.track])[0]
        self.events.append(Event(time, event[EVENT_TYPE][0], track, name, flows, value))

    # The picture

    def where(self, track):
        return self.tracks.get(track, ("?",))[0]

    def nest(self):
        stacks = collections.defaultdict(list)
        for event in self.events:
            stack = stacks[event.track]
            where = self.where(event.track)
            if event.kind in (SLICE_BEGIN, INSTANT):
                self.marks.append((event, len(stack)))
            if event.kind == SLICE_BEGIN:
                stack.append(event)
            elif event.kind == SLICE_END and stack:
                path = tuple(outer.name for outer in stack)
                begin = stack.pop()
                self.slices[f"{where}: {' > '.join(path)}"] += 1
                self.all_slices.append(Slice(event.track, path, begin.time, event.time, begin.flows + event.flows))
            elif event.kind == INSTANT:
                self.instants[f"{where}: {event.name}"] += 1
            elif event.kind == COUNTER:
                self.counters[where].append(event.value)
            elif event.kind == STATE:
                self.states[where].append(event.name)
        self.open = sum(map(len, stacks.values()))

    def connect(self):
        last = {}
        for event in self.events:
            here = f"{self.where(event.track)}: {event.name}", self.pid_of(event.track)
            for flow in event.flows:
                if flow in last:
                    arrow = f"{last[flow][0]} -> {here[0]}"
                    self.arrows[arrow] += 1
                    self.crossing[arrow] += last[flow][1] != here[1]
                last[flow] = here
        self.crossing = +self.crossing

    def print(self):
        for title, counts in (("slices", self.slices), ("arrows", self.arrows), ("instants", self.instants)):
            print(f"{title}:")
            for name, n in sorted(counts.items()):
                is_crossing = counts is self.arrows and name in self.crossing
                print(f"  {n:6} x {name}{'   (between processes)' if is_crossing else ''}")
        print("counters:")
        for name, values in sorted(self.counters.items()):
            print(f"  {len(values):6} x {name}: {min(values):g} to {max(values):g}")
        print("states:")
        for name, values in sorted(self.states.items()):
            print(f"  {len(values):6} x {name}: {', '.join(sorted(set(values) - {''}))}")


def main():
    shape = Shape(sys.argv[1])
    if len(sys.argv) == 2:
        shape.print()
        return
    names = "threads processes slices arrows crossing counters states instants open"
    if not eval(sys.argv[2], {name: getattr(shape, name) for name in names.split()}):
        shape.print()
        sys.exit(f"not so: {sys.argv[2]}")


if __name__ == "__main__":
    main()
