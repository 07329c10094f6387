#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs a program that lies on a file system which stops answering once the program works.

stuck-program.py WHERE PROGRAM ARGUMENT...: mounts a file system of a user on the directory, whose one file has the
program's contents, and runs it as that user. When the program has worked for a while, it says "stuck" with its pid, and
answers nothing from then on: to open the file is to wait until this process is killed. Says "refused" where the
kernel does not let it mount. Needs /dev/fuse, and root.
"""

import ctypes
import errno
import os
import signal
import struct
import sys
import threading
import time

# linux/fuse.h, protocol 7.31
LOOKUP, GETATTR, OPEN, READ, RELEASE, FLUSH, INIT = 1, 3, 14, 15, 18, 25, 26
IN_HEADER = struct.Struct("<IIQQIIII")
OUT_HEADER = struct.Struct("<IiQ")
READ_IN = struct.Struct("<QQI")
ROOT, FILE = 1, 2
KEEP_CACHE = 2
FOREVER_S = 1 << 30
READ_BYTES = 1 << 17
WORKED_TICKS = 5
PR_SET_PDEATHSIG = 1
USER = 65534

LIBC = ctypes.CDLL(None, use_errno=True)


class FileSystem:
    def __init__(self, where, contents):
        self.contents = contents
        self.is_stuck = False
        self.fd = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        options = f"fd={self.fd},rootmode=40000,user_id={USER},group_id={USER}"
        if LIBC.mount(b"stuck", where.encode(), b"fuse", 0, options.encode()) < 0:
            raise OSError(ctypes.get_errno(), "mount")

    def attributes(self, node):
        mode, size = (0o40755, 4096) if node == ROOT else (0o100755, len(self.contents))
        return struct.pack("<QQQQQQIIIIIIIIII", node, size, 8, 0, 0, 0, 0, 0, 0, mode, 1, USER, USER, 0, 4096, 0)

    def answer(self, unique, body=b"", error=0):
        os.write(self.fd, OUT_HEADER.pack(OUT_HEADER.size + len(body), -error, unique) + body)

    def answer_one(self, opcode, unique, node, body):
        if opcode == INIT:
            self.answer(unique, struct.pack("<IIIIHHII", 7, 31, READ_BYTES, 0, 0, 0, 4096, 1) + bytes(36))
        elif opcode == LOOKUP:
            self.answer(unique, struct.pack("<QQQQII", FILE, 0, FOREVER_S, FOREVER_S, 0, 0) + self.attributes(FILE))
        elif opcode == GETATTR:
            self.answer(unique, struct.pack("<QII", FOREVER_S, 0, 0) + self.attributes(node))
        elif opcode == OPEN:
            self.answer(unique, struct.pack("<QII", 0, KEEP_CACHE, 0))
        elif opcode == READ:
            _, offset, size = READ_IN.unpack_from(body)
            self.answer(unique, self.contents[offset:offset + size])
        elif opcode in (FLUSH, RELEASE):
            self.answer(unique)
        else:
            self.answer(unique, error=errno.ENOSYS)

    def serve(self):
        while True:
            try:
                request = os.read(self.fd, READ_BYTES + 4096)
            except OSError:
                return
            _, opcode, unique, node, *_ = IN_HEADER.unpack_from(request)
            if not self.is_stuck:
                self.answer_one(opcode, unique, node, request[IN_HEADER.size:])


def worked_ticks(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
        return int(file.read().rpartition(")")[2].split()[11])


def main(where, program, *arguments):
    with open(program, "rb") as file:
        contents = file.read()
    try:
        file_system = FileSystem(where, contents)
    except OSError as error:
        print("refused:", error, flush=True)
        return
    threading.Thread(target=file_system.serve, daemon=True).start()
    # The child has no descriptor of the file system, so that this ends with its server.
    pid = os.fork()
    if pid == 0:
        os.setgroups([])
        os.setresgid(USER, USER, USER)
        os.setresuid(USER, USER, USER)
        LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # a change of users forgets it
        name = os.path.join(where, os.path.basename(program))
        os.execv(name, [name, *arguments])
    while worked_ticks(pid) < WORKED_TICKS:
        time.sleep(0.05)
    file_system.is_stuck = True
    print("stuck", pid, flush=True)
    while True:
        time.sleep(600)


if __name__ == "__main__":
    main(*sys.argv[1:])
