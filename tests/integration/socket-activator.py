#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What systemd does for a socket unit: whenever somebody connects, the command is started with the socket, again and
again.

Usage: socket-activator.py PATH COMMAND...
"""

import ctypes
import os
import select
import signal
import socket
import sys


PR_SET_PDEATHSIG = 1


def run(listening, command):
    pid = os.fork()
    if pid == 0:
        # A test ends us with SIGKILL, and would wait for the output of a command that stays.
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if listening.fileno() != 3:
            os.dup2(listening.fileno(), 3)
        os.set_inheritable(3, True)
        os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()))
        os.execv(command[0], command)
    signal.signal(signal.SIGTERM, lambda *_: (os.kill(pid, signal.SIGTERM), sys.exit(0)))
    os.waitpid(pid, 0)


def main():
    path, *command = sys.argv[1:]
    os.umask(0o077)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen(16)
        while True:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            select.select([listening], [], [])
            run(listening, command)


main()
