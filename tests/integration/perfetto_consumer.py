#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A consumer of Perfetto's protocol, for tests of who may do what.

Usage: perfetto_consumer.py ADDRESS VERB ARGUMENTS…
  record SOURCE [NAME]   records for a moment; says why it may not
  bufferless [SOURCE]    likewise, of a config that has no buffers
  into SOURCE            likewise, into the file that is descriptor 3
  hold SOURCE NAME [TRIGGER]   records until it is killed, and says "recording" when it does; TRIGGER takes a snapshot
  leave SOURCE KEY [MS]  records, and detaches at once, without waiting for an answer in between; MS is a deadline
  leave-into SOURCE KEY [MS]  likewise, of one that streams into the file that is descriptor 3
  attach KEY             says whether there is such a session
  stay KEY               likewise, and has it until it is killed or the service ends
  fetch KEY              attaches, ends the session, and writes its packets to descriptor 3
  clone NAME             says why it may not
  leave-clone NAME KEY   clones it, and detaches the clone
  sessions               the names of the sessions that it sees
  producers              likewise
"""

import os
import sys
import time

import perfetto_ipc as ipc
from perfetto_ipc import fields, get, message


def config(source, name="", trigger=None, ms=60000):
    parts = [(1, message((1, 256))), (2, message((1, message((1, source))))), (22, name)]
    if trigger:
        clone_snapshot = 4
        parts.append((17, message((1, clone_snapshot), (2, message((1, trigger))), (3, 60000))))
    elif ms:
        parts.append((3, ms))
    return message(*parts)


def enable(client, *arguments):
    return client.call("EnableTracing", message((1, config(*arguments))))


def error_of(reply):
    return get(reply, 3, b"").decode()


def stop(client, request):
    client.ask("DisableTracing")
    _, _, reply = client.reply(request)
    print(error_of(reply) or "recorded")


def record(client, *arguments):
    stop(client, enable(client, *arguments))


def enable_into(client, source, ms=60000):
    streams = message((1, message((1, 256))), (2, message((1, message((1, source))))), (3, ms), (8, True), (9, 100))
    return client.call("EnableTracing", message((1, streams)), fd=3)


def into(client, source):
    stop(client, enable_into(client, source))


def bufferless(client, *sources):
    parts = [(2, message((1, message((1, source))))) for source in sources]
    stop(client, client.call("EnableTracing", message((1, message(*parts, (3, 60000))))))


def hold(client, *arguments):
    request = enable(client, *arguments)
    _, data = client.ask("QueryServiceState", message((1, 1)))
    if get(get(data, 1), 3):
        print("recording", flush=True)
        time.sleep(60)
    else:
        print(error_of(client.reply(request)[2]))


def leave(client, source, key, ms="0"):
    """To leave one without a deadline takes a permission."""
    client.call("EnableTracing", message((1, config(source, ms=int(ms)))))
    detach(client, key)


def leave_into(client, source, key, ms="60000"):
    enable_into(client, source, int(ms))
    detach(client, key)


def detach(client, key):
    success, _ = client.ask("Detach", message((1, key)))
    print("left" if success else "not left")


def attach(client, key):
    success, _ = client.ask("Attach", message((1, key)))
    print("attached" if success else "not attached", flush=True)
    return success


def stay(client, key):
    if attach(client, key):
        client.socket.settimeout(60)
        client.socket.recv(1)  # until the service is gone


def fetch(client, key):
    if not attach(client, key):
        return
    client.ask("DisableTracing")
    _, data = client.ask("ReadBuffers")
    slices = [value for number, value in fields(data) if number == 2]
    packet = b""
    with os.fdopen(3, "wb") as file:
        for piece in slices:
            packet += get(piece, 1, b"")
            if get(piece, 2):
                file.write(message((1, packet)))
                packet = b""


def clone(client, name):
    _, data = client.ask("CloneSession", message((4, name)))
    print("cloned" if get(data, 1) else get(data, 2).decode())


def leave_clone(client, name, key):
    client.ask("CloneSession", message((4, name)))
    detach(client, key)


def names(client, kind, field):
    _, data = client.ask("QueryServiceState")
    found = [value for number, value in fields(get(data, 1)) if number == kind]
    print("names:", *(get(value, field).decode() for value in found))


def main():
    address, verb, *arguments = sys.argv[1:]
    client = ipc.Client(address, "ConsumerPort")
    if verb == "sessions":
        names(client, 6, 4)
    elif verb == "producers":
        names(client, 1, 2)
    else:
        verbs = {"record": record, "bufferless": bufferless, "hold": hold, "into": into}
        verbs |= {"leave": leave, "leave-into": leave_into, "clone": clone, "leave-clone": leave_clone}
        verbs |= {"attach": attach, "stay": stay, "fetch": fetch}
        verbs[verb](client, *arguments)
    client.close()


if __name__ == "__main__":
    main()
