#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Asks the service for a property all the time, as somebody does who looks at his recording while others attack.

innocent-caller.py BUS-SOCKET [NATIVE-SOCKET]

It asks over the message bus, and in the same moment a bare service of its own on that bus: how long that one takes is
the floor, as the bus daemon and the scheduler take it from both. Where there is a native socket it asks there as well,
with a bare service of its own on another socket beside it.
On SIGUSR1 it writes a line, for the bus and then for the native socket: the worst reply since the last time, the worst
floor, by how much a reply was later than the floor of the same moment, all in milliseconds, a call that is not answered
yet included; and then how many replies there were over each. On SIGUSR2 it forgets what was, and calls that are not
answered yet count from then on: who sends it had the service stand still.
"""

import os
import select
import signal
import socket
import struct
import sys
import time

import raw_bus

PAUSE_S = 0.005
TURN_S = 0.05
SERVICE, FLOOR = "org.desktrace.Tracing1", "org.example.Floor"
DBUS, DBUS_PATH = "org.freedesktop.DBus", "/org/freedesktop/DBus"
ARGUMENTS = raw_bus.align(raw_bus.string(raw_bus.MANAGER), 4) + raw_bus.string("Version")
METHOD_CALL, METHOD_RETURN, ERROR = 1, 2, 3


class Messages:
    """What comes on a connection, message by message."""

    def __init__(self, peer):
        self.peer = peer
        self.received = b""

    def take(self):
        """Those that are complete; None: the connection has ended."""
        data = self.peer.socket.recv(1 << 16)
        if not data:
            return None
        self.received += data
        taken = []
        while len(self.received) >= 16:
            n_body, _, n_fields = struct.unpack_from("<III", self.received, 4)
            n = 16 + n_fields + -n_fields % 8 + n_body
            if len(self.received) < n:
                break
            taken.append(self.received[:n])
            self.received = self.received[n:]
        return taken


class Lane:
    """One call after the other to one service."""

    def __init__(self, peer, destination=None):
        self.messages = Messages(peer)
        self.fd = self.messages.peer.socket
        self.request = raw_bus.call(
            "Get",
            interface="org.freedesktop.DBus.Properties",
            destination=destination,
            signature="ss",
            body=ARGUMENTS,
        )
        self.called_at = None
        self.took = 0.0

    def call(self, now):
        self.called_at = now
        self.fd.sendall(self.request)

    def waits_for(self, now):
        return now - self.called_at if self.called_at else self.took

    def read(self):
        """Whether the call is answered, which an error does as well."""
        messages = self.messages.take()
        if messages is None:
            sys.exit("disconnected")
        if not self.called_at or not any(each[1] in (METHOD_RETURN, ERROR) for each in messages):
            return False
        self.took = time.monotonic() - self.called_at
        self.called_at = None
        return True


class Pair:
    """Lanes that call in the same moment, and then wait for each other."""

    def __init__(self, lanes):
        self.lanes = lanes
        self.due_at = 0.0
        self.forget()

    def forget(self):
        self.worst = [0.0] * len(self.lanes)
        self.worst_over = 0.0
        self.n = 0

    def note(self, now):
        took = [lane.waits_for(now) for lane in self.lanes]
        self.worst = list(map(max, self.worst, took))
        if took:
            self.worst_over = max(self.worst_over, took[0] - took[-1])

    def turn(self, now):
        if now >= self.due_at and not any(lane.called_at for lane in self.lanes):
            for lane in self.lanes:
                lane.call(time.monotonic())

    def read(self, ready):
        for lane in self.lanes:
            if lane.fd in ready and lane.read() and not any(each.called_at for each in self.lanes):
                now = time.monotonic()
                self.note(now)
                self.n += 1
                self.due_at = now + PAUSE_S


class Socket:
    """As a raw_bus.Peer has one."""

    def __init__(self, ours):
        self.socket = ours


def bus_floor(path, ready):
    messages = Messages(raw_bus.Peer(path, True))
    name = raw_bus.align(raw_bus.string(FLOOR), 4) + struct.pack("<I", 0)
    messages.peer.socket.sendall(raw_bus.call("RequestName", DBUS_PATH, DBUS, DBUS, "su", name))
    messages.peer.socket.settimeout(None)
    os.write(ready, b".")
    return messages


def serve_floor(make):
    """A service that does nothing but reply, in a process of its own as the real one is."""
    messages = make()
    while True:
        calls = messages.take()
        if calls is None:
            return
        for call in calls:
            if call[1] == METHOD_CALL:
                messages.peer.socket.sendall(raw_bus.reply(call))


def start_floor(make):
    if os.fork() == 0:
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        serve_floor(make)
        os._exit(0)


def bus_lanes(path):
    ours, theirs = os.pipe()
    start_floor(lambda: bus_floor(path, theirs))
    os.read(ours, 1)
    return [Lane(raw_bus.Peer(path, True), SERVICE), Lane(raw_bus.Peer(path, True), FLOOR)]


def native_lanes(path):
    ours, theirs = socket.socketpair()
    start_floor(lambda: ours.close() or Messages(Socket(theirs)))
    theirs.close()
    return [Lane(raw_bus.Peer(path)), Lane(Socket(ours))]


def begin_again(pairs):
    for each in pairs:
        each.forget()
        for lane in each.lanes:
            lane.called_at = lane.called_at and time.monotonic()


def tell(bus, native):
    now = time.monotonic()
    for each in (bus, native):
        each.note(now)
    ms = [*bus.worst, bus.worst_over, *(native.worst or (0.0, 0.0)), native.worst_over]
    print(*(f"{each * 1000:.1f}" for each in ms), bus.n, native.n, flush=True)
    for each in (bus, native):
        each.forget()


def main(bus_path, native_path=None):
    bus = Pair(bus_lanes(bus_path))
    native = Pair(native_lanes(native_path) if native_path else [])
    fds = [lane.fd for each in (bus, native) for lane in each.lanes]
    asked = []
    signal.signal(signal.SIGUSR1, lambda *_: asked.append(True))
    signal.signal(signal.SIGUSR2, lambda *_: begin_again((bus, native)))
    print("0 0 0 0 0 0 0 0", flush=True)
    while True:
        if asked:
            asked.clear()
            tell(bus, native)
        now = time.monotonic()
        for each in (bus, native):
            each.turn(now)
        soon = any(not lane.called_at for each in (bus, native) for lane in each.lanes)
        ready = select.select(fds, [], [], PAUSE_S if soon else TURN_S)[0]
        for each in (bus, native):
            each.read(ready)


main(*sys.argv[1:])
