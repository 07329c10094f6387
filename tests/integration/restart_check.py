#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Whether a trace has what each test producer has counted, once and in its order.

Usage: restart_check.py FILE PROGRAMS

A program counts for all of its recordings together, so the numbers in one of them grow and have gaps.
"""

import re
import sys

from trace_file import fields, packets

TEST_EVENT = 900


def numbers_by_program(path):
    found = {}
    with open(path, "rb") as file:
        data = file.read()
    for packet in packets(data):
        for number, value, _ in fields(packet):
            if number == TEST_EVENT:
                name, n = re.search(rb"([a-z0-9]+)-(\d+)\.", value).groups()
                found.setdefault(name.decode(), []).append(int(n))
    return found


def main():
    path, n_programs = sys.argv[1], int(sys.argv[2])
    found = numbers_by_program(path)
    for name, numbers in sorted(found.items()):
        wrong = [(a, b) for a, b in zip(numbers, numbers[1:]) if a >= b]
        if wrong:
            sys.exit(f"{path}: {name}: {len(wrong)} twice or out of order, such as {wrong[:5]}")
        print(f"{name}: {len(numbers)} packets")
    if len(found) != n_programs:
        sys.exit(f"{path}: packets of {sorted(found)}, wanted {n_programs} programs")


main()
