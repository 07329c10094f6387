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
CLONE_THREAD = 0x10000
NO_CPU = -1
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


class Process:
    def __init__(self, pid=None):
        self.pid, self.threads = pid, set()


class Thread:
    def __init__(self, tid, process=None):
        self.tid, self.row = tid, None  # the row of its last state
        self.join(process or Process())

    def join(self, process):
        self.process = process
        process.threads.add(self)


class Threads:
    """Those that live, by their number. What pid a process has may be told later than that threads are of it."""

    def __init__(self):
        self.living = {}

    def get(self, tid):
        return self.living.get(tid) or self.add(tid)

    def add(self, tid, process=None):
        self.living[tid] = Thread(tid, process)
        return self.living[tid]

    def start(self, tid, source, is_thread):
        """A thread of the same process as `source`, or the first one of its own process."""
        if not is_thread:
            self.end(tid)
        return self.add(tid, self.get(source).process if is_thread else Process(tid))

    def learn(self, tid, pid):
        """A thread is of a process."""
        process, known = self.get(pid).process, self.get(tid).process
        process.pid = pid
        if known is not process and known.pid is None:
            for thread in known.threads:
                thread.join(process)

    def end(self, tid):
        """All threads end with the main one, as the kernel may give free another one only later."""
        process = self.get(tid).process
        for thread in list(process.threads) if process.pid == tid else [self.get(tid)]:
            process.threads.discard(thread)
            if self.living.get(thread.tid) is thread:
                del self.living[thread.tid]


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
        self.processes(now or 0, packet)
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

    def processes(self, now, packet):
        """What packets say about which process a thread is of."""
        tree = message(packet.get(2, [b""])[0])
        threads = [(ids[1][0], ids[3][0]) for ids in map(message, tree.get(2, [])) if 1 in ids and 3 in ids]
        track = message(packet.get(60, [b""])[0])
        for ids in map(message, track.get(4, [])):
            threads.append((ids.get(2, [0])[0], ids.get(1, [0])[0]))
        for parts in (tree.get(1, []), packet.get(43, []), track.get(3, [])):
            threads += [(ids.get(1, [0])[0],) * 2 for ids in map(message, parts)]
        for stats in map(message, packet.get(9, [])):
            threads += [(ids.get(1, [0])[0],) * 2 for ids in map(message, stats.get(1, []))]
        for tid, pid in threads:
            self.add(now, NO_CPU, "process", tid, pid)

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
                is_thread = task.get(3, [0])[0] & CLONE_THREAD != 0
                self.add(event[1][0], cpu, "new", task[1][0], event[2][0], is_thread)
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
        running, open_slice, threads = {}, {}, Threads()
        # Of one CPU and time, switches come before wakings, as they do in a bundle.
        for now, cpu, _, what, *rest in self.in_order():
            if what == "switch":
                self.switch(running, open_slice, now, cpu, rest[0], threads.get(rest[1]), rest[2])
            elif what == "waking" and cpu in running:
                thread = threads.get(rest[0])
                if not thread.row or thread.row[3] not in ("R", "Running"):
                    self.change(now, thread, "R", None, running[cpu].tid, int(rest[1] & 0x18 != 0))
            elif what == "new":
                self.change(now, threads.start(*rest), "R", None, rest[1], 0)
            elif what == "process":
                threads.learn(*rest)
            elif what == "free":
                # A thread is given free before it is done, if it is kept from the CPU at its end; what it does then
                # is nobody's, except that the CPU which it is on leaves it.
                threads.end(rest[0])

    def switch(self, running, open_slice, now, cpu, state, thread, priority):
        before = running.get(cpu)
        running[cpu] = thread
        if before is None:
            return
        state = END_STATES[state]
        if cpu in open_slice:
            open_slice[cpu][1], open_slice[cpu][4] = now - open_slice[cpu][0], state
        open_slice[cpu] = [now, -1, cpu, thread.tid, None, priority]
        self.rows["sched"].append(open_slice[cpu])
        self.change(now, before, state, None, None, None, is_lost=before.row and before.row[3] != "Running")
        self.change(now, thread, "Running", cpu, None, None)

    def change(self, now, thread, state, cpu, waker, irq, is_lost=False):
        if thread.tid == 0:
            return
        if thread.row and not is_lost:
            thread.row[1] = now - thread.row[0]
        thread.row = [now, -1, thread.tid, state, cpu, waker, irq]
        self.rows["states"].append(thread.row)

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
