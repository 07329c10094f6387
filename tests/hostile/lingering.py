#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Passes TCP sockets whose last close waits an hour for a reader that never reads (SO_LINGER).

lingering.py WAY SOCKET N    N times; WAYs:
  perfetto    with a frame to Perfetto's producer socket, more than a frame may have
  line        to the native socket, before a peer speaks D-Bus
  message     to the native socket, more than a message may have
  urgent      to the native socket, out of band, and then goes on
  unread      to the native socket, which the service disconnects before it has read all of it
  bus         over the message bus, which the sender leaves before anybody asks who it was
Says "ready", and passes them when it is told a line, which is the time to stop the service: of a socket that the
service lets go of first this process would have the last. Says "attacked", and stays until it is killed.
"""

import array
import os
import socket
import struct
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "integration"))
import perfetto_ipc  # noqa: E402
import raw_bus  # noqa: E402

LINGER_S = 3600
MORE_THAN_A_MESSAGE_MAY_HAVE = 17
kept = []


def lingering_socket(listener):
    ours = socket.socket()
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    ours.connect(listener.getsockname())
    kept.append(listener.accept()[0])
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, LINGER_S))
    ours.setblocking(False)
    try:
        while True:
            ours.send(bytes(65536))
    except BlockingIOError:
        return ours


def lingering_sockets(n):
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    listener.bind(("127.0.0.1", 0))
    listener.listen(n + 1)
    return [lingering_socket(listener) for _ in range(n)]


def send(peer, data, sockets, flags=0):
    fds = array.array("i", [each.fileno() for each in sockets])
    peer.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)], flags)
    for each in sockets:
        each.close()


def stranger(address):
    peer = socket.socket(socket.AF_UNIX)
    peer.connect(address)
    return peer


# Each gives a connection, and what is sent on it: data, with how many descriptors, flags.


def perfetto(address):
    service = perfetto_ipc.message((1, "ProducerPort"))
    hello = perfetto_ipc.message((perfetto_ipc.REQUEST_ID, 1), (perfetto_ipc.BIND, service))
    return stranger(address), [(perfetto_ipc.frame(hello), 5, 0)]


def line(address):
    data = b"\0AUTH EXTERNAL " + str(os.getuid()).encode().hex().encode() + b"\r\n"
    return stranger(address), [(data, 2, 0)]


def call(n_fds, destination=None):
    body = struct.pack("<I", 0)
    return raw_bus.call("Nothing", destination=destination, signature="h", body=body, n_fds=n_fds)


def message(address):
    return raw_bus.Peer(address).socket, [(call(1), MORE_THAN_A_MESSAGE_MAY_HAVE, 0)]


def urgent(address):
    return raw_bus.Peer(address).socket, [(b"!", 1, socket.MSG_OOB), (call(0), 0, 0)]


def unread(address):
    return stranger(address), [(b"no D-Bus at all\r\n" * 1000, 0, 0), (b"more", 2, 0)]


def bus(address):
    return raw_bus.Peer(address, True).socket, [(call(1, "org.desktrace.Tracing1"), 1, 0)]


def main(way, address, n):
    attacks = [globals()[way](address) for _ in range(n)]
    ready = [[lingering_sockets(n_fds) for _, n_fds, _ in parts] for _, parts in attacks]
    print("ready", flush=True)
    sys.stdin.readline()
    for (peer, parts), sockets in zip(attacks, ready):
        for (data, _, flags), passed in zip(parts, sockets):
            send(peer, data, passed, flags)
        if way == "bus":
            time.sleep(0.2)  # for the bus to pass it on
            peer.close()
    time.sleep(0.2)
    print("attacked", flush=True)
    time.sleep(600)


main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
