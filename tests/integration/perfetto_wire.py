# SPDX-License-Identifier: LGPL-2.1-or-later
"""Writes protobuf's wire format, and with it traces that no machine has made."""


def varint(value):
    out = bytearray()
    value &= (1 << 64) - 1
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(number, value):
    """A varint of a number, a length-delimited field of anything else."""
    if isinstance(value, (int, bool)):
        return varint(number << 3) + varint(int(value))
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def message(*fields):
    """Of pairs of a field's number and its value."""
    return b"".join(field(number, value) for number, value in fields)


def packet(*fields):
    """A packet of a trace file, by the sequence 1."""
    return field(1, b"".join(fields) + field(10, 1))


def track_event(at, kind, name=b""):
    """A packet with an event of the track 5: `kind` 1 begins a slice, 2 ends it."""
    return packet(field(8, at), field(11, field(9, kind) + field(11, 5) + (field(23, name) if name else b"")))
