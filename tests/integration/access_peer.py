#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A user of the service, for access_matrix.py: does what it is told on its stdin, a JSON document a line, and answers
likewise. It is started as that user; its connections have names, and stay until it ends."""

import json
import os
import sys

import gi
import perfetto_ipc as ipc

gi.require_version("Gio", "2.0")
from gi.repository import Gio, GLib  # noqa: E402

BUS = "org.desktrace.Tracing1"
TIMEOUT_MS = 20000


class Peer:
    def __init__(self):
        self.connections = {}
        self.signals = {}
        self.ports = {}
        self.requests = {}

    def connect(self, name, address, is_bus):
        flags = Gio.DBusConnectionFlags.AUTHENTICATION_CLIENT
        if is_bus:
            flags |= Gio.DBusConnectionFlags.MESSAGE_BUS_CONNECTION
        self.disconnect(name)
        connection = Gio.DBusConnection.new_for_address_sync(address, flags, None, None)
        connection.set_exit_on_close(False)
        heard = self.signals[name] = []
        connection.signal_subscribe(
            None, None, None, None, None, Gio.DBusSignalFlags.NONE,
            lambda _c, _sender, path, interface, member, args: heard.append(
                (path, interface, member, args.print_(False))
            ),
        )  # fmt: skip
        self.connections[name] = connection

    def disconnect(self, name):
        if name in self.connections:
            self.connections.pop(name).close_sync(None)

    def call(self, name, path, interface, member, kind=None, arguments=None, fd=False, to=BUS):
        connection = self.connections[name]
        is_bus = bool(connection.get_flags() & Gio.DBusConnectionFlags.MESSAGE_BUS_CONNECTION)
        fds = Gio.UnixFDList.new()
        if fd:
            memfd = os.memfd_create("access")
            fds.append(memfd)
            os.close(memfd)
        arguments = GLib.Variant.parse(GLib.VariantType(kind), arguments) if kind else None
        try:
            reply, _ = connection.call_with_unix_fd_list_sync(
                to if is_bus else None, path, interface, member, arguments,
                None, Gio.DBusCallFlags.NONE, TIMEOUT_MS, fds, None,
            )  # fmt: skip
        except GLib.Error as error:
            return {"error": Gio.DBusError.get_remote_error(error) or str(error), "text": str(error)}
        return {"reply": reply.print_(False) if reply else ""}

    def unique_name(self, name):
        return self.connections[name].get_unique_name()

    def heard(self, name):
        """What has come until now: a round trip is behind all of it."""
        self.call(name, "/", "org.freedesktop.DBus.Peer", "Ping")
        context = GLib.MainContext.default()
        while context.iteration(False):
            pass
        found = list(self.signals[name])
        self.signals[name].clear()
        return found

    def port_connect(self, name, address, service):
        if name in self.ports:
            self.ports.pop(name).close()
        self.ports[name] = ipc.Client(address, service)
        return sorted(self.ports[name].methods)

    def port_ask(self, name, method, arguments="", fd=False):
        memfd = os.memfd_create("access") if fd else None
        success, data = self.ports[name].ask(method, bytes.fromhex(arguments), memfd)
        if fd:
            os.close(memfd)
        return {"success": success, "data": data.hex()}

    def port_send(self, name, method, arguments="", drop_reply=False):
        self.requests[name] = self.ports[name].call(method, bytes.fromhex(arguments), drop_reply=drop_reply)

    def port_reply(self, name):
        """Of the last one that was sent."""
        success, _, data = self.ports[name].reply(self.requests[name])
        return {"success": success, "data": data.hex()}

    def port_close(self, name):
        self.ports.pop(name).close()


def main():
    peer = Peer()
    for line in sys.stdin:
        verb, *arguments = json.loads(line)
        try:
            answer = getattr(peer, verb)(*arguments)
        except (OSError, KeyError, GLib.Error) as error:
            answer = {"error": type(error).__name__, "text": str(error)}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
