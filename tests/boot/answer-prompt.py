#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Usage: answer-prompt.py PROMPT ANSWER COMMAND...
#
# Runs a command on a terminal of its own and types ANSWER each time that PROMPT appears. What the command wrote goes to
# stdout; its exit status is ours.
import os
import pty
import select
import sys

PATIENCE_SEC = 1  # who asks for a password may throw away what was typed too early, so it is typed again

prompt, answer, command = sys.argv[1].encode(), sys.argv[2].encode() + b"\n", sys.argv[3:]
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(command[0], command)

seen, is_asked = b"", False
while True:
    if is_asked and not select.select([terminal], [], [], PATIENCE_SEC)[0]:
        os.write(terminal, answer)
        continue
    try:
        data = os.read(terminal, 4096)
    except OSError:  # the last one on the other side is gone
        break
    if not data:
        break
    sys.stdout.buffer.write(data)
    sys.stdout.flush()
    seen += data
    # An echo of the answer is no answer yet; anything else is.
    is_asked = seen.rstrip().endswith((prompt, prompt + b" " + answer.strip()))
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
