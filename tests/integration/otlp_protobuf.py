#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Reads a request of OpenTelemetry's protocol in protobuf's form, and compares it with lines of JSON.

Usage: otlp_protobuf.py PROTOBUF JSON     exits 0 if both have the same spans in the same order
"""

import json
import struct
import sys

from trace_file import fields

TEXT, HEX, NUMBER, LONG, FLAG, REAL = (
    lambda value: value.decode(),
    lambda value: value.hex(),
    lambda value: value,
    lambda value: str(value - (1 << 64) if value >> 63 else value),
    bool,
    lambda value: struct.unpack("<d", value if isinstance(value, bytes) else struct.pack("<Q", value))[0],
)


def fixed(value):
    return str(struct.unpack("<Q", value)[0] if isinstance(value, bytes) else value)


def reader(**rows):
    """Of a message: names by number, with what reads a value; a list of one says that there are several."""
    def read(data):
        out = {name: [] for name, (_, kind) in rows.items() if isinstance(kind, list) and name in ALWAYS}
        for number, value, *_ in fields(data):
            name, kind = next((name, kind) for name, (n, kind) in rows.items() if n == number)
            if isinstance(kind, list):
                out.setdefault(name, []).append(kind[0](value))
            else:
                out[name] = kind(value)
        return out
    return read


ALWAYS = {"attributes", "spans"}  # JSON has these even if they are empty
value_of = reader(stringValue=(1, TEXT), boolValue=(2, FLAG), intValue=(3, LONG), doubleValue=(4, REAL))
attribute = reader(key=(1, TEXT), value=(2, value_of))
link = reader(traceId=(1, HEX), spanId=(2, HEX))
event = reader(timeUnixNano=(1, fixed), name=(2, TEXT), attributes=(3, [attribute]), droppedAttributesCount=(4, NUMBER))
span = reader(traceId=(1, HEX), spanId=(2, HEX), parentSpanId=(4, HEX), name=(5, TEXT), kind=(6, NUMBER),
              startTimeUnixNano=(7, fixed), endTimeUnixNano=(8, fixed), attributes=(9, [attribute]),
              droppedAttributesCount=(10, NUMBER), events=(11, [event]), droppedEventsCount=(12, NUMBER),
              links=(13, [link]), droppedLinksCount=(14, NUMBER))
scope_spans = reader(scope=(1, reader(name=(1, TEXT))), spans=(2, [span]))
resource_spans = reader(resource=(1, reader(attributes=(1, [attribute]))), scopeSpans=(2, [scope_spans]))
request = reader(resourceSpans=(1, [resource_spans]))


def main(binary, lines):
    with open(binary, "rb") as file:
        have = request(file.read())["resourceSpans"]
    with open(lines, encoding="utf-8") as file:
        want = [spans for line in file for spans in json.loads(line)["resourceSpans"]]
    assert have and len(have) == len(want), (len(have), len(want))
    for a, b in zip(have, want):
        assert a == b, f"{a}\n{b}"


main(*sys.argv[1:])
