#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Runs a command on a terminal of its own and, once it has drawn a screen with a text, does one thing with it: presses a
# key, changes the terminal's size, or closes it. What the terminal had then goes to stdout; the exit status is 0 if the
# command ended as it should, and left the terminal as it was.
import argparse
import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time

DEADLINE = time.monotonic() + 60
ROWS, COLUMNS = 24, 80

parser = argparse.ArgumentParser()
parser.add_argument("--wait", required=True, metavar="TEXT", help="for this on the screen")
parser.add_argument("--press", action="append", default=[], metavar="KEY[=TEXT]",
                    help="and wait for a text on what is drawn then")
parser.add_argument("--resize", metavar="ROWSxCOLUMNS")
parser.add_argument("--close", action="store_true")
parser.add_argument("command", nargs=argparse.REMAINDER)
arguments = parser.parse_args()


def set_size(fd, rows, columns):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def fail(text):
    sys.stdout.buffer.write(seen)
    os.kill(pid, signal.SIGKILL)
    sys.exit("\n" + text)


def read_more():
    """False: the last one on the other side is gone."""
    global seen
    if time.monotonic() > DEADLINE:
        fail("it takes too long")
    if not select.select([master], [], [], 0.2)[0]:
        return True
    try:
        data = os.read(master, 65536)
    except OSError:
        return False
    seen += data
    return bool(data)


def wait_for(text, start=0):
    while text.encode() not in seen[start:]:
        if not read_more():
            fail(f"it ended before there was {text!r}")


master, slave = pty.openpty()
set_size(master, ROWS, COLUMNS)
before = termios.tcgetattr(slave)
seen = b""
pid = os.fork()
if pid == 0:
    os.setsid()
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    for fd in range(3):
        os.dup2(slave, fd)
    os.closerange(3, 64)
    os.environ["TERM"] = "xterm"
    os.execvp(arguments.command[0], arguments.command)

wait_for(arguments.wait)
if arguments.resize:
    size = [int(n) for n in arguments.resize.split("x")]
    set_size(master, *size)
    # The second screen from here on is one that was begun with the new size.
    start = len(seen)
    while seen.count(b"\x1b[H", start) < 3:
        if not read_more():
            fail("it ended")
    screen = seen[start:].split(b"\x1b[H")[2].decode()
    lines = re.sub("\x1b\\[[0-9;]*[JKm]", "", screen).split("\r\n")
    if len(lines) > size[0] or any(len(line) > size[1] for line in lines):
        fail(f"it does not fit: {lines}")
for key in arguments.press:
    start = len(seen)
    key, _, text = key.partition("=")
    os.write(master, b"\x03" if key == "^C" else key.encode())
    if text:
        wait_for(text, start)
if arguments.close:
    os.close(slave)
    os.close(master)
    while time.monotonic() < DEADLINE:
        if os.waitpid(pid, os.WNOHANG)[0]:
            sys.exit(0)
        time.sleep(0.05)
    os.kill(pid, signal.SIGKILL)
    sys.exit("it goes on without a terminal")

while True:  # the slave is open here, so that its modes can be looked at
    read_more()
    ended, status = os.waitpid(pid, os.WNOHANG)
    if ended:
        break
while select.select([master], [], [], 0)[0]:  # what it said last
    seen += os.read(master, 65536)
sys.stdout.buffer.write(seen)
sys.stdout.flush()
if os.waitstatus_to_exitcode(status) != 0:
    sys.exit(f"it ended with {status}")
if termios.tcgetattr(slave) != before:
    sys.exit("the terminal is not as it was")
if seen.rfind(b"\x1b[?25h") < seen.rfind(b"\x1b[?25l"):
    sys.exit("the cursor is hidden")
