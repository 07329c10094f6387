#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Attacks that a user's program carries out on the system's service, for tests/boot/case-hostile.sh.

hostile-user.py output SOCKET        has a session's trace written to a socket of somebody else's, and says the error
hostile-user.py connects SOCKET...   connects to each as often as it may, again and again
hostile-user.py matches              fills the connection to the bus with match rules for the service's signals
The last two say "attacked" and go on until they are killed.
"""

import os
import socket
import sys
import time

from gi.repository import Gio, GLib

BUS = "org.desktrace.Tracing1"
ROOT = "/org/desktrace/Tracing1"
# What systemd and journald would take for the service's own words.
WORDS = "WATCHDOG=trigger\nMESSAGE=FORGED\nSTATUS=FORGED\n"
CONNECTIONS = 400
RULES = 5000


def system_bus():
    return Gio.bus_get_sync(Gio.BusType.SYSTEM, None)


def output(path):
    for kind in socket.SOCK_DGRAM, socket.SOCK_STREAM:
        peer = socket.socket(socket.AF_UNIX, kind)
        try:
            peer.connect(path)
            break
        except OSError:
            peer.close()
    fds = Gio.UnixFDList.new()
    fds.append(peer.fileno())
    config = f"buffers {{ size_kb: 64 }} data_sources {{ config {{ name: 'track_event' }} }} # {WORDS!r}"
    options = {
        "config-text": GLib.Variant("s", config),
        "output": GLib.Variant("h", 0),
        "duration-ms": GLib.Variant("u", 100),
    }
    reply, _ = system_bus().call_with_unix_fd_list_sync(
        BUS, ROOT, f"{BUS}.Manager", "StartSession", GLib.Variant("(a{sv})", (options,)),
        None, Gio.DBusCallFlags.NONE, 10000, fds, None,
    )  # fmt: skip
    print(reply.print_(False))


def connects(*paths):
    print("attacked", flush=True)
    while True:
        peers = []
        for path in paths:
            for _ in range(CONNECTIONS):
                peer = socket.socket(socket.AF_UNIX)
                peer.setblocking(False)
                try:
                    peer.connect(path)
                    peer.send(b"\0AUTH ")
                except OSError:
                    pass
                peers.append(peer)
        time.sleep(0.05)
        for peer in peers:
            peer.close()


def matches():
    """None is waited for: a bus may refuse those that are too many, or end the connection."""
    bus = system_bus()
    bus.set_exit_on_close(False)
    name = "org.freedesktop.DBus"
    for i in range(RULES):
        rule = f"type='signal',sender='{BUS}',interface='{BUS}.Session',arg0='{i}'"
        message = Gio.DBusMessage.new_method_call(name, "/org/freedesktop/DBus", name, "AddMatch")
        message.set_body(GLib.Variant("(s)", (rule,)))
        message.set_flags(Gio.DBusMessageFlags.NO_REPLY_EXPECTED)
        bus.send_message(message, Gio.DBusSendMessageFlags.NONE)
    bus.flush_sync(None)
    print("attacked", flush=True)
    while True:
        time.sleep(60)


def main():
    verb, *arguments = sys.argv[1:]
    {"output": output, "connects": connects, "matches": matches}[verb](*arguments)
    return os.EX_OK


if __name__ == "__main__":
    sys.exit(main())
