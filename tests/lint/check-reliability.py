#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""docs/RELIABILITY.md promises nothing that no test shows: the last cell of each row names tests as `meson test`
does, or has a dash and why there is none.

Usage: check-reliability.py SOURCE-ROOT BUILD-ROOT
       check-reliability.py --self-test
"""

import json
import os
import re
import sys

import tap

PAGE = "docs/RELIABILITY.md"
HEADING = "shown by"
NEEDED = "boot-restart"  # a build without it has not all tests


def rows(text):
    """What happens, and what shows it."""
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("| ").split("|")]
        if line.startswith("|") and not set(line) <= set("|-: ") and cells[-1] != HEADING:
            yield cells[0], line.rstrip()[:-1].rsplit("|", 1)[1].strip()


def problems(text, tests):
    for event, shown in rows(text):
        named = re.findall(r"`([\w-]+)`", shown)  # not a script, which has a slash
        if not named and not re.match(r"[–—-]\s*\S", shown):
            yield f"{event}: neither a test nor a dash and a reason"
        for name in named:
            if name not in tests:
                yield f"{event}: there is no test {name}"


def self_test():
    check = tap.Tap()
    head = "| what happens | shown by |\n|---|---|\n"
    good = ["| a | all | `x` |", "| a | all | `x`, `y-z`; `x` at times |", "| a | none | – nobody needs it |"]
    bad = ["| a | all | `z` |", "| a | all | |", "| a | all | `x`, `z` |", "| a | all | shown |"]
    check.check("good rows pass", (row for row in good if list(problems(head + row, {"x", "y-z"}))))
    check.check("bad rows are found", (row for row in bad if not list(problems(head + row, {"x", "y-z"}))))
    check.done()


def main(top, build):
    check = tap.Tap()
    with open(os.path.join(build, "meson-info/intro-tests.json"), encoding="utf-8") as file:
        tests = {test["name"] for test in json.load(file)}
    promise = "what survives is shown by tests"
    if NEEDED in tests:
        check.check(promise, problems(tap.read(top, PAGE), tests))
    else:
        check.skip(promise, "this build has not all tests")
    check.done()


if sys.argv[1:] == ["--self-test"]:
    self_test()
elif len(sys.argv) == 3:
    main(*sys.argv[1:])
else:
    sys.exit(__doc__)
