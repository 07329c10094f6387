#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What recording a session bus takes of a CPU while 10,000 messages a second go over it, beside a monitor that
receives the same messages in the same moments and looks at nothing. On a bus of its own; "chrt -f 1" before it makes
it go first.

Usage: bench/bus-storm.py BUILD [RUNS]
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time

SECONDS = 6
RUNS = 5
GOAL = 1.0  # percent, of all that is ours
WAIT_S = 60


def cpu_ns(pid, is_reader=None):
    """Of the threads of a process; of the bridge's, the one that reads or all others."""
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/comm", encoding="ascii") as file:
            reads = file.read() == "bus-monitor\n"
        if is_reader in (None, reads):
            with open(f"/proc/{pid}/task/{task}/schedstat", encoding="ascii") as file:
                total += int(file.read().split()[0])
    return total


def child(pid, name):
    """The child of that name, once there is one."""
    deadline = time.monotonic() + WAIT_S
    while time.monotonic() < deadline:
        found = subprocess.run(["pgrep", "-P", str(pid), "-f", name], capture_output=True, text=True, check=False)
        if found.stdout:
            return int(found.stdout.split()[0])
        time.sleep(0.05)
    sys.exit(f"skipped: no {name} runs")


def wait_for_reader(pid):
    deadline = time.monotonic() + WAIT_S
    while time.monotonic() < deadline:
        if cpu_ns(pid, True):
            return
        time.sleep(0.05)
    sys.exit("skipped: the bridge does not read")


def shares(bus, bridges, service):
    return {
        "dbus-daemon": cpu_ns(bus),
        "the bridge's thread that reads": cpu_ns(bridges, True),
        "the bridge's main loop": cpu_ns(bridges, False),
        "the service": cpu_ns(service),
    }


def count(desktrace, trace, sql):
    said = subprocess.run([desktrace, "query", trace, sql], capture_output=True, text=True, check=True)
    return int(said.stdout.split()[-1])


def measure(build, folder, bus):
    """One recording: the shares of a CPU, and how many calls are missing in the trace."""
    desktrace, storm = f"{build}/src/client/desktrace", f"{build}/bench/bench-bus-storm"
    trace = os.path.join(folder, "bus.pftrace")
    recorder = subprocess.Popen([desktrace, "record", "--standalone", "-q", "-f", "-o", trace, "org.freedesktop.dbus"])
    bridges, service = child(recorder.pid, "desktrace-bridges"), child(recorder.pid, "desktraced")
    wait_for_reader(bridges)
    load = subprocess.Popen([storm, "load", str(SECONDS + 2)], stdout=subprocess.PIPE, text=True)
    time.sleep(1)
    floor = subprocess.Popen([storm, "floor", str(SECONDS)], stdout=subprocess.PIPE, text=True)
    begin, before = time.monotonic(), shares(bus, bridges, service)
    floor_share = float(floor.communicate()[0].split()[1])
    took_ns, after = (time.monotonic() - begin) * 1e9, shares(bus, bridges, service)
    n_calls = int(load.communicate()[0].split()[0])
    time.sleep(0.5)
    recorder.send_signal(2)
    recorder.wait()
    n_seen = count(desktrace, trace, "select count(*) from slice s join track t on s.track_id = t.id "
                   "where s.name = 'org.example.Storm.Echo' and t.name = 'calls'")
    values = {"a monitor that only receives": floor_share}
    values |= {what: 100 * (after[what] - before[what]) / took_ns for what in after}
    values["all of ours"] = sum(values[what] for what in values if what.startswith("the "))
    values["ours, without receiving"] = values["all of ours"] - floor_share
    return values, n_calls - n_seen


def main():
    build, runs = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else RUNS
    os.environ["DESKTRACE_BRIDGES"] = f"{build}/src/bridges/desktrace-bridges"
    results, n_missing = [], 0
    with tempfile.TemporaryDirectory() as folder:
        address = f"unix:path={folder}/bus"
        os.environ["DBUS_SESSION_BUS_ADDRESS"] = address
        daemon = subprocess.Popen(["dbus-daemon", "--session", "--nofork", "--nopidfile", f"--address={address}"],
                                  stderr=subprocess.DEVNULL)
        while not os.path.exists(f"{folder}/bus"):
            time.sleep(0.05)
        for _ in range(runs):
            values, n = measure(build, folder, daemon.pid)
            results.append(values)
            n_missing += n
        daemon.kill()
        daemon.wait()
    for what in results[0]:
        figures = [values[what] for values in results]
        print(f"{what:32} {statistics.median(figures):6.2f} % ({min(figures):.2f} to {max(figures):.2f})")
    print(f"calls that are not in the trace  {n_missing:6}")
    missed = n_missing > 0 or statistics.median(values["all of ours"] for values in results) > GOAL
    print("MISSED" if missed else "reached")
    return missed


sys.exit(main())
