#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Whether the call stacks in a trace are those of stacks-tree.c.

Usage: stacks-check.py TRACE PROGRAM CHECK
"""

import bisect
import collections
import math
import os
import subprocess
import sys

import trace_file

# How the stacks of the program look, from main() on, and how much of the samples each has.
SHARES = {
    ("main", "parent_one", "leaf_70"): 0.7,
    ("main", "parent_two", "leaf_20"): 0.2,
    ("main", "parent_two", "leaf_10"): 0.1,
}

INVALID_ELF = 8  # Profiling.StackUnwindError

INTERNED, FLAGS, DEFAULTS, SAMPLE, SEQUENCE, TIMESTAMP = 12, 13, 59, 66, 10, 8
NAMES, FRAMES, STACKS, PATHS, MAPPINGS = 5, 6, 7, 17, 19

Sample = collections.namedtuple("Sample", "time pid mode stack error")


class Sequence:
    """What one sequence of packets has been told, and since when."""

    def __init__(self):
        self.names, self.paths, self.mappings, self.frames, self.stacks = {}, {}, {}, {}, {}

    def add(self, data):
        for number, value, _ in trace_file.fields(data):
            entry = trace_file.message(value) if isinstance(value, bytes) else {}
            if number == NAMES:
                self.names[entry[1][0]] = entry[2][0].decode()
            elif number == PATHS:
                self.paths[entry[1][0]] = entry[2][0].decode()
            elif number == MAPPINGS:
                self.mappings[entry[1][0]] = self.paths[entry[7][0]]
            elif number == FRAMES:
                name = self.names[entry[2][0]] if 2 in entry else None
                self.frames[entry[1][0]] = (self.mappings[entry[3][0]], entry[4][0], name)
            elif number == STACKS:
                self.stacks[entry[1][0]] = [self.frames[frame] for frame in entry[2]]


def samples(path):
    """Each sample, and how many records were lost."""
    sequences, found, lost = {}, [], 0
    with open(path, "rb") as file:
        data = file.read()
    for packet in trace_file.packets(data):
        fields = trace_file.message(packet)
        number = fields.get(SEQUENCE, [0])[0]
        flags = fields.get(FLAGS, [0])[0]
        if flags & 1:
            sequences[number] = Sequence()
        for interned in fields.get(INTERNED, []):
            if number in sequences:
                sequences[number].add(interned)
        for value in fields.get(SAMPLE, []):
            sample = trace_file.message(value)
            assert flags & 2 and number in sequences, "a sample before its state"
            if 17 in sample:
                lost += sample[17][0]
                continue
            stack = sequences[number].stacks[sample[4][0]] if 4 in sample else []
            found.append(
                Sample(fields[TIMESTAMP][0], sample[2][0], sample[5][0], stack, sample.get(16, [0])[0])
            )
    return found, lost


class Symbols:
    def __init__(self, program):
        out = subprocess.run(["nm", "-n", program], capture_output=True, text=True, check=True).stdout
        rows = [line.split() for line in out.splitlines()]
        self.rows = [(int(row[0], 16), row[2]) for row in rows if len(row) == 3 and row[1] in "tTwW"]

    def name(self, address):
        return self.rows[bisect.bisect(self.rows, (address, "\x7f")) - 1][1]


def user_stack(sample, program, symbols):
    """The names of the program's own functions, from main() on."""
    names = [symbols.name(frame[1]) for frame in sample.stack if frame[0] == program]
    return tuple(names[names.index("main"):]) if "main" in names else tuple(names)


def of_program(path, program):
    found, lost = samples(path)
    program = os.path.realpath(program)
    symbols = Symbols(program)
    own = [s for s in found if any(frame[0] == program for frame in s.stack)]
    return own, [user_stack(sample, program, symbols) for sample in own], lost


def shares(path, program):
    """Each function has the share of the samples that it has of the work, within four standard deviations."""
    own, stacks, _ = of_program(path, program)
    counts = collections.Counter(stack for stack in stacks if stack in SHARES)
    n = sum(counts.values())
    print(f"# {n} samples: {dict(counts)}")
    assert n >= 500, f"only {n} samples"
    for stack, share in SHARES.items():
        deviation = math.sqrt(n * share * (1 - share))
        assert abs(counts[stack] - n * share) <= 4 * deviation, f"{stack}: {counts[stack]} of {n}"


def exact(path, program):
    """At least 99 of 100 stacks are complete, and are what the program does. The few do not count for which a file was
    not read in time."""
    own, stacks, _ = of_program(path, program)
    n_all = len(own)
    own, stacks = zip(*((s, stack) for s, stack in zip(own, stacks) if s.error != INVALID_ELF))
    assert len(own) >= 0.9 * n_all, f"{n_all - len(own)} of {n_all} wanted a file"
    known = set(SHARES) | {stack[:n] for stack in SHARES for n in (1, 2)}
    good = [s for s, stack in zip(own, stacks) if not s.error and stack in known]
    wrong = collections.Counter((s.error, stack) for s, stack in zip(own, stacks) if s.error or stack not in known)
    print(f"# {len(good)} of {len(own)} exact; others: {wrong.most_common(5)}")
    assert len(own) >= 500 and len(good) >= 0.99 * len(own)


def kernel_names(path, program):
    """Frames of the kernel are names, and addresses of the kernel are nowhere."""
    found, _ = samples(path)
    frames = {frame for sample in found for frame in sample.stack if frame[0] == "kernel"}
    assert any(name and name != "[unknown]" for _, _, name in frames), "no name"
    assert all(name and address == 0 for _, address, name in frames), "an address"
    assert all(address < 1 << 47 for s in found for _, address, _ in s.stack)


def no_kernel(path, program):
    found, _ = samples(path)
    assert found and not any(frame[0] == "kernel" for sample in found for frame in sample.stack)


def only(path, program):
    """No other program is in it."""
    own, _, _ = of_program(path, program)
    found, _ = samples(path)
    assert own and {s.pid for s in found} == {s.pid for s in own}, "somebody else's samples"


def some(path, program):
    assert samples(path)[0]


def count(path, program):
    print(len(samples(path)[0]))


def main():
    path, program, check = sys.argv[1:]
    try:
        {f.__name__: f for f in (shares, exact, kernel_names, no_kernel, only, some, count)}[check](path, program)
    except AssertionError as error:
        sys.exit(f"not so: {check}: {error}")


main()
