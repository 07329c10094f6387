#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A program that writes a profile when it ends, as Firefox does, and says how many markers are in it.

Usage: firefox-app.py SECONDS    with $MOZ_PROFILER_SHUTDOWN
"""

import json
import os
import sys
import time

SCHEMA = {"name": 0, "startTime": 1, "endTime": 2, "phase": 3, "category": 4, "data": 5}


def main():
    began = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    markers = []
    while time.clock_gettime_ns(time.CLOCK_MONOTONIC) < began + int(float(sys.argv[1]) * 1e9):
        at = (time.clock_gettime_ns(time.CLOCK_MONOTONIC) - began) / 1e6
        markers.append([0, at, at + 5, 1, 0])
        time.sleep(0.01)
    markers.append([1, 1, None, 0, 0, {"type": "UserTiming", "name": "of the page"}])
    markers.append([2, 2, None, 0, 0, {"type": "Network", "URI": "https://example.org/secret"}])
    profile = {
        "meta": {"startTimeAsClockMonotonicNanosecondsSinceBoot": began, "categories": [{"name": "DOM"}]},
        "threads": [{
            "name": "GeckoMain", "pid": str(os.getpid()), "tid": os.getpid(),
            "markers": {"schema": SCHEMA, "data": markers},
            "stringTable": ["step", "UserTiming", "Load 1: https://example.org/secret"],
        }],
        "processes": [],
    }
    with open(os.environ["MOZ_PROFILER_SHUTDOWN"], "w", encoding="utf-8") as file:
        json.dump(profile, file)
    print(len(markers) - 2)


main()
