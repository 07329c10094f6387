#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Adds up meson's test logs: TAP subtests one by one, any other test as one.

Prints why each skipped test was skipped and the output of each that failed, then one line
"N passed, N failed, N skipped". The exit status is 1 when something failed, or nothing ran.

What failed, but passed when it was run once more alone (second_run.py), counts as the second time, and is named as
UNSTABLE with the output of the first time as a comment.

Usage: report.py LABEL=TESTLOG.json... [failed:LABEL...]     failed: a build that broke
       report.py --self-test
"""

import json
import os
import re
import sys
import tempfile

import second_run

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

    def add_log(self, path, label):
        """A test log, with the second run's beside it."""
        tests = second_run.read_log(path)
        again = second_run.unstable(path, tests)
        for test in tests:
            if test["name"] in again:
                self.add(again[test["name"]], label)
                self.show_unstable(test, label)
            else:
                self.add(test, label)

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

    def show_unstable(self, test, label):
        name = f"{label}: {test['name'].partition(':')[2] or test['name']}"
        first, *others = second_run.failed_lines(test)
        more = f", and {len(others)} more" if others else ""
        self.lines.append(f"UNSTABLE {name}: failed beside others, passed alone: {first}{more}")
        # In words that nobody, and no program, takes for a failure of this run.
        for line in second_run.text_of(test).splitlines()[-SHOWN_LINES:]:
            words = re.sub(r"\bnot ok\b", "(not so)", line)
            self.lines.append("    # " + re.sub(r"\bFAIL\w*", "(no success)", words))

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
    for i, (promise, good) in enumerate(second_run_checks(), len(tests) + 1):
        n_bad += not good
        print(f"{'ok' if good else 'not ok'} {i} - {promise}")
    print(f"1..{i}")
    return 1 if n_bad else 0


def total_of(first, second):
    """Of two runs, each a list of name, result and output."""
    totals = Totals()
    with tempfile.TemporaryDirectory() as folder:
        for name, tests in ("testlog.json", first), ("second.json", second):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                for test in tests:
                    print(json.dumps(dict(zip(("name", "result", "stdout"), test), duration=0)), file=file)
        totals.add_log(os.path.join(folder, "testlog.json"), "x")
    return totals


def second_run_checks():
    good = ("p:s / good", "OK", "ok 1 - a\n1..1\n")
    bad = ("p:s / t", "FAIL", "not ok 1 - FAILED to come\nok 2 - b\nnot ok 3 - c\n1..3\n")
    better = ("p:s / t", "OK", "ok 1 - FAILED to come\nok 2 - b\nok 3 - c\n1..3\n")
    late = ("p:s / late", "TIMEOUT", "ok 1 - a\n")
    crash = ("p:s / t", "FAIL", bad[2] + "# SUMMARY: AddressSanitizer: heap-buffer-overflow\n")
    passed = total_of([good, bad], [better])
    text = "\n".join(passed.lines)
    yield "what passed alone counts as passed", str(passed) == "4 passed, 0 failed, 0 skipped"
    yield "and is named, with what failed", text.startswith(
        "UNSTABLE x: s / t: failed beside others, passed alone: FAILED to come, and 1 more\n"
    )
    yield "its first output cannot be taken for a failure", not re.search(
        r"not ok|FAILED", text.partition("\n")[2]
    ) and "    # (not so) 1 - (no success) to come" in passed.lines
    twice = total_of([good, bad], [bad])
    yield "what failed twice counts as the first time", str(twice) == "2 passed, 2 failed, 0 skipped"
    yield "so does what was not run again", total_of([bad, late], [better]).failed == 1
    yield "what crashed stays failed", str(total_of([crash], [better])) == "1 passed, 2 failed, 0 skipped"
    yield "what was skipped the second time has not passed", total_of([bad], [("p:s / t", "SKIP", "")]).failed == 2
    six = [(f"p:s / t{i}", *bad[1:]) for i in range(6)]
    yield "six are too many", total_of(six, [(f"p:s / t{i}", *better[1:]) for i in range(6)]).failed == 12


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
        totals.add_log(path, label)
    print("\n".join(totals.lines))
    print(totals)
    return 1 if totals.failed or not totals.passed else 0


sys.exit(main())
