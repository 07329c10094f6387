#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A program that writes marks for sysprof, as GTK does, for SECONDS: MARKS each second, or one every 5 ms
and a counter.

Usage: sysprof-app.py SECONDS [MARKS]    with $SYSPROF_CONTROL_FD
"""

import mmap
import os
import socket
import struct
import sys
import time

PAGE = 4096


def frame(kind, body):
    size = (24 + len(body) + 7) // 8 * 8
    return (struct.pack("<HhiqB7x", size, 0, os.getpid(), time.monotonic_ns(), kind) + body).ljust(size, b"\0")


def mark(name, duration):
    return frame(10, struct.pack("<q24s40s", duration, b"test", name) + b"a message\0")


class Ring:
    def __init__(self):
        control = socket.socket(fileno=int(os.environ["SYSPROF_CONTROL_FD"]))
        control.sendall(b"CreatRing\0")
        _, fds, _, _ = socket.recv_fds(control, 1, 1)
        control.detach()
        self.memory = mmap.mmap(fds[0], 0)
        self.size = struct.unpack_from("<I", self.memory, 12)[0]
        self.tail = 0

    def free(self):
        head = struct.unpack_from("<I", self.memory, 0)[0]
        return self.size - (self.tail - head) % self.size - 1

    def put(self, data):
        while self.free() < len(data):
            time.sleep(0.001)
        first = min(len(data), self.size - self.tail)
        self.memory[PAGE + self.tail:PAGE + self.tail + first] = data[:first]
        self.memory[PAGE:PAGE + len(data) - first] = data[first:]
        self.tail = (self.tail + len(data)) % self.size
        struct.pack_into("<I", self.memory, 4, self.tail)


def write_many(ring, seconds, per_second):
    begin, step = time.monotonic(), 0
    while step < seconds * per_second:
        step += 1
        ring.put(mark(b"step", 1000))
        if step % 100 == 0:
            time.sleep(max(begin + step / per_second - time.monotonic(), 0))
    return step


def write_some(ring, seconds):
    end, step = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        step += 1
        ring.put(mark(b"step", 1000))
        ring.put(frame(9, struct.pack("<H6x8I8q", 1, 7, *[0] * 7, step, *[0] * 7)))
        time.sleep(0.005)
    return step


def main():
    ring = Ring()
    counter = struct.pack("<H6x32s32s52sIq", 1, b"test", b"steps", b"", 7, 0)
    ring.put(frame(8, counter))
    seconds = float(sys.argv[1])
    step = write_many(ring, seconds, int(sys.argv[2])) if len(sys.argv) > 2 else write_some(ring, seconds)
    ring.put(mark(b"the last one", 1000))
    print(step)


main()
