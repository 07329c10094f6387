#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs what failed once more, one after another with nothing beside it. HACKING.md says what that is worth.

The first run's meson-logs/testlog.json stays as it is; the second run's is second.json beside it, where tests/report.py
looks for it.

Usage: second_run.py DIRECTORY MESON ARGUMENTS...     MESON test ARGUMENTS was the first run, in the build directory
       second_run.py --self-test
"""

import json
import os
import re
import subprocess
import sys

TESTS_MAX = 5  # more is no accident
FAILED = ("FAIL", "ERROR", "TIMEOUT")
NOT_OK = re.compile(r"^\s*not ok\b[ \t]*\d*[ \t]*-?[ \t]*(.*)$")
# What a program of ours leaves when it crashes, or a sanitizer when it finds something: never an accident.
CRASH = re.compile(
    r"(Address|Leak|Memory|Thread|UndefinedBehavior)Sanitizer|runtime error: |==\d+==\s*ABORTING|Shadow byte legend"
    r"|SIG(SEGV|ABRT|BUS|ILL|FPE|TRAP|SYS)\b|Segmentation fault|core dumped|\bAborted\b|Bus error|Illegal instruction"
    r"|[Ss]ignal (4|5|6|7|8|11|31)\b|\((132|133|134|135|136|139|159)\):|stack smashing|corrupted|double free"
    r"|Assertion .* failed\."
)
KILLED_BY = (4, 5, 6, 7, 8, 11, 31)  # signals, as in CRASH


def text_of(test):
    return (test.get("stdout") or "") + (test.get("stderr") or "")


def has_failed(test):
    return test["result"] in FAILED


def has_crashed(test):
    return -(test.get("returncode") or 0) in KILLED_BY or bool(CRASH.search(text_of(test)))


def short_name(test):
    """As meson's command line takes it: without the project and the suites."""
    return test["name"].rpartition(" / ")[2]


def failed_lines(test):
    """What was promised and not so, or how it ended otherwise."""
    promises = [match.group(1) for match in map(NOT_OK.match, (test.get("stdout") or "").splitlines()) if match]
    if promises:
        return promises
    return ["it ran out of time" if test["result"] == "TIMEOUT" else f"it ended with {test['result']}"]


def candidates(tests):
    """Those that are run again: none, if there are too many."""
    failed = [test for test in tests if has_failed(test)]
    return [test for test in failed if not has_crashed(test)] if len(failed) <= TESTS_MAX else []


def read_log(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def second_log(path):
    return os.path.join(os.path.dirname(path), "second.json")


def unstable(path, tests):
    """The second run of those tests that failed in the first one and passed then, by their names."""
    again = second_log(path)
    if not os.path.exists(again):
        return {}
    names = {test["name"] for test in candidates(tests)}
    return {test["name"]: test for test in read_log(again) if test["result"] == "OK" and test["name"] in names}


def run(directory, meson, arguments):
    log = os.path.join(directory, "meson-logs", "testlog.json")
    names = [short_name(test) for test in candidates(read_log(log))]
    if not names:
        return
    print(f"== once more, alone: {', '.join(names)}", flush=True)
    command = [meson, "test", "-C", directory, "--no-rebuild", "--logbase", "second", "--num-processes", "1"]
    subprocess.run([*command, *arguments, *names], stdin=subprocess.DEVNULL, check=False)


def self_test():
    def log(name="p:unit / a", result="FAIL", stdout="not ok 1 - b", **more):
        return {"name": name, "result": result, "stdout": stdout, **more}

    checks = {
        "what failed is run again": candidates([log(), log(result="OK"), log(result="SKIP")]) == [log()],
        "so is what ran out of time": len(candidates([log(result="TIMEOUT")])) == 1,
        "not what was interrupted": not candidates([log(result="INTERRUPT")]),
        "five tests are": len(candidates([log()] * 5)) == 5,
        "of six none is": not candidates([log()] * 6),
        "the name is what meson takes": short_name(log("p:boot+hostile / boot-x")) == "boot-x",
        "failed promises are found": failed_lines(log(stdout="ok 1 - a\nnot ok 2 - b\n  not ok 3 - c")) == ["b", "c"],
        "the lack of time is one": failed_lines(log(result="TIMEOUT", stdout="ok 1 - a")) == ["it ran out of time"],
        "who is killed by a signal has crashed": has_crashed(log(returncode=-11)),
        "not who is ended": not has_crashed(log(returncode=-15)) and not has_crashed(log(returncode=1)),
        "nor who only fails": not has_crashed(log(stdout="# wanted: ^t 0$\nnot ok 3 - nothing of it is lost")),
        "one crash does not keep others from it": candidates([log(returncode=-6), log()]) == [log()],
    }
    for text in (
        "# ==12==ERROR: AddressSanitizer: heap-use-after-free",
        "# SUMMARY: UndefinedBehaviorSanitizer: undefined-behavior",
        "# ../a.c:1:2: runtime error: signed integer overflow",
        "WARNING: ThreadSanitizer: data race",
        "# ==12==ABORTING",
        "not ok 1 - a.c:5: Received signal 11 (Segmentation fault)",
        "# ./run.sh: line 1: 7 Aborted                 (core dumped)",
        "# desktrace inspect x (139): ",
        "# code=killed, status=6/ABRT SIGABRT",
    ):
        checks[f"a crash: {text.lstrip('# ')}".replace("not ok", "no")] = has_crashed(log(stdout=text))
        checks[f"also among errors: {text.lstrip('# ')}".replace("not ok", "no")] = has_crashed(log(stderr=text))
    for number, (promise, good) in enumerate(checks.items(), 1):
        print(f"{'ok' if good else 'not ok'} {number} - {promise}")
    print(f"1..{len(checks)}")
    return 0 if all(checks.values()) else 1


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        sys.exit(self_test())
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    run(sys.argv[1], sys.argv[2], sys.argv[3:])
