#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What signals leave out: each listener is sent its own, so long lists would be made again and again.

left-out.py SOCKET     on the native socket; one line for each kind of list: whether it is in the signals about an
                       object that has as many as a signal may have, and about one with more
"""

import re
import struct
import sys

import raw_bus

INSTANCES_MAX, NOTES_MAX, CATEGORIES_BYTES_MAX = 128, 64, 16 << 10  # SIGNAL_*_MAX, SOURCE_SIGNAL_*_MAX
CATEGORY_BYTES = 16  # with its NUL
NOTES_OF_ONE = 32  # INSTANCE_NOTES_MAX
TIMEOUT_S = 60
METHOD_CALL, METHOD_RETURN, ERROR, SIGNAL = 1, 2, 3, 4


class Peer:
    def __init__(self, path):
        self.socket = raw_bus.Peer(path).socket
        self.socket.settimeout(TIMEOUT_S)
        self.received = b""

    def call(self, *arguments):
        self.socket.sendall(raw_bus.call(*arguments))
        return self.until(lambda message: message[1] in (METHOD_RETURN, ERROR))

    def until(self, is_it):
        """The next message that is wanted; those before it are passed over."""
        while True:
            while len(self.received) >= 16:
                n_body, _, n_fields = struct.unpack_from("<III", self.received, 4)
                n = 16 + n_fields + -n_fields % 8 + n_body
                if len(self.received) < n:
                    break
                message, self.received = self.received[:n], self.received[n:]
                if is_it(message):
                    return message
            data = self.socket.recv(1 << 16)
            if not data:
                sys.exit("disconnected")
            self.received += data

    def signal(self, *texts):
        return self.until(lambda message: message[1] == SIGNAL and all(text in message for text in texts))


def array(elements, n=4):
    """Elements each begin at a multiple of `n`."""
    data = b""
    for each in elements:
        data = raw_bus.align(data, n) + each
    return data


def as_of(texts):
    data = array(map(raw_bus.string, texts))
    return struct.pack("<I", len(data)) + data


def has(message, name):
    """Whether it has the array; the names of what is left out are not followed by a signature."""
    return "in" if re.search(name + rb"\0.a", message, re.DOTALL) else "left out"


def registered(name, n_categories):
    option = raw_bus.align(raw_bus.string("categories") + b"\2as\0", 4)
    option += as_of(f"{i:0{CATEGORY_BYTES - 1}}" for i in range(n_categories))
    source = raw_bus.align(raw_bus.string(name), 4) + struct.pack("<I", len(option))
    source = raw_bus.align(source, 8) + option
    body = raw_bus.align(raw_bus.align(raw_bus.string(name), 4) + struct.pack("<I", len(source)), 8) + source
    return raw_bus.align(raw_bus.align(body, 4) + struct.pack("<I", 0), 8)


def register(path, name, n_categories):
    program = Peer(path)
    arguments = ("sa(sa{sv})a{sv}", registered(name, n_categories))
    program.call("RegisterProducer", raw_bus.ROOT, raw_bus.MANAGER, None, *arguments)
    return program


def start(listener, name, n):
    """A session with this number of instances; what a signal says of it."""
    config = f"buffers {{ size_kb: 64 }} {n * f'data_sources {{ config {{ name: {name!r} }} }}'}"
    text = raw_bus.align(raw_bus.string("config-text") + b"\1s\0", 4) + raw_bus.string(config)
    body = raw_bus.align(struct.pack("<I", len(text)), 8) + text
    listener.socket.sendall(raw_bus.call("StartSession", signature="a{sv}", body=body))
    return listener.signal(b"InterfacesAdded", b"Tracing1.Session")


def instances_of(program, n):
    """Their numbers, as the program is told them."""
    for _ in range(n):
        message = program.until(lambda each: each[1] == METHOD_CALL and b"SetupDataSource" in each)
        (n_fields,) = struct.unpack_from("<I", message, 12)
        yield struct.unpack_from("<Q", message, 16 + n_fields + -n_fields % 8)[0]


def categories(path, listener):
    for n in (CATEGORIES_BYTES_MAX // CATEGORY_BYTES, CATEGORIES_BYTES_MAX // CATEGORY_BYTES + 1):
        name = f"org.example.s{n}"
        program = register(path, name, n)
        yield has(listener.signal(b"InterfacesAdded", f"org_2eexample_2es{n}".encode()), b"Categories")
        program.socket.close()


def instances(path, listener):
    program = register(path, "org.example.list", 1)
    for n in (INSTANCES_MAX, INSTANCES_MAX + 1):
        yield has(start(listener, "org.example.list", n), b"Sources")
    program.socket.close()


def notes(path, listener):
    program = register(path, "org.example.notes", 1)
    start(listener, "org.example.notes", NOTES_MAX // NOTES_OF_ONE + 1)
    numbers = list(instances_of(program, NOTES_MAX // NOTES_OF_ONE + 1))
    for i, number in enumerate(numbers):
        n = NOTES_OF_ONE if i < NOTES_MAX // NOTES_OF_ONE else 1
        body = struct.pack("<Q", number) + as_of(f"note {i} {j}" for j in range(n))
        program.call("AddNotes", raw_bus.ROOT, raw_bus.MANAGER, None, "tas", body)
        seen = listener.signal(b"PropertiesChanged", b"Notes")
        if i >= NOTES_MAX // NOTES_OF_ONE - 1:
            yield has(seen, b"Notes")


def main(path):
    listener = Peer(path)
    listener.call("ListSources")
    for kind in (categories, instances, notes):
        print(f"{kind.__name__}:", ", ".join(kind(path, listener)), flush=True)


main(sys.argv[1])
