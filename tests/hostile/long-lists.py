#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Calls with lists as long as a message may be.

long-lists.py SOCKET CALL...     on one connection; says each error's text, or "answered". Calls are sources, events,
                                 categories (of StartSession()), triggers, register (categories), values (of an
                                 option that nobody reads), producer (which is a plain one), notes
"""

import re
import struct
import sys

import raw_bus

BYTES = 3 << 20  # of the 4 MiB that a message may have
CATEGORIES_MAX = 16384  # SOURCE_CATEGORIES_MAX
TIMEOUT_S = 100


def names(n=BYTES // 12):
    """An "as" from a multiple of 4 on: names that differ, as short as that allows."""
    return struct.pack("<I", 12 * n) + b"".join(struct.pack("<I7sx", 7, b"%07d" % i) for i in range(n))


def option(name):
    """An a{sv} of one entry, from a multiple of 8 on."""
    entry = raw_bus.align(raw_bus.string(name) + b"\2as\0", 4) + names()
    return raw_bus.align(struct.pack("<I", len(entry)), 8) + entry


def registered():
    """sa(sa{sv})a{sv} of one source."""
    entry = raw_bus.align(raw_bus.string("categories") + b"\2as\0", 4) + names(CATEGORIES_MAX + 1)
    source = raw_bus.align(raw_bus.string("org.example.list"), 4) + struct.pack("<I", len(entry))
    source = raw_bus.align(source, 8) + entry
    body = raw_bus.align(raw_bus.string("list"), 4) + struct.pack("<I", len(source))
    body = raw_bus.align(raw_bus.align(body, 8) + source, 4)
    return raw_bus.align(body + struct.pack("<I", 0), 8)


def plain(options=b""):
    sources = raw_bus.align(raw_bus.align(raw_bus.string("org.example.list"), 4) + struct.pack("<I", 0), 8)
    body = raw_bus.align(raw_bus.string("list"), 4) + struct.pack("<I", len(sources))
    body = raw_bus.align(raw_bus.align(body, 8) + sources, 4)
    return raw_bus.align(body + struct.pack("<I", len(options)), 8) + options


def values():
    """The same with an option that is not known: empty arrays, very many."""
    option = raw_bus.align(raw_bus.string("newer") + b"\3aas\0", 4)
    return plain(option + struct.pack("<I", BYTES) + bytes(BYTES))


CALLS = {
    "triggers": ("ActivateTriggers", "asa{sv}", lambda: names() + struct.pack("<I", 0)),
    "notes": ("AddNotes", "tas", lambda: struct.pack("<Q", 1) + names()),
    "producer": ("RegisterProducer", "sa(sa{sv})a{sv}", plain),
    "values": ("RegisterProducer", "sa(sa{sv})a{sv}", values),
    "register": ("RegisterProducer", "sa(sa{sv})a{sv}", registered),
}


def call(peer, what):
    """What is replied."""
    method, signature, body = CALLS.get(what, ("StartSession", "a{sv}", lambda: option(what)))
    peer.socket.sendall(raw_bus.call(method, signature=signature, body=body()))
    data = b""
    while raw_bus.count_messages(data, (2, 3)) == 0:
        received = peer.socket.recv(1 << 16)
        if not received:
            sys.exit("disconnected")
        data += received
    errors = re.findall(rb"Error\.[A-Za-z.]+.*", data, re.DOTALL)
    return re.sub(rb"[^ -~]+", b" ", errors[0]).decode() if errors else "answered"


def main(path, *calls):
    peer = raw_bus.Peer(path)
    peer.socket.settimeout(TIMEOUT_S)
    for what in calls:
        print(call(peer, what), flush=True)


main(*sys.argv[1:])
