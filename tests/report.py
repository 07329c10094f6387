#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Adds up meson's test logs: TAP subtests one by one, any other test as one.

Prints why each skipped test was skipped and the output of each that failed, then one line
"N passed, N failed, N skipped". The exit status is 1 when something failed, or nothing ran.

Usage: report.py LABEL=TESTLOG.json... [failed:LABEL...]     failed: a build that broke
       report.py --self-test
"""

import json
import re
import sys

SHOWN_LINES = 200
RESULT = re.compile(r"^(not )?ok\b[ \t]*\d*[ \t]*-?[ \t]*(.*?)[ \t]*(?:#\s*(SKIP)\b\s*(.*))?$", re.I)
SKIPPED_UNIT = re.compile(r"^# skipped: (.*)$")  # of the test whose result comes next: tests/unit/test.h
SKIPPED_PLAN = re.compile(r"^1\.\.0\s*#\s*SKIP\S*\s*(.*)$", re.I | re.M)
PLAN = re.compile(r"^1\.\.(\d+)", re.M)


class Totals:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0
        self.lines = []

    def add(self, test, label):
        """One test of a log."""
        name = f"{label}: {test['name'].partition(':')[2] or test['name']}"
        output = test.get("stdout") or ""
        failed_before = self.failed
        plan = PLAN.search(output)
        if test["result"] == "SKIP":
            self.add_skipped(name, test, output)
        elif plan:
            self.add_subtests(name, output, int(plan.group(1)))
        elif test["result"] in ("OK", "EXPECTEDFAIL"):
            self.passed += 1
        if test["result"] not in ("OK", "EXPECTEDFAIL", "SKIP") and self.failed == failed_before:
            self.failed += 1  # it crashed, or was too late, after the last subtest
        if self.failed > failed_before:
            self.show(name, test, output)

    def add_skipped(self, name, test, output):
        plan = SKIPPED_PLAN.search(output)
        said = (output + (test.get("stderr") or "")).strip().splitlines()
        subtests = [match for match in map(RESULT.match, output.splitlines()) if match]
        if subtests and not plan:
            self.add_subtests(name, output, len(subtests))
        else:
            self.skip(name, plan.group(1) if plan else said[-1] if said else "no reason given")

    def add_subtests(self, name, output, n_planned):
        n, reason = 0, None
        for line in output.splitlines():
            match = RESULT.match(line)
            if not match:
                skipped = SKIPPED_UNIT.match(line)
                reason = skipped.group(1) if skipped else reason
                continue
            n += 1
            if match.group(1):
                self.failed += 1
            elif match.group(3) or reason:
                self.skip(f"{name}: {match.group(2).strip()}", match.group(4) or reason or "no reason given")
            else:
                self.passed += 1
            reason = None
        self.failed += max(n_planned - n, 0)  # planned, but never heard of

    def skip(self, name, reason):
        self.skipped += 1
        self.lines.append(f"SKIPPED  {name}: {reason}")

    def show(self, name, test, output):
        text = output + (test.get("stderr") or "")
        self.lines.append(f"FAILED   {name} ({test['result']}, {test['duration']:.1f} s)")
        self.lines += [f"    {line}" for line in text.splitlines()[-SHOWN_LINES:]]

    def __str__(self):
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


def self_test():
    totals = Totals()
    tests = [
        ("OK", "ok 1 - a\nok 2 - b # SKIP why\n1..2\n", (1, 0, 1)),
        ("OK", "# skipped: why\nok 1 - a: Passed\nok 2 - b: Passed\n1..2\n", (1, 0, 1)),
        ("FAIL", "# skipped: why\nnot ok 1 - a: not so\nok 2 - b: Passed\n1..2\n", (1, 1, 0)),
        ("OK", "ok 1 - no #include is bad\n1..1\n", (1, 0, 0)),
        ("FAIL", "1..3\nok 1\nnot ok 2 - x\n", (1, 2, 0)),
        ("FAIL", "ok 1 - a\n1..1\n", (1, 1, 0)),
        ("TIMEOUT", "", (0, 1, 0)),
        ("OK", "hello\n", (1, 0, 0)),
        ("SKIP", "1..0 # SKIP no kernel\n", (0, 0, 1)),
        ("SKIP", "cannot\n", (0, 0, 1)),
        ("SKIP", "ok 1 - a # SKIP x\nok 2 - b # SKIP x\n1..2\n", (0, 0, 2)),
    ]
    n_bad = 0
    for i, (result, output, expected) in enumerate(tests, 1):
        totals = Totals()
        totals.add({"name": "t", "result": result, "stdout": output, "duration": 0}, "x")
        good = (totals.passed, totals.failed, totals.skipped) == expected
        n_bad += not good
        print(f"{'ok' if good else 'not ok'} {i} - {result} with log {i} counts as {expected}")
    print(f"1..{len(tests)}")
    return 1 if n_bad else 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    totals = Totals()
    for argument in sys.argv[1:]:
        label, _, path = argument.partition("=")
        if not path:
            totals.failed += 1
            totals.lines.append(f"FAILED   {label.partition(':')[2]} did not build or run")
            continue
        with open(path, encoding="utf-8") as file:
            for line in file:
                totals.add(json.loads(line), label)
    print("\n".join(totals.lines))
    print(totals)
    return 1 if totals.failed or not totals.passed else 0


sys.exit(main())
