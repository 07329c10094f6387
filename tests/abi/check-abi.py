#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The library keeps to what programs of version 0.1 were built with.

Usage: check-abi.py ABI-DIRECTORY LIBRARY LAYOUT-0.1 LAYOUT-NOW USE-0.1...
"""

import os
import re
import subprocess
import sys

sys.path.append(os.path.join(os.path.dirname(__file__), "../lint"))
import tap  # noqa: E402

FIRST_NODE = "LIBDESKTRACE_0"
# What a header has for itself: macros that other macros are made of.
INNER = re.compile(r"DT_(STRINGIFY_?|CLOSE|SLICE_(AT|NAMED)|EVENT_WITH_ARGS|COUNTER_WITH|\w+_MAX)$")


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def symbols(path, *options):
    """Each function that a file has or needs, with its version."""
    for line in run("nm", "-D", *options, path).splitlines():
        match = re.search(r" [TU] (dt_\w+)@@?(\w[\w.]*)", line)
        if match:
            yield match.groups()


def parts(directory):
    """Functions, macros and C++ names of the headers in a directory."""
    for name in sorted(os.listdir(directory)):
        text = re.sub(r"/\*.*?\*/", "", tap.read(directory, name), flags=re.S)
        if name == "glib.h":  # all of it is made of the rest, and compiled into programs
            continue
        yield from re.findall(r"^#define (DT_\w+)", text, flags=re.M)
        yield from re.findall(r"^(?!static)[\w ]+[ *](dt_\w+)\(", text, flags=re.M)


def main():
    directory, library, before, now, *programs = sys.argv[1:]
    out = tap.Tap()
    released = {tuple(line.split()) for line in tap.read(directory, "0.1/symbols").splitlines()}
    shown = set(symbols(library, "--defined-only"))
    out.check("every function of 0.1 is there, in its version", sorted(f"{s}@{v} is gone" for s, v in released - shown))
    newer = {symbol for symbol, version in shown if version == FIRST_NODE} - {symbol for symbol, _ in released}
    out.check(
        "what is newer is in a node of its own version",
        sorted(f"{symbol} is in {FIRST_NODE}, see libdesktrace.sym" for symbol in newer),
    )
    old, new = run(before).splitlines(), run(now).splitlines()
    out.check(
        "structures and constants are as they were",
        [f"was {a!r}, is {b!r}" for a, b in zip(old, new) if a != b],
    )
    out.check("all of them are", [] if len(old) == len(new) > 60 else [f"{len(old)} and {len(new)} lines"])

    needed = {entry for program in programs for entry in symbols(program, "--undefined-only")}
    out.check("programs of 0.1 ask for what 0.1 had", sorted(f"{s}@{v}" for s, v in needed - released))
    out.check("and for all of it", sorted(f"{s} is not used" for s, _ in released - needed))
    used = "".join(tap.read(directory, name) for name in ("use-0.1.c", "use-0.1.cpp", "layout.c"))
    out.check(
        "they use every macro and function of the headers",
        sorted(
            f"{part} is not used"
            for part in set(parts(os.path.join(directory, "0.1/desktrace")))
            if not INNER.match(part) and not re.search(rf"\b{part}\b", used)
        ),
    )
    out.done()


main()
