# SPDX-License-Identifier: LGPL-2.1-or-later
"""Whether a trace has what test-producers wrote: each number once, in its order, without a gap that nobody has counted.

Usage: restart-check.py FILE NAME...
"""

import re
import sys

import trace_file

TEST_EVENT, DROPPED = 900, 42


def numbers(path, name):
    """Of each packet of that producer, and whether it says that some before it were dropped."""
    pattern = re.compile(rb"\b" + name.encode() + rb"-(\d+)\.")
    with open(path, "rb") as file:
        data = file.read()
    for packet, _ in trace_file.frames(data):
        at = {number: value for number, value, _ in trace_file.fields(packet)}
        if TEST_EVENT not in at:
            continue
        match = pattern.search(at[TEST_EVENT])
        if match:
            yield int(match[1]), DROPPED in at


def check(path, name):
    last = n_gaps = n = 0
    for number, says_drop in numbers(path, name):
        if number <= last:
            sys.exit(f"{name}: {number} comes behind {last}")
        if number > last + 1 and not says_drop:
            sys.exit(f"{name}: {last + 1} to {number - 1} are missing, and nobody says so")
        n_gaps += number > last + 1
        last, n = number, n + 1
    if n == 0:
        sys.exit(f"{name}: nothing")
    print(f"# {name}: {n} packets up to {last}, {last - n} dropped in {n_gaps} gaps")


for producer in sys.argv[2:]:
    check(sys.argv[1], producer)
