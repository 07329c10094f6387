#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs a recording again and again, and presses Ctrl-C a little later each time, until it ends before that.

Whenever it comes: the file is whole and the exit status 0, or there is no file, a status other than 0, and a word about
it. Each ending is printed once, with the number of times that it came. Most of the time of a recording is waiting, so
several run at once, each in a directory of its own.

Usage: cli-interrupt.py STEP-MS MAX -- COMMAND...     with {} for the output's name
"""

import collections
import concurrent.futures
import os
import signal
import subprocess
import sys
import tempfile
import time

AT_ONCE = 4
OUTPUT = "interrupted.pftrace"
KILLED_EARLY = -signal.SIGINT  # before it has begun anything
# What it may say: those of a cancelled start, of one that ends, and of one that is over. All else is noise.
WORDS = {
    "cancelled": ("desktrace: cancelled",),
    "stopped": ("Stopping; press Ctrl-C again", "Recorded ", "No losses", "To view it: ", "Nothing that ran"),
    "over": ("Recorded ", "No losses", "To view it: ", "Nothing that ran"),
}


def is_whole(path):
    inspect = [os.environ["DESKTRACE"], "inspect", "--json=short", path]
    result = subprocess.run(inspect, stdout=subprocess.PIPE, check=False)
    return result.returncode == 0 and b'"end":"complete"' in result.stdout


def classify(status, words, path):
    """The ending's name, or what is wrong with it."""
    exists = os.path.exists(path)
    if status == KILLED_EARLY:
        return "killed" if not exists and not words else f"killed, with {words}, file: {exists}"
    if status == 0:
        name = "stopped" if any("Stopping" in line for line in words) else "over"
        if not exists or not is_whole(path):
            return f"{name}, without a whole file: {words}"
    else:
        name = "cancelled"
        if exists or not words:
            return f"status {status}, file: {exists}, said: {words}"
    strange = [line for line in words if not line.startswith(WORDS[name])]
    return f"{name}, and said {strange}" if strange else name


def interrupt(command, seconds):
    with tempfile.TemporaryDirectory(dir=".") as directory:
        process = subprocess.Popen(
            command,
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        time.sleep(seconds)
        process.send_signal(signal.SIGINT)
        words = process.communicate(timeout=60)[0].splitlines()
        ending = classify(process.returncode, words, os.path.join(directory, OUTPUT))
        strays = set(os.listdir(directory)) - {OUTPUT}
        return f"{ending}, and left {strays}" if strays else ending


def main():
    step, most, command = float(sys.argv[1]) / 1000, int(sys.argv[2]), sys.argv[4:]
    command = [OUTPUT if word == "{}" else word for word in command]
    endings = collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        for first in range(0, most, AT_ONCE):
            moments = [number * step for number in range(first, min(first + AT_ONCE, most))]
            endings.update(pool.map(lambda seconds: interrupt(command, seconds), moments))
            if endings["over"] > 2:
                break
    for ending, count in endings.items():
        print(f"{ending} ({count})")


main()
