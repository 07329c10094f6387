#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Says what tracks there are in a trace, by its own reading of the format.

Usage: tracks-check.py FILE

A line for each track and for each event on one, in the order of time of their packets:
  track PATH FIELDS     names from the top, with / between; of TrackDescriptor all but uuid, parent and name
  event PATH NAME       NAME is "end" for the end of a slice, and a counter's value, differences added up
PATH begins with "process" or "thread NAME" for what is below these, and "root" for what is below nothing. That of an
event on a track "requests" ends with #N: it is on the N-th of these.
"""

import sys

import trace_file
from trace_file import message

PACKET_EVENT, PACKET_INTERNED, PACKET_FLAGS, PACKET_DEFAULTS, PACKET_TRACK = 11, 12, 13, 59, 60
PACKET_SEQUENCE = 10
EVENT_TYPE, EVENT_NAME_IID, EVENT_TRACK, EVENT_NAME, EVENT_VALUE, EVENT_CATEGORIES = 9, 10, 11, 23, 30, 3
TYPE_END, TYPE_COUNTER = 2, 4
LANES = "requests"
UUID, NAME, PROCESS, THREAD, PARENT, COUNTER = 1, 2, 3, 4, 5, 8


def text(values):
    return values[0].decode() if values else ""


def signed(value):
    return value - (1 << 64) if isinstance(value, int) and value >> 63 else value


def show(fields, prefix=""):
    """number=value of all fields, with those of inner messages behind a dot."""
    for number, values in sorted(fields.items()):
        for value in values:
            shown = value.decode() if isinstance(value, bytes) else signed(value)
            yield f"{prefix}{number}={shown}"


class Sequence:
    """What one has said since its state was cleared."""

    def __init__(self):
        self.names, self.default, self.sums = {}, None, {}


class Trace:
    def __init__(self):
        self.tracks, self.sequences, self.lanes = {}, {}, {}

    def add(self, packet):
        number = packet.get(PACKET_SEQUENCE, [0])[0]
        if packet.get(PACKET_FLAGS, [0])[0] & 1:
            self.sequences[number] = Sequence()
        sequence = self.sequences.setdefault(number, Sequence())
        for defaults in packet.get(PACKET_DEFAULTS, []):
            sequence.default = message(message(defaults)[PACKET_EVENT][0])[EVENT_TRACK][0]
        for interned in packet.get(PACKET_INTERNED, []):
            for entry in map(message, message(interned).get(2, [])):
                sequence.names[entry[1][0]] = text(entry[2])
        for track in packet.get(PACKET_TRACK, []):
            self.describe(message(track))
        for event in packet.get(PACKET_EVENT, []):
            self.event(sequence, message(event))

    def path(self, uuid):
        if uuid == 0 or uuid not in self.tracks:
            return "root"
        track = self.tracks[uuid]
        if PROCESS in track:
            return "process"
        if THREAD in track:
            return "thread " + text(message(track[THREAD][0]).get(5))
        return self.path(track.get(PARENT, [0])[0]) + "/" + text(track.get(NAME))

    def describe(self, track):
        uuid = track[UUID][0]
        self.tracks[uuid] = track
        rest = {n: values for n, values in track.items() if n not in (UUID, NAME, PROCESS, THREAD, PARENT, COUNTER)}
        fields = list(show(rest))
        for counter in track.get(COUNTER, []):
            fields += show(message(counter), f"{COUNTER}.")
        for process in track.get(PROCESS, []):
            fields += show({n: v for n, v in message(process).items() if n > 2}, f"{PROCESS}.")
        print("track", self.path(uuid), *fields)

    def event(self, sequence, event):
        uuid = event.get(EVENT_TRACK, [sequence.default])[0]
        kind = event[EVENT_TYPE][0]
        if kind == TYPE_END:
            name = "end"
        elif kind == TYPE_COUNTER:
            name = signed(event[EVENT_VALUE][0])
            if 5 in message(self.tracks[uuid][COUNTER][0]):  # each is the difference from the one before
                name += sequence.sums.get(uuid, 0)
                sequence.sums[uuid] = name
        else:
            name = text(event.get(EVENT_NAME)) or sequence.names[event[EVENT_NAME_IID][0]]
        lane = f"#{self.lane(uuid)}" if text(self.tracks.get(uuid, {}).get(NAME)) == LANES else ""
        print("event", self.path(uuid) + lane, name)

    def lane(self, uuid):
        return self.lanes.setdefault(uuid, len(self.lanes) + 1)


def main():
    trace = Trace()
    with open(sys.argv[1], "rb") as file:
        for packet in trace_file.packets(file.read()):
            trace.add(message(packet))


main()
