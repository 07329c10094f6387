#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Takes a session's trace with nothing but busctl. Usage: read-session.py OBJECT-PATH FILE [--user]"""

import json
import subprocess
import sys

BUSCTL = ["busctl", "--json=short"]
CALL = ["call", "org.desktrace.Tracing1"]
SESSION = "org.desktrace.Tracing1.Session"


def main():
    path, name = sys.argv[1:3]
    more = True
    with open(name, "wb") as file:
        while more:
            out = subprocess.run(
                [*BUSCTL, *sys.argv[3:], *CALL, path, SESSION, "Read", "u", "0"],
                check=True,
                capture_output=True,
                text=True,
            ).stdout
            data, more = json.loads(out)["data"]
            file.write(bytes(data))


main()
