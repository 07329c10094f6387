#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A peer on the native socket that speaks just enough D-Bus to misbehave.

hostile-peer.py flood SOCKET: calls for ever and never reads a reply. Ends when it is disconnected, or nothing more
is taken from it for 3 seconds, and fails when there is no end to it within 20 seconds.
"""

import os
import socket
import struct
import sys
import time

DEADLINE_S, STALLED_S = 20, 3


def align(data, n):
    return data + bytes(-len(data) % n)


def string(text):
    data = text.encode()
    return struct.pack("<I", len(data)) + data + b"\0"


def call(serial, path, interface, member):
    fields = b""
    for code, kind, value in (1, b"o", path), (2, b"s", interface), (3, b"s", member):
        fields = align(fields, 8) + bytes([code, 1]) + kind + b"\0" + string(value)
    header = struct.pack("<BBBBIII", ord("l"), 1, 0, 1, 0, serial, len(fields))
    return align(header + fields, 8)


def connect(path):
    peer = socket.socket(socket.AF_UNIX)
    peer.connect(path)
    uid = str(os.getuid()).encode().hex().encode()
    peer.sendall(b"\0AUTH EXTERNAL " + uid + b"\r\n")
    peer.recv(256)
    peer.sendall(b"BEGIN\r\n")
    return peer


def flood(path):
    peer = connect(path)
    peer.settimeout(STALLED_S)
    end = time.monotonic() + DEADLINE_S
    serial = 0
    try:
        while time.monotonic() < end:
            serial += 1
            peer.sendall(call(serial, "/org/desktrace/Tracing1", "org.freedesktop.DBus.Introspectable", "Introspect"))
    except OSError:
        return 0
    return 1


if __name__ == "__main__":
    sys.exit({"flood": flood}[sys.argv[1]](sys.argv[2]))
