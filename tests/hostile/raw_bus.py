#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""D-Bus of bare bytes, on a message bus or the native socket, for peers that misbehave.

raw_bus.py hello SOCKET               connects, and calls something; fails when there is no reply
raw_bus.py unfinished SOCKET N MIB    N connections, each with a message of MIB MiB that lacks its last byte
raw_bus.py unread SOCKET N CALLS      N connections, each with calls whose replies are long, and reads none
raw_bus.py register SOCKET            on a message bus: a producer with very many categories, until it is killed
Those of many connections say "attacked" when no more is taken from them, and stay until they are killed.
"""

import array
import os
import select
import socket
import struct
import sys
import time

ROOT, MANAGER = "/org/desktrace/Tracing1", "org.desktrace.Tracing1.Manager"
PATH, INTERFACE, MEMBER, REPLY_SERIAL, DESTINATION, SENDER, SIGNATURE, UNIX_FDS = 1, 2, 3, 5, 6, 7, 8, 9
STALLED_S = 2


def align(data, n):
    return data + bytes(-len(data) % n)


def string(text):
    data = text.encode()
    return struct.pack("<I", len(data)) + data + b"\0"


def call(member, path=ROOT, interface=MANAGER, destination=None, signature="", body=b"", n_fds=0, n_body=None):
    values = [(PATH, b"o", string(path)), (INTERFACE, b"s", string(interface)), (MEMBER, b"s", string(member))]
    if destination:
        values.append((DESTINATION, b"s", string(destination)))
    if signature:
        values.append((SIGNATURE, b"g", bytes([len(signature)]) + signature.encode() + b"\0"))
    if n_fds:
        values.append((UNIX_FDS, b"u", struct.pack("<I", n_fds)))
    return message(1, 0, len(body) if n_body is None else n_body, values) + body


def message(kind, flags, n_body, values):
    fields = b""
    for code, signature, value in values:
        fields = align(fields, 8) + bytes([code, 1]) + signature + b"\0" + value
    return align(struct.pack("<BBBBIII", ord("l"), kind, flags, 1, n_body, 1, len(fields)) + fields, 8)


def sender_of(call_bytes):
    """Of a call that the message bus has passed on, whose fields are strings but for one signature and two numbers."""
    (n_fields,) = struct.unpack_from("<I", call_bytes, 12)
    at = 16
    while at < 16 + n_fields:
        at += -at % 8
        code, kind = call_bytes[at], call_bytes[at + 2]
        at += 4
        if kind == ord("g"):
            n = 1 + call_bytes[at] + 1
        elif kind == ord("u"):
            n = 4
        else:
            n = 4 + struct.unpack_from("<I", call_bytes, at)[0] + 1
        if code == SENDER:
            return call_bytes[at + 4 : at + n - 1].decode()
        at += n
    return ""


def numbered(call_bytes, n):
    """The call `n` times, with serial numbers of their own."""
    return b"".join(call_bytes[:8] + struct.pack("<I", 1 + i) + call_bytes[12:] for i in range(n))


def count_messages(data, kinds):
    """Of the complete ones."""
    n = 0
    while len(data) >= 16:
        n_body, _, n_fields = struct.unpack_from("<III", data, 4)
        n_message = 16 + n_fields + -n_fields % 8 + n_body
        if len(data) < n_message:
            break
        n += data[1] in kinds
        data = data[n_message:]
    return n


def reply(call_bytes):
    """An empty one, over the message bus."""
    (serial,) = struct.unpack_from("<I", call_bytes, 8)
    values = [(REPLY_SERIAL, b"u", struct.pack("<I", serial)), (DESTINATION, b"s", string(sender_of(call_bytes)))]
    return message(2, 1, 0, values)


class Peer:
    def __init__(self, path, is_bus=False):
        self.is_bus = is_bus
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.socket.settimeout(20)
        self.socket.sendall(b"\0AUTH EXTERNAL " + str(os.getuid()).encode().hex().encode() + b"\r\n")
        self.socket.recv(256)
        self.socket.sendall(b"NEGOTIATE_UNIX_FD\r\n")
        self.socket.recv(256)
        self.socket.sendall(b"BEGIN\r\n")
        if is_bus:
            bus = "org.freedesktop.DBus"
            self.socket.sendall(call("Hello", "/org/freedesktop/DBus", bus, bus))
            self.socket.recv(4096)

    def pass_fd(self, fd):
        """In a call that nobody serves."""
        destination = "org.desktrace.Tracing1" if self.is_bus else None
        data = call("Nothing", destination=destination, signature="h", body=struct.pack("<I", 0), n_fds=1)
        self.socket.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))])

    def read_error(self):
        """Until a call is refused; on a bus, signals may come before that."""
        seen = b""
        while b".Error." not in seen:
            data = self.socket.recv(4096)
            if not data:
                return
            seen += data


def send_until_stalled(peers, chunks):
    """To all of them at once, what chunks() gives, until nothing is taken for a while."""
    rest = {peer.socket: [chunks(), b""] for peer in peers}
    for peer in peers:
        peer.socket.setblocking(False)
    while rest:
        ready = select.select([], list(rest), [], STALLED_S)[1]
        if not ready:
            return
        for each in ready:
            source, left = rest[each]
            left = left or next(source, b"")
            try:
                rest[each][1] = left[each.send(left) :] if left else b""
            except BlockingIOError:
                rest[each][1] = left
            except OSError:
                left = b""  # disconnected
            if not left:
                del rest[each]


def attack(peers, chunks):
    send_until_stalled(peers, chunks)
    print("attacked", flush=True)
    time.sleep(600)


def hello(path):
    peer = Peer(path)
    peer.socket.sendall(call("Introspect", interface="org.freedesktop.DBus.Introspectable"))
    return 0 if peer.socket.recv(16) else 1


def unfinished(path, n, mib):
    def chunks():
        yield call("Nothing", signature="ay", n_body=mib << 20)
        for _ in range(mib - 1):
            yield bytes(1 << 20)

    attack([Peer(path) for _ in range(n)], chunks)


def source(name):
    """Of RegisterProducer(), as long as a source may be."""
    categories = b""
    for i in range(1500):
        categories = align(categories, 4) + string(f"{name}-{i:04}-" + "x" * 130)
    # From a multiple of 8: the key, the signature, and the array's length on a multiple of 4.
    option = align(string("categories") + b"\2as\0", 4) + struct.pack("<I", len(categories)) + categories
    head = align(string(name), 4)
    return align(head + struct.pack("<I", len(option)), 8) + option


def long_producer():
    """Arguments of RegisterProducer(): all its sources are in each reply of ListSources()."""
    sources = b""
    for i in range(4):
        sources = align(sources, 8) + source(f"org.example.long{i}")
    body = align(align(string("long"), 4) + struct.pack("<I", len(sources)), 8) + sources
    return align(align(body, 4) + struct.pack("<I", 0), 8)


def unread(path, n, n_calls):
    producer = Peer(path)
    producer.socket.sendall(call("RegisterProducer", signature="sa(sa{sv})a{sv}", body=long_producer()))
    producer.socket.recv(4096)

    def chunks():
        for _ in range(n_calls):
            yield call("ListSources")

    attack([Peer(path) for _ in range(n)], chunks)


def register(path):
    producer = Peer(path, True)
    arguments = {"destination": "org.desktrace.Tracing1", "signature": "sa(sa{sv})a{sv}", "body": long_producer()}
    producer.socket.sendall(call("RegisterProducer", **arguments))
    time.sleep(600)


if __name__ == "__main__":
    verbs = {"register": register, "hello": hello, "unfinished": unfinished, "unread": unread}
    sys.exit(verbs[sys.argv[1]](sys.argv[2], *map(int, sys.argv[3:])))
