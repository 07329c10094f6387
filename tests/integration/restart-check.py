# SPDX-License-Identifier: LGPL-2.1-or-later
"""Whether a trace has what test-producers wrote: each number once, in its order, and no gap that nobody has counted.

Usage: restart-check.py [--gaps] [--streamed] [--field=NUMBER]... FILE [NAME...]

Each NAME is that of a program, and there may be no other, if any is named. --gaps: any gap will do, as with programs
that count for all of their recordings together. --field: of packets with that field, by whomever: none is there twice,
and those of a sequence are in the order of their time. --streamed: readers that sort what they read bit by bit, as
Perfetto's trace processor does, find nothing that comes too late.
"""

import argparse
import heapq
import re
import sys

import trace_file

TEST_EVENT, DROPPED = 900, 42
TIMESTAMP, SEQUENCE, CLOCK, SERVICE_EVENT = 8, 10, 58, 69
BOOTTIME = 6
ALL_SOURCES_FLUSHED, READ_COMPLETED = 3, 4
TEXT = re.compile(rb"([a-z0-9]+)-(\d+)\.")


class Numbers:
    """By program: each packet's number, and whether it says that packets before it were dropped."""

    def __init__(self, names, may_have_gaps):
        self.names, self.may_have_gaps, self.found = names, may_have_gaps, {}

    def see(self, _, at):
        match = TEXT.search(at[TEST_EVENT]) if TEST_EVENT in at else None
        if match:
            self.found.setdefault(match[1].decode(), []).append((int(match[2]), DROPPED in at))

    def check_program(self, name, packets):
        last = n_gaps = 0
        for number, says_drop in packets:
            if number <= last:
                sys.exit(f"{name}: {number} comes behind {last}")
            if number > last + 1 and not says_drop and not self.may_have_gaps:
                sys.exit(f"{name}: {last + 1} to {number - 1} are missing, and nobody says so")
            n_gaps += number > last + 1
            last = number
        print(f"# {name}: {len(packets)} packets up to {last}, {last - len(packets)} missing in {n_gaps} gaps")

    def finish(self):
        if self.names and sorted(self.found) != sorted(self.names):
            sys.exit(f"packets of {sorted(self.found)}, wanted {sorted(self.names)}")
        for name in self.names:
            self.check_program(name, self.found[name])


class Field:
    """Packets with a field: each once, and in the order of their time."""

    def __init__(self, number):
        self.number, self.seen, self.last = number, set(), {}

    def see(self, packet, at):
        if self.number not in at:
            return
        sequence, time = at[SEQUENCE], at[TIMESTAMP]
        if packet in self.seen:
            sys.exit(f"sequence {sequence}: a packet of {time} is there twice")
        if time < self.last.get(sequence, 0):
            sys.exit(f"sequence {sequence}: {time} comes behind {self.last[sequence]}")
        self.seen.add(packet)
        self.last[sequence] = time

    def finish(self):
        print(f"# field {self.number}: {len(self.seen)} packets of {len(self.last)} sequences")
        if len(self.seen) < 2:
            sys.exit(f"of field {self.number} there are too few")


class Windows:
    """When everybody has been flushed twice, and all of that was read, what had been read before is complete: a reader
    takes it in the order of its time, and nothing older may come later."""

    def __init__(self):
        self.waiting, self.n_read, self.n_complete, self.n_flushes = [], 0, 0, 0
        self.last, self.n_late, self.late = 0, 0, None

    def take(self, until):
        while self.waiting and self.waiting[0][1] < until:
            time, number, sequence = heapq.heappop(self.waiting)
            if time < self.last:
                self.n_late += 1
                self.late = self.late or (number, sequence, self.last - time)
            self.last = max(self.last, time)

    def see(self, _, at):
        if TIMESTAMP in at and at.get(CLOCK, BOOTTIME) == BOOTTIME:
            heapq.heappush(self.waiting, (at[TIMESTAMP], self.n_read, at[SEQUENCE]))
        self.n_read += 1
        events = [number for number, _, _ in trace_file.fields(at.get(SERVICE_EVENT, b""))]
        self.n_flushes += ALL_SOURCES_FLUSHED in events
        if READ_COMPLETED in events and self.n_flushes >= 2:
            self.take(self.n_complete)
            self.n_complete, self.n_flushes = self.n_read, 0

    def finish(self):
        self.take(self.n_read)
        if self.n_late:
            sys.exit(f"{self.n_late} packets come too late; number {self.late[0]}, of sequence {self.late[1]}, by "
                     f"{self.late[2] / 1e9:.3f} s")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--gaps", action="store_true")
    parser.add_argument("--field", action="append", type=int, default=[])
    parser.add_argument("--streamed", action="store_true")
    parser.add_argument("file")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    checks = [Numbers(arguments.names, arguments.gaps)] + [Field(number) for number in arguments.field]
    checks += [Windows()] if arguments.streamed else []
    with open(arguments.file, "rb") as file:
        data = file.read()
    for packet in trace_file.packets(data):
        at = {number: value for number, value, _ in trace_file.fields(packet)}
        for check in checks:
            check.see(packet, at)
    for check in checks:
        check.finish()


main()
