#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Times a page of "desktrace report" in the browsers that are installed: until it shows its picture (and
what CPU time the browser's processes took for that, which counts where others use the CPUs, too), each picture while
one moves over it from near and from far, and a flame graph of all of it. It opens five times, of which the shortest is
said. Of Chromium it also says the CPU time of a picture on the page's main thread: scripts and what is done with what
they have drawn.

Usage: page.py PAGE
"""

import os
import sys
import time

sys.path.append(os.path.join(os.path.dirname(os.path.realpath(__file__)), "../tests/browser"))
from browser import browser, installed  # noqa: E402

PICTURES = 200
FRAME_MS = 16  # of a screen with 60 pictures a second
OPENINGS = 5
FLAMES = """
    const times = [], { flames, lanes } = window.desktrace;
    window.desktrace.show(0, lanes.data.duration);
    for (let i = 0; i < 10; i++) {
        const begin = performance.now();
        flames.make();
        times.push(performance.now() - begin);
    }
    return [times[0], times.slice(1).sort((a, b) => a - b)[4]];"""
ZOOMS = (0.2, 0.05, 0.01, 0.002)
MOVE = """
    const [zoom, n, done] = arguments, times = [], page = window.desktrace, { drawing } = page;
    page.show(0, page.duration);
    page.zoom(zoom);
    drawing.draw();
    const draw = drawing.draw;
    drawing.draw = () => {
        const begin = performance.now();
        draw.call(drawing);
        times.push(performance.now() - begin);
    };
    function step() {
        if (times.length < n) {
            page.move(times.length % 2 ? 0.010 : 0.013);
            requestAnimationFrame(step);
            return;
        }
        delete drawing.draw;
        done(times.sort((a, b) => a - b));
    }
    requestAnimationFrame(step);"""


def main_thread(window):
    """Seconds of CPU that it has used."""
    window.post("/goog/cdp/execute", cmd="Performance.enable", params={"timeDomain": "threadTicks"})
    metrics = window.post("/goog/cdp/execute", cmd="Performance.getMetrics", params={})["metrics"]
    return next(one["value"] for one in metrics if one["name"] == "TaskDuration")


def move(window, zoom):
    is_chromium = window.name == "chromium"
    before = main_thread(window) if is_chromium else 0
    times = window.run_async(MOVE, zoom, PICTURES)
    cpu = f", {(main_thread(window) - before) * 1000 / PICTURES:.1f} ms of CPU" if is_chromium else ""
    late = sum(time > FRAME_MS for time in times)
    print(f"a picture of {zoom:.1%} takes {times[len(times) // 2]:.1f} ms, {times[-1]:.1f} ms at most, "
          f"{late} of {len(times)} over {FRAME_MS} ms{cpu};")


def cpu_of(pid):
    """Seconds of a process and its descendants, by process."""
    found = {}
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            fields = file.read().rpartition(")")[2].split()
        found[pid] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as file:
                for child in file.read().split():
                    found.update(cpu_of(child))
    except OSError:
        pass  # it has just ended
    return found


def open_page(window, page):
    """How long it takes, and CPU time; the page before it is an empty one."""
    window.open("about:blank")
    begin, cpu = time.monotonic(), cpu_of(window.process.pid)
    window.open("file://" + os.path.realpath(page))
    while not window.run("return !!window.desktrace"):
        time.sleep(0.01)
    # A process that has ended, as that of the page before, has no part in it.
    used = sum(now - cpu.get(pid, 0) for pid, now in cpu_of(window.process.pid).items())
    return time.monotonic() - begin, used


def main(page):
    for kind in installed():
        with browser(kind) as window:
            openings = [open_page(window, page) for _ in range(OPENINGS)]
            opened, cpu = (min(column) for column in zip(*openings))
            print(f"{kind.name}: opens in {opened:.2f} s, {cpu:.2f} s of CPUs;")
            for zoom in ZOOMS:
                move(window, zoom)
            first, again = window.run(FLAMES)
            print(f"a flame graph of all takes {again:.0f} ms, the first time {first:.0f} ms")


main(*sys.argv[1:])
