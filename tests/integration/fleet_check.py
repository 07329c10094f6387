#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Holds the tree of "desktrace export fleet" against what "desktrace query" says of the recording.

Usage: fleet_check.py TREE DESKTRACE TRACE MACHINE
"""

import collections
import glob
import json
import os
import sys

import parquet_file
from export_check import ask

S = 10**9


def table(tree, name, machine):
    """Its rows as dictionaries."""
    path, = glob.glob(f"{tree}/{name}/day=????-??-??/machine={machine}/*.parquet")
    names, rows = parquet_file.read(path)
    return [dict(zip(names, row)) for row in rows]


def cut(rows, offset):
    """States of threads, cut at full seconds: sums by second and process."""
    sums = collections.defaultdict(collections.Counter)
    for row in rows:
        ts, end = row["ts"] + offset, row["ts"] + offset + max(row["dur"], 0)
        first = sums[ts // S, row["pid"]]
        first["n_switches"] += row["state"] == "Running"
        first["n_wakeups"] += row["state"] == "R" and row["waker_utid"] is not None
        kind = {"Running": "running_ns", "R": "runnable_ns", "R+": "runnable_ns"}.get(row["state"], "blocked_io_ns")
        while ts < end:
            till = min(end, (ts // S + 1) * S)
            sums[ts // S, row["pid"]][kind] += till - ts
            ts = till
    return {key: +value for key, value in sums.items()}


def os_release(key):
    for path in "/etc/os-release", "/usr/lib/os-release":
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                for line in file:
                    name, _, value = line.strip().partition("=")
                    if name == key:
                        return value.strip("\"'")
            break
    return None


def main(tree, desktrace, trace, machine):
    about, = table(tree, "trace", machine)
    # A trace is as long as what is read of it.
    parts = " + ".join(f"(SELECT count(*) FROM {name})" for name in
                       ("slice", "counter", "sched", "thread_state", "logs", "perf_sample", "args"))
    said, = ask(desktrace, trace, f"SELECT {parts} AS n, "
                "(SELECT str_value FROM metadata WHERE name = 'trace_uuid') AS uuid, trace_dur() AS dur, "
                " to_realtime(trace_start()) AS start, to_realtime(0) AS offset")
    assert (about["trace_uuid"], about["duration_ns"], about["start_realtime_ns"]) == \
        (said["uuid"], said["dur"], said["start"])
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        assert about["boot_id"] == file.read().strip().replace("-", "")
    assert about["page_size"] == os.sysconf("SC_PAGESIZE") and about["ram_bytes"] > 0
    assert about["os_id"] == os_release("ID") and about["os_version"] == os_release("VERSION_ID")

    slices = table(tree, "slice", machine)
    wanted = ask(desktrace, trace, "SELECT s.id, to_realtime(s.ts) AS realtime_ns, s.dur, s.name, s.parent_id, "
                 "t.tid, p.pid FROM slice s JOIN any_track k ON k.id = s.track_id LEFT JOIN thread t ON t.id = k.utid "
                 "LEFT JOIN process p ON p.id = coalesce(k.upid, t.upid) ORDER BY s.id")
    assert len(slices) == len(wanted) > 0
    for have, want in zip(sorted(slices, key=lambda row: row["id"]), wanted):
        want["dur"] = None if want["dur"] < 0 else want["dur"]
        assert all(have[key] == value for key, value in want.items()), (have, want)
        assert have["args"] is None or isinstance(json.loads(have["args"]), dict)
    assert any(row["args"] for row in slices)
    counters, = ask(desktrace, trace, "SELECT count(*) AS n FROM counter")
    assert len(table(tree, "counter", machine)) == counters["n"]

    states = ask(desktrace, trace, "SELECT s.ts, s.dur, s.state, s.waker_utid, p.pid FROM thread_state s JOIN thread t "
                 "ON t.id = s.utid LEFT JOIN process p ON p.id = t.upid WHERE s.state IN ('Running', 'R', 'R+') "
                 "OR (s.state LIKE 'D%' AND s.io_wait = 1)")
    sums = collections.defaultdict(collections.Counter)
    for row in table(tree, "cpu_time", machine):
        numbers = {key: value for key, value in row.items() if key.startswith("n_") or key.endswith("_ns")}
        sums[row["realtime_s"], row["pid"]].update(numbers)
    assert {key: +value for key, value in sums.items()} == cut(states, said["offset"]), "other sums"

    delays, = ask(desktrace, trace, "SELECT count(*) AS n, coalesce(sum(dur), 0) AS ns FROM thread_state "
                  "WHERE state = 'R' AND waker_utid IS NOT NULL AND dur >= 0")
    rows = table(tree, "wakeup_latency", machine)
    assert sum(row["n"] for row in rows) == delays["n"] and sum(row["total_ns"] for row in rows) == delays["ns"]
    for row in rows:
        least = row["n"] << row["log2_ns"]
        assert least <= max(row["total_ns"], row["n"]) <= 2 * least, row


if __name__ == "__main__":
    main(*sys.argv[1:])
