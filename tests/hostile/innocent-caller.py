#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Asks the service for a property all the time, as somebody does who looks at his recording while others attack.

innocent-caller.py bus|native SOCKET: on SIGUSR1 it writes the worst reply since the last time in milliseconds, a call
that is not answered yet included, and how many replies there were.
"""

import select
import signal
import struct
import sys
import time

import raw_bus

PAUSE_S = 0.005
TURN_S = 0.05
ARGUMENTS = raw_bus.align(raw_bus.string(raw_bus.MANAGER), 4) + raw_bus.string("Version")


class Caller:
    def __init__(self, transport, path):
        self.peer = raw_bus.Peer(path, transport == "bus")
        self.request = raw_bus.call(
            "Get",
            interface="org.freedesktop.DBus.Properties",
            destination="org.desktrace.Tracing1" if transport == "bus" else None,
            signature="ss",
            body=ARGUMENTS,
        )
        self.received = b""
        self.called_at = None
        self.worst, self.n = 0.0, 0
        self.is_asked = False

    def tell(self):
        self.is_asked = False
        pending = time.monotonic() - self.called_at if self.called_at else 0
        print(f"{max(self.worst, pending) * 1000:.1f} {self.n}", flush=True)
        self.worst, self.n = 0.0, 0

    def take_message(self):
        """Whether one is there; a reply, or an error, answers the call."""
        if len(self.received) < 16:
            return False
        n_body, _, n_fields = struct.unpack_from("<III", self.received, 4)
        n = 16 + n_fields + -n_fields % 8 + n_body
        if len(self.received) < n:
            return False
        if self.received[1] in (2, 3) and self.called_at:
            self.worst = max(self.worst, time.monotonic() - self.called_at)
            self.n += 1
            self.called_at = None
        self.received = self.received[n:]
        return True

    def run(self):
        while True:
            if self.is_asked:
                self.tell()
            if not self.called_at:
                time.sleep(PAUSE_S)
                self.called_at = time.monotonic()
                self.peer.socket.sendall(self.request)
            if select.select([self.peer.socket], [], [], TURN_S)[0]:
                data = self.peer.socket.recv(1 << 16)
                if not data:
                    sys.exit("disconnected")
                self.received += data
                while self.take_message():
                    pass


def main(transport, path):
    caller = Caller(transport, path)

    def on_signal(*_):
        caller.is_asked = True

    signal.signal(signal.SIGUSR1, on_signal)
    print("0 0", flush=True)
    caller.run()


main(*sys.argv[1:])
