# SPDX-License-Identifier: LGPL-2.1-or-later
"""Whether a trace has what test-producers wrote: each number once, in its order, and no gap that nobody has counted.

Usage: restart-check.py [--gaps] FILE NAME...
       restart-check.py --field=NUMBER FILE

Each NAME is that of a program, and there may be no other. --gaps: any gap will do, as with programs that count for all
of their recordings together. --field: of packets with that field, by whomever: none is there twice, and those of a
sequence are in the order of their time.
"""

import re
import sys

import trace_file

TEST_EVENT, DROPPED = 900, 42
TIMESTAMP, SEQUENCE = 8, 10


def numbers(path):
    """By program: each packet's number, and whether it says that packets before it were dropped."""
    found = {}
    with open(path, "rb") as file:
        data = file.read()
    for packet in trace_file.packets(data):
        at = {number: value for number, value, _ in trace_file.fields(packet)}
        match = re.search(rb"([a-z0-9]+)-(\d+)\.", at.get(TEST_EVENT, b""))
        if match:
            found.setdefault(match[1].decode(), []).append((int(match[2]), DROPPED in at))
    return found


def check(name, packets, may_have_gaps):
    last = n_gaps = 0
    for number, says_drop in packets:
        if number <= last:
            sys.exit(f"{name}: {number} comes behind {last}")
        if number > last + 1 and not says_drop and not may_have_gaps:
            sys.exit(f"{name}: {last + 1} to {number - 1} are missing, and nobody says so")
        n_gaps += number > last + 1
        last = number
    print(f"# {name}: {len(packets)} packets up to {last}, {last - len(packets)} missing in {n_gaps} gaps")


def check_sequences(path, number):
    seen, last = set(), {}
    with open(path, "rb") as file:
        data = file.read()
    for packet in trace_file.packets(data):
        at = {number: value for number, value, _ in trace_file.fields(packet)}
        if number not in at:
            continue
        sequence, time = at[SEQUENCE], at[TIMESTAMP]
        if packet in seen:
            sys.exit(f"sequence {sequence}: a packet of {time} is there twice")
        if time < last.get(sequence, 0):
            sys.exit(f"sequence {sequence}: {time} comes behind {last[sequence]}")
        seen.add(packet)
        last[sequence] = time
    print(f"# field {number}: {len(seen)} packets of {len(last)} sequences")
    if len(seen) < 2:
        sys.exit("that is too few")


def main():
    arguments = sys.argv[1:]
    if arguments[0].startswith("--field="):
        check_sequences(arguments[1], int(arguments[0].partition("=")[2]))
        return
    may_have_gaps = arguments[0] == "--gaps"
    path, *names = arguments[may_have_gaps:]
    found = numbers(path)
    if sorted(found) != sorted(names):
        sys.exit(f"{path}: packets of {sorted(found)}, wanted {sorted(names)}")
    for name in names:
        check(name, found[name], may_have_gaps)


main()
