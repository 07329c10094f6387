#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs a command that asks for a password again and again, and types Ctrl-C a little later each time.

Usage: interrupt-prompt.py STEP-MS ATTEMPTS PROMPT COMMAND...

Whenever it comes, the command ends with a status other than 0, leaves the terminal as it was, and leaves no program on
it. At least one Ctrl-C must have come before the prompt, and one while it was shown.
"""

import fcntl
import os
import pty
import select
import subprocess
import sys
import termios
import time

PATIENCE_SEC = 10
CTRL_C = b"\x03"


def read_until(terminal, end):
    """What was written until then, and whether the last one on the other side is gone."""
    seen = b""
    while (left := end - time.monotonic()) > 0:
        if not select.select([terminal], [], [], left)[0]:
            break
        try:
            data = os.read(terminal, 4096)
        except OSError:
            return seen, True
        if not data:
            return seen, True
        seen += data
    return seen, False


def attempt(seconds, prompt, command):
    """Whether the prompt was there, and what is wrong, or None."""
    terminal, other = pty.openpty()
    before = termios.tcgetattr(other)
    process = subprocess.Popen(
        command,
        stdin=other,
        stdout=other,
        stderr=other,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )
    seen, _ = read_until(terminal, time.monotonic() + seconds)
    os.write(terminal, CTRL_C)
    end = time.monotonic() + PATIENCE_SEC
    while process.poll() is None and time.monotonic() < end:
        seen += read_until(terminal, time.monotonic() + 0.02)[0]
    status = process.poll()
    process.kill()
    process.wait()
    after = termios.tcgetattr(other)
    os.close(other)
    # From here on nobody has it open, or somebody was left behind.
    rest, is_gone = read_until(terminal, time.monotonic() + PATIENCE_SEC)
    os.close(terminal)
    seen += rest
    wrong = None
    if status is None:
        wrong = "it did not end"
    elif status == 0:
        wrong = "it succeeded"
    elif before != after:
        wrong = f"the terminal was {before} and is {after}"
    elif not is_gone:
        wrong = "somebody is left on the terminal"
    return prompt.encode() in seen, wrong and f"{wrong}: {seen!r}"


def main():
    step, attempts, prompt, command = float(sys.argv[1]) / 1000, int(sys.argv[2]), sys.argv[3], sys.argv[4:]
    n_prompts = 0
    for number in range(attempts):
        was_asked, wrong = attempt(number * step, prompt, command)
        n_prompts += was_asked
        if wrong:
            sys.exit(f"Ctrl-C after {number * step:.3f} s: {wrong}")
    print(f"{n_prompts} of {attempts} came at the prompt")
    sys.exit(0 if 0 < n_prompts < attempts else 1)


main()
