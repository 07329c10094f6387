#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""docs/ACCESS.md has a row for each method, property and signal of the D-Bus interface, and for each method of
Perfetto's sockets, and none for what there is not. What the rows say is run by tests/integration/access-matrix.sh.

Usage: check-access.py SOURCE-ROOT
       check-access.py --self-test
"""

import os
import sys

import tap

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../integration"))
import access_table  # noqa: E402

PAGE = "docs/ACCESS.md"
XML = "data/dbus/org.desktrace.Tracing1.xml"
PORTS = {
    "ConsumerPort": "src/daemon/socket/consumer/consumer-port.c",
    "ProducerPort": "src/daemon/socket/producer/producer-port.c",
}

# What every object has; not in the XML.
STANDARD = {
    ("Manager", "signals", "PropertiesChanged"),
    ("Session", "signals", "PropertiesChanged"),
    ("ObjectManager", "methods", "GetManagedObjects"),
    ("ObjectManager", "signals", "InterfacesAdded"),
    ("ObjectManager", "signals", "InterfacesRemoved"),
}


def problems(there, rows):
    keys = [key for row in rows for key in row.keys]
    named = {key[:3] for key in keys}
    for section, kind, member in sorted(there - named):
        yield f"{section}.{member} ({kind}) has no row"
    for section, kind, member in sorted(named - there - STANDARD):
        yield f"{section}.{member} ({kind}) is no longer there"
    for key in sorted({key for key in keys if keys.count(key) > 1}):
        yield f"{key[0]}.{key[2]} has two rows that ask the same"


def self_test(report):
    row = access_table.Row("Manager", "methods", ["`Old`, `Here`: a way", "yes", "no", "yes", "the same"])
    there = {("Manager", "methods", "Here"), ("Manager", "methods", "New")}
    report.check(
        "a new method and one that has gone are found",
        [] if len(list(problems(there, [row, row]))) == 4 else list(problems(there, [row, row])),
    )


def main():
    report = tap.Tap()
    if sys.argv[1] == "--self-test":
        self_test(report)
        report.done()
    top = sys.argv[1]
    rows = access_table.read(os.path.join(top, PAGE))
    there = set(access_table.documented(os.path.join(top, XML)))
    for section, source in PORTS.items():
        there |= set(access_table.of_port(os.path.join(top, source), section))
    report.check("each method, property and signal has a row", problems(there, rows))
    report.done()


if __name__ == "__main__":
    main()
