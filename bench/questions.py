#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Measures what answers, conversions and screens of large traces cost: CPU time and peak memory of the whole program,
the least of several runs, beside a floor: to read the bytes and do nothing.

Usage: questions.py DESKTRACE SCHEDULING-TRACE SLICES-TRACE [RUNS]
The traces are made by make-trace. If DESKTRACE_TEST_TRACE_PROCESSOR names Perfetto's trace processor, it is asked what
it can be asked as well, in turn with Desktrace.
"""

import os
import resource
import subprocess
import sys
import tempfile
import threading

SCHEDULING = [
    ["query", "SELECT count(*) FROM sched"],
    ["query", "SELECT count(*) FROM thread_state"],
    ["query", "SELECT (SELECT count(*) FROM sched), (SELECT count(*) FROM thread_state)"],
    ["why", "cpu"],
    ["why", "cpu", "--by", "thread"],
    ["why", "waits"],
    ["why", "wakeups"],
    ["top", "--json=short", "--interval", "1s"],
    ["export", "csv", "--table", "sched"],
]
SLICES = [
    ["query", "SELECT count(*) FROM slice"],
    ["query", "SELECT count(arg_set_id) FROM slice"],
    ["query", "SELECT * FROM slice_stats"],
    ["query", "SELECT name, percentile(dur, 99) FROM slice GROUP BY name"],
    ["query", "SELECT sum(self_dur) FROM slice_self_dur"],
    ["why", "times"],
    ["why", "repeats"],
    ["top", "--json=short", "--interval", "1s"],
    ["export", "csv", "--table", "slice"],
    ["export", "jsonl", "--table", "slice"],
    ["export", "parquet", "--table", "slice"],
    ["export", "chrome"],
    ["export", "sqlite", "--table", "slice"],
]
# What the trace processor is asked where it has other words for it.
THEIRS = {
    # Not each build of it has percentiles, so it is asked for less.
    "SELECT * FROM slice_stats": "SELECT name, count(*), sum(dur), min(dur), max(dur) FROM slice GROUP BY name",
    "SELECT name, percentile(dur, 99) FROM slice GROUP BY name": "SELECT name, max(dur) FROM slice GROUP BY name",
    "SELECT sum(self_dur) FROM slice_self_dur": "INCLUDE PERFETTO MODULE slices.self_dur; "
    "SELECT sum(self_dur) FROM slice_self_dur",
}
LIVE_SCREENS = 10


def run(command):
    """CPU time in s, and the peak of its memory in MB."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    text = []
    reader = threading.Thread(target=lambda: text.append(process.stderr.read()))
    reader.start()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    reader.join()
    if process.returncode not in (0, 6):  # 6: the file tells of losses
        sys.exit(f"{' '.join(command)}: {process.returncode}\n{text[0].decode()}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def measure(name, command, runs, per=1):
    results = [run(command) for _ in range(runs)]
    seconds = min(seconds for seconds, _ in results) / per
    cost = f"{seconds * 1000:.1f} ms" if seconds < 0.1 else f"{seconds:.2f} s"
    memory = min(memory for _, memory in results)
    # A small program never has less than this one, which it was forked from.
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"| {name} | {cost} | {'' if memory > own else 'under '}{max(memory, own):.0f} MB |", flush=True)


def measure_peer(processor, name, arguments, path, runs):
    if processor and arguments[0] == "query":
        sql = THEIRS.get(arguments[1], arguments[1])
        measure(f"the same, {name}, trace processor", [processor, "-Q", sql, path], runs)


def words(desktrace, arguments, path, folder):
    if arguments[0] == "query":
        return [desktrace, "query", path, arguments[1]]
    command = [desktrace, *arguments, path]
    if arguments[0] == "export":
        target = os.path.join(folder, "out") if "sqlite" in arguments else "-"
        command += ["-f", "-o", target]
    return command


def main():
    desktrace, scheduling, slices = sys.argv[1:4]
    runs = int(sys.argv[4]) if len(sys.argv) > 4 else 3
    processor = os.environ.get("DESKTRACE_TEST_TRACE_PROCESSOR")
    print("| what | CPU | memory |\n|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        empty = os.path.join(folder, "empty")
        with open(empty, "wb") as file:
            file.write(b"\x0a\x02\x50\x01")  # a packet that says its sequence only
        measure("`query SELECT 1`, nothing", [desktrace, "query", empty, "SELECT 1"], runs)
        measure_peer(processor, "nothing", ["query", "SELECT 1"], empty, runs)
        for name, path, rows in (("scheduling", scheduling, SCHEDULING), ("slices", slices, SLICES)):
            measure(f"`cat`, {name}", ["cat", path], runs)
            for arguments in rows:
                measure(f"`{' '.join(arguments)}`, {name}", words(desktrace, arguments, path, folder), runs)
                measure_peer(processor, name, arguments, path, runs)
    n_threads = sum(len(os.listdir(f"/proc/{pid}/task")) for pid in os.listdir("/proc") if pid.isdigit())
    measure(f"`top`, a live screen of {n_threads} threads",
            [desktrace, "top", "--json=short", "--interval", "200ms", "--count", str(LIVE_SCREENS)], runs, LIVE_SCREENS)


main()
