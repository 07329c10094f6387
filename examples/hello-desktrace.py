#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The same as hello-desktrace.c, in Python.

Usage: hello-desktrace.py [--seconds N]
"""

import sys
import time

import desktrace

work = desktrace.Category("work", "What this example does")


def step(number):
    with work.slice("step", number=number, size={"width": 3, "heights": [1, 2.5]}) as more:
        time.sleep(0.002)
        work.counter("steps", number)
        if number % 10 == 0:
            work.instant("ten", share=number / 100)
        more["done"] = True


def main():
    seconds = float(sys.argv[2]) if sys.argv[1:2] == ["--seconds"] else 1.0
    desktrace.startup_record()
    work.instant("before init")
    observer = desktrace.Observer(lambda starts, n: work.instant("recorded" if starts else "left"))
    desktrace.init()
    end = time.monotonic() + seconds
    number = 0
    while time.monotonic() < end:
        number += 1
        step(number)
    observer.remove()


main()
