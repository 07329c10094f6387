#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""docs/LIMITS.md has every limit of the service, and those of users with the numbers that they have in the code."""

import re
import sys

import tap

TOP = sys.argv[1]
HEADERS = ["daemon/core/model/service-limits.h", "daemon/bus/link/bus.h", "daemon/bus/permission/bus-polkit.h",
           "daemon/socket/link/link.h", "daemon/accept/accept-queue.h", "daemon/gate/gate.h", "daemon/gate/stand-in.h",
           "daemon/closer/closer.h", "daemon/sink.h", "probes/grant.h", "probes/entrance.h",
           "trace/trace-args.h", "trace/trace-bundle.h", "trace/trace-clock.h", "trace/trace-pool.h",
           "trace/trace-reader.h", "trace/trace-sequence.h", "trace/trace-stacks.h", "trace/trace-store.h",
           "trace/trace-table.h", "trace/trace-track-event.h", "trace/trace-tracks.h", "trace/trace-unpack.h",
           "query/query.h", "client/top-machine.h"]
# With their numbers: those that are plain ones.
NUMBERED = ["probes/grant.h", "probes/entrance.h", "daemon/closer/closer.h", "daemon/accept/accept-queue.h"]
LIMIT = re.compile(r"^#define (\w+_MAX(?:_MS|_KB)?)\s", re.M)
OWN_ROW = re.compile(r"^\| `(SERVICE_\w+)` \| ([^|]*) \| ([^|]*) \| ([^|]*) \|", re.M)


def value(code, name):
    found = re.search(rf"^#define {name}\s+(.*?)(?:\s+/\*.*)?$", code, re.M)
    return found and found[1]


def in_words(code, name):
    """As the table has it: a number, or a share of the memory and what it is at least."""
    share, least = value(code, name + "_SHARE"), value(code, name + "_MIN")
    if share:
        return f"RAM/{share}, at least {re.search(r'[0-9]+', least[8:])[0]} MiB"
    return value(code, name + "_MAX") or value(code, name)


def wrong_rows(code, page):
    for name, *cells in OWN_ROW.findall(page):
        for suffixes, cell in zip((("_PER_USER",), ("", "_TOTAL"), ("_FIRST",)), cells):
            wanted = [words for words in (in_words(code, name + suffix) for suffix in suffixes) if words]
            if not wanted or not cell.startswith(wanted[-1]):
                yield f"{name}: the page says \"{cell}\", the code {wanted}"


def missing(page):
    for header in HEADERS:
        for name in LIMIT.findall(tap.read(TOP, f"src/{header}")):
            resource = re.sub(r"(_PER_USER)?_MAX$", "", name)
            if f"`{name}`" not in page and f"| `{resource}` |" not in page:
                yield f"{header}: {name}"


ROW = re.compile(r"^\| (`\w+`(?:, `\w+`)*) \| ([^|]*) \|", re.M)


def wrong_numbers(page):
    rows = {}
    for names, values in ROW.findall(page):
        names = re.findall(r"`(\w+)`", names)
        rows.update(zip(names, re.split(r", ", values.strip())))
    for header in NUMBERED:
        code = tap.read(TOP, f"src/{header}")
        for name in LIMIT.findall(code):
            number = value(code, name)
            if re.fullmatch(r"\d+", number) and rows.get(name) != number:
                yield f"{name}: the page says {rows.get(name)}, the code {number}"


def main():
    code, page = tap.read(TOP, "src/daemon/core/model/service-limits.h"), tap.read(TOP, "docs/LIMITS.md")
    plan = tap.Tap()
    plan.check("docs/LIMITS.md has every limit", list(missing(page)))
    plan.check("it has the numbers of the code", list(wrong_rows(code, page)))
    plan.check("it has the numbers of the probes and of what one account may have waiting", list(wrong_numbers(page)))
    plan.done()


main()
