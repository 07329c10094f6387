#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Floods of one user on the message bus or the native socket, by connections that read nothing.

flood.py matches bus|native SOCKET N RULES   N connections, each with RULES match rules for the service's signals
flood.py listeners bus|native SOCKET N       N connections that the service sends signals to, and sessions that come and
                                             go all the time, so that it has some to send
flood.py calls bus|native SOCKET N           N connections that ask for a list, as fast as they are taken
flood.py long-calls bus|native SOCKET N      the same, and the list is long
flood.py strangers bus SOCKET N CALLS        N connections that the service does not know, each with CALLS calls at
                                             once, and then one with a single call; their replies are counted:
                                             says "refused N displaced N answered N late answered" (or refused); those
                                             are displaced whose user has others that wait
flood.py stranger bus SOCKET CALLS           one connection that the service does not know, with CALLS calls that want
                                             no reply, and then one that does: says what it was told
All say "attacked" when the connections are there, and go on until they are killed.
"""

import select
import struct
import sys
import time

import raw_bus

DBUS, DBUS_PATH = "org.freedesktop.DBus", "/org/freedesktop/DBus"
SERVICE = "org.desktrace.Tracing1"
CONFIG = "buffers { size_kb: 16 } data_sources { config { name: 'org.example.flood' } }"
PAUSE_S = 0.02


def destination(transport):
    return SERVICE if transport == "bus" else None


def options(**texts):
    """a{sv} of texts."""
    entries = b""
    for key, value in texts.items():
        entries = raw_bus.align(entries, 8) + raw_bus.string(key.replace("_", "-")) + b"\1s\0"
        entries = raw_bus.align(entries, 4) + raw_bus.string(value)
    return raw_bus.align(struct.pack("<I", len(entries)), 8) + entries


def listener(transport, path):
    """The service sends its signals to those who have called it as consumers."""
    peer = raw_bus.Peer(path, transport == "bus")
    peer.socket.sendall(raw_bus.call("ListSources", destination=destination(transport)))
    return peer


def matches(transport, path, n, n_rules):
    peers = [listener(transport, path) for _ in range(n)]

    def rules():
        for i in range(n_rules):
            rule = f"type='signal',sender='{SERVICE}',interface='{SERVICE}.Session',arg0='{i}'"
            yield raw_bus.call("AddMatch", DBUS_PATH, DBUS, DBUS, "s", raw_bus.string(rule))

    raw_bus.send_until_stalled(peers, rules)
    print("attacked", flush=True)
    time.sleep(600)


def listeners(transport, path, n):
    peers = [listener(transport, path) for _ in range(n)]
    start = raw_bus.call(
        "StartSession", destination=destination(transport), signature="a{sv}", body=options(config_text=CONFIG)
    )
    print("attacked", flush=True)
    while True:
        try:
            peer = raw_bus.Peer(path, transport == "bus")
            peer.socket.sendall(start)
            peer.socket.recv(1 << 16)
            time.sleep(PAUSE_S)
            peer.socket.close()  # and its session ends
        except OSError:
            time.sleep(PAUSE_S)
    del peers


def long_calls(transport, path, n):
    """With long sources of its own to be listed."""
    long = raw_bus.Peer(path, transport == "bus")
    long.socket.sendall(
        raw_bus.call(
            "RegisterProducer",
            destination=destination(transport),
            signature="sa(sa{sv})a{sv}",
            body=raw_bus.long_producer(),
        )
    )
    long.socket.recv(4096)
    calls(transport, path, n)


def calls(transport, path, n):
    peers = [raw_bus.Peer(path, transport == "bus") for _ in range(n)]
    # The bus lets a connection have one call of a number out: as many as it lets it have at all.
    batch = raw_bus.numbered(raw_bus.call("ListSources", destination=destination(transport)), 120)
    print("attacked", flush=True)
    waiting = {peer.socket.fileno(): [peer.socket, b""] for peer in peers}
    poll = select.poll()
    for fd, (sock, _) in waiting.items():
        sock.setblocking(False)
        poll.register(fd, select.POLLIN | select.POLLOUT)
    while waiting:
        for fd, events in poll.poll():
            sock, rest = waiting[fd]
            try:
                if events & select.POLLIN and not sock.recv(1 << 20):
                    raise ConnectionError
                if events & select.POLLOUT:
                    rest = rest or batch
                    waiting[fd][1] = rest[sock.send(rest) :]
            except BlockingIOError:
                pass
            except OSError:
                poll.unregister(fd)
                del waiting[fd]
    print("disconnected", flush=True)
    time.sleep(600)


def passed_on(peer):
    """Waits until the message bus has passed on what this connection said; the service has answered nothing yet."""
    question = raw_bus.call("GetId", DBUS_PATH, DBUS, DBUS)
    peer.socket.sendall(question[:8] + struct.pack("<I", 1 << 20) + question[12:])
    data = b""
    while raw_bus.count_messages(data, (2, 3)) == 0 and peer.socket in select.select([peer.socket], [], [], 60)[0]:
        data += peer.socket.recv(1 << 20)


def strangers(transport, path, n, n_calls):
    peers = [raw_bus.Peer(path, transport == "bus") for _ in range(n)]
    call = raw_bus.call("ListPresets", destination=destination(transport))
    for peer in peers:
        peer.socket.sendall(raw_bus.numbered(call, n_calls))
    for peer in peers:
        passed_on(peer)
    late = raw_bus.Peer(path, transport == "bus")
    late.socket.sendall(call)
    passed_on(late)
    print("attacked", flush=True)
    n_refused = n_displaced = n_answered = 0
    for peer in peers:
        data = b""
        while peer.socket in select.select([peer.socket], [], [], 5)[0]:
            data += peer.socket.recv(1 << 20)
            n_here = data.count(b"calls of new connections wait")
            # Either way there is a reply to each; lists of presets are empty here, and short.
            if raw_bus.count_messages(data, (2, 3)) >= n_calls:
                break
        n_refused += n_here
        n_displaced += data.count(b"too many calls of this user wait")
        n_answered += raw_bus.count_messages(data, (2,))
    data = b""
    while raw_bus.count_messages(data, (2, 3)) == 0 and late.socket in select.select([late.socket], [], [], 60)[0]:
        data += late.socket.recv(1 << 20)
    how = "answered" if raw_bus.count_messages(data, (2,)) else "refused"
    print("refused", n_refused, "displaced", n_displaced, "answered", n_answered, "late", how, flush=True)
    time.sleep(600)


def stranger(transport, path, n_calls):
    peer = raw_bus.Peer(path, transport == "bus")
    call = raw_bus.call("ListPresets", destination=destination(transport))
    wants_no_reply = call[:2] + b"\1" + call[3:]
    peer.socket.sendall(raw_bus.numbered(wants_no_reply, n_calls) + call)
    passed_on(peer)
    print("attacked", flush=True)
    data = b""
    while raw_bus.count_messages(data, (2, 3)) == 0 and peer.socket in select.select([peer.socket], [], [], 60)[0]:
        data += peer.socket.recv(1 << 20)
    refused = b"this connection has 128 unanswered calls" in data
    print("refused" if refused else "answered" if raw_bus.count_messages(data, (2,)) else data, flush=True)
    time.sleep(600)


if __name__ == "__main__":
    verbs = {
        "matches": matches,
        "listeners": listeners,
        "calls": calls,
        "long-calls": long_calls,
        "strangers": strangers,
        "stranger": stranger,
    }
    sys.exit(verbs[sys.argv[1]](*sys.argv[2:4], *map(int, sys.argv[4:])))
