#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Perfetto's socket protocol, for tests: frames, messages as lists of fields, and a client.

Usage: perfetto_ipc.py bind ADDRESS SERVICE      says the methods that the service offers there
       perfetto_ipc.py trigger ADDRESS NAME      activates a trigger, as a producer
"""

import array
import os
import socket
import struct
import sys

from perfetto_wire import field, message

FRAME_MAX = 128 * 1024
REQUEST_ID, BIND, BIND_REPLY, INVOKE, INVOKE_REPLY, REQUEST_ERROR = range(2, 8)


def read_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data):
    """Pairs of number and value, in order."""
    at = 0
    while at < len(data):
        tag, at = read_varint(data, at)
        if tag & 7 == 0:
            value, at = read_varint(data, at)
        elif tag & 7 == 2:
            size, at = read_varint(data, at)
            value = data[at : at + size]
            at += size
        else:
            size = 8 if tag & 7 == 1 else 4
            value = int.from_bytes(data[at : at + size], "little")
            at += size
        yield tag >> 3, value


def get(data, number, default=None):
    """The last field of that number, as protobuf readers take it."""
    for found, value in fields(data):
        if found == number:
            default = value
    return default


def frame(data):
    return struct.pack("<I", len(data)) + data


def unframe(data):
    """The whole frames at the front, and what is left."""
    found = []
    while len(data) >= 4:
        size = struct.unpack("<I", data[:4])[0]
        if len(data) < 4 + size:
            break
        found.append(data[4 : 4 + size])
        data = data[4 + size :]
    return found, data


class Client:
    """One connection, with the methods of one service."""

    def __init__(self, address, service):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(20)
        self.socket.connect("\0" + address[1:] if address.startswith("@") else address)
        self.received = b""
        self.replies = []
        self.last_id = 0
        self.methods = {}
        self.service_id = None
        request = self.send((BIND, message((1, service))))
        reply = get(self.receive(request), BIND_REPLY)
        if not get(reply, 1):
            raise ConnectionRefusedError(f"{service} is not served there")
        self.service_id = get(reply, 2)
        for number, value in fields(reply):
            if number == 3:
                self.methods[get(value, 2).decode()] = get(value, 1)

    def send(self, body, fd=None):
        self.last_id += 1
        data = frame(message((REQUEST_ID, self.last_id), body))
        rights = []
        if fd is not None:
            rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))]
        sent = self.socket.sendmsg([data], rights)
        self.socket.sendall(data[sent:])
        return self.last_id

    def call(self, method, arguments=b"", fd=None, drop_reply=False):
        """Returns the request's number."""
        body = message(
            (1, self.service_id), (2, self.methods[method]), (3, arguments), (4, drop_reply)
        )
        return self.send((INVOKE, body), fd)

    def receive(self, request):
        """The next frame that answers the request."""
        while True:
            for i, reply in enumerate(self.replies):
                if get(reply, REQUEST_ID) == request:
                    return self.replies.pop(i)
            data = self.socket.recv(1 << 16)
            if not data:
                raise ConnectionResetError("disconnected")
            found, self.received = unframe(self.received + data)
            self.replies += found

    def reply(self, request):
        """Success, whether more follows, and the message of the next reply to the request."""
        reply = get(self.receive(request), INVOKE_REPLY, b"")
        return bool(get(reply, 1)), bool(get(reply, 2)), get(reply, 3, b"")

    def ask(self, method, arguments=b"", fd=None):
        """Calls, and waits for all of its replies: success and the messages in one."""
        request = self.call(method, arguments, fd)
        data = b""
        more = True
        while more:
            success, more, part = self.reply(request)
            data += part
        return success, data

    def close(self):
        self.socket.close()


def bind(address, service):
    client = Client(address, service)
    print(" ".join(sorted(client.methods)))
    client.close()


def trigger(address, name):
    client = Client(address, "ProducerPort")
    client.ask("InitializeConnection", message((3, "trigger"), (4, 1)))
    client.call("ActivateTriggers", message((1, name)), drop_reply=True)
    client.ask("Sync")
    client.close()


def main():
    verb, *arguments = sys.argv[1:]
    {"bind": bind, "trigger": trigger}[verb](*arguments)
    return os.EX_OK


if __name__ == "__main__":
    sys.exit(main())
