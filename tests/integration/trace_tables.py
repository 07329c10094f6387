#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Makes the tables of a trace in the plainest way, and compares them with what `desktrace query` says.

Usage: trace_tables.py DESKTRACE FILE     exits 0 when all rows are the same, and prints how many there are

Compares by values, never by ids: scheduling and states of threads, slices with their depth and parent, counters of
programs, and the threads with their processes. Only what Desktrace's own recordings have is understood here.
"""

import collections
import csv
import io
import struct
import subprocess
import sys

from trace_file import fields, message, packed, packets

CLEARED, STATE_NEEDED = 1, 2
END_STATES = {0: "R", 1: "S", 2: "D", 4: "T", 8: "t", 16: "X", 32: "Z", 64: "P", 128: "I", 256: "R+"}
QUERIES = {
    "sched": "SELECT s.ts, s.dur, s.cpu, t.tid, s.end_state, s.priority FROM sched s JOIN thread t USING (utid)",
    "states": "SELECT s.ts, s.dur, t.tid, s.state, s.cpu, w.tid, s.irq_context FROM thread_state s "
    "JOIN thread t USING (utid) LEFT JOIN thread w ON w.utid = s.waker_utid",
    "slices": "SELECT s.ts, s.dur, s.name, s.category, s.depth, p.name, p.ts FROM slice s "
    "JOIN track k ON k.id = s.track_id LEFT JOIN slice p ON p.id = s.parent_id WHERE k.type NOT LIKE 'cpu_%'",
    "counters": "SELECT c.ts, c.value, k.name FROM counter c JOIN counter_track k ON k.id = c.track_id "
    "WHERE k.type LIKE '%counter_track_event'",
}


def text(value):
    return value.decode(errors="replace") if value is not None else None


class Sequence:
    def __init__(self):
        self.names = {1: {}, 2: {}}
        self.track, self.clock, self.is_valid, self.clocks = 0, 6, False, {}


class Tables:
    def __init__(self):
        self.sequences = collections.defaultdict(Sequence)
        self.kernel, self.events, self.described = [], [], {}
        self.rows = {name: [] for name in QUERIES}
        self.order = 0

    def packet(self, data):
        packet = message(data)
        sequence = self.sequences[packet.get(10, [0])[0]]
        flags = packet.get(13, [0])[0]
        if 42 in packet:
            sequence.is_valid = False
        if flags & CLEARED:
            sequence.__init__()
            sequence.is_valid = True
        for event in message(packet.get(59, [b""])[0]).get(11, []):
            sequence.track = message(event).get(11, [0])[0]
        sequence.clock = message(packet.get(59, [b""])[0]).get(58, [sequence.clock])[0]
        for kind, entry, _ in fields(packet.get(12, [b""])[0]):
            if kind in sequence.names:
                entry = message(entry)
                sequence.names[kind][entry[1][0]] = text(entry.get(2, [b""])[0])
        if 6 in packet:
            self.clocks(sequence, message(packet[6][0]))
        if 60 in packet:
            track = message(packet[60][0])
            self.described.setdefault(track[1][0], track)
        now = self.time(sequence, packet)
        if flags & STATE_NEEDED and not sequence.is_valid:
            return
        if 1 in packet:
            self.bundle(message(packet[1][0]))
        if 11 in packet and now is not None:
            self.track_event(sequence, now, message(packet[11][0]))

    def clocks(self, sequence, snapshot):
        clocks = [message(clock) for clock in snapshot.get(1, [])]
        boot = {clock[1][0]: clock[2][0] for clock in clocks}.get(6)
        for clock in clocks:
            if 64 <= clock[1][0] < 128:
                unit, adds = clock.get(4, [1])[0], clock.get(3, [0])[0]
                sequence.clocks[clock[1][0]] = [boot, clock[2][0], unit, adds]

    def time(self, sequence, packet):
        if 8 not in packet:
            return None
        value, clock = packet[8][0], packet.get(58, [sequence.clock])[0]
        if clock in sequence.clocks:
            state = sequence.clocks[clock]
            value = (value if state[3] else value - state[1]) * state[2] + state[0]
            if state[3]:
                state[0] = value
        return value

    def bundle(self, bundle):
        cpu = bundle.get(1, [0])[0]
        for compact in map(message, bundle.get(4, [])):
            columns = {n: packed(v[0]) for n, v in compact.items() if n != 5}
            now = 0
            for i, step in enumerate(columns.get(1, [])):
                now += step
                self.add(now, cpu, "switch", columns[2][i], columns[3][i], columns[4][i])
            now = 0
            for i, step in enumerate(columns.get(7, [])):
                now += step
                self.add(now, cpu, "waking", columns[8][i], columns[12][i])
        for event in bundle.get(2, []):
            event = message(event)
            if 235 in event:
                task = message(event[235][0])
                self.add(event[1][0], cpu, "new", event[2][0], task[1][0])
            if 240 in event:
                self.add(event[1][0], cpu, "free", message(event[240][0])[2][0])

    def add(self, now, cpu, *what):
        self.order += 1
        self.kernel.append((now, cpu, self.order, *what))

    # Scheduling

    def in_order(self):
        """By time; at the same time the CPU goes on that was taken last, as Perfetto has it, else the lowest one."""
        queues = collections.defaultdict(collections.deque)
        for event in sorted(self.kernel, key=lambda event: (event[1], event[0], event[2])):
            queues[event[1]].append(event)
        while queues:
            cpu = min(queues, key=lambda cpu: (queues[cpu][0][0], cpu))
            until = min((queue[0][0] for other, queue in queues.items() if other != cpu), default=None)
            while queues[cpu] and (until is None or queues[cpu][0][0] <= until):
                yield queues[cpu].popleft()
            if not queues[cpu]:
                del queues[cpu]

    def scheduling(self):
        running, open_slice, last = {}, {}, {}
        # Of one CPU and time, switches come before wakings, as they do in a bundle.
        for now, cpu, _, what, *rest in self.in_order():
            if what == "switch":
                self.switch(running, open_slice, last, now, cpu, *rest)
            elif what == "waking" and cpu in running:
                tid, flags = rest
                if last.get(tid, [0, 0, 0, "S"])[3] not in ("R", "Running"):
                    self.change(last, now, tid, "R", None, running[cpu], int(flags & 0x18 != 0))
            elif what == "new":
                self.change(last, now, rest[1], "R", None, rest[0], 0, is_new=True)
            elif what == "free":
                # A thread is given free before it is done, if it is kept from the CPU at its end; what it does then
                # is nobody's.
                last.pop(rest[0], None)

    def switch(self, running, open_slice, last, now, cpu, state, tid, priority):
        before = running.get(cpu)
        running[cpu] = tid
        if before is None:
            return
        state = END_STATES[state]
        if cpu in open_slice:
            open_slice[cpu][1], open_slice[cpu][4] = now - open_slice[cpu][0], state
        open_slice[cpu] = [now, -1, cpu, tid, None, priority]
        self.rows["sched"].append(open_slice[cpu])
        known = last.get(before)
        self.change(last, now, before, state, None, None, None, is_lost=known and known[3] != "Running")
        self.change(last, now, tid, "Running", cpu, None, None)

    def change(self, last, now, tid, state, cpu, waker, irq, is_lost=False, is_new=False):
        if tid == 0:
            return
        if tid in last and not is_lost and not is_new:
            last[tid][1] = now - last[tid][0]
        last[tid] = [now, -1, tid, state, cpu, waker, irq]
        self.rows["states"].append(last[tid])

    # Track events

    def track_event(self, sequence, now, event):
        kind, uuid = event.get(9, [0])[0], event.get(11, [sequence.track])[0]
        name = text(event[23][0]) if 23 in event else sequence.names[2].get(event.get(10, [None])[0])
        category = [text(value) for value in event.get(22, [])]
        for iids in event.get(3, []):
            for iid in packed(iids) if isinstance(iids, bytes) else [iids]:
                category.append(sequence.names[1].get(iid))
        value = event.get(30, [0])[0]
        value = value - (1 << 64) if value >> 63 else value
        if 44 in event:
            value = struct.unpack("<d", event[44][0])[0]
        self.order += 1
        self.events.append((now, self.order, kind, uuid, name, ",".join(category) or None, value))

    def slices(self):
        """On the track of a thread or process slices nest; others are taken one by one, as their tracks are merged."""
        open_slices = collections.defaultdict(list)
        for now, _, kind, uuid, name, category, value in sorted(self.events, key=lambda event: event[:2]):
            stack = open_slices[uuid]
            if kind == 4:
                track = self.described.get(uuid, {})
                counter = message(track.get(8, [b""])[0])
                value = value * counter.get(4, [1])[0]
                self.rows["counters"].append([now, float(value), text(track.get(2, [None])[0])])
            elif kind == 2:
                if stack:
                    row = stack.pop()
                    row[1] = now - row[0]
            elif kind in (1, 3):
                parent = stack[-1] if stack else [None] * 7
                row = [now, -1 if kind == 1 else 0, name, category, len(stack), parent[2], parent[0]]
                self.rows["slices"].append(row)
                if kind == 1:
                    stack.append(row)


def shown(value):
    return "" if value is None else str(value)


def ask(desktrace, path, sql):
    command = [desktrace, "query", "--csv", "--no-legend", path, sql]
    out = subprocess.run(command, capture_output=True, text=True, check=False)
    if out.returncode not in (0, 6):
        sys.exit(f"{sql}: {out.stderr}")
    return collections.Counter(map(tuple, csv.reader(io.StringIO(out.stdout))))


def main():
    desktrace, path = sys.argv[1:]
    tables = Tables()
    with open(path, "rb") as file:
        for packet in packets(file.read()):
            tables.packet(packet)
    tables.scheduling()
    tables.slices()
    is_same = True
    for name, sql in QUERIES.items():
        mine = collections.Counter(tuple(map(shown, row)) for row in tables.rows[name])
        theirs = ask(desktrace, path, sql)
        print(f"# {name}: {sum(mine.values())} rows")
        for kind, rows in (("missing", mine - theirs), ("too many", theirs - mine)):
            is_same &= not rows
            for row, n in list(rows.items())[:5]:
                print(f"# {kind}: {n} × {row}")
    sys.exit(not is_same)


if __name__ == "__main__":
    main()
