#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Plays systemd for a service: keeps its descriptors, and starts it again when it has ended.

Usage: service-manager.py [--listen=NAME:PATH]... DIRECTORY COMMAND...

The service finds what it had stored as one of a unit does (LISTEN_FDS, NOTIFY_SOCKET). In DIRECTORY are
  pid     of the service that runs now
  ready   how many were ready so far
  stored  the names of the descriptors that are kept, one a line
The service is started again when it has ended, however that was, or has died and cannot end, as a thread of it hangs in
the kernel. SIGTERM: ends both. --listen: a socket of its unit,
which stays.
"""

import array
import os
import select
import signal
import socket
import sys
import time

FDS_START = 3
FDS_MAX = 253  # of one message
RESTART_SECONDS = 0.1  # as systemd does
HANGING_SECONDS = 0.2  # systemd is more patient: TimeoutStopSec=


class Manager:
    def __init__(self, directory, command, listened):
        self.directory, self.command = directory, command
        self.listened = [(name, self.listen(path)) for name, path in listened]
        self.stored, self.pid, self.n_ready, self.is_ending = [], None, 0, False
        self.died_at = None
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
        self.socket.bind(os.path.join(directory, "notify"))

    @staticmethod
    def listen(path):
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
        listening.bind(path)
        listening.listen()
        return listening.detach()

    def tell(self, name, text):
        path = os.path.join(self.directory, name)
        with open(path + ".new", "w", encoding="ascii") as file:
            file.write(text)
        os.rename(path + ".new", path)

    def start(self):
        self.died_at = None
        self.pid = os.fork()
        if self.pid == 0:
            self.become_service()
        self.tell("pid", str(self.pid))

    def become_service(self):
        # Out of the way first: the new numbers may be those of others.
        passed = self.listened + self.stored
        fds = [os.dup(fd) for _, fd in passed]
        top = FDS_START + len(fds) + max(fds, default=0)
        fds = [os.dup2(fd, top + i, False) for i, fd in enumerate(fds)]
        for i, fd in enumerate(fds):
            os.dup2(fd, FDS_START + i, True)
        os.closerange(FDS_START + len(fds), top + len(fds) + 64)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        os.environ.update(
            NOTIFY_SOCKET=os.path.join(self.directory, "notify"),
            SYSTEMD_EXEC_PID=str(os.getpid()),
        )
        if fds:
            os.environ.update(
                LISTEN_PID=str(os.getpid()),
                LISTEN_FDS=str(len(fds)),
                LISTEN_FDNAMES=":".join(name for name, _ in passed),
            )
        os.execv(self.command[0], self.command)

    def forget(self, name):
        for stored in [entry for entry in self.stored if entry[0] == name]:
            os.close(stored[1])
            self.stored.remove(stored)

    def hear(self):
        room = socket.CMSG_SPACE(FDS_MAX * array.array("i").itemsize)
        data, ancillary, _, _ = self.socket.recvmsg(65536, room, socket.MSG_DONTWAIT)
        fds = array.array("i")
        for _, _, passed in ancillary:
            fds.frombytes(passed[: len(passed) - len(passed) % fds.itemsize])
        said = dict(line.partition("=")[::2] for line in data.decode().splitlines())
        if "FDSTORE" in said:
            self.stored += [(said["FDNAME"], fd) for fd in fds]
        else:
            for fd in fds:
                os.close(fd)
        if "FDSTOREREMOVE" in said:
            self.forget(said["FDNAME"])
        if "READY" in said:
            self.n_ready += 1
            self.tell("ready", str(self.n_ready))
        self.tell("stored", "".join(f"{name}\n" for name, _ in self.stored))

    def hear_all(self):
        try:
            while True:
                self.hear()
        except BlockingIOError:
            pass

    def has_ended(self):
        """Threads that hang keep a process that is dead from being waited for."""
        if os.waitpid(self.pid, os.WNOHANG)[0]:
            return True
        with open(f"/proc/{self.pid}/stat", encoding="utf-8", errors="replace") as file:
            is_dead = file.read().rpartition(")")[2].split()[0] == "Z"
        if not is_dead:
            return False
        self.died_at = self.died_at or time.monotonic()
        return time.monotonic() - self.died_at > HANGING_SECONDS

    def run(self):
        signals = {signal.SIGTERM, signal.SIGCHLD}
        signal.pthread_sigmask(signal.SIG_BLOCK, signals)
        reader, writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(writer)
        signal.signal(signal.SIGTERM, self.on_term)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, signals)
        self.start()
        while True:
            select.select([self.socket, reader], [], [], HANGING_SECONDS)
            try:
                os.read(reader, 4096)
            except BlockingIOError:
                pass
            self.hear_all()
            if not self.has_ended():
                continue
            self.hear_all()  # what it said last
            if self.is_ending:
                return
            time.sleep(RESTART_SECONDS)
            self.start()

    def on_term(self, *_):
        self.is_ending = True
        os.kill(self.pid, signal.SIGTERM)


def main():
    arguments, listened = sys.argv[1:], []
    while arguments[0].startswith("--listen="):
        listened.append(arguments.pop(0).partition("=")[2].split(":", 1))
    Manager(arguments[0], arguments[1:], listened).run()


main()
