#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a frame costs more while the desktop is recorded: CPU time of a client and its compositor, by turns with a
recording and without one. As root, on kernels with uprobes, with weston and its clients.

Usage: bench/desktop-frame.py DESKTRACE [PAIRS]
"""

import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

SECONDS = 4
PAIRS = 8
GOAL_US = 10
FRAMES_A_SECOND = 60


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


class Desktop:
    """A compositor without a display and a client that says each frame that was presented."""

    def __init__(self, folder):
        self.said = os.path.join(folder, "said")
        environment = os.environ | {"XDG_RUNTIME_DIR": folder, "WAYLAND_DISPLAY": "frames"}
        self.weston = subprocess.Popen(
            ["weston", "--backend=headless-backend.so", "--use-pixman", "--socket=frames", "--idle-time=0"],
            env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for(lambda: os.path.exists(os.path.join(folder, "frames")))
        with open(self.said, "w", encoding="utf-8") as output:
            self.client = subprocess.Popen(["stdbuf", "-oL", "weston-presentation-shm", "-f"], env=environment,
                                           stdout=output, stderr=subprocess.DEVNULL)
        wait_for(lambda: self.n_frames() > 10)

    def n_frames(self):
        with open(self.said, encoding="utf-8") as file:
            return len(re.findall(r"p2p", file.read()))

    def sample(self):
        return cpu_ns(self.weston.pid) + cpu_ns(self.client.pid), self.n_frames()

    def us_of_a_frame(self):
        cpu, frames = self.sample()
        time.sleep(SECONDS)
        cpu_then, frames_then = self.sample()
        return (cpu_then - cpu) / max(frames_then - frames, 1) / 1000

    def end(self):
        for process in (self.client, self.weston):
            process.kill()
            process.wait()


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


def main():
    desktrace, pairs = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else PAIRS
    without, recorded = [], []
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o700)
        desktop = Desktop(folder)
        for _ in range(pairs):
            without.append(desktop.us_of_a_frame())
            recorder = begin_recording(desktrace, folder)
            recorded.append(desktop.us_of_a_frame())
            end_recording(recorder)
        desktop.end()
    costs = [b - a for a, b in zip(without, recorded)]
    cost = statistics.median(costs)
    figures = {"a frame, not recorded": without, "a frame, recorded": recorded, "more, of pairs": costs}
    for what, values in figures.items():
        print(f"{what:28} {statistics.median(values):8.1f} us ({min(values):.1f} to {max(values):.1f})")
    print(f"at 60 a second, of one CPU   {cost * FRAMES_A_SECOND / 1e4:8.3f} %")
    if cost > GOAL_US:
        print("MISSED")
    return cost > GOAL_US


sys.exit(main())
