#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Calls every method of every object of the service with arguments of the right types and any value.

method-fuzzer.py ADDRESS SEED: prints how many calls it made, and each that was not answered, which is a failure.
Whatever is answered is fine, refusals above all. What it calls it learns by introspection.
"""

import random
import sys

from gi.repository import Gio, GLib

BUS = "org.desktrace.Tracing1"
ROOT = "/org/desktrace/Tracing1"
MANAGER = f"{BUS}.Manager"
SOURCE = "org.example.fuzzed"
CALLS = 25  # of each method of each object
PLAIN_CALLS = 2  # of those without arguments
TIMEOUT_MS = 20000
NO_REPLY = (Gio.DBusError.NO_REPLY, Gio.DBusError.TIMEOUT, Gio.DBusError.TIMED_OUT, Gio.DBusError.DISCONNECTED)
NO_PEER = (Gio.IOErrorEnum.TIMED_OUT, Gio.IOErrorEnum.CLOSED)

INTEGERS = {"y": 8, "q": 16, "u": 32, "t": 64, "n": 15, "i": 31, "x": 63, "h": 0}
TEXTS = (
    "", "0", "1", "18446744073709551616", "-1", "%s%n%x", "a" * 70000, "\n<0>FORGED", "\u202e\u0001\u20ac",
    SOURCE, "linux.ftrace", "track_event", "buffers { size_kb: 4294967295 }", "buffers { size_kb: 64 } " * 2000,
    "../../../etc/shadow", ROOT, MANAGER,
)  # fmt: skip
KEYS = (
    "preset", "config-text", "config", "sources", "events", "categories", "buffer-size-kb", "fill-policy",
    "duration-ms", "name", "output", "detach", "partial", "snapshot-before-ms", "broadcast", "scope", "before-ms",
    "skip-filter", "start", "producer", "descriptor", "no-flush", "packet-fields", "unavailable", "shared-memory-kb",
    "page-kb", "pid-namespace", "pid-proof",
)  # fmt: skip
VARIANTS = ("s", "u", "b", "ay", "as", "h", "t", "d", "a{sv}", "(su)", "v", "au")


def text(chance):
    return chance.choice(TEXTS) if chance.random() < 0.8 else "".join(chance.choices("ab.{}:\"' \n", k=40))


def integer(chance, bits):
    if bits == 0:  # a descriptor: the one that is passed, or one that is not there
        return chance.choice((0, 0, 0, 7))
    return chance.choice((0, 1, chance.getrandbits(bits), (1 << bits) - 1))


def types(signature):
    """The complete types of a signature, one after the other."""
    at = 0
    while at < len(signature):
        end = at
        while signature[end] == "a":
            end += 1
        if signature[end] in "({":
            depth = 0
            while True:
                depth += {"(": 1, "{": 1, ")": -1, "}": -1}.get(signature[end], 0)
                end += 1
                if depth == 0:
                    break
        else:
            end += 1
        yield signature[at:end]
        at = end


def value(chance, kind, depth=0):
    """A variant of one complete type."""
    if kind == "v":
        inner = chance.choice(VARIANTS if depth < 3 else VARIANTS[:3])
        return GLib.Variant.new_variant(value(chance, inner, depth + 1))
    if kind[0] == "(":
        return GLib.Variant.new_tuple(*(value(chance, part, depth + 1) for part in types(kind[1:-1])))
    if kind[0] == "{":
        key, inner = types(kind[1:-1])
        name = GLib.Variant("s", chance.choice(KEYS)) if key == "s" else value(chance, key, depth + 1)
        return GLib.Variant.new_dict_entry(name, value(chance, inner, depth + 1))
    if kind[0] == "a":
        n = chance.choice((0, 1, 2, 5) if depth > 1 else (0, 1, 2, 5, 200))
        elements = [value(chance, kind[1:], depth + 1) for _ in range(n)]
        return GLib.Variant.new_array(GLib.VariantType(kind[1:]), elements)
    if kind in INTEGERS:
        return GLib.Variant(kind, integer(chance, INTEGERS[kind]))
    plain = {"b": chance.random() < 0.5, "d": chance.choice((0.0, float("inf"), float("nan"))), "o": ROOT, "g": "ay"}
    return GLib.Variant(kind, plain[kind] if kind in plain else text(chance))


class Fuzzer:
    def __init__(self, address, seed):
        flags = Gio.DBusConnectionFlags.AUTHENTICATION_CLIENT | Gio.DBusConnectionFlags.MESSAGE_BUS_CONNECTION
        self.bus = Gio.DBusConnection.new_for_address_sync(address, flags, None, None)
        self.bus.set_exit_on_close(False)
        self.chance = random.Random(seed)
        self.n_calls = 0
        self.unanswered = []

    def call(self, path, interface, member, arguments):
        fds = Gio.UnixFDList.new()
        with open("/dev/null", "wb") as file:
            fds.append(file.fileno())
        self.n_calls += 1
        try:
            reply, _ = self.bus.call_with_unix_fd_list_sync(
                BUS, path, interface, member, arguments, None, Gio.DBusCallFlags.NONE, TIMEOUT_MS, fds, None
            )
            return reply
        except GLib.Error as error:
            if any(error.matches(Gio.dbus_error_quark(), code) for code in NO_REPLY) or any(
                error.matches(Gio.io_error_quark(), code) for code in NO_PEER
            ):
                self.unanswered.append(f"{path} {interface}.{member}: {error.message}")
            return None

    def session(self):
        """One of our own, which the calls may stop and free."""
        options = {"sources": GLib.Variant("as", [SOURCE]), "duration-ms": GLib.Variant("u", 60000)}
        self.call(ROOT, MANAGER, "StartSession", GLib.Variant("(a{sv})", (options,)))

    def node(self, path):
        reply = self.call(path, "org.freedesktop.DBus.Introspectable", "Introspect", None)
        return Gio.DBusNodeInfo.new_for_xml(reply.unpack()[0]) if reply else None

    def fuzz(self, path, interface, method):
        kinds = "".join(argument.signature for argument in method.in_args)
        for _ in range(CALLS if kinds else PLAIN_CALLS):
            arguments = value(self.chance, f"({kinds})") if kinds else None
            self.call(path, interface.name, method.name, arguments)

    def walk(self, path="/"):
        node = self.node(path)
        if not node:
            return
        for interface in node.interfaces:
            for method in interface.methods:
                self.fuzz(path, interface, method)
                if path.startswith(f"{ROOT}/session/") and not self.node(path):
                    return
        for child in node.nodes:
            self.walk(f"{path.rstrip('/')}/{child.path}")


def main():
    fuzzer = Fuzzer(sys.argv[1], int(sys.argv[2]))
    fuzzer.session()
    fuzzer.walk()
    print(f"{fuzzer.n_calls} calls")
    print(*fuzzer.unanswered, sep="\n")
    return bool(fuzzer.unanswered)


if __name__ == "__main__":
    sys.exit(main())
