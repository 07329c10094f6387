#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Measures what recording a heap costs, and how true it is: beside the C library alone and heaptrack, where that is
installed, in runs that take turns. Times are user CPU time, so that what else the machine does counts for less.

Usage: heap.py DESKTRACE HEAP-LIBRARY LOAD [--runs=N] [pairs|python|gtk|error|many]...
LOAD is bench-heap-load of the same build. Without a subject all of them are measured.
"""

import math
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PRESETS = os.path.join(HERE, "../../data/presets")
MIB = 1 << 20
SITES = ["site_of_64", "site_of_1024", "site_of_32768"]
GTK_BEGINS, GTK_SECONDS = 2, 6
N_STACKS = 10000
CONFIG = """
buffers { size_kb: 65536 }
data_sources { config { name: "heap.malloc" heapprofd_config { sampling_interval_bytes: %d
        continuous_dump_config { dump_phase_ms: 2000 dump_interval_ms: 2000 } } } }
"""


class Bench:
    def __init__(self, desktrace, library, load, n_runs):
        self.desktrace, self.library, self.load = (os.path.abspath(path) for path in (desktrace, library, load))
        self.thread = os.path.join(os.path.dirname(self.load), "bench-heap-thread.so")
        self.n_runs = n_runs
        self.heaptrack = shutil.which("heaptrack")

    def environment(self, interval):
        """Of a program that counts from its start, without a recording; None: without the library, 0: armed."""
        new = dict(os.environ, PYTHONMALLOC="malloc")
        new.pop("LD_PRELOAD", None)
        if interval is not None:
            new["LD_PRELOAD"] = self.library
        if interval:
            new["DESKTRACE_HEAP"] = str(interval)
        return new

    def record(self, target, command, *options):
        os.environ.update(DESKTRACE_HEAP_LIBRARY=self.library, DESKTRACE_PRESET_PATH=PRESETS)
        result = subprocess.run(
            [self.desktrace, "record", "--standalone", *options, "-f", "-o", target, "--", *command],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=dict(os.environ, PYTHONMALLOC="malloc"))
        if result.returncode not in (0, 6, 128 + signal.SIGTERM):
            sys.exit(f"heap.py: the recording of {command[0]} failed: {result.returncode}")
        return result.stdout.decode()

    def query(self, trace, statement):
        rows = subprocess.run([self.desktrace, "query", "--csv", "--no-legend", trace, statement],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout.decode().split()
        return [float(value) for value in rows[0].split(",")] if rows else []

    def track(self, command):
        """With heaptrack, whose file goes away."""
        return [self.heaptrack, "-o", "heaptrack", *command]


def print_medians(kinds, unit):
    """The first is what the others are held against."""
    floor = statistics.median(kinds[0][1])
    for name, values in kinds:
        median = statistics.median(values)
        print(f"  {name:<28} {median:8.2f} {unit}  {median - floor:+8.2f} {unit}  {median / floor:6.3f} x  "
              f"(of {len(values)}, {min(values):.2f} to {max(values):.2f})")


def output_of(command, environment):
    return subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout.decode()


def measure_pairs(bench):
    kinds = [("glibc", None), ("armed", 0), ("32 KiB", 32768), ("4 KiB", 4096)]
    rows = [(name, []) for name, _ in kinds]
    tracked = []
    for i in range(bench.n_runs):
        for (_, interval), (_, values) in zip(kinds, rows):
            values.append(float(output_of([bench.load, "pairs"], bench.environment(interval))))
        if bench.heaptrack and i < 3:
            text = output_of(bench.track([bench.load, "pairs"]), bench.environment(None))
            tracked += [float(line) for line in text.split("\n") if re.fullmatch(r"[0-9.]+", line)]
    print("malloc() and free() of 16 to 256 bytes:")
    print_medians(rows + ([("heaptrack", tracked)] if tracked else []), "ns")


def cpu_of(bench, command, environment):
    """Of the command alone, and not of what runs it."""
    subprocess.run([bench.load, "run", "cpu", *command], env=environment, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    return float(open("cpu").read())


def measure_python(bench):
    python = shutil.which("python3", path="/usr/bin") or sys.executable
    command = [python, os.path.join(HERE, "churn.py")]
    wrapped = [bench.load, "run", "cpu", *command]
    rows = [(name, []) for name in ["glibc", "a thread that does nothing", "armed", "32 KiB, recorded",
                                  "4 KiB, recorded"]]
    tracked = []
    for i in range(bench.n_runs):
        rows[0][1].append(cpu_of(bench, command, bench.environment(None)))
        rows[1][1].append(cpu_of(bench, command, dict(bench.environment(None), LD_PRELOAD=bench.thread)))
        rows[2][1].append(cpu_of(bench, command, bench.environment(0)))
        for values, size in ((rows[3][1], "32K"), (rows[4][1], "4K")):
            bench.record("python.pftrace", wrapped, "-p", "apps", "--heap=" + size)
            values.append(float(open("cpu").read()))
        if bench.heaptrack and i < 1:
            tracked.append(cpu_of(bench, bench.track(command), bench.environment(None)))
    print("Python with PYTHONMALLOC=malloc, that does little else:")
    print_medians(rows + ([("heaptrack, with its writer", tracked)] if tracked else []), "s")
    print_complete(bench, "python.pftrace")


def gtk_cpu(command, environment):
    """User CPU until it has begun, and then; a tick of the clock is 10 ms, so the scheduler's own count is taken."""
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    seen = []
    for seconds in (GTK_BEGINS, GTK_SECONDS):
        time.sleep(seconds)
        tasks = f"/proc/{process.pid}/task"
        seen.append(sum(int(open(f"{tasks}/{task}/schedstat").read().split()[0]) for task in os.listdir(tasks)) / 1e6)
    process.send_signal(signal.SIGTERM)
    process.wait()
    return seen[0], seen[1] - seen[0]


def measure_gtk(bench):
    if not shutil.which("gtk4-demo") or not shutil.which("Xvfb"):
        print("GTK 4: gtk4-demo or Xvfb is not installed")
        return
    read, write = os.pipe()
    server = subprocess.Popen(["Xvfb", "-displayfd", str(write), "-screen", "0", "1280x1024x24"], pass_fds=[write],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.environ.update(DISPLAY=":" + os.read(read, 16).decode().strip(), GDK_BACKEND="x11", GSK_RENDERER="cairo")
    kinds = [("glibc", None), ("armed", 0), ("32 KiB", 32768)]
    begin, then = ([(name, []) for name, _ in kinds] for _ in range(2))
    command = ["gtk4-demo", "--run=spinner"]
    for _ in range(bench.n_runs):
        for i, (_, interval) in enumerate(kinds):
            cpu = gtk_cpu(command, bench.environment(interval))
            begin[i][1].append(cpu[0])
            then[i][1].append(cpu[1])
    print(f"gtk4-demo, CPU of the {GTK_BEGINS} s in which it begins:")
    print_medians(begin, "ms")
    print(f"and of {GTK_SECONDS} s in which it turns a spinner:")
    print_medians(then, "ms")
    timed = ["timeout", "--preserve-status", str(GTK_SECONDS), *command]
    bench.record("gtk.pftrace", timed, "-p", "apps", "--heap=32K")
    print_complete(bench, "gtk.pftrace")
    server.terminate()
    server.wait()


UP = """WITH RECURSIVE up(site, callsite) AS (SELECT id, callsite_id FROM heap_site
    UNION ALL SELECT up.site, c.parent_id FROM up JOIN stack_profile_callsite c ON c.id = up.callsite
    WHERE c.parent_id IS NOT NULL), of(site, name) AS (SELECT DISTINCT up.site, coalesce(s.name, f.name)
    FROM up JOIN stack_profile_callsite c ON c.id = up.callsite JOIN stack_profile_frame f ON f.id = c.frame_id
    LEFT JOIN stack_profile_symbol s ON s.symbol_set_id = f.symbol_set_id) """


def print_complete(bench, trace):
    n_all, n_cut, allocated, cut = bench.query(trace, UP + """SELECT count(*), coalesce(sum(is_cut), 0), sum(allocated),
        coalesce(sum(allocated * is_cut), 0) FROM (SELECT allocated, id IN (SELECT site FROM of
        WHERE name = '[truncated]') AS is_cut FROM heap_site)""")
    print(f"  call stacks: {n_all:.0f}, of which complete: {100 * (1 - n_cut / n_all):.2f} %, "
          f"with {100 * (1 - cut / allocated):.2f} % of what was allocated")


def measure_error(bench):
    n_runs, wanted = max(100, bench.n_runs), 10 * MIB
    errors = {name: [] for name in SITES}
    for _ in range(n_runs):
        bench.record("sites.pftrace", [bench.load, "sites"], "-p", "apps", "--heap=32K")
        for name in SITES:
            got = bench.query("sites.pftrace", UP + f"""SELECT coalesce(sum(allocated - freed), 0) FROM heap_site
                WHERE id IN (SELECT site FROM of WHERE name = '{name}')""")
            errors[name].append((got[0] - wanted) / wanted * 100)
    print(f"Sites with 10 MiB that are never freed, at 32 KiB, in {n_runs} recordings:")
    for name, values in errors.items():
        deviation = statistics.stdev(values)
        print(f"  {name:<28} mean error {statistics.mean(values):+6.2f} % (standard deviation of that: "
              f"{deviation / math.sqrt(n_runs):.2f}), standard deviation {deviation:5.2f} %")


def measure_many(bench):
    with open("many.pbtxt", "w") as file:
        file.write(CONFIG % 256)
    without, memory, memory_dumped, dumps, n_sites = [], [], [], [], []
    for _ in range(max(3, bench.n_runs // 3)):
        command = [bench.load, "many", str(N_STACKS), "4096"]
        without.append(float(output_of(command, bench.environment(None)).split()[0]))
        text = bench.record("many.pftrace", ["env", "LD_PRELOAD=" + bench.library, "DESKTRACE_HEAP=256",
                                             "DESKTRACE_WAIT=5000", *command], "-c", "many.pbtxt")
        numbers = re.findall(r"^([0-9]+) ([0-9 ]+) / ([0-9]+)$", text, re.M)[0]  # memory, dumps, memory
        memory.append(float(numbers[0]) - without[-1])
        memory_dumped.append(float(numbers[2]) - without[-1])
        dumps += [float(ns) / 1e6 for ns in numbers[1].split()]
        n_sites += bench.query("many.pftrace", "SELECT count(*) FROM heap_site")
    print(f"A program with {statistics.median(n_sites):.0f} call stacks:")
    print(f"  memory of ours before a dump {statistics.median(memory) / 1024:.1f} MiB, "
          f"after six of all of them {statistics.median(memory_dumped) / 1024:.1f} MiB")
    print(f"  CPU of a dump of all {statistics.median(dumps):.1f} ms (of {len(dumps)}, {min(dumps):.1f} to "
          f"{max(dumps):.1f}), on a thread of its own")


SUBJECTS = {"pairs": measure_pairs, "python": measure_python, "gtk": measure_gtk, "error": measure_error,
            "many": measure_many}


def main():
    arguments = [argument for argument in sys.argv[1:] if not argument.startswith("--runs=")]
    runs = [int(argument.split("=")[1]) for argument in sys.argv[1:] if argument.startswith("--runs=")]
    if len(arguments) < 3 or any(name not in SUBJECTS for name in arguments[3:]):
        sys.exit(__doc__)
    bench = Bench(*arguments[:3], (runs or [9])[0])
    print(f"load: {open('/proc/loadavg').read().strip()}")
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        for name in arguments[3:] or SUBJECTS:
            SUBJECTS[name](bench)
            sys.stdout.flush()
    print(f"load: {open('/proc/loadavg').read().strip()}")


if __name__ == "__main__":
    main()
