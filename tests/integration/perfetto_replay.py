#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Replays what a program of Perfetto's said to its own service, and compares what ours answers.

A conversation is a text file, a line a frame, in the order in which they went over the socket: "> HEX" of the client,
"> HEX +fd" with a descriptor, and "< SUMMARY" of the service. What must be equal is in the summary: who is answered, in
which order, whether with success, whether more follows, and which fields the answer has; not numbers, times or sizes.

Usage: perfetto_replay.py run ADDRESS FILE [WHAT-TO-DO-IN-BETWEEN…]    a command, run before the service's last answer
       perfetto_replay.py summarize RECORDING                          makes a conversation of a recorded one
"""

import array
import json
import os
import socket
import subprocess
import sys
import tempfile

import perfetto_ipc as ipc

READ_BUFFERS = 3
SLICES, SLICE_DATA, SLICE_IS_LAST = 2, 1, 2
SEQUENCE_ID = 10
SYNCHRONIZATION_MARKER = "36"


def is_message(data):
    """Whether these bytes are fields and not a text: of bytes alone nobody can tell for sure."""
    if all(byte >= 0x20 for byte in data):
        return False
    try:
        return all(0 < number < 1000 for number, _ in ipc.fields(data))
    except (IndexError, ValueError):
        return False


def field_set(data, depth):
    """Fields as "1{2 3}", each once, so that it says what there is and not how much."""
    found = {}
    for number, value in ipc.fields(data):
        inner = found.setdefault(number, set())
        if isinstance(value, bytes) and depth > 1 and is_message(value):
            inner.update(field_set(value, depth - 1).split())
    return " ".join(
        f"{number}{{{','.join(sorted(inner))}}}" if inner else str(number)
        for number, inner in sorted(found.items())
    )


def packet_fields(slices):
    """Which kinds of packets the service has put into a trace of its own."""
    kinds, packet = set(), b""
    for piece in slices:
        packet += ipc.get(piece, SLICE_DATA, b"")
        if ipc.get(piece, SLICE_IS_LAST):
            if ipc.get(packet, SEQUENCE_ID) == 1:
                kinds.update(field for field, _ in ipc.fields(packet))
            packet = b""
    return kinds


class Summary:
    """Turns the service's frames into summaries; knows what was asked."""

    def __init__(self):
        self.methods = {}
        self.slices = []

    def note_request(self, frame):
        invoke = ipc.get(frame, ipc.INVOKE)
        if invoke is not None:
            self.methods[ipc.get(frame, ipc.REQUEST_ID)] = ipc.get(invoke, 2)

    def of_reply(self, request, reply):
        """None: more of the same follows."""
        message = ipc.get(reply, 3)
        more = int(bool(ipc.get(reply, 2)))
        if self.methods.get(request) == READ_BUFFERS:
            self.slices += [value for number, value in ipc.fields(message) if number == SLICES]
            if more:
                return None
            kinds = " ".join(str(kind) for kind in sorted(packet_fields(self.slices)))
            return f"{request} reads packets {kinds}"
        text = f"{request} success={int(bool(ipc.get(reply, 1)))} more={more}"
        return text if message is None else f"{text} message {field_set(message, 2)}".rstrip()

    def of_frame(self, frame):
        request = ipc.get(frame, ipc.REQUEST_ID)
        bound = ipc.get(frame, ipc.BIND_REPLY)
        if bound is not None:
            names = [ipc.get(value, 2).decode() for number, value in ipc.fields(bound) if number == 3]
            return f"{request} bound {' '.join(names)}"
        return self.of_reply(request, ipc.get(frame, ipc.INVOKE_REPLY))


def summarize(path):
    """Of a recording: JSON lines with what was read on either side, which may be parts of frames."""
    summary, received = Summary(), {"client": b"", "service": b""}
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            entry = json.loads(line)
            side = entry["from"]
            frames, received[side] = ipc.unframe(received[side] + bytes.fromhex(entry["hex"]))
            for frame in frames:
                if side == "client":
                    summary.note_request(frame)
                    print(f"> {frame.hex()}{' +fd' if entry['fds'] else ''}")
                else:
                    text = summary.of_frame(frame)
                    if text:
                        print(f"< {text}")


class Peer:
    def __init__(self, address):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(20)
        self.socket.connect(address)
        self.received = b""
        self.frames = []
        self.file = tempfile.TemporaryFile()

    def send(self, frame, with_fd):
        rights = []
        if with_fd:
            fds = array.array("i", [self.file.fileno()])
            rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)]
        self.socket.sendmsg([ipc.frame(frame)], rights)

    def next(self, summary):
        """The summary of the next answer."""
        while True:
            while self.frames:
                text = summary.of_frame(self.frames.pop(0))
                if text:
                    return text
            data = self.socket.recv(1 << 16)
            if not data:
                raise ConnectionResetError("disconnected")
            self.frames, self.received = ipc.unframe(self.received + data)


def is_equal(wanted, found):
    """Of a trace: all that it had, and maybe more; but synchronization markers are only for files."""
    if " reads packets " not in wanted:
        return wanted == found
    begin, kinds = wanted.split(" packets ")
    kinds = set(kinds.split()) - {SYNCHRONIZATION_MARKER}
    return found.startswith(begin) and kinds <= set(found.split(" packets ")[1].split())


def run(address, path, command):
    with open(path, encoding="utf-8") as lines:
        conversation = [line.rstrip("\n") for line in lines if line[0] in "<>"]
    peer, summary, n_wrong = Peer(address), Summary(), 0
    for i, line in enumerate(conversation):
        if line[0] == ">":
            frame = bytes.fromhex(line.split()[1])
            summary.note_request(frame)
            peer.send(frame, line.endswith(" +fd"))
            if command and " success" in conversation[i + 1] and i + 1 < len(conversation):
                subprocess.run(command, check=True, timeout=20)
                command = None
            continue
        found = peer.next(summary)
        if not is_equal(line[2:], found):
            print(f"wanted: {line[2:]}\n found: {found}")
            n_wrong += 1
    return os.EX_OK if n_wrong == 0 else 1


def main():
    verb, *arguments = sys.argv[1:]
    if verb == "summarize":
        summarize(*arguments)
        return os.EX_OK
    assert verb == "run", verb
    return run(arguments[0], arguments[1], arguments[2:])


if __name__ == "__main__":
    sys.exit(main())
