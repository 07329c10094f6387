#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What it costs that recordings outlive the service: one whose descriptors somebody keeps, as systemd does, and one of
which nobody does, by turns; and how long programs are without a service that was killed. On a machine that does nothing
else, with dbus-daemon, dbus-monitor and python3-gi.

Usage: bench/keeping.py [--pairs=N] [--starts=N] [--programs=N] [--ring-mb=N] BUILD
"""

import argparse
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import gi

gi.require_version("Gio", "2.0")
from gi.repository import Gio, GLib  # noqa: E402

TESTS = os.path.join(os.path.dirname(os.path.realpath(__file__)), "../tests/integration")
BUS, MANAGER, SESSION = "org.desktrace.Tracing1", "/org/desktrace/Tracing1", "org.desktrace.Tracing1.Session"
TIMEOUT_MS = 60000
WAIT_SECONDS = 60
RING_KB = 65536
STEADY_BYTES_A_SECOND = 20e6  # of test-producer's: about
STREAM_SECONDS = 3
ROUND_SECONDS = 2
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGKILL)
GOAL_PERCENT, GOAL_MEMORY_PERCENT, GOAL_START_MS, GOAL_OUTAGE_MS = 2, 1, 1, 300
BUS_CONFIG = """<busconfig><type>session</type><listen>unix:path={}</listen><policy context="default">
<allow user="*"/><allow own="*"/><allow send_destination="*"/><allow receive_sender="*"/><allow eavesdrop="true"/>
</policy></busconfig>"""


def wait_for(condition, what):
    deadline = time.monotonic() + WAIT_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            sys.exit(f"{what}: not within {WAIT_SECONDS} s")
        time.sleep(0.01)


def read_text(path):
    with open(path, encoding="ascii", errors="replace") as file:
        return file.read()


def cpu_ns(pid):
    """Of all threads of a process, also those that have ended: the clock of clock_getcpuclockid(3)."""
    return time.clock_gettime_ns((~pid << 3) | 2)


def memory_bytes(pid):
    """What is in private memory, and all pages of the memfds that the process has."""
    anonymous = next(line for line in read_text(f"/proc/{pid}/smaps_rollup").splitlines() if "Pss_Anon" in line)
    folder, files = f"/proc/{pid}/fd", {}
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        if os.path.lexists(path) and os.readlink(path).startswith("/memfd:"):
            files[os.stat(path).st_ino] = os.stat(path).st_blocks * 512
    return int(anonymous.split()[1]) * 1024 + sum(files.values())


class World:
    """A bus of its own with a service, which is kept or not, and programs."""

    def __init__(self, build, folder, is_kept):
        self.build, self.is_kept, self.processes = build, is_kept, []
        self.folder = tempfile.mkdtemp(dir=folder)
        self.address = f"unix:path={self.folder}/bus"
        self.environment = os.environ | {
            "DBUS_SESSION_BUS_ADDRESS": self.address, "LD_LIBRARY_PATH": os.path.join(build, "src/lib")}
        self.environment.pop("NOTIFY_SOCKET", None)
        with open(f"{self.folder}/bus.conf", "w", encoding="ascii") as file:
            file.write(BUS_CONFIG.format(f"{self.folder}/bus"))
        self.begin("dbus-daemon", f"--config-file={self.folder}/bus.conf", "--nofork")
        wait_for(lambda: os.path.exists(f"{self.folder}/bus"), "the bus")
        flags = Gio.DBusConnectionFlags
        self.connection = Gio.DBusConnection.new_for_address_sync(
            self.address, flags.AUTHENTICATION_CLIENT | flags.MESSAGE_BUS_CONNECTION, None, None)
        self.connection.set_exit_on_close(False)
        self.begin_service()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.connection.close_sync(None)
        for process in reversed(self.processes):
            process.terminate()
            process.wait()
        shutil.rmtree(self.folder)

    def begin(self, *command, **more):
        process = subprocess.Popen(command, env=self.environment, stderr=subprocess.DEVNULL, **more)
        self.processes.append(process)
        return process

    def begin_service(self):
        command = [os.path.join(self.build, "src/daemon/desktraced"), "--user"]
        if self.is_kept:
            command = [sys.executable, os.path.join(TESTS, "service-manager.py"), self.folder] + command
        self.service = self.begin(*command)
        wait_for(lambda: self.ask_bus("NameHasOwner", "s", BUS), "the service")

    def begin_program(self, name, behaviour):
        program = self.begin(
            os.path.join(self.build, "tests/integration/test-producer"), name, f"org.example.{name}", behaviour)
        wait_for(lambda: f"org.example.{name}" in self.sources(), name)
        return program

    def end(self, process):
        process.kill()
        process.wait()
        self.processes.remove(process)

    def ask_bus(self, member, kind, *arguments):
        return self.connection.call_sync(
            "org.freedesktop.DBus", "/", "org.freedesktop.DBus", member, GLib.Variant(f"({kind})", arguments), None,
            Gio.DBusCallFlags.NONE, TIMEOUT_MS, None).unpack()[0]

    def call(self, path, interface, member, arguments=None, fd=None):
        fds = Gio.UnixFDList.new()
        if fd is not None:
            fds.append(fd)
        reply, _ = self.connection.call_with_unix_fd_list_sync(
            BUS, path, interface, member, arguments, None, Gio.DBusCallFlags.NONE, TIMEOUT_MS, fds, None)
        values = reply.unpack()
        return values[0] if values else None

    def sources(self):
        return [source[0] for source in self.call(MANAGER, f"{BUS}.Manager", "ListSources")]

    def session(self, path, member, arguments=None, fd=None):
        return self.call(path, SESSION, member, arguments, fd)

    def pid(self):
        return int(read_text(f"{self.folder}/pid")) if self.is_kept else self.service.pid

    def start(self, config, fd=None):
        options = {"config-text": GLib.Variant("s", config)}
        if fd is not None:
            options["output"] = GLib.Variant("h", 0)
        return self.call(MANAGER, f"{BUS}.Manager", "StartSession", GLib.Variant("(a{sv})", (options,)), fd)

    def is_stored(self, what, n):
        """Whether n descriptors of that kind are kept."""
        return not self.is_kept or read_text(f"{self.folder}/stored").count(f"-{what}\n") >= n

    def output(self):
        return tempfile.TemporaryFile(dir=self.folder)


def config_of(*sources, size_kb=RING_KB, more=""):
    return f"buffers {{ size_kb: {size_kb} }} {more}" + "".join(
        f' data_sources {{ config {{ name: "org.example.{source}" }} }}' for source in sources)


STREAMED = "write_into_file: true file_write_period_ms: 100"


class Figures:
    """What was measured, by what it is and whether it was kept."""

    def __init__(self):
        self.values = {}

    def add(self, what, is_kept, value):
        self.values.setdefault(what, ([], []))[is_kept].append(value)

    def report(self, what, unit, goal, is_ratio=True):
        without, kept = self.values[what]
        ratios = [b / a for a, b in zip(without, kept)]
        more = [b - a for a, b in zip(without, kept)]
        middle = statistics.median(kept) / statistics.median(without) - 1
        is_met = middle * 100 <= goal if is_ratio else statistics.median(more) <= goal
        changed = f"{100 * middle:+6.2f} %" if is_ratio else f"{statistics.median(more):+6.3f} {unit}"
        print(f"{what:34} {statistics.median(without):10.3f} {statistics.median(kept):10.3f} {unit:8} {changed}  "
              f"(pairs {min(ratios):.3f} to {max(ratios):.3f}; goal {goal:+} {'%' if is_ratio else unit})"
              f"{'' if is_met else '  MISSED'}", flush=True)
        return is_met


def measured(world, action):
    """What it returns, and how much CPU time the service took for it."""
    pid = world.pid()
    before = cpu_ns(pid)
    result = action()
    return result, cpu_ns(pid) - before


def measure_stream(world, figures):
    with world.output() as output:
        path = world.start(config_of("steady", more=STREAMED), output.fileno())
        time.sleep(1)
        began_at = os.fstat(output.fileno()).st_size
        _, ns = measured(world, lambda: time.sleep(STREAM_SECONDS))
        n_bytes = os.fstat(output.fileno()).st_size - began_at
        figures.add("stream into a file, a byte", world.is_kept, ns / n_bytes)
        world.session(path, "Stop")
        world.session(path, "Free")


def measure_ring(world, figures):
    program = world.begin_program("steady", "steady")
    measure_stream(world, figures)
    path = world.start(config_of("steady"))
    _, ns = measured(world, lambda: time.sleep(RING_KB * 1024 / STEADY_BYTES_A_SECOND))
    figures.add("ring that fills first, a s", world.is_kept, ns / 1e6 / (RING_KB * 1024 / STEADY_BYTES_A_SECOND))
    time.sleep(0.5)
    _, ns = measured(world, lambda: time.sleep(ROUND_SECONDS))
    figures.add("ring that goes round, a s", world.is_kept, ns / 1e6 / ROUND_SECONDS)
    world.session(path, "Flush", GLib.Variant("(u)", (0,)))
    world.end(program)
    figures.add("memory with a full ring of 64 MiB", world.is_kept, memory_bytes(world.pid()) / 1024)
    return path


def measure_reading(world, figures, path):
    clone, ns = measured(world, lambda: world.session(path, "Clone", GLib.Variant("(a{sv})", ({},))))
    figures.add("snapshot of it", world.is_kept, ns / 1e6)
    for what, session in (("reading the snapshot, a byte", clone), ("reading the ring, a byte", path)):
        if session == path:
            world.session(path, "Stop")
        with world.output() as output:
            n_bytes, ns = measured(
                world, lambda: world.session(session, "ReadInto", GLib.Variant("(h)", (0,)), output.fileno()))
        figures.add(what, world.is_kept, ns / n_bytes)
        world.session(session, "Free")


def measure_pair(build, folder, figures, order):
    for is_kept in order:
        with World(build, folder, is_kept) as world:
            measure_reading(world, figures, measure_ring(world, figures))


def measure_starts(build, folder, figures, n):
    with World(build, folder, False) as without, World(build, folder, True) as kept:
        for world in (without, kept):
            world.begin_program("counting", "counting")
        for i in range(n):
            for world in (without, kept) if i % 2 else (kept, without):
                began = time.perf_counter()
                path = world.start(config_of("counting"))
                figures.add("start of a session", world.is_kept, (time.perf_counter() - began) * 1e3)
                world.session(path, "Free")


class Returns:
    """When programs registered, as the bus saw it."""

    def __init__(self, world):
        self.path = f"{world.folder}/seen"
        with open(self.path, "w", encoding="ascii") as output:
            world.begin("stdbuf", "-oL", "dbus-monitor", "--profile", "--session",
                        f"type='method_call',interface='{BUS}.Manager',member='RegisterProducer'",
                        f"type='method_return',sender='{BUS}'", stdout=output)
        time.sleep(0.5)

    def since(self, when):
        """Each program is back when it has its reply."""
        calls, times = set(), []
        for line in read_text(self.path).splitlines():
            kind, at, *words = line.split("\t")
            if kind == "mc" and words[-1] == "RegisterProducer":
                calls.add((words[1], words[0]))
            elif kind == "mr" and (words[2], words[3]) in calls and float(at) >= when:
                times.append(float(at) - when)
        return times


def end_and_wait(world, returns, number, n_programs):
    when = time.time()
    os.kill(world.pid(), number)
    wait_for(lambda: len(returns.since(when)) >= n_programs, "programs come back")
    return sorted(returns.since(when))


def measure_outage(build, folder, n_programs, ring_mb):
    is_met = True
    with World(build, folder, True) as world:
        for i in range(n_programs - 1):
            world.begin(os.path.join(build, "tests/integration/test-producer"), f"count{i}", "org.example.counting",
                        "counting")
        world.begin_program("steady", "steady")
        returns = Returns(world)
        world.start(config_of("counting", "steady", size_kb=ring_mb << 10))
        time.sleep(ring_mb * 1048576 / STEADY_BYTES_A_SECOND * 1.1)
        wait_for(lambda: world.is_stored("p0", n_programs), "all programs are kept")
        for number in SIGNALS:
            filled = memory_bytes(world.pid())
            times = end_and_wait(world, returns, number, n_programs)
            is_good = times[-1] * 1e3 <= GOAL_OUTAGE_MS or number != signal.SIGKILL
            print(f"{number.name}: {n_programs} programs, {filled / 1048576:.0f} MiB of memory: all are back after "
                  f"{times[-1] * 1e3:.0f} ms, the first after {times[0] * 1e3:.0f}, half after "
                  f"{statistics.median(times) * 1e3:.0f} (100 of them until it is started again; goal "
                  f"{GOAL_OUTAGE_MS}){'' if is_good else '  MISSED'}", flush=True)
            is_met = is_met and is_good
            time.sleep(2)
    return is_met


def measure_losses(build, folder):
    """A program with default memory writes 100,000 packets a second."""
    with World(build, folder, True) as world, world.output() as output:
        world.begin_program("busy", "busy")
        path = world.start(config_of("busy", more=STREAMED), output.fileno())
        wait_for(lambda: world.is_stored("c0", 1) and world.is_stored("p0", 1), "the recording is kept")
        for number in SIGNALS:
            time.sleep(1)
            n_ready = int(read_text(f"{world.folder}/ready"))
            os.kill(world.pid(), number)
            wait_for(lambda before=n_ready: int(read_text(f"{world.folder}/ready")) > before, "the service")
        time.sleep(1)
        world.call(path, SESSION, "Stop")
        said = subprocess.run(
            [sys.executable, os.path.join(TESTS, "restart-check.py"), f"/proc/self/fd/{output.fileno()}", "busy"],
            pass_fds=[output.fileno()], stdout=subprocess.PIPE, text=True, check=False)
        print(f"100,000 packets a second, {len(SIGNALS)} times without a service: {said.stdout.strip().lstrip('# ')}"
              f"{'' if ', 0 missing' in said.stdout else '  MISSED'}")
        return ", 0 missing" in said.stdout


def report(figures):
    print(f"\n{'':34} {'not kept':>10} {'kept':>10}")
    return all([
        figures.report("ring that fills first, a s", "ms", GOAL_PERCENT),
        figures.report("ring that goes round, a s", "ms", GOAL_PERCENT),
        figures.report("stream into a file, a byte", "ns", GOAL_PERCENT),
        figures.report("reading the ring, a byte", "ns", GOAL_PERCENT),
        figures.report("snapshot of it", "ms", GOAL_PERCENT),
        figures.report("reading the snapshot, a byte", "ns", GOAL_PERCENT),
        figures.report("memory with a full ring of 64 MiB", "KiB", GOAL_MEMORY_PERCENT),
        figures.report("start of a session", "ms", GOAL_START_MS, is_ratio=False),
    ])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=12)
    parser.add_argument("--starts", type=int, default=200)
    parser.add_argument("--programs", type=int, default=100)
    parser.add_argument("--ring-mb", type=int, default=256)
    parser.add_argument("build", type=os.path.abspath)
    arguments = parser.parse_args()
    figures = Figures()
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        is_met = measure_outage(arguments.build, folder, arguments.programs, arguments.ring_mb)
        is_met = measure_losses(arguments.build, folder) and is_met
        measure_starts(arguments.build, folder, figures, arguments.starts)
        for i in range(arguments.pairs):
            measure_pair(arguments.build, folder, figures, (False, True) if i % 2 else (True, False))
    return not (report(figures) and is_met)


sys.exit(main())
