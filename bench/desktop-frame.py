#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a frame costs more while the desktop is recorded: CPU time of a client and its compositor, by turns with a
recording and without one. Of each turn the shortest of several moments counts, as what disturbs only ever makes a
frame longer. As root, on kernels with uprobes, with weston and its clients. weston 12 and newer is told to show many
frames a second and to draw nothing, so that little else is in the figure; "chrt -f 5" before it makes all go first.

Usage: bench/desktop-frame.py DESKTRACE [PAIRS]
"""

import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

MOMENTS = 8
MOMENT_S = 0.3
PAIRS = 8
GOAL_US = 10
FRAMES_A_SECOND = 60
ENDBR64 = b"\xf3\x0f\x1e\xfa"


def cpu_ns(pid):
    """Of all threads of a process, as the scheduler counts it."""
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/schedstat", encoding="ascii") as file:
            total += int(file.read().split()[0])
    return total


def wait_for(condition):
    deadline = time.monotonic() + 60
    while not condition():
        if time.monotonic() > deadline:
            sys.exit("skipped: the compositor or the recording does not start")
        time.sleep(0.05)


def weston_command():
    help_text = subprocess.run(["weston", "--help"], capture_output=True, text=True, check=False)
    options = ["--backend=headless-backend.so", "--use-pixman"]
    if "--refresh-rate" in help_text.stdout + help_text.stderr:
        options = ["--backend=headless", "--renderer=noop", "--refresh-rate=1000000"]
    return ["weston", *options, "--width=64", "--height=64", "--socket=frames", "--idle-time=0"]


class Desktop:
    """A compositor without a display and a client that says each frame that was presented."""

    def __init__(self, folder):
        self.said = os.path.join(folder, "said")
        environment = os.environ | {"XDG_RUNTIME_DIR": folder, "WAYLAND_DISPLAY": "frames"}
        self.weston = subprocess.Popen(weston_command(), env=environment, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
        wait_for(lambda: os.path.exists(os.path.join(folder, "frames")))
        with open(self.said, "w", encoding="utf-8") as output:
            self.client = subprocess.Popen(["stdbuf", "-oL", "weston-presentation-shm", "-f"], env=environment,
                                           stdout=output, stderr=subprocess.DEVNULL)
        self.reader, self.n_said = open(self.said, encoding="utf-8"), 0  # pylint: disable=consider-using-with
        wait_for(lambda: self.n_frames() > 10)

    def n_frames(self):
        """So far; only what is new is read."""
        self.n_said += len(re.findall(r"p2p", self.reader.read()))
        return self.n_said

    def sample(self):
        return cpu_ns(self.weston.pid) + cpu_ns(self.client.pid), self.n_frames()

    def us_of_a_moment(self):
        cpu, frames = self.sample()
        time.sleep(MOMENT_S)
        cpu_then, frames_then = self.sample()
        return (cpu_then - cpu) / max(frames_then - frames, 1) / 1000

    def us_of_a_frame(self):
        return min(self.us_of_a_moment() for _ in range(MOMENTS))

    def end(self):
        for process in (self.client, self.weston):
            process.kill()
            process.wait()


class Traps:
    """The least that uprobes can cost: those of Wayland, without arguments."""

    TRACEFS = "/sys/kernel/tracing"
    FUNCTIONS = (("weston", "libwayland-server.so.0", "wl_resource_post_event"),
                 ("client", "libwayland-client.so.0", "wl_proxy_marshal_array_flags"))

    def __init__(self, desktop):
        self.instance = f"{self.TRACEFS}/instances/desktop-frame"
        os.makedirs(self.instance, exist_ok=True)
        for i, (process, library, function) in enumerate(self.FUNCTIONS):
            place = self.place(getattr(desktop, process).pid, library, function)
            self.write("uprobe_events", f"p:desktopframe/at{i} {place}")
        self.write("instances/desktop-frame/events/desktopframe/enable", "1")

    @staticmethod
    def place(pid, library, function):
        with open(f"/proc/{pid}/maps", encoding="ascii") as maps:
            path = next(line.split()[-1] for line in maps if library in line)
        symbols = subprocess.run(["nm", "-D", path], capture_output=True, text=True, check=True).stdout
        offset = int(re.search(rf"^(\w+) T {function}(@|$)", symbols, re.M).group(1), 16)
        with open(path, "rb") as file:
            file.seek(offset)
            return f"{path}:{offset + 4 * (file.read(4) == ENDBR64):#x}"

    def write(self, name, text):
        fd = os.open(f"{self.TRACEFS}/{name}", os.O_WRONLY | os.O_APPEND)
        os.write(fd, text.encode() + b"\n")
        os.close(fd)

    def n_hits(self):
        with open(f"{self.TRACEFS}/uprobe_profile", encoding="ascii") as file:
            return sum(int(line.split()[2]) for line in file if " at" in line)

    def end(self):
        self.write("instances/desktop-frame/events/desktopframe/enable", "0")
        os.rmdir(self.instance)
        for i in range(len(self.FUNCTIONS)):
            self.write("uprobe_events", f"-:desktopframe/at{i}")


def begin_recording(desktrace, folder):
    output = os.path.join(folder, "frames.pftrace")
    recorder = subprocess.Popen([desktrace, "record", "--standalone", "-q", "-f", "-p", "desktop", "-o", output],
                                stderr=subprocess.DEVNULL)
    wait_for(lambda: os.path.exists(output) and os.path.getsize(output) > 0)
    time.sleep(1)  # until its points are placed
    return recorder


def end_recording(recorder):
    recorder.send_signal(2)
    recorder.wait()
    time.sleep(1)


def measure(desktrace, pairs, folder):
    """By turns: a frame as it is, with bare traps, and recorded; and how often a frame comes by the traps."""
    desktop, figures = Desktop(folder), {"as it is": [], "with bare traps": [], "recorded": []}
    hits, frames = 0, 0
    for _ in range(pairs):
        figures["as it is"].append(desktop.us_of_a_frame())
        traps, n_before, n_hits = Traps(desktop), desktop.n_frames(), 0
        n_hits -= traps.n_hits()
        figures["with bare traps"].append(desktop.us_of_a_frame())
        hits, frames = hits + n_hits + traps.n_hits(), frames + desktop.n_frames() - n_before
        traps.end()
        recorder = begin_recording(desktrace, folder)
        figures["recorded"].append(desktop.us_of_a_frame())
        end_recording(recorder)
    desktop.end()
    return figures, hits / max(frames, 1)


def main():
    desktrace, pairs = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else PAIRS
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o700)
        figures, hits = measure(desktrace, pairs, folder)
    bare = figures["as it is"]
    for what in ("with bare traps", "recorded"):
        figures[f"more {what}"] = [b - a for a, b in zip(bare, figures[what])]
    for what, values in figures.items():
        print(f"a frame, {what:22} {statistics.median(values):8.1f} us ({min(values):.1f} to {max(values):.1f})")
    cost = statistics.median(figures["more recorded"])
    print(f"hits of a frame                 {hits:8.1f}")
    print(f"at 60 a second, of one CPU      {cost * FRAMES_A_SECOND / 1e4:8.3f} %")
    if cost > GOAL_US:
        print("MISSED")
    return cost > GOAL_US


sys.exit(main())
