#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs the machine cases one after another, and writes a test log as meson does, for tests/report.py.

A case is an executable file in this folder. Its stdout is TAP, and a line "# Time limit: N min" in its head says how
long it may take. What it prints is kept in DIRECTORY/NAME.log.

What failed is run once more behind all others, as far as there is time: tests/second_run.py says which of them. That is
in second.json beside the log, and the output of the first time in DIRECTORY/NAME.first.log.

Without names every case is run, the short ones first. Together they have TOTAL_MIN: a case that is not over by then
is ended, and what it had not checked yet counts as skipped. By its name it has the time that it needs.

Usage: run.py DIRECTORY [NAME...]
       run.py --self-test
"""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.dirname(HERE))

import second_run  # noqa: E402

HEAD_LINES = 20
TOTAL_MIN = 50
TERM_SEC = 10
BY_NAME = re.compile(r"^# By name only: (.+)$", re.M)
LIMIT = re.compile(r"^# Time limit: (\d+) min$", re.M)
SKIPPED = re.compile(r"^1\.\.0\s*#\s*SKIP", re.I | re.M)
RUNNER = os.path.basename(__file__)


def find_cases(folder):
    paths = (os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name != RUNNER)
    return {
        os.path.splitext(os.path.basename(path))[0]: path
        for path in paths
        if os.path.isfile(path) and os.access(path, os.X_OK)
    }


def head(path):
    with open(path, encoding="utf-8") as file:
        return "".join(file.readlines()[:HEAD_LINES])


def time_limit(path):
    found = LIMIT.search(head(path))
    return int(found.group(1)) * 60 if found else None


def left_out(name, path):
    """A case that says why it is run only when it is named, and is skipped for that reason otherwise."""
    found = BY_NAME.search(head(path))
    reason = f"1..0 # SKIP {found.group(1)}: scripts/test --all {name}" if found else ""
    return {"name": name, "result": "SKIP", "stdout": reason, "stderr": "", "duration": 0.0} if found else None


def end(process):
    """The case and what it has started; its namespaces end with it."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(TERM_SEC)
            return
        except subprocess.TimeoutExpired:
            continue
        except ProcessLookupError:
            return


def run(path, log, limit):
    """Returns meson's word for how it ended."""
    process = subprocess.Popen(
        [path], stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
    )
    try:
        status = process.wait(limit)
    except subprocess.TimeoutExpired:
        end(process)
        return "TIMEOUT"
    except BaseException:
        end(process)
        raise
    return "OK" if status == 0 else "FAIL"


def run_case(name, path, directory, limit, left=float("inf")):
    """`left`: the seconds that there are for this case and all behind it."""
    if limit is None:
        return {"name": name, "result": "ERROR", "stdout": "", "stderr": "it names no time limit", "duration": 0.0}
    print(f"== {name}", flush=True)
    start = time.monotonic()
    output = os.path.join(directory, name + ".log")
    with open(output, "w", encoding="utf-8") as log:
        result = run(path, log, min(limit, max(left, 0)))
    duration = time.monotonic() - start
    with open(output, encoding="utf-8", errors="replace") as log:
        stdout = log.read()
    if result == "OK" and SKIPPED.search(stdout):
        result = "SKIP"
    if result == "TIMEOUT" and left < limit:
        result = "SKIP"
        stdout += f"\nok - the rest of {name} # SKIP no time is left for it: scripts/test --all {name}\n"
    print(f"   {result}, {duration:.0f} s of at most {limit} s", flush=True)
    return {"name": name, "result": result, "stdout": stdout, "stderr": "", "duration": duration}


def run_again(results, cases, directory, end_of_all):
    """Those that failed, while there is time: without it, what has failed has failed."""
    with open(os.path.join(directory, "second.json"), "w", encoding="utf-8") as log:
        for first in second_run.candidates(results):
            name, limit = first["name"], time_limit(cases[first["name"]])
            if limit is None or end_of_all - time.monotonic() < limit:
                continue
            os.rename(os.path.join(directory, name + ".log"), os.path.join(directory, name + ".first.log"))
            print("== once more, alone:")
            print(json.dumps(run_case(name, cases[name], directory, limit)), file=log, flush=True)


def check_second_run(folder):
    """Of a case that fails the first time only, and of one that always does, the first is unstable."""
    once = f"[ -e {folder}/was-run ] || {{ touch {folder}/was-run; echo not ok 1; exit 1; }}; echo ok 1; echo 1..1"
    cases, results = {}, []
    for name, text in ("once", once), ("always", PLANTED["bad"][0]):
        cases[name] = plant(folder, name, text)
        results.append(run_case(name, cases[name], folder, 100))
    run_again(results, cases, folder, time.monotonic() + 1000)
    found = set(second_run.unstable(os.path.join(folder, "testlog.json"), results))
    had_time = os.path.exists(os.path.join(folder, "once.first.log"))
    run_again(results, cases, folder, time.monotonic())
    late = set(second_run.unstable(os.path.join(folder, "testlog.json"), results))
    return found == {"once"} and had_time and not late


def plant(folder, name, text):
    path = os.path.join(folder, name + ".sh")
    with open(path, "w", encoding="utf-8") as file:
        print(f"#!/bin/sh\n# Time limit: 3 min\n{text}", file=file)
    os.chmod(path, 0o755)
    return path


PLANTED = {
    "good": ("echo ok 1; echo 1..1", "OK"),
    "bad": ("echo not ok 1; echo 1..1; exit 1", "FAIL"),
    "none": ("echo 1..0 '#' SKIP no network", "SKIP"),
    "late": ("echo ok 1; sleep 60 & wait", "TIMEOUT"),
    "unfinished": ("echo ok 1; sleep 60 & wait", "SKIP"),
}


def self_test():
    n_bad = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, (text, _) in PLANTED.items():
            plant(folder, name, text)
        with open(os.path.join(folder, "lib.sh"), "w", encoding="utf-8") as file:
            print("exit 1", file=file)
        for number, (name, path) in enumerate(find_cases(folder).items(), 1):
            limit = 0.5 if name == "late" else time_limit(path)
            with contextlib.redirect_stdout(sys.stderr):
                got = run_case(name, path, folder, limit, 0.5 if name == "unfinished" else 100)["result"]
            good = name in PLANTED and got == PLANTED[name][1] and limit in (0.5, 180)
            n_bad += not good
            print(f"{'ok' if good else 'not ok'} {number} - the case {name} ends in {got}")
        with contextlib.redirect_stdout(sys.stderr):
            good = check_second_run(folder)
        n_bad += not good
        print(f"{'ok' if good else 'not ok'} {number + 1} - what failed is run once more, if there is time")
    print(f"1..{len(PLANTED) + 1}")
    return 1 if n_bad else 0


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    if sys.argv[1:] == ["--self-test"]:
        sys.exit(self_test())
    directory, names = sys.argv[1], sys.argv[2:]
    cases = find_cases(HERE)
    unknown = [name for name in names if name not in cases]
    if unknown:
        sys.exit(f"no machine case is called {', '.join(unknown)}; there are: {', '.join(cases)}")
    os.makedirs(directory, exist_ok=True)
    results = []
    with open(os.path.join(directory, "testlog.json"), "w", encoding="utf-8") as log:
        end_of_all = float("inf") if names else time.monotonic() + TOTAL_MIN * 60
        for name in names or sorted(cases, key=lambda name: time_limit(cases[name]) or 0):
            left = end_of_all - time.monotonic()
            case = None if names else left_out(name, cases[name])
            case = case or run_case(name, cases[name], directory, time_limit(cases[name]), left)
            print(json.dumps(case), file=log, flush=True)
            results.append(case)
    run_again(results, cases, directory, end_of_all)


main()
