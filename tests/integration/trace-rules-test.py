#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Breaks each rule of trace_rules.py once, in a trace that keeps them all, and sees that this is found."""

import copy
import sys

from trace_rules import Rules

BEGIN = 1_000_000_000_000


def encode_varint(value):
    encoded = b""
    value &= (1 << 64) - 1
    while value > 127:
        encoded += bytes([value & 127 | 128])
        value >>= 7
    return encoded + bytes([value])


def encode(entries):
    """A message of (field, value) pairs: an int, text, bytes, a tuple of packed numbers, or a list of such pairs."""
    encoded = b""
    for number, value in entries:
        if isinstance(value, int):
            encoded += encode_varint(number << 3) + encode_varint(value)
            continue
        if isinstance(value, tuple):
            value = b"".join(map(encode_varint, value))
        body = value.encode() if isinstance(value, str) else encode(value) if isinstance(value, list) else value
        encoded += encode_varint(number << 3 | 2) + encode_varint(len(body)) + body
    return encoded


def generic(number, name, *numbers):
    described = [(2, [(1, f"f{i}"), (3, i), (5, 4)]) for i in numbers]
    return [(1, number), (2, [(1, name)] + described), (3, "group")]


def compact(**changes):
    columns = {1: (BEGIN, 7), 2: (0, 1), 3: (5, 0), 4: (120, 120), 6: (0, 1)}
    columns.update({7: (BEGIN,), 8: (5,), 9: (0,), 10: (120,), 11: (0,), 12: (0,)})
    columns.update({int(number[1:]): values for number, values in changes.items()})
    return [(5, "one"), (5, "two")] + sorted(columns.items())


def good():
    """Packets by name, each of which breaks no rule."""
    at = (8, BEGIN)
    return {
        "clocks": [(10, 1), at, (58, 6), (6, [(1, [(1, 6), (2, BEGIN)]), (1, [(1, 3), (2, 5)])])],
        "start": [(10, 2), at, (34, [(1, 1), (2, [(1, 0), (3, 0), (4, 0), (8, 0), (9, 0)])])],
        "bundle": [(10, 2), (13, 1), (12, [(26, [(1, 1), (2, "worker")])]), (1, [
            (1, 0), (10, 0),
            (2, [(1, BEGIN), (2, 0), (36, [(1, 9)])]),
            (2, [(1, BEGIN + 5), (2, 7), (65537, [(1, 3)])]),
            (2, [(1, BEGIN + 6), (2, 7), (58, [(2, 1)])]),
            (4, compact()),
            (11, generic(65537, "odd", 1)),
        ])],
        "end": [(10, 2), at, (34, [(1, 2), (2, [(1, 0), (3, 0), (4, 0), (8, 0), (9, 6)])])],
        "tree": [(10, 3), at, (2, [
            (1, [(1, 7), (2, 1), (3, "init"), (7, 5)]),
            (2, [(1, 8), (2, "worker"), (3, 7)]),
            (3, BEGIN),
        ])],
        "processes": [(10, 3), at, (9, [(1, [(1, 7), (3, 100)])])],
        "system": [(10, 4), at, (7, [(1, [(1, 2), (2, 3)]), (3, [(1, 0), (2, 3)]), (13, [(1, "vda")]), (9, BEGIN)])],
        "journal": [(10, 5), at, (132, [(5, 6), (7, "text")])],
        "sequence": [(10, 6), (13, 1), (59, [(58, 64), (11, [(11, 21)])]),
                     (6, [(1, [(1, 6), (2, BEGIN)]), (1, [(1, 64), (2, BEGIN), (3, 1)])])],
        "process": [(10, 6), (13, 2), (8, 0), (60, [(1, 20), (3, [(1, 7)])])],
        "thread": [(10, 6), (13, 2), (8, 0), (60, [(1, 21), (5, 20), (4, [(1, 7), (2, 8)])])],
        "counter": [(10, 6), (13, 2), (8, 0), (60, [(1, 22), (5, 20), (2, "rate"), (8, [(6, "Hz")])])],
        "begin": [(10, 6), (13, 2), (8, 3), (12, [(2, [(1, 1), (2, "work")])]), (11, [(9, 1), (10, 1)])],
        "slice end": [(10, 6), (13, 2), (8, 3), (11, [(9, 2)])],
        "value": [(10, 6), (13, 2), (8, 3), (11, [(9, 4), (11, 22), (30, 4)])],
        "service": [(10, 1), (8, BEGIN + 1000), (58, 6), (69, [(5, 1)])],
    }


def broken(trace, may_overrun=False):
    rules = Rules(may_overrun)
    for packet in trace.values():
        rules.packet(encode(packet))
    rules.finish()
    return rules


def change(packet, path, value):
    """Sets, or with None removes, the field at the path of numbers. A number of a list can be (number, which)."""
    step, rest = path[0], path[1:]
    number, which = step if isinstance(step, tuple) else (step, 0)
    found = [i for i, (n, _) in enumerate(packet) if n == number]
    if rest:
        change(packet[found[which]][1], rest, value)
    elif not found[which:]:
        packet.append((number, value))
    elif value is None:
        del packet[found[which]]
    else:
        packet[found[which]] = (number, value)


# Rule, packet, path and value of the change.
CASES = (
    ("a packet has a sequence", "tree", (10,), None),
    ("what was measured has a time", "tree", (8,), None),
    ("nothing is lost before a packet", "tree", (42,), 1),
    ("state begins with a packet that says so", "sequence", (13,), None),
    ("an interned entry has a number", "bundle", (12, 26, 1), 0),
    ("a snapshot has each clock once", "clocks", (6, (1, 1), 1), 6),
    ("a snapshot has the boot clock", "clocks", (6, 1, 1), 1),
    ("a sequence's clock is set before it is used", "sequence", (6, (1, 1), 1), 65),
    ("a clock is one that snapshots have", "journal", (58,), 200),
    ("nothing is from before", "journal", (8,), 5),
    ("nothing is from later", "journal", (8,), BEGIN * 3),
    ("a bundle's CPU is below 1024", "bundle", (1, 1), 1024),
    ("no events of the kernel are lost", "bundle", (1, 3), 1),
    ("every page of the kernel was understood", "bundle", (1, 8), [(2, 17)]),
    ("a bundle says until when the CPU is known", "bundle", (1, 10), None),
    ("an event is after what was known of its CPU", "bundle", (1, 10), BEGIN + 1),
    ("an event is a time, a pid and itself", "bundle", (1, 2, 2), None),
    ("an event is described in its bundle", "bundle", (1, 11), None),
    ("a described event's number is one of those", "bundle", (1, 11, 1), 65535),
    ("a described event has at most 31 fields", "bundle", (1, 11), generic(65537, "odd", 1, 32)),
    ("a described field's number is its own", "bundle", (1, 11), generic(65537, "odd", 1, 1)),
    ("a described field has a type", "bundle", (1, 11, 2, 2, 5), 11),
    ("a described field is as described", "bundle", (1, (2, 1), 65537, 1), "text"),
    ("a function is an address or a known symbol", "bundle", (1, (2, 2), 58, 2), 2),
    ("events of a CPU are in order", "bundle", (1, (2, 1), 1), BEGIN - 1),
    ("compact columns are of one length", "bundle", (1, 4), compact(c2=(0,))),
    ("compact columns are of one length", "bundle", (1, 4), compact(c12=())),
    ("a compact event's name is there", "bundle", (1, 4), compact(c6=(0, 2))),
    ("no page was wrong", "end", (34, 9), 17),
    ("the kernel counts no overrun", "end", (34, 2, 3), 1),
    ("the kernel counts no commit overrun", "end", (34, 2, 4), 1),
    ("the kernel counts no dropped", "end", (34, 2, 8), 1),
    ("there are statistics of the start and the end", "start", (34, 1), 2),
    ("statistics are of the start or the end", "start", (34, 1), 3),
    ("a process has a command line or a name", "tree", (2, 1, 3), None),
    ("a process has a parent", "tree", (2, 1, 2), None),
    ("a process began before it was seen", "tree", (2, 1, 7), 2 * BEGIN),
    ("a thread has a process", "tree", (2, 2, 3), None),
    ("a thread's name is not empty", "tree", (2, 2, 2), ""),
    ("the process of a thread has a name", "tree", (2, 2, 3), 6),
    ("a scan ends after it began", "tree", (2, 3), 1),
    ("counters of a process have its pid", "processes", (9, 1, 1), None),
    ("counters of a process are more than its pid", "processes", (9, 1, 3), None),
    ("a process with counters has a name", "processes", (9, 1, 1), 6),
    ("a counter's key is known", "system", (7, 1, 1), 39),
    ("a counter is in a packet once", "system", (7, 1), None),
    ("times of a CPU have its number", "system", (7, 3, 1), None),
    ("a disk has a name", "system", (7, 13, 1), None),
    ("a sample has values", "system", (7,), [(9, BEGIN)]),
    ("no journal entry is lost", "journal", (132, 21), 1),
    ("a journal entry has a text", "journal", (132, 7), None),
    ("a journal entry's priority is one", "journal", (132, 5), 8),
    ("a track has a number", "thread", (60, 1), None),
    ("a process's track has its pid", "process", (60, 3, 1), None),
    ("a thread's track has its pid and tid", "thread", (60, 4, 2), None),
    ("a track's parent is described", "counter", (60, 5), 19),
    ("a track event has a type", "slice end", (11, 9), 6),
    ("a track is described before it is used", "value", (11, 11), 19),
    ("a track event's time can be told", "sequence", (6, (1, 1), 1), 65),
    ("an interned name is known", "begin", (11, 10), 2),
    ("a counter's event has a value", "value", (11, 30), None),
    ("values are of tracks that are counters", "value", (11, 11), 21),
    ("a slice that ends has begun", "begin", (11, 9), 3),
)

# Rule, and packets that break it behind the others.
MORE = (
    ("bundles of a CPU follow each other", *([(10, 2), (1, [(1, 0), (10, end)])] for end in (5, 4))),
    ("compact events of a CPU are in order", [(10, 2), (1, [(1, 0), (10, 0), (4, compact(c1=(BEGIN, -1)))])]),
    ("a number has one description", [(10, 2), (1, [(1, 0), (10, 0), (11, generic(65537, "even", 1))])]),
    ("a thread or process has one track", [(10, 6), (13, 2), (60, [(1, 23), (4, [(1, 7), (2, 8)])])]),
    ("a track stays a counter, or none", [(10, 6), (13, 2), (60, [(1, 22), (5, 20), (2, "rate")])]),
    ("there is a CPU in what tells of CPUs", [(10, 4), (67, [])]),
    ("a process that is described has a pid", [(10, 3), (13, 1), (43, [(8, "some.service")])]),
    ("a probe has a name", [(10, 2), (1, [(1, 0), (10, 0), (2, [(1, BEGIN + 9), (2, 1), (542, [(2, 1)])])])]),
    ("a probe begins, ends or just is",
     [(10, 2), (1, [(1, 0), (10, 0), (2, [(1, BEGIN + 9), (2, 1), (542, [(1, "name")])])])]),
    ("an interrupt line has one name", [(10, 4), (130, [(1, [(1, 3)]), (1, [(1, 3)])])]),
)


def fresh():
    return copy.deepcopy(good())


def overrun_cases():
    """Rule, or none, and a trace of a recording that said that the kernel overran its rings."""
    trace = fresh()
    yield "what the kernel overran is in the trace", trace
    trace = copy.deepcopy(trace)
    change(trace["bundle"], (1, 3), 1)
    yield "what the kernel overran is in the trace", trace
    trace = copy.deepcopy(trace)
    change(trace["end"], (34, 2, 3), 5)
    yield "none", trace


def cases():
    """Rule, or none, and trace."""
    yield "none", fresh()
    for rule, name, path, value in CASES:
        trace = fresh()
        if rule == "a counter is in a packet once":
            value = trace[name][2][1][0]
            trace[name][2][1].append(value)
        else:
            change(trace[name], path, value)
        yield rule, trace
    for rule, *packets in MORE:
        yield rule, {**fresh(), **dict(enumerate(packets))}


def main():
    failed = n = 0
    all_cases = [(*case, False) for case in cases()] + [(*case, True) for case in overrun_cases()]
    for n, (rule, trace, may_overrun) in enumerate(all_cases, 1):
        found = dict(broken(trace, may_overrun).broken)
        as_planted = not found if rule == "none" else rule in found
        print("ok" if as_planted else "not ok", f"{n} - what is found to be broken: {rule}")
        if not as_planted:
            print("#", found)
            failed += 1
    print(f"1..{n}")
    sys.exit(failed > 0)


main()
