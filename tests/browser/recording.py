# SPDX-License-Identifier: LGPL-2.1-or-later
"""Writes recordings of which it is known what is in them: Perfetto's packets, field by field."""

import struct

MS = 1000000
START = 1000 * MS  # of all recordings; times below count from it
RUNNABLE, SLEEPING = 0, 1
SLOW_FRAME = 17  # of the demo's 30


def varint(number):
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes(out + bytes([number]))


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def packet(*fields):
    return field(1, b"".join(fields) + field(10, 1))


def event(at, kind, track, name=None, flow=None):
    of = field(9, kind) + field(11, track) + (field(23, name) if name else b"")
    of += varint(47 << 3 | 1) + struct.pack("<Q", flow) if flow else b""
    return packet(field(8, START + at), field(11, of))


def process(uuid, pid, name):
    return packet(field(60, field(1, uuid) + field(3, field(1, pid) + field(6, name))), field(13, 1))


def thread(uuid, tid, name, pid=100):
    return packet(field(60, field(1, uuid) + field(4, field(1, pid) + field(2, tid) + field(5, name))))


def slice_of(track, name, begin, end):
    return [event(begin, 1, track, name), event(end, 2, track)]


def counter(uuid, name, unit_name=None, parent=None):
    of = field(1, uuid) + field(2, name) + field(8, field(6, unit_name) if unit_name else b"")
    return packet(field(60, of + (field(5, parent) if parent else b"")))


def value(at, track, number):
    of = field(9, 4) + field(11, track) + varint(44 << 3 | 1) + struct.pack("<d", number)
    return packet(field(8, START + at), field(11, of))


MEM_AVAILABLE, PRESSURE_CPU, PRESSURE_MEMORY = 3, 1, 5  # Perfetto's numbers


def machine_stats(at, memory_kb, pressure):
    """Values of /proc/meminfo, and of /proc/pressure in nanoseconds."""
    of = b"".join(field(1, field(1, key) + field(2, kb)) for key, kb in memory_kb.items())
    of += b"".join(field(14, field(1, key) + field(2, ns)) for key, ns in pressure.items())
    return packet(field(8, START + at), field(7, of))


def process_memory(at, pid, rss_kb):
    return packet(field(8, START + at), field(9, field(1, field(1, pid) + field(3, rss_kb))))


def stack_samples(sequence, source, unit, stacks, samples):
    """Call stacks that have a weight: `stacks` are names of functions, outermost first; `samples` have a time, a thread
    of program 100, a weight and the number of a stack."""
    names = sorted({name for stack in stacks for name in stack})
    data = field(17, field(1, 1) + field(2, "/usr/bin/game")) + field(19, field(1, 1) + field(7, 1))
    for number, name in enumerate(names, 1):
        data += field(5, field(1, number) + field(2, name))
        data += field(6, field(1, number) + field(2, number) + field(3, 1) + field(4, number))
    for number, stack in enumerate(stacks, 1):
        data += field(7, field(1, number) + b"".join(field(2, names.index(name) + 1) for name in stack))
    defaults = field(58, 6) + field(100, field(1, source) + field(2, field(2, "weight") + field(3, unit)))
    yield field(1, field(13, 1) + field(59, defaults) + field(12, data) + field(10, sequence))
    for at, tid, weight, stack in samples:
        of = field(1, field(2, 100) + field(3, tid)) + field(6, stack) + field(11, weight)
        yield field(1, field(8, START + at) + field(13, 2) + field(135, of) + field(10, sequence))


def write(path, packets):
    with open(path, "wb") as file:
        file.write(b"".join(packets))


class Cpus:
    """Who ran when, as the kernel's events tell it."""

    def __init__(self, names):
        self.names, self.runs, self.wakings = names, {}, []

    def run(self, cpu, tid, begin, end, state=SLEEPING):
        self.runs.setdefault(cpu, []).append((begin, end, tid, state))

    def wake(self, at, cpu, waker, tid, target):
        self.wakings.append((at, cpu, waker, tid, target))

    def switch(self, at, before, state, after):
        of = field(1, self.names.get(before, "swapper")) + field(2, before) + field(3, 120) + field(4, state)
        of += field(5, self.names.get(after, "swapper")) + field(6, after) + field(7, 120)
        return at, 1, field(1, START + at) + field(2, before) + field(4, of)

    def events(self, cpu):
        for at, of_cpu, waker, tid, target in self.wakings:
            if of_cpu == cpu:
                of = field(1, self.names[tid]) + field(2, tid) + field(3, 120) + field(4, 1) + field(5, target)
                yield at, 0, field(1, START + at) + field(2, waker) + field(20, of)
        before, left, state = 0, None, RUNNABLE
        for begin, end, tid, end_state in sorted(self.runs[cpu]):
            if left is not None and left < begin:
                yield self.switch(left, before, state, 0)
                before, state = 0, RUNNABLE
            yield self.switch(begin, before, state, tid)
            before, left, state = tid, end, end_state
        yield self.switch(left, before, state, 0)

    def packets(self):
        for cpu in self.runs:
            bundle = b"".join(field(2, of) for _, _, of in sorted(self.events(cpu)))
            yield packet(field(1, field(1, cpu) + bundle))


def demo():
    """What scripts/try records, in small: a program whose main thread waits for two workers in each frame. In one
    frame, another program takes the CPU from one of them for 50 ms."""
    names = {100: "mandelbrot", 101: "worker 1", 102: "worker 2", 200: "updater"}
    cpus, slices = Cpus(names), []
    at = 5 * MS
    for number in range(30):
        begin, late = at, 50 * MS if number == SLOW_FRAME else 0
        done = begin + 15 * MS + late
        cpus.wake(begin, 0, 0, 100, 0)
        cpus.run(0, 100, begin, begin + MS)
        for worker, cpu in ((101, 0), (102, 1)):
            cpus.wake(begin + MS - 1000, 0, 100, worker, cpu)
        cpus.run(0, 101, begin + MS, begin + 14 * MS)
        if late:
            cpus.run(1, 102, begin + MS, begin + 6 * MS, RUNNABLE)
            cpus.wake(begin + 6 * MS - 1000, 1, 102, 200, 1)
            cpus.run(1, 200, begin + 6 * MS, begin + 56 * MS)
            cpus.run(1, 102, begin + 56 * MS, done)
        else:
            cpus.run(1, 102, begin + MS, done)
        cpus.wake(done - 1000, 1, 102, 100, 0)
        cpus.run(0, 100, done, done + MS)
        slices += slice_of(2, "frame", begin, done + MS - 2000)[:1] + slice_of(2, "wait for workers", begin + MS, done)
        slices += [event(done + MS - 2000, 2, 2)]
        slices += slice_of(3, "row", begin + MS, begin + 14 * MS) + slice_of(4, "row", begin + MS, done)
        at = done + 5 * MS
    packets = [process(1, 100, "mandelbrot"), thread(2, 100, "mandelbrot"), thread(3, 101, "worker 1")]
    packets += [thread(4, 102, "worker 2"), process(5, 200, "updater"), thread(6, 200, "updater", 200)]
    return packets + slices + list(cpus.packets())
