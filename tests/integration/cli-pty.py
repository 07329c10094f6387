#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Runs a command on a terminal of its own, and presses Ctrl-C when a text has appeared: once for each --interrupt.
# What the command wrote goes to stdout; its exit status is ours.
import argparse
import os
import pty
import select
import sys
import time

parser = argparse.ArgumentParser()
parser.add_argument("--interrupt", action="append", default=[], metavar="TEXT")
parser.add_argument("command", nargs=argparse.REMAINDER)
arguments = parser.parse_args()

pid, master = pty.fork()
if pid == 0:
    os.environ["TERM"] = "xterm"
    os.execvp(arguments.command[0], arguments.command)

seen = b""
at = 0
deadline = time.monotonic() + 100
while time.monotonic() < deadline:
    if select.select([master], [], [], 0.2)[0]:
        try:
            data = os.read(master, 65536)
        except OSError:  # the last one on the other side is gone
            break
        if not data:
            break
        seen += data
    if arguments.interrupt:
        found = seen.find(arguments.interrupt[0].encode(), at)
        if found >= 0:
            at = found + 1
            arguments.interrupt.pop(0)
            time.sleep(0.3)
            os.write(master, b"\x03")
else:
    os.kill(pid, 9)

sys.stdout.buffer.write(seen)
sys.stdout.flush()
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) & 0xff)
