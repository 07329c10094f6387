#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a tracing service that was taken over says to the probes, for tests/boot/case-captured.sh.

captured-service.py NAME PID START-TIME FIELD=NAME    somebody has asked for a recording of linux.ftrace with this in
                                                      its ftrace_config: 1=EVENT, or 30=FUNCTION for a kprobe
Prints what the probes answer: "granted" or the error.
"""

import re
import struct
import sys
import time

from raw_bus import Peer, align, call, string

SOCKET = "/run/desktrace/probes.sock"
PROBES = "/org/desktrace/Probes1", "org.desktrace.Probes1"


def varint(n):
    return bytes([n]) if n < 128 else bytes([n & 127 | 128]) + varint(n >> 7)


def field(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


def config(number, name):
    ftrace = field(number, field(1, name) if number == 30 else name)
    source = field(1, field(1, b"linux.ftrace") + field(100, ftrace))
    return field(1, b"\x08\x40") + field(2, source)


def main():
    name, pid, start_time, what = sys.argv[1:]
    number, value = what.split("=")
    data = config(int(number), value.encode())
    body = align(string(name), 4) + struct.pack("<I", int(pid))
    body = align(body, 8) + struct.pack("<Q", int(start_time))
    body = align(body + struct.pack("<I", len(data)) + data, 4) + struct.pack("<I", 0)
    peer = Peer(SOCKET)
    # sd-bus does not look at a call that comes in one piece with the end of the handshake.
    time.sleep(0.3)
    peer.socket.sendall(call("Authorize", *PROBES, signature="sutayb", body=body))
    answer = peer.socket.recv(4096)
    if answer[1] == 2:
        print("granted")
        return 0
    print(*(text.decode() for text in re.findall(rb"[ -~]{4,}", answer)))
    return 1


sys.exit(main())
