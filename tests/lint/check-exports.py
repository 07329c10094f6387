#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What libdesktrace shows to the programs that link it: dt_… only, all of it declared.

Usage: check-exports.py SOURCE-ROOT BUILD-ROOT
"""

import os
import re
import subprocess
import sys

import tap

LIBRARY = "src/lib/libdesktrace.so.0"
HEADERS = "src/lib/include/desktrace/"


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def exports(path):
    for line in run("nm", "-D", "--defined-only", path).splitlines():
        kind, symbol = line.split()[-2:]
        if kind != "A":  # the name of a version
            yield symbol.split("@")[0]


def headers(top):
    """The public headers without comments."""
    for path in tap.tree(top):
        if path.startswith(HEADERS) and path.endswith(".h"):
            yield re.sub(r"/\*.*?\*/", "", tap.read(top, path), flags=re.S)


def declared(top):
    """Functions and variables that are declared, not defined, in the public headers."""
    for text in headers(top):
        text = re.sub(r"^\s*#.*?(?<!\\)$", "", text, flags=re.M | re.S)
        text = re.sub(r"static inline[^{]*\{.*?^\}", "", text, flags=re.M | re.S)
        yield from re.findall(r"\b(dt_\w+)\s*\([^;{}]*\)[^;{}()]*(?:\([^;{}]*\))*\s*;", text)
        yield from re.findall(r'^extern\b(?! *")[^;(]*\b(dt_\w+)[^;(]*;', text, flags=re.M)


def main():
    top, build = sys.argv[1:]
    path = os.path.join(build, LIBRARY)
    out = tap.Tap()
    shown = set(exports(path))
    known = set(declared(top))
    out.note(f"{len(shown)} exported, {len(known)} declared")
    out.check(
        "only dt_ names are exported",
        sorted(f"{symbol} is exported" for symbol in shown if not symbol.startswith("dt_")),
    )
    out.check(
        "what is exported is declared in a public header",
        sorted(f"{symbol} is in no header" for symbol in shown - known if symbol[:3] == "dt_"),
    )
    out.check(
        "what is declared is exported",
        sorted(f"{symbol} is not in the library" for symbol in known - shown),
    )
    out.check("something is exported at all", [] if shown else ["nothing"])
    soname = re.search(r"\(SONAME\).*\[(.*)\]", run("readelf", "-d", path))
    out.check(
        "the library is called libdesktrace.so.0",
        [] if soname and soname.group(1) == "libdesktrace.so.0" else [f"{soname and soname[1]}"],
    )
    out.done()


main()
