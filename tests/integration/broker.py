#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs dbus-broker as dbus-daemon is run: with a configuration, as some user, and without systemd.

broker.py SCOPE CONFIG SOCKET [USER]        SCOPE is "system" or "user"; in a mount namespace of its own

Its launcher takes a listening socket from systemd and logs into journald's socket. Where nothing reads that, what it
says goes nowhere.
"""

import ctypes
import os
import pwd
import signal
import socket
import sys

JOURNAL = "/run/systemd/journal"
LISTEN_FD = 3
PR_SET_PDEATHSIG = 1


def open_journal():
    """Nobody reads it: the launcher does not wait for that."""
    if os.path.exists(f"{JOURNAL}/socket"):
        return None
    os.makedirs(JOURNAL, exist_ok=True)
    journal = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    journal.bind(f"{JOURNAL}/socket")
    os.chmod(f"{JOURNAL}/socket", 0o666)
    return journal


def become(user):
    entry = pwd.getpwnam(user)
    os.setgroups([])
    os.setgid(entry.pw_gid)
    os.setuid(entry.pw_uid)


def launch(scope, config, listener, user):
    if user:
        become(user)
    # A test that ends its bus kills the parent.
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    os.dup2(listener.fileno(), LISTEN_FD)
    os.set_inheritable(LISTEN_FD, True)
    os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()))
    os.execvp("dbus-broker-launch", ["dbus-broker-launch", f"--scope={scope}", f"--config-file={config}"])


def main(scope, config, path, user=None):
    journal = open_journal()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    os.chmod(path, 0o666)
    listener.listen(socket.SOMAXCONN)
    child = os.fork()
    if child == 0:
        launch(scope, config, listener, user)
    status = os.waitpid(child, 0)[1]
    if journal:
        journal.close()
    return os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
