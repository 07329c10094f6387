#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Holds a trace against the rules of those who read traces: what they would count as an error or a loss, or drop.

Usage: trace_rules.py FILE [EXPRESSION]     exits 0 when no rule is broken and the expression holds
       trace_rules.py --json FILE           what an expression would see, also when rules are broken
       trace_rules.py --json --overrun FILE     the same of a recording that said so: the kernel overran its rings

In the expression:
  packets     {field of TracePacket: packets that have it}
  events      {number of the kernel event's message: how often}; compact ones count as what they stand for
  switches    times of compact ones
  syscalls    numbers of system calls that began
  generic     names of the events that the trace describes itself
  symbols     names of kernel functions
  processes   {pid: command line}
  threads     {tid: name}
  labels      of processes: services and apps
  logged      texts of the journal
  tracks      names of described tracks
  counters    names of those with values
  read        events that the kernel's rings gave, by the statistics
"""

import collections
import json
import sys

from trace_file import NotATrace, fields, message, packed, packets

SHOWN_MAX = 20

# Fields of TracePacket.
TIMESTAMP, SEQUENCE, INTERNED, FLAGS, DROPPED, CLOCK, DEFAULTS = 8, 10, 12, 13, 42, 58, 59
CLOCK_SNAPSHOT, TRACK_EVENT, PROCESS_DESCRIPTOR, TRACK_DESCRIPTOR, SERVICE_SEQUENCE = 6, 11, 43, 60, 1
STATE_CLEARED, STATE_NEEDED = 1, 2
BOOTTIME, SEQUENCE_CLOCKS, MODULE_SYMBOLS = 6, range(64, 128), 61

SCHED_SWITCH, SCHED_WAKING, SYS_ENTER, KPROBE = 4, 20, 329, 542
GENERIC_EVENTS, GENERIC_FIELDS = range(65536, 131072), range(1, 32)
GENERIC_TYPES = {3: int, 4: int, 9: bytes, 12: bytes}
CPUS_MAX = 1024
# Fields that are read as functions of the kernel: interned symbols, or addresses.
FUNCTIONS = {56: 2, 57: 2, 58: 2, 59: 2, 437: 2, 438: 3, 443: 8, 444: 5, 553: 2}
ADDRESS_MIN = 1 << 32

# What has no sense without a time.
TIMED = (2, 7, 9, 11, 38, 132)
# Of SysStats: field, key within, and the keys that readers know.
KEYED = ((1, 1, range(1, 39)), (2, 1, range(1, 189)), (14, 1, range(1, 7)))
# How long before the first of the service's own packets, and after the last, something may have happened.
SLACK_NS = 2_000_000_000


class Sequence:
    """What one writer has said that later packets rely on."""

    def __init__(self):
        self.is_valid = False
        self.clocks = {}
        self.clear()

    def clear(self):
        self.interned = collections.defaultdict(set)
        self.clock = BOOTTIME
        self.track = None


class Rules:
    def __init__(self, may_overrun=False):
        self.may_overrun = may_overrun
        self.n_gaps = self.n_overrun = 0
        self.broken = collections.Counter()
        self.offsets = {}  # of clocks to the boot clock, by the newest snapshot
        self.shown = []
        self.packets, self.events = collections.Counter(), collections.Counter()
        self.sequences = collections.defaultdict(Sequence)
        self.service_times, self.times = [], []
        self.checks = {1: self.bundle, 2: self.process_tree, 7: self.sys_stats, 9: self.process_stats}
        self.checks.update({34: self.ftrace_stats, 67: self.cpu_info, 132: self.journal, 130: self.irq_names})
        self.checks.update({PROCESS_DESCRIPTOR: self.process_descriptor})
        self.checks.update({TRACK_DESCRIPTOR: self.track_descriptor, TRACK_EVENT: self.track_event})
        # linux.ftrace; a CPU is that of one sequence, as each has a reading of its own
        self.number = 0
        self.ends, self.last_event = {}, {}
        self.switches, self.syscalls = [], set()
        self.descriptors, self.generic, self.symbols = {}, set(), set()
        self.statistics = collections.defaultdict(dict)
        # linux.process_stats
        self.processes, self.threads, self.parents, self.measured = {}, {}, {}, set()
        self.labels, self.logged = set(), []
        # tracks
        self.described, self.tracks, self.counters = {}, set(), set()
        self.owners, self.depths, self.has_values = {}, collections.Counter(), set()
        self.ends_of_slices = []

    def need(self, holds, rule, *details):
        if not holds:
            self.broken[rule] += 1
            if self.broken[rule] == 1 and len(self.shown) < SHOWN_MAX:
                self.shown.append(f"{rule}: {' '.join(map(str, details))}")

    # The packet

    def packet(self, data):
        packet = message(data)
        # Names of functions are of no writer: they are written behind the recording.
        self.need(packet.get(SEQUENCE) or MODULE_SYMBOLS in packet, "a packet has a sequence", packet.keys())
        number = packet.get(SEQUENCE, [0])[0]
        sequence = self.sequences[number]
        self.number = number
        self.state(sequence, packet)
        if CLOCK_SNAPSHOT in packet:
            self.clock_snapshot(sequence, message(packet[CLOCK_SNAPSHOT][0]))
        now = self.time(sequence, packet)
        if number == SERVICE_SEQUENCE and now is not None:
            self.service_times.append(now)
        for field, values in packet.items():
            self.packets[field] += 1
            if field in TIMED:
                self.need(TIMESTAMP in packet, "what was measured has a time", "field", field)
            if field in self.checks and (TIMESTAMP in packet or field not in TIMED):
                self.checks[field](values[0], sequence, now)

    def state(self, sequence, packet):
        flags = packet.get(FLAGS, [0])[0] | (STATE_CLEARED if 41 in packet else 0)
        self.need(DROPPED not in packet, "nothing is lost before a packet", packet.get(DROPPED))
        if DROPPED in packet:
            sequence.is_valid = False
        if flags & STATE_CLEARED:
            sequence.is_valid = True
            sequence.clear()
        needs = flags & STATE_NEEDED or INTERNED in packet
        self.need(sequence.is_valid or not needs, "state begins with a packet that says so", packet.keys())
        if DEFAULTS in packet:
            defaults = message(packet[DEFAULTS][0])
            sequence.clock = defaults.get(CLOCK, [BOOTTIME])[0]
            for event in defaults.get(TRACK_EVENT, []):
                sequence.track = message(event).get(11, [None])[0]
        for kind, entry, _ in fields(packet.get(INTERNED, [b""])[0]):
            entry = message(entry)
            self.need(entry.get(1, [0])[0] > 0, "an interned entry has a number", "kind", kind)
            sequence.interned[kind].add(entry.get(1, [0])[0])
            if kind == 26:
                self.symbols.add(entry.get(2, [b""])[0].decode())

    def clock_snapshot(self, sequence, snapshot):
        clocks = [message(clock) for clock in snapshot.get(1, [])]
        ids = [clock[1][0] for clock in clocks]
        self.need(len(set(ids)) == len(ids) > 0, "a snapshot has each clock once", ids)
        times = {clock[1][0]: clock[2][0] for clock in clocks}
        self.need(BOOTTIME in times, "a snapshot has the boot clock", ids)
        self.offsets.update((clock, times[BOOTTIME] - at) for clock, at in times.items() if BOOTTIME in times)
        for clock in clocks:
            if clock[1][0] in SEQUENCE_CLOCKS:
                unit, adds = clock.get(4, [1])[0], clock.get(3, [0])[0]
                sequence.clocks[clock[1][0]] = [times[BOOTTIME], clock[2][0], unit, adds]

    def time(self, sequence, packet):
        """Of the packet, by the boot clock; None when it has none that can be told."""
        if TIMESTAMP not in packet:
            return None
        value, clock = packet[TIMESTAMP][0], packet.get(CLOCK, [sequence.clock])[0]
        if clock in SEQUENCE_CLOCKS:
            self.need(clock in sequence.clocks, "a sequence's clock is set before it is used", clock)
            if clock not in sequence.clocks:
                return None
            state = sequence.clocks[clock]
            value = (value if state[3] else value - state[1]) * state[2] + state[0]
            if state[3]:
                state[0] = value
        elif clock != BOOTTIME:
            self.need(clock in (1, 2, 3, 4, 5), "a clock is one that snapshots have", clock)
            if clock not in self.offsets:
                return None
            value += self.offsets[clock]
        self.times.append(value)
        return value

    # linux.ftrace

    def bundle(self, data, sequence, _):
        bundle = message(data)
        cpu = self.number, bundle.get(1, [CPUS_MAX])[0]
        self.need(cpu[1] < CPUS_MAX, "a bundle's CPU is below 1024", cpu)
        self.n_gaps += 3 in bundle
        self.need(self.may_overrun or 3 not in bundle, "no events of the kernel are lost", "CPU", cpu)
        self.need(8 not in bundle, "every page of the kernel was understood", bundle.get(8))
        self.need(10 in bundle, "a bundle says until when the CPU is known", "CPU", cpu)
        end = bundle.get(10, [0])[0]
        self.need(end >= self.ends.get(cpu, 0), "bundles of a CPU follow each other", "CPU", cpu)
        self.ends[cpu] = end
        described = self.generic_descriptors(bundle)
        for event in bundle.get(2, []):
            self.event(cpu, event, sequence, described)
        for compact in bundle.get(4, []):
            self.compact(cpu, message(compact))

    def generic_descriptors(self, bundle):
        found = {}
        for text in bundle.get(11, []):
            entry = message(text)
            number, descriptor = entry[1][0], message(entry[2][0])
            name = descriptor[1][0].decode()
            self.need(number in GENERIC_EVENTS, "a described event's number is one of those", number, name)
            self.need(self.descriptors.setdefault(number, text) == text, "a number has one description", number, name)
            self.generic.add(name)
            kinds = {}
            for field in map(message, descriptor.get(2, [])):
                self.need(field[3][0] in GENERIC_FIELDS, "a described event has at most 31 fields", name, field[3])
                self.need(field[3][0] not in kinds, "a described field's number is its own", name, field[3])
                self.need(field[5][0] in GENERIC_TYPES, "a described field has a type", name, field[5])
                kinds[field[3][0]] = GENERIC_TYPES.get(field[5][0])
            found[number] = kinds
        return found

    def event(self, cpu, data, sequence, described):
        parts = [(number, value) for number, value, _ in fields(data)]
        in_order = len(parts) == 3 and [parts[0][0], parts[1][0]] == [1, 2] and isinstance(parts[2][1], bytes)
        self.need(in_order, "an event is a time, a pid and itself", [number for number, _ in parts])
        if not in_order:
            return
        (_, now), _, (number, body) = parts
        self.happened(cpu, now)
        self.events[number] += 1
        if number in GENERIC_EVENTS:
            self.need(number in described, "an event is described in its bundle", number)
            for field, value, _ in fields(body):
                kind = described.get(number, {}).get(field)
                self.need(kind and isinstance(value, kind), "a described field is as described", number, field)
        elif number == SYS_ENTER:
            self.syscalls.add(message(body).get(1, [0])[0])
        elif number == KPROBE:
            probe = message(body)
            self.need(probe.get(1, [b""])[0], "a probe has a name", probe)
            self.need(probe.get(2, [0])[0] in (1, 2, 3), "a probe begins, ends or just is", probe)
        elif number in FUNCTIONS:
            value = message(body).get(FUNCTIONS[number], [0])[0]
            known = value == 0 or value >= ADDRESS_MIN or value in sequence.interned[26]
            self.need(known, "a function is an address or a known symbol", number, value)

    def happened(self, cpu, now):
        self.need(now >= self.last_event.get((cpu, "event"), 0), "events of a CPU are in order", "CPU", cpu, now)
        self.need(now >= self.ends.get(cpu, 0), "an event is after what was known of its CPU", "CPU", cpu, now)
        self.last_event[cpu, "event"] = now
        self.times.append(now)

    def compact(self, cpu, columns):
        names = columns.get(5, [])
        for event, numbers, names_at in ((SCHED_SWITCH, (1, 2, 3, 4, 6), 6), (SCHED_WAKING, (7, 8, 9, 10, 11, 12), 11)):
            lists = {number: packed(columns.get(number, [b""])[0]) for number in numbers}
            sizes = [len(values) for values in lists.values()]
            self.need(len(set(sizes)) == 1, "compact columns are of one length", event, sizes)
            self.need(all(i < len(names) for i in lists[names_at]), "a compact event's name is there", event)
            if sizes[0]:
                self.events[event] += sizes[0]
            now = 0
            for i, difference in enumerate(lists[numbers[0]]):
                now += difference
                last = self.last_event.get((cpu, event), 0)
                self.need(now >= last, "compact events of a CPU are in order", "CPU", cpu, event, i)
                self.need(now >= self.ends.get(cpu, 0), "an event is after what was known of its CPU", "CPU", cpu, now)
                self.last_event[cpu, event] = now
                self.times.append(now)
                if event == SCHED_SWITCH:
                    self.switches.append(now)

    def ftrace_stats(self, data, *_):
        stats = message(data)
        self.need(stats.get(1, [0])[0] in (1, 2), "statistics are of the start or the end", stats.get(1))
        self.need(set(stats.get(9, [])) <= {12}, "no page was wrong", stats.get(9))
        for cpu in map(message, stats.get(2, [])):
            values = {number: values[0] for number, values in cpu.items()}
            self.statistics[stats[1][0]][self.number, values.get(1, 0)] = values

    @property
    def read(self):
        return sum(cpu.get(9, 0) - self.statistics[1].get(i, {}).get(9, 0) for i, cpu in self.statistics[2].items())

    def check_statistics(self):
        if 34 not in self.packets:
            self.need(1 not in self.packets, "events of the kernel come with statistics")
            return
        self.need(self.statistics[1] and self.statistics[2], "there are statistics of the start and the end")
        for cpu, end in self.statistics[2].items():
            start = self.statistics[1].get(cpu, {})
            for number, name in ((3, "overrun"), (4, "commit overrun"), (8, "dropped")):
                difference = end.get(number, 0) - start.get(number, 0)
                self.n_overrun += difference
                is_so = difference == 0 or self.may_overrun
                self.need(is_so, f"the kernel counts no {name}", "CPU", cpu, difference)
        if self.may_overrun:
            self.need(self.n_overrun > 0 and self.n_gaps > 0, "what the kernel overran is in the trace")

    # linux.process_stats

    def process_tree(self, data, _, now):
        tree = message(data)
        for process in map(message, tree.get(1, [])):
            pid, command = process[1][0], process.get(3, [])
            self.need(command and command[0], "a process has a command line or a name", pid)
            self.need(2 in process, "a process has a parent", pid)
            is_sane = now is None or 7 not in process or process[7][0] <= now + SLACK_NS
            self.need(is_sane, "a process began before it was seen", pid)
            self.processes[pid] = b" ".join(command).decode(errors="replace")
        for thread in map(message, tree.get(2, [])):
            tid, name = thread[1][0], thread.get(2, [b""])[0].decode(errors="replace")
            self.need(3 in thread and thread[3][0] > 0, "a thread has a process", tid)
            self.need(name or 2 not in thread, "a thread's name is not empty", tid)
            self.threads[tid] = name
            self.parents[tid] = thread.get(3, [0])[0]
        self.need(now is None or tree.get(3, [now])[0] >= now, "a scan ends after it began", now)

    def process_stats(self, data, *_):
        for process in map(message, message(data).get(1, [])):
            self.need(process.get(1, [0])[0] > 0, "counters of a process have its pid")
            self.need(len(process) > 1, "counters of a process are more than its pid", process.get(1))
            self.measured.add(process.get(1, [0])[0])

    def process_descriptor(self, data, *_):
        process = message(data)
        self.need(process.get(1, [0])[0] > 0, "a process that is described has a pid", process.keys())
        self.labels.update(label.decode() for label in process.get(8, []))

    def check_processes(self):
        for pid in self.measured:
            self.need(pid in self.processes, "a process with counters has a name", pid)
        for tid, pid in self.parents.items():
            self.need(pid in self.processes, "the process of a thread has a name", tid, pid)

    # linux.sys_stats and the others

    def sys_stats(self, data, *_):
        stats = message(data)
        for field, key, known in KEYED:
            keys = [message(value).get(key, [0])[0] for value in stats.get(field, [])]
            self.need(all(k in known for k in keys), "a counter's key is known", "field", field, keys)
            self.need(len(set(keys)) == len(keys), "a counter is in a packet once", "field", field)
        cpus = [message(value).get(1) for value in stats.get(3, [])]
        self.need(all(cpu is not None for cpu in cpus), "times of a CPU have its number")
        for disk in map(message, stats.get(13, [])):
            self.need(disk.get(1, [b""])[0], "a disk has a name")
        self.need(len(stats) > 1 or 9 not in stats, "a sample has values")

    def cpu_info(self, data, *_):
        self.need(message(data).get(1), "there is a CPU in what tells of CPUs")

    def irq_names(self, data, *_):
        entries = [message(entry) for entry in message(data).get(1, [])]
        numbers = [entry.get(1, [0])[0] for entry in entries]
        self.need(len(set(numbers)) == len(numbers), "an interrupt line has one name", numbers)

    def journal(self, data, *_):
        entry = message(data)
        self.need(21 not in entry or entry[21][0] == 0, "no journal entry is lost", entry.get(21))
        self.need(20 in entry or 7 in entry, "a journal entry has a text", entry.keys())
        self.logged.append(entry.get(7, [b""])[0].decode(errors="replace"))
        self.need(entry.get(5, [0])[0] <= 7, "a journal entry's priority is one", entry.get(5))

    # Tracks

    def track_descriptor(self, data, *_):
        track = message(data)
        uuid = track.get(1, [0])[0]
        self.need(uuid, "a track has a number", track.keys())
        owner = None
        for process in map(message, track.get(3, [])):
            self.need(1 in process, "a process's track has its pid", uuid)
            owner = ("process", process.get(1, [0])[0])
        for thread in map(message, track.get(4, [])):
            self.need(1 in thread and 2 in thread, "a thread's track has its pid and tid", uuid)
            owner = ("thread", thread.get(1, [0])[0], thread.get(2, [0])[0])
        if owner:
            self.need(self.owners.setdefault(owner, uuid) == uuid, "a thread or process has one track", owner)
        is_counter = 8 in track
        before = self.described.setdefault(uuid, (track.get(5, [0])[0], is_counter, track.get(2, [b""])[0].decode()))
        self.need(before[1] == is_counter, "a track stays a counter, or none", uuid)
        self.tracks.add(before[2])

    def track_event(self, data, sequence, now):
        event = message(data)
        kind, uuid = event.get(9, [0])[0], event.get(11, [sequence.track])[0]
        self.need(kind in (1, 2, 3, 4, 5), "a track event has a type", kind)
        self.need(uuid in self.described, "a track is described before it is used", uuid)
        self.need(now is not None, "a track event's time can be told", uuid)
        for field, interned in ((10, 2), (3, 1)):
            for iid in event.get(field, []):
                iids = packed(iid) if isinstance(iid, bytes) else [iid]
                self.need(set(iids) <= sequence.interned[interned], "an interned name is known", field, iids)
        if kind == 4:
            self.need(30 in event or 44 in event, "a counter's event has a value", uuid)
            self.need(self.described.get(uuid, (0, True))[1], "values are of tracks that are counters", uuid)
            self.counters.add(self.described.get(uuid, (0, 0, ""))[2])
        elif kind in (1, 2):
            self.ends_of_slices.append((now, kind, uuid))

    def check_slices(self):
        """In the order of time: another thread may end what one began, and come first in the file."""
        for _, kind, uuid in sorted(self.ends_of_slices, key=lambda end: end[0] or 0):
            self.depths[uuid] += 1 if kind == 1 else -1
            self.need(self.depths[uuid] >= 0, "a slice that ends has begun", uuid)
            self.depths[uuid] = max(self.depths[uuid], 0)

    def check_tracks(self):
        for uuid, (parent, _, name) in self.described.items():
            self.need(parent == 0 or parent in self.described, "a track's parent is described", uuid, name)

    # The whole

    def finish(self):
        self.check_statistics()
        self.check_processes()
        self.check_tracks()
        self.check_slices()
        self.need(self.service_times, "the service says when it was")
        if self.service_times and self.times:
            begin, end = min(self.service_times), max(self.service_times)
            self.need(min(self.times) > begin - SLACK_NS, "nothing is from before", begin - min(self.times), "ns")
            self.need(max(self.times) < end + SLACK_NS, "nothing is from later", max(self.times) - end, "ns")


def read_trace(path, may_overrun):
    rules = Rules(may_overrun)
    with open(path, "rb") as file:
        data = file.read()
    try:
        for packet in packets(data):
            rules.packet(packet)
    except (NotATrace, IndexError) as error:
        sys.exit(f"{path}: {error or 'ends within a packet'}")
    rules.finish()
    return rules


def main():
    options = [argument for argument in sys.argv[1:] if argument in ("--json", "--overrun")]
    as_json = "--json" in options
    path, expression = (sys.argv[1 + len(options) :] + ["True"])[:2]
    rules = read_trace(path, "--overrun" in options)
    names = "packets events switches syscalls generic symbols processes threads labels logged tracks counters read"
    seen = {name: getattr(rules, name) for name in names.split()}
    if as_json:
        json.dump(seen, sys.stdout, default=sorted)
    for text in rules.shown:
        print(text, file=sys.stderr)
    for rule, n in rules.broken.items():
        print(f"{n} times: {rule}", file=sys.stderr)
    if rules.broken:
        sys.exit(1)
    if not eval(expression, seen):
        print(f"packets {dict(rules.packets)}, events {dict(rules.events)}, read {rules.read}", file=sys.stderr)
        sys.exit(f"not so: {expression}")


if __name__ == "__main__":
    main()
