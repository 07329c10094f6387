#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Measures what call stacks of the whole machine cost, beside `perf record --call-graph dwarf` where it is installed,
in turn with it and under whatever load there is.

With --steady it makes a load itself, twice at a time, and says what processor time the probes and the service take from
four seconds after the start on: python, git, gcc, or programs that live shortly.

Usage: stacks.py BUILD-ROOT [SECONDS] [ROUNDS]      as root
       stacks.py --steady=python|git|gcc|programs BUILD-ROOT [SECONDS] [ROUNDS]
"""

import contextlib
import glob
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tests/integration"))
import trace_file  # noqa: E402 (of the tests)

ENDS = re.compile(r"^\s+[0-9a-f]+ (_start|__libc_start\S*|__clone3?|clone3?|start_thread|ret_from_fork\S*|_dl_\S+)\b")


def cpu_s():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


SCRIPT_SECONDS = 180  # perf needs minutes for a recording of its own


def run(command, **options):
    """CPU time of the command and of what it started, how long it took, and what it said."""
    before, begun = cpu_s(), time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, **options)
    return cpu_s() - before, time.monotonic() - begun, done


def started_ns(trace):
    """When the session was started, by its own account (TracingServiceEvent.tracing_started)."""
    with open(trace, "rb") as file:
        data = file.read()
    for packet in map(trace_file.message, trace_file.packets(data)):
        if any(2 in trace_file.message(event) for event in packet.get(69, [])):
            return packet[8][0]
    return 0


def write_config(folder):
    config = f"{folder}/stacks.pbtxt"
    with open(config, "w", encoding="ascii") as file:
        file.write('buffers { size_kb: 65536 } data_sources { config { name: "linux.perf" perf_event_config { '
                   "timebase { frequency: 997 } callstack_sampling { kernel_frames: true } } } }")
    return config


def environment(root):
    return dict(os.environ, DESKTRACE_DAEMON=f"{root}/src/daemon/desktraced",
                DESKTRACE_PROBES=f"{root}/src/probes/desktrace-probes")


def ours(root, folder, seconds):
    desktrace, trace = f"{root}/src/client/desktrace", f"{folder}/ours.pftrace"
    config, env = write_config(folder), environment(root)
    # What is written to a pipe is given no names, which are measured by themselves.
    command = '"$0" record --standalone -q -o - -c "$1" -t "$2" | cat >"$3"'
    cpu, _, _ = run(["sh", "-c", command, desktrace, config, f"{seconds}s", trace], env=env)
    n_bytes = os.stat(trace).st_size
    report = json.loads(run([desktrace, "inspect", "--json=short", trace])[2].stdout)["stacks"]
    names = run([desktrace, "symbolize", trace])
    sql = """SELECT (SELECT sum(value) FROM stats WHERE name = 'perf_cpu_lost_records'), sum(ts > start + 1e9),
        sum(ts > start + 1e9 AND unwind_error IS NULL), min(ts)
        FROM perf_sample, (SELECT min(ts) AS start FROM perf_sample)"""
    row = run([desktrace, "query", "--csv", "--no-legend", trace, sql])[2].stdout.strip().split(",")
    lost, n_late, n_late_complete, first_ns = (int(float(value or 0)) for value in row[:4])
    return {
        "samples": report["samples"], "complete": f"{100 * report['complete'] / max(report['samples'], 1):.1f} %",
        "complete behind the first second": f"{100 * n_late_complete / max(n_late, 1):.1f} %", "lost": lost,
        "first sample": f"{(first_ns - started_ns(trace)) / 1e6:.1f} ms",
        "bytes a sample": round(n_bytes / max(report["samples"], 1)),
        "CPU while recording": f"{100 * cpu / seconds:.1f} %",
        "names: CPU, time": f"{names[0]:.2f} s, {names[1]:.2f} s",
    }


def theirs(folder, seconds, stack):
    data = f"{folder}/perf.data"
    command = ["perf", "record", "-q", "-F", "997", "-a", "-e", "cpu-clock", "--call-graph", f"dwarf,{stack}"]
    cpu, _, done = run([*command, "-o", data, "--", "sleep", str(seconds)])
    if done.returncode:
        return {"failed": done.stderr.strip()[-80:]}
    n_bytes = os.stat(data).st_size
    try:
        command = ["perf", "script", "-i", data, "-F", "comm,ip,sym", "--max-stack", "512"]
        read = run(command, timeout=SCRIPT_SECONDS)
    except subprocess.TimeoutExpired:
        return {"bytes": n_bytes, "CPU while recording": f"{100 * cpu / seconds:.1f} %", "names": "took too long"}
    stacks = [stack.splitlines() for stack in read[2].stdout.split("\n\n") if "\n" in stack.strip()]
    complete = sum(bool(ENDS.match(stack[-1])) for stack in stacks)
    lost = sum(map(int, re.findall(r"lost (\d+)", done.stderr + read[2].stderr)))
    return {
        "samples": len(stacks), "complete": f"{100 * complete / max(len(stacks), 1):.1f} %", "lost": lost,
        "bytes a sample": round(n_bytes / max(len(stacks), 1)), "CPU while recording": f"{100 * cpu / seconds:.1f} %",
        "names: CPU, time": f"{read[0]:.2f} s, {read[1]:.2f} s",
    }


WORK = "sum(i * i for i in range(300000))"
LOADS = {  # of the shell, with the folder and the source tree
    "python": f'exec python3 -c "while 1: {WORK}"',
    "git": 'while :; do git -C "$1" log -p -n 300; done',
    "gcc": "while :; do gcc -O2 -c -o /dev/null $(pkg-config --cflags glib-2.0) $0/load.c; done",
    "programs": f'while :; do ls -laR /usr/share/doc; python3 -c "{WORK}"; done',
}
LOAD_FUNCTIONS = 800
START_SECONDS = 4


@contextlib.contextmanager
def loaded(load, folder):
    """Two of the load run meanwhile."""
    with open(f"{folder}/load.c", "w", encoding="ascii") as file:
        print("#include <glib.h>", file=file)
        for i in range(LOAD_FUNCTIONS):
            print(f"int f{i}(GHashTable *table) {{ return g_hash_table_size(table) * {i}; }}", file=file)
    command = ["sh", "-c", LOADS[load], folder, os.path.dirname(os.path.dirname(os.path.abspath(__file__)))]
    programs = [subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True) for _ in range(2)]
    try:
        yield
    finally:
        for program in programs:
            os.killpg(program.pid, signal.SIGKILL)
            program.wait()


def processor_s(program):
    """Time of all threads of the processes that run this program."""
    total = 0
    for exe in glob.glob("/proc/[0-9]*/exe"):
        with contextlib.suppress(OSError):
            if os.readlink(exe) == program:
                for path in glob.glob(os.path.dirname(exe) + "/task/*/schedstat"):
                    with open(path, encoding="ascii") as file:
                        total += int(file.read().split()[0]) / 1e9
    return total


def steady(root, folder, seconds):
    names = "probes/desktrace-probes", "daemon/desktraced"
    programs = {name: os.path.realpath(f"{root}/src/{name}") for name in names}
    command = [f"{root}/src/client/desktrace", "record", "--standalone", "-q", "-f", "-o", "/dev/null", "-c",
               write_config(folder)]
    recording = subprocess.Popen(command, env=environment(root))
    try:
        time.sleep(START_SECONDS)
        before, begun = {name: processor_s(path) for name, path in programs.items()}, time.monotonic()
        time.sleep(seconds)
        took_s = time.monotonic() - begun
        return {name: f"{100 * (processor_s(path) - before[name]) / took_s:.2f} %" for name, path in programs.items()}
    finally:
        recording.send_signal(signal.SIGINT)
        recording.wait()


def main_steady(load, root, seconds=9, rounds=3):
    with tempfile.TemporaryDirectory() as folder, loaded(load, folder):
        for _ in range(int(rounds)):
            shares = steady(os.path.abspath(root), folder, int(seconds))
            print(f"{load}, load {os.getloadavg()[0]:.0f}", shares, flush=True)


def main(root, seconds=5, rounds=3):
    with tempfile.TemporaryDirectory() as folder:
        for number in range(int(rounds)):
            print(f"round {number + 1}, load {os.getloadavg()[0]:.0f}", flush=True)
            print("  desktrace       ", ours(os.path.abspath(root), folder, int(seconds)), flush=True)
            for stack in (8192, 65528):
                if subprocess.run(["sh", "-c", "command -v perf"], capture_output=True, check=False).returncode == 0:
                    print(f"  perf dwarf,{stack:<6}", theirs(folder, int(seconds), stack), flush=True)


if __name__ == "__main__":
    if sys.argv[1].startswith("--steady="):
        sys.exit(main_steady(sys.argv[1].partition("=")[2], *sys.argv[2:]))
    sys.exit(main(*sys.argv[1:]))
