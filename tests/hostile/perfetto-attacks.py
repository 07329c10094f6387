#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Peers of Perfetto's sockets that turn against the service.

perfetto-attacks.py deaf PRODUCER-SOCKET SOURCE      a producer that reads nothing, and has much to be answered
perfetto-attacks.py deaf-consumer CONSUMER-SOCKET    a consumer, likewise
perfetto-attacks.py losses PRODUCER-SOCKET SOURCE    a producer that says it has lost more than a counter holds
perfetto-attacks.py writers PRODUCER-SOCKET SOURCE   a producer with as many writers as there are numbers
perfetto-attacks.py buffers PRODUCER-SOCKET NATIVE-SOCKET N
                                                     writes to as many buffers as a user may have, of which N
                                                     connections are told by signals
perfetto-attacks.py flushes NATIVE-SOCKET SESSION N  asks N times on one connection, and does not wait in between;
                                                     says "refused" or "waits"
perfetto-attacks.py triggers PRODUCER-SOCKET N       sends N triggers in one call; says "done"
perfetto-attacks.py unfinished SOCKET N              N connections, each with a frame that never ends
perfetto-attacks.py probe CONSUMER-SOCKET KIND       a consumer that wants kernel events ("ftrace"), or a probe of its
                                                     own ("kprobe", "uprobe"); says the answer
perfetto-attacks.py pretend PRODUCER-SOCKET SOURCE   a producer that offers SOURCE and a source of its own

Producers say "ready" when SOURCE can be recorded. Those that say nothing else say "attacked" when they have done their
worst, and stay until they are killed.
"""

import fcntl
import os
import select
import socket
import struct
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "integration"))
import perfetto_ipc as ipc  # noqa: E402
import raw_bus  # noqa: E402
from perfetto_ipc import get, message  # noqa: E402
from perfetto_wire import varint  # noqa: E402

SETUP_SOURCE, CONFIG, TARGET_BUFFER = 6, 2, 2
CHUNKS, CHUNK_BUFFER, CHUNK_DATA = 1, 3, 4
PREVIOUS_PACKET_DROPPED, TRACE_STATS, SERVICE_EVENT = 42, 35, 69
LOST = (1 << 63) - 1
WRITER = 1
SESSIONS, BUFFERS = 8, 128  # SERVICE_SESSIONS_PER_USER_MAX, SESSION_BUFFERS_MAX
STALLED_S = 2
ENOUGH_BYTES = 64 << 20  # many times what may wait for one peer


def producer(address, source):
    client = ipc.Client(address, "ProducerPort")
    client.ask("InitializeConnection", message((1, 4096), (2, 64 << 10), (3, "hostile")))
    client.ask("RegisterDataSource", message((1, message((1, source)))))
    commands = client.call("GetAsyncCommand")
    print("ready", flush=True)
    return client, commands


def block(client):
    """Reads nothing from now on; if the descriptor's flags were the service's as well, it would wait."""
    fd = client.socket.fileno()
    fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL) & ~os.O_NONBLOCK)
    client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.socket.settimeout(STALLED_S)


def ask_without_reading(client, method):
    """Until no more is taken, or the service has ended the connection."""
    n_sent = 0
    body = message((1, client.service_id), (2, client.methods[method]), (3, b""))
    call = ipc.frame(message((ipc.REQUEST_ID, 1 << 20), (ipc.INVOKE, body)))
    try:
        while n_sent < ENOUGH_BYTES:
            n_sent += client.socket.send(call * 100)
    except OSError:
        pass
    print("attacked", flush=True)
    time.sleep(600)


def deaf(address, source):
    client, _ = producer(address, source)
    block(client)
    ask_without_reading(client, "Sync")


def deaf_consumer(address):
    client = ipc.Client(address, "ConsumerPort")
    block(client)
    ask_without_reading(client, "QueryServiceState")


def chunk(chunk_id, *packets):
    """One that comes in a message rather than in memory."""
    data = struct.pack("<IHH", chunk_id, WRITER, len(packets))
    return data + b"".join(varint(len(packet)) + packet for packet in packets)


def forged():
    """Statistics as the service writes them, of packets that this writer has lost; and that it has lost some."""
    stats = message((16, message((1, WRITER), (2, LOST))), (1, message((19, LOST), (18, LOST), (9, LOST))))
    return [
        message((PREVIOUS_PACKET_DROPPED, True), (TRACE_STATS, stats)),
        message((PREVIOUS_PACKET_DROPPED, True), (SERVICE_EVENT, message((1, LOST)))),
        message((PREVIOUS_PACKET_DROPPED, True)),
    ]


def buffer_of(client, commands):
    """The one to write to, once a session wants the source."""
    client.socket.settimeout(None)
    command = b""
    while get(command, SETUP_SOURCE) is None:
        command = client.reply(commands)[2]
    return get(get(get(command, SETUP_SOURCE), CONFIG), TARGET_BUFFER, 0)


def writers(address, source):
    """A packet each, in a message of a few hundred."""
    client, commands = producer(address, source)
    buffer = buffer_of(client, commands)
    for first in range(1, 1 << 16, 256):
        moves = [
            message((CHUNK_BUFFER, buffer), (CHUNK_DATA, struct.pack("<IHH", 0, writer, 1) + b"\2\x48\1"))
            for writer in range(first, min(first + 256, 1 << 16))
        ]
        client.ask("CommitData", message(*((CHUNKS, move) for move in moves)))
    print("attacked", flush=True)
    time.sleep(600)


def start(native, config):
    """A session of this config, for as long as the connection is there."""
    entry = raw_bus.align(raw_bus.string("config") + b"\2ay\0", 4) + struct.pack("<I", len(config)) + config
    peer = raw_bus.Peer(native)
    body = raw_bus.align(struct.pack("<I", len(entry)), 8) + entry
    peer.socket.sendall(raw_bus.call("StartSession", signature="a{sv}", body=body))
    return peer


def listen(native, n):
    """Connections that are sent signals, and read them."""
    poll = select.poll()
    peers = {}
    for _ in range(n):
        peer = raw_bus.Peer(native)
        peer.socket.sendall(raw_bus.call("ListPresets"))
        peer.socket.setblocking(False)
        peers[peer.socket.fileno()] = peer.socket
        poll.register(peer.socket, select.POLLIN)
    while peers:
        for fd, _ in poll.poll():
            try:
                gone = not peers[fd].recv(1 << 20)
            except OSError as error:
                gone = not isinstance(error, BlockingIOError)
            if gone:
                poll.unregister(fd)
                del peers[fd]


def buffers(address, native, n):
    """Each of eight sessions has as many buffers as a config may name, and one source for each of these."""
    threading.Thread(target=listen, args=(native, int(n)), daemon=True).start()
    client, commands = producer(address, "org.example.buffers")
    client.socket.settimeout(None)
    sources = [message((2, message((1, message((1, "org.example.buffers"), (2, i)))))) for i in range(BUFFERS)]
    config = message((1, message((1, 64)))) * BUFFERS + b"".join(sources)
    sessions = [start(native, config) for _ in range(SESSIONS)]
    found = set()
    while len(found) < BUFFERS * SESSIONS:
        setup = get(client.reply(commands)[2], SETUP_SOURCE)
        if setup is not None:
            found.add(get(get(setup, CONFIG), TARGET_BUFFER, 0))
    print("attacked", flush=True)
    found = list(found)
    while sessions:
        for i in range(0, len(found), 128):
            moves = [message((CHUNK_BUFFER, each), (CHUNK_DATA, chunk(i, b"\x48\1"))) for each in found[i : i + 128]]
            client.ask("CommitData", message(*((CHUNKS, move) for move in moves)))
        time.sleep(0.1)


def flushes(native, session, n):
    peer = raw_bus.Peer(native)
    flush = {"path": session, "interface": "org.desktrace.Tracing1.Session"}
    call = raw_bus.call("Flush", signature="u", body=struct.pack("<I", 60000), **flush)
    peer.socket.sendall(raw_bus.numbered(call, int(n)))
    data = b""
    while peer.socket in select.select([peer.socket], [], [], STALLED_S)[0] and b"unanswered calls" not in data:
        data += peer.socket.recv(1 << 16)
    print("refused" if b"this connection has 64 unanswered calls" in data else "waits", flush=True)


def triggers(address, n):
    client = ipc.Client(address, "ProducerPort")
    client.ask("InitializeConnection", message((3, "triggers"), (4, 1)))
    client.call("ActivateTriggers", message(*((1, f"t{i}") for i in range(int(n)))), drop_reply=True)
    client.ask("Sync")
    print("done", flush=True)


def losses(address, source):
    client, commands = producer(address, source)
    buffer = buffer_of(client, commands)
    for chunk_id in (0, 1 << 30, (1 << 31) - 1, (1 << 32) - 1, 5):
        move = message((CHUNK_BUFFER, buffer), (CHUNK_DATA, chunk(chunk_id, *forged())))
        client.ask("CommitData", message((CHUNKS, move)))
    print("attacked", flush=True)
    time.sleep(600)


def unfinished(address, n):
    """All but the last byte of the longest frame there may be, or as much of it as is taken."""
    data = struct.pack("<I", ipc.FRAME_MAX) + bytes(ipc.FRAME_MAX - 1)
    peers = []
    for _ in range(int(n)):
        try:
            peers.append(socket.socket(socket.AF_UNIX))
            peers[-1].settimeout(STALLED_S)
            peers[-1].connect(address)
            peers[-1].sendall(data)
        except OSError:
            pass  # refused, or no more of it is read: as much as there is stays
    print("attacked", flush=True)
    time.sleep(600)


# Of data_source_config.proto and ftrace_config.proto.
FTRACE_CONFIG = 100
FTRACE_CONFIGS = {
    "ftrace": message((1, "sched/sched_switch")),
    "kprobe": message((30, message((1, "vfs_read"), (2, 1)))),
    "uprobe": message((1900, message((1, "/bin/sh"), (2, "main"), (6, "secret=+0(%di):ustring")))),
}


def probe(address, kind):
    source = message((1, "linux.ftrace"), (FTRACE_CONFIG, FTRACE_CONFIGS[kind]))
    config = message((1, message((1, 256))), (2, message((1, source))), (3, 1000))
    client = ipc.Client(address, "ConsumerPort")
    request = client.call("EnableTracing", message((1, config)))
    client.call("DisableTracing")
    print(get(client.reply(request)[2], 3, b"recorded").decode(), flush=True)


def pretend(address, source):
    client = ipc.Client(address, "ProducerPort")
    client.ask("InitializeConnection", message((1, 4096), (2, 64 << 10), (3, "pretender")))
    for name in source, "org.example.mine":
        client.ask("RegisterDataSource", message((1, message((1, name)))))
    print("attacked", flush=True)
    time.sleep(600)


if __name__ == "__main__":
    verbs = {"deaf": deaf, "deaf-consumer": deaf_consumer, "losses": losses, "writers": writers}
    verbs |= {"flushes": flushes, "triggers": triggers, "buffers": buffers, "unfinished": unfinished}
    verbs |= {"probe": probe, "pretend": pretend}
    sys.exit(verbs[sys.argv[1]](*sys.argv[2:]))
