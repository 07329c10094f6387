#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""docs/CONFORMANCE.md names tests that are there: each row has a case, and beside it either tests, as
`tests/….c: test_name` or the path of a script, or a dash and why the case does not apply. A C test must also be
in its program's list, or nobody runs it.

Usage: check-conformance.py SOURCE-ROOT
       check-conformance.py --self-test
"""

import os
import re
import sys

import tap

PAGE = "docs/CONFORMANCE.md"
ROW = re.compile(r"^\|\s*([^|]+?)\s*\|\s*(.*?)\s*\|$")
NAMED = re.compile(r"`(tests/[\w./-]+)(?::\s*([\w, ]+))?`")


def rows(text):
    """Section, case and tests of each row."""
    section = None
    for line in text.splitlines():
        if line.startswith("## "):
            section = line[3:]
        row = ROW.match(line)
        if row and row[1] != "case" and not set(row[1]) <= set("-: "):
            yield section, row[1], row[2]


def runs(source, test):
    """Whether the program defines the test and lists it."""
    defined = re.search(rf"\b[A-Z_]+_(TEST|CASE)\(\s*{test}\b", source)
    return bool(defined) and len(re.findall(rf"\b{test}\b", source)) > 1


def problems(text, read):
    """`read` returns a file of the tree, or None."""
    for _, case, tests in rows(text):
        found = NAMED.findall(tests)
        if not found and not re.match(r"[–—-]\s*\S", tests):
            yield f"{case}: neither a test nor a dash and a reason"
        for path, names in found:
            source = read(path)
            if source is None:
                yield f"{case}: there is no {path}"
                continue
            if path.endswith(".c") and not names:
                yield f"{case}: which test of {path}?"
            for name in filter(None, (name.strip() for name in names.split(","))):
                if path.endswith(".c") and not runs(source, name):
                    yield f"{case}: {path} runs no {name}"


def doubles(text):
    """Also over sections, and of a case that shares a row with others. (The steps are no cases.)"""
    seen = {}
    for section, cases, _ in rows(text):
        for case in [cases] if cases.startswith("step ") else cases.split(", "):
            if case in seen:
                yield f"{section}: {case} is there already, under {seen[case]}"
            seen[case] = section


def empty_sections(text):
    used = {section for section, _, _ in rows(text)}
    for line in text.splitlines():
        if line.startswith("## ") and line[3:] not in used:
            yield f"{line[3:]} has no rows"


def self_test():
    check = tap.Tap()
    files = {"tests/a.c": "START_TEST(test_x) {\n} END_TEST\nSTART_TEST(test_y) {}\nMAIN(test_x)"}
    head = "## S\n| case | test |\n|---|---|\n"

    def found(row):
        return list(problems(head + row, files.get))

    good = ["| A | `tests/a.c: test_x` |", "| A | – no such thing here |"]
    bad = ["| A | |", "| A | `tests/b.c: test_x` |", "| A | `tests/a.c` |", "| A | `tests/a.c: test_z` |",
           "| A | `tests/a.c: test_y` |"]
    check.check("good rows pass", (row for row in good if found(row)))
    check.check("bad rows are found", (row for row in bad if not found(row)))
    twice = ["\n".join((good[0], good[1])), good[0] + "\n## T\n" + good[1], good[0] + "\n| B, A | – |"]
    check.check("doubles are found", (rows for rows in twice if not list(doubles(head + rows))))
    check.check("empty sections are found", [] if list(empty_sections(head)) else ["none"])
    check.done()


def main(top):
    def read(path):
        path = os.path.join(top, path)
        return tap.read(top, path) if os.path.isfile(path) else None

    text = tap.read(top, PAGE)
    check = tap.Tap()
    check.check(f"{PAGE} names tests that are run", problems(text, read))
    check.check("each case is there once", doubles(text))
    check.check("every section has rows", empty_sections(text))
    check.note(f"{len(list(rows(text)))} cases")
    check.done()


if __name__ == "__main__":
    if sys.argv[1] == "--self-test":
        self_test()
    main(sys.argv[1])
