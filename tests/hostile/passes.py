#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs a command whose descriptor 3 is none that a trace should be written to.

passes.py KIND HEARD COMMAND...    KINDs:
  datagram, stream, packets   a socket that is connected to somebody who would believe the service what it says
  linger                      a TCP socket whose last close waits an hour for a reader that never reads
  terminal, event             a terminal that nobody reads; an eventfd whose counter is full
  directory, path             of the current directory; a file that is open as a path only
  stuck                       a file whose file system never answers a write, nor anything else; needs root
What is said on the sockets is appended to the file HEARD; "stuck" writes the pid of its file system there. COMMAND runs
as $ATTACKER_UID, if that is set.
"""

import ctypes
import importlib.util
import os
import signal
import socket
import struct
import sys
import tempfile

PR_SET_PDEATHSIG = 1
LINGER_S = 3600
FULL = (1 << 64) - 2
libc = ctypes.CDLL(None)
kept = []


def become_attacker():
    if "ATTACKER_UID" in os.environ:
        os.setgroups([])
        os.setuid(int(os.environ["ATTACKER_UID"]))


def in_child(work, *arguments):
    """Which ends with the command: the same user, as a parent's death is no other user's signal. It has asked for that
    when this returns, as the command may be over before it has run at all."""
    ready, told = os.pipe()
    pid = os.fork()
    if pid == 0:
        become_attacker()
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        os.close(told)
        work(*arguments)
        os._exit(0)
    os.close(told)
    os.read(ready, 1)
    os.close(ready)
    return pid


def hear(peer, heard):
    while data := peer.recv(1 << 16):
        with open(heard, "ab") as file:
            file.write(data)


def local(kind, heard):
    ours, theirs = socket.socketpair(socket.AF_UNIX, kind)
    in_child(hear, theirs, heard)
    return ours.detach()


def linger():
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    listener.bind(("127.0.0.1", 0))
    listener.listen(1)
    ours = socket.socket()
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    ours.connect(listener.getsockname())
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, LINGER_S))
    ours.setblocking(False)
    try:
        while True:
            ours.send(bytes(65536))
    except BlockingIOError:
        ours.setblocking(True)
    in_child(signal.pause)  # has the other end
    return ours.detach()


def terminal():
    master, slave = os.openpty()
    os.set_inheritable(master, True)
    return slave


def event():
    fd = libc.eventfd(0, 0)
    os.write(fd, struct.pack("=Q", FULL))
    return fd


def stuck(heard):
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "stuck-file.py")
    spec = importlib.util.spec_from_file_location("stuck_file", path)
    stuck_file = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(stuck_file)
    where = tempfile.mkdtemp()
    file_system = stuck_file.FileSystem(where, os.getpid())  # which is to run the command, and closes what it has twice
    pid = in_child(file_system.serve)
    with open(heard, "w", encoding="ascii") as file:
        file.write(f"{pid}\n")
    os.close(file_system.fd)
    fd = os.open(os.path.join(where, "file"), os.O_RDWR)
    libc.umount2(where.encode(), stuck_file.MNT_DETACH)
    os.rmdir(where)
    return fd


def descriptor(kind, heard):
    sockets = {"datagram": socket.SOCK_DGRAM, "stream": socket.SOCK_STREAM, "packets": socket.SOCK_SEQPACKET}
    if kind in sockets:
        return local(sockets[kind], heard)
    if kind == "directory":
        return os.open(".", os.O_RDONLY)
    if kind == "path":
        return os.open(sys.argv[0], os.O_PATH)
    if kind == "stuck":
        return stuck(heard)
    return {"linger": linger, "terminal": terminal, "event": event}[kind]()


def main(kind, heard, *command):
    os.dup2(descriptor(kind, heard), 3)
    os.set_inheritable(3, True)  # it may have been 3 already
    become_attacker()
    os.execvp(command[0], command)


main(*sys.argv[1:])
