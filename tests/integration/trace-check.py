#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Says what is in a trace file, by its own reading of the format: a file that any reader can read.

Usage: trace-check.py FILE EXPRESSION     exits 0 when it holds

In the expression:
  size        bytes of the file
  torn        bytes behind the last whole packet
  packets     whole packets, those in compressed ones included
  compressed  compressed packets, by their field: {50: …, 133: …}
  stats       packets with trace_stats
  texts       texts of the test producer, in order
  increasing  the texts' numbers grow
  in_order    they are 1, 2, 3 and so on
  entries     for each synchronisation marker, outside of compressed packets: packets behind it
"""

import re
import sys

from trace_file import DEFLATE, ZSTD, NotATrace, fields, frames, unpack

MARKER = bytes.fromhex("82477a76b28d42ba81dc33326d57a079")
TRACE_STATS, TEST_EVENT = 35, 900


class Trace:
    def __init__(self, data):
        self.size, self.torn, self.packets, self.stats = len(data), 0, 0, 0
        self.compressed, self.texts = {DEFLATE: 0, ZSTD: 0}, []
        end = self.read(data)
        self.torn = len(data) - end
        starts = [match.end() for match in re.finditer(re.escape(MARKER), data)]
        self.entries = [sum(1 for _ in frames(data[start:end])) for start in starts]
        numbers = [int(re.search(rb"-(\d+)\.", text).group(1)) for text in self.texts]
        self.increasing = all(a < b for a, b in zip(numbers, numbers[1:]))
        self.in_order = numbers == list(range(1, len(numbers) + 1))

    def read(self, data):
        end = 0
        try:
            for packet, end in frames(data):
                self.add(packet)
        except IndexError:
            pass
        return end

    def add(self, packet):
        for number, value, _ in fields(packet):
            if number in self.compressed:
                self.compressed[number] += 1
                inner = unpack(number, value)
                if self.read(inner) != len(inner):
                    sys.exit("what was compressed is no trace")
                return
            self.stats += number == TRACE_STATS
            if number == TEST_EVENT:
                self.texts.append(value)
        self.packets += 1


def main():
    path, expression = sys.argv[1:]
    with open(path, "rb") as file:
        data = file.read()
    try:
        trace = Trace(data)
    except NotATrace as error:
        sys.exit(f"{path}: {error}")
    seen = {name: value for name, value in vars(trace).items() if name != "texts"}
    if not eval(expression, {"n_texts": len(trace.texts), **vars(trace)}):
        sys.exit(f"not so: {expression}: {len(trace.texts)} texts, {seen}")


main()
