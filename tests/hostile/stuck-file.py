#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Passes a descriptor whose file system never answers a close, nor a question about the file.

stuck-file.py WHERE SOCKET N [PID [leave]]: mounts a file system of its own, and sends its one file N times to
Perfetto's producer socket ("perfetto"), to the native one ("native") or over the message bus ("bus"), which has that
pid: its own closes are answered, or it would hang itself. Says "attacked", and stays until it is killed; then the
kernel answers for it. With "leave" its connections to a bus are closed once they are answered. Needs /dev/fuse, and
root to mount; what is passed is passed as $ATTACKER_UID, if that is set.
"""

import ctypes
import errno
import os
import signal
import struct
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "integration"))
import perfetto_ipc  # noqa: E402
import raw_bus  # noqa: E402

# linux/fuse.h, protocol 7.31
LOOKUP, GETATTR, OPEN, FLUSH, INIT = 1, 3, 14, 25, 26
IN_HEADER = struct.Struct("<IIQQIIII")
OUT_HEADER = struct.Struct("<IiQ")
ROOT, FILE = 1, 2
DIRECTORY_MODE, FILE_MODE = 0o40755, 0o100666
FOREVER_S = 1 << 30
NOSUID_NODEV = 2 | 4
MNT_DETACH = 2
PR_SET_PDEATHSIG = 1


def attributes(node):
    mode = DIRECTORY_MODE if node == ROOT else FILE_MODE
    return struct.pack("<QQQQQQIIIIIIIIII", node, 4096, 8, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)


class FileSystem:
    def __init__(self, where, spared_pid):
        self.spared_pids = {spared_pid}
        self.fd = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        self.is_stuck = False
        options = f"fd={self.fd},rootmode=40000,user_id={os.getuid()},group_id={os.getgid()},allow_other"
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.mount(b"stuck", where.encode(), b"fuse", NOSUID_NODEV, options.encode()) < 0:
            raise OSError(ctypes.get_errno(), "mount")

    def tell_question(self):
        if len(self.spared_pids) > 1:
            print("asked in vain", flush=True)

    def answer(self, unique, body=b"", error=0):
        os.write(self.fd, OUT_HEADER.pack(OUT_HEADER.size + len(body), -error, unique) + body)

    def serve(self):
        while True:
            try:
                request = os.read(self.fd, 1 << 17)
            except OSError:
                return
            _, opcode, unique, node, _, _, pid, _ = IN_HEADER.unpack_from(request)
            if opcode == INIT:
                self.answer(unique, struct.pack("<IIIIHHII", 7, 31, 0, 0, 0, 0, 4096, 1) + bytes(36))
            elif opcode == FLUSH and pid in self.spared_pids:
                self.answer(unique)
            elif self.is_stuck:
                # FLUSH of a close, GETATTR of a stat, STATFS …
                self.tell_question()
            elif opcode == LOOKUP:
                self.answer(unique, struct.pack("<QQQQII", FILE, 0, FOREVER_S, 0, 0, 0) + attributes(FILE))
            elif opcode == GETATTR:
                self.answer(unique, struct.pack("<QII", 0, 0, 0) + attributes(node))
            elif opcode == OPEN:
                self.answer(unique, struct.pack("<QII", 0, 0, 0))
                self.is_stuck = True
            else:
                self.answer(unique, error=errno.ENOSYS)


def pass_file(transport, address, fd):
    """Returns what keeps the connection."""
    if transport == "perfetto":
        client = perfetto_ipc.Client(address, "ProducerPort")
        # Says that the descriptor is shared memory of its own: page size, size, name, provided.
        client.call("InitializeConnection", perfetto_ipc.message((1, 4096), (2, 65536), (3, b"stuck"), (6, 1)), fd=fd)
        return client
    peer = raw_bus.Peer(address, transport == "bus")
    peer.pass_fd(fd)
    return peer


def attack(where, transport, address, n, leaves):
    fd = os.open(os.path.join(where, "file"), os.O_RDWR)
    ctypes.CDLL(None).umount2(where.encode(), MNT_DETACH)  # open files stay
    os.rmdir(where)
    os.setuid(int(os.environ.get("ATTACKER_UID", os.getuid())))
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # another user's was forgotten
    if transport == "output":
        os.dup2(fd, 3)
        os.set_inheritable(3, True)  # also where it was 3
        consumer = os.environ["TEST_CONSUMER"]
        os.execv(consumer, [consumer, "system", "start", address, "output"])
    peers = []
    while len(peers) < n:
        try:
            peers.append(pass_file(transport, address, fd))
        except ConnectionError:
            break  # enough hang that its user is refused
    if leaves:
        for peer in peers:
            peer.read_error()
            peer.socket.close()
    print("attacked", flush=True)
    time.sleep(600)
    del peers


def main(transport, address, n, spared_pid=0, *options):
    where = tempfile.mkdtemp()
    file_system = FileSystem(where, int(spared_pid))
    # Two processes: one that had the file open and served it, too, could not even be killed.
    pid = os.fork()
    if pid == 0:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        os.close(file_system.fd)
        attack(where, transport, address, int(n), "leave" in options)
    else:
        if transport == "output":
            file_system.spared_pids.add(pid)  # it closes what it has sent
        file_system.serve()


if __name__ == "__main__":
    main(*sys.argv[1:])
