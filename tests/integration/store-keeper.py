# SPDX-License-Identifier: LGPL-2.1-or-later
"""Stands in for systemd as the one who starts a service again, and who keeps its descriptors meanwhile.

Usage: store-keeper.py COMMAND...
  SIGUSR1  kills the service, SIGUSR2 tells it to end; SIGTERM: and this program, too

Says "started" and the pid of each process of the service.
"""

import array
import os
import signal
import socket
import sys
import tempfile


class Store:
    """Descriptors by their names."""

    def __init__(self):
        self.fds = []

    def put(self, name, fds):
        self.fds += [(name, fd) for fd in fds]

    def drop(self, name):
        for at in [at for at in self.fds if at[0] == name]:
            os.close(at[1])
            self.fds.remove(at)

    def take(self, message, fds):
        fields = dict(line.split("=", 1) for line in message.decode().splitlines() if "=" in line)
        name = fields.get("FDNAME", "stored")
        if fields.get("FDSTORE") == "1":
            self.put(name, fds)
            return
        for fd in fds:
            os.close(fd)
        if fields.get("FDSTOREREMOVE") == "1":
            self.drop(name)


class Service:
    def __init__(self, command, path):
        self.command, self.path = command, path
        self.store = Store()
        self.pid = 0

    def start(self):
        names = ":".join(name for name, _ in self.store.fds)
        self.pid = os.fork()
        if self.pid > 0:
            print("started", self.pid, flush=True)
            return
        # Out of the way first, then to where the service expects them.
        high = [os.dup(fd) for _, fd in self.store.fds]
        top = max([3 + len(high), *high]) + 1
        high = [os.dup2(fd, top + i) for i, fd in enumerate(high)]
        for i, fd in enumerate(high):
            os.dup2(fd, 3 + i, inheritable=True)
        os.closerange(3 + len(high), top + len(high) + 64)
        os.environ.update(NOTIFY_SOCKET=self.path, SYSTEMD_EXEC_PID=str(os.getpid()))
        if high:
            os.environ.update(
                LISTEN_FDS=str(len(high)), LISTEN_PID=str(os.getpid()), LISTEN_FDNAMES=names
            )
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        os.execvp(self.command[0], self.command)

    def end(self, how):
        os.kill(self.pid, how)


def receive(sock, store):
    """Everything that the service has said so far."""
    while True:
        try:
            message, control, _, _ = sock.recvmsg(4096, 4096, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return
        fds = array.array("i")
        for level, kind, data in control:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                fds.frombytes(data[: len(data) - len(data) % fds.itemsize])
        store.take(message, list(fds))


def main():
    signals = [signal.SIGUSR1, signal.SIGUSR2, signal.SIGTERM, signal.SIGCHLD]
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    with tempfile.TemporaryDirectory() as directory:
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        sock.bind(directory + "/notify")
        service = Service(sys.argv[1:], directory + "/notify")
        service.start()
        while True:
            caught = signal.sigtimedwait(signals, 0.02)
            receive(sock, service.store)
            if caught and caught.si_signo == signal.SIGUSR1:
                service.end(signal.SIGKILL)
            elif caught and caught.si_signo == signal.SIGUSR2:
                service.end(signal.SIGTERM)
            elif caught and caught.si_signo == signal.SIGTERM:
                service.end(signal.SIGTERM)
                os.waitpid(service.pid, 0)
                return
            while os.waitpid(service.pid, os.WNOHANG)[0]:
                receive(sock, service.store)
                service.start()


if __name__ == "__main__":
    main()
