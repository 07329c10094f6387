#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a trace says of systemd's units, against what systemd itself says.

Usage: units-in-trace.py plot TRACE SVG       units that "systemd-analyze plot" draws and that the trace has
       units-in-trace.py times TRACE          times of all units that "systemctl show" has, which must be equal
       units-in-trace.py slices TRACE TRACK   names of the slices on tracks of this name, in the order of time
       units-in-trace.py arrows TRACE         "A > B" for each arrow between tracks
       units-in-trace.py order TRACE          whether each arrow is between units that systemd orders so
"""

import re
import subprocess
import sys

import trace_file

TIMESTAMP, TRACK_EVENT, CLOCK, TRACK = 8, 11, 58, 60
BEGIN, END = 1, 2
SHARE = 0.95


class Trace:
    def __init__(self, path):
        self.names, self.events, self.arrows = {}, [], {}
        with open(path, "rb") as file:
            data = file.read()
        for packet in trace_file.packets(data):
            self.add(trace_file.message(packet))
        self.events.sort(key=lambda event: event[0])  # stable: equal times keep their order

    def add(self, packet):
        if TRACK in packet:
            track = trace_file.message(packet[TRACK][0])
            self.names[track[1][0]] = track.get(2, [b""])[0].decode()
        if TRACK_EVENT in packet:
            event = trace_file.message(packet[TRACK_EVENT][0])
            name = event.get(23, [b""])[0].decode()
            uuid = event.get(11, [0])[0]
            self.events.append((packet[TIMESTAMP][0], event.get(9, [0])[0], uuid, name))
            for flow in event.get(47, []):
                self.arrows.setdefault(flow, [None, None])[0] = uuid
            for flow in event.get(48, []):
                self.arrows.setdefault(flow, [None, None])[1] = uuid

    def of(self, track):
        return [event for event in self.events if self.names.get(event[2]) == track]

    def begins(self, track):
        return [(at // 1000, name) for at, kind, _, name in self.of(track) if kind == BEGIN]


def plot(trace, svg):
    with open(svg, encoding="utf-8") as file:
        text = file.read()
    drawn = set(re.findall(r"<text[^>]*>([^<> ]+\.[a-z]+)(?: \([^<]*\))?</text>", text))
    have = {unit for unit in drawn if trace.begins(unit)}
    print(f"{len(have)} of {len(drawn)} units that are drawn", *sorted(drawn - have))
    return 0 if len(drawn) > 10 and len(have) >= SHARE * len(drawn) else 1


def shown_units():
    properties = "Id,InactiveExitTimestampMonotonic,ActiveEnterTimestampMonotonic,ActiveState"
    shown = subprocess.run(["systemctl", "show", "-p", properties, "*"], stdout=subprocess.PIPE, check=True, text=True)
    for block in shown.stdout.split("\n\n"):
        unit = dict(line.split("=", 1) for line in block.splitlines() if "=" in line)
        if unit.get("ActiveState") == "active":
            yield unit["Id"], int(unit["InactiveExitTimestampMonotonic"]), int(unit["ActiveEnterTimestampMonotonic"])


def times(trace):
    n_equal, wrong = 0, []
    for name, left, entered in shown_units():
        begins = trace.begins(name)
        if left == 0 or not begins:
            continue
        wanted = [(entered, "active")] if left == entered else [(left, "activating"), (entered, "active")]
        if begins[-len(wanted) :] == wanted:
            n_equal += 1
        else:
            wrong.append(f"{name}: {begins}, not {wanted}")
    print(n_equal, "units have systemd's times", *wrong)
    return 0 if n_equal > 10 and not wrong else 1


def slices(trace, track):
    for _, name in trace.begins(track):
        print(name)
    return 0


def arrows(trace):
    for begin, end in trace.arrows.values():
        print(trace.names.get(begin), ">", trace.names.get(end))
    return 0


def order(trace):
    wrong = []
    for begin, end in trace.arrows.values():
        before, unit = trace.names[begin], trace.names[end]
        show = ["systemctl", "show", "-P", "After", "--", unit]
        after = subprocess.run(show, stdout=subprocess.PIPE, check=True, text=True).stdout
        if before not in after.split():
            wrong.append(f"{unit} is not ordered after {before}")
    print(len(trace.arrows), "arrows", *wrong)
    return 0 if len(trace.arrows) > 5 and not wrong else 1


def main():
    return globals()[sys.argv[1]](Trace(sys.argv[2]), *sys.argv[3:])


if __name__ == "__main__":
    sys.exit(main())
