#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Walks the path of docs/LOOKING.md in real browsers: from the page of the demo to its slowest frame and the cause.

The recording is made here (recording.demo()), so that it is known which frame that is and what the cause was. Prints
TAP.

Usage: check-looking.py DESKTRACE [PICTURES]     PICTURES: a folder for the screenshots of that page, by Chromium
"""

import importlib
import os
import subprocess
import sys
import tempfile

import browser
from png import read_png, small_png
from recording import MS, SLOW_FRAME, demo, write

page_checks = importlib.import_module("check-page")

browser.WIDTH, browser.HEIGHT = 1000, 800
BEGIN = (5 + SLOW_FRAME * 20) * MS - 5 * MS  # after the recording's first event


def follow(window, number):
    """Clicks a link of the findings, as somebody would who reads from the top."""
    box = window.run(
        """
        const link = document.querySelectorAll("#findings a")[arguments[0]];
        link.scrollIntoView({ block: "center" });
        const box = link.getClientRects()[0];
        return [box.left + box.width / 2, box.top + box.height / 2];""",
        number,
    )
    browser.click(window, *box)
    page_checks.settle(window)
    page_checks.settle(window)


def links(window):
    return window.run("return [...document.querySelectorAll('#findings a')].map((one) => one.textContent)")


def number_of(window, start):
    return next(number for number, text in enumerate(links(window)) if text.startswith(start))


def runs_at(window, thread, time):
    """Whether the bar of a running thread is seen at a time: whether its line has another colour than what is below."""
    x, top, bottom, width = window.run(
        """
        const { drawing, lanes } = window.desktrace;
        const item = lanes.items.find(({ lane }) => lane?.kind === "states" &&
            lanes.nameOfThread(lane.thread) === arguments[0]);
        const box = drawing.canvas.getBoundingClientRect();
        const top = box.top + drawing.boxOf(item, 0)[2];
        return [box.left + drawing.xOf(arguments[1]), top + 2, top + item.height + 2, window.innerWidth];""",
        thread,
        time,
    )
    pixels, _, n, rows = read_png(window.picture())
    scale, at = pixels / width, round(x * pixels / width) * n
    return rows[round(top * scale)][at : at + 3] != rows[round(bottom * scale)][at : at + 3]


def walk(checks, window, folder, pictures):
    name = window.name

    def keep(number, height=None):
        if pictures and name == "chromium":
            with open(os.path.join(pictures, f"looking-{number}.png"), "wb") as file:
                file.write(small_png(window.picture(), height))

    with checks.that(f"{name}: the page says which frame was the slowest"):
        page_checks.open_page(window, folder + "/demo.html")
        assert "'frame' usually took 16.00 ms, and at most 66.00 ms (slices: 30)." in links(window), links(window)
        keep(1, 350)
    with checks.that(f"{name}: one click shows it"):
        follow(window, number_of(window, "'frame' usually"))
        said = page_checks.details(window)
        assert "frame" in said and "65.998 ms" in said, said
        first, last = page_checks.shown(window)
        assert first < BEGIN and last > BEGIN + 66 * MS and last - first < 200 * MS, (first, last)
        keep(2)
    with checks.that(f"{name}: what begins in the pixel of something short is seen"):
        # Each time, the thread waits for a CPU for a thousandth of a millisecond before it runs.
        assert runs_at(window, "worker 2 102", BEGIN + 3 * MS)
        assert not runs_at(window, "worker 2 102", BEGIN + 68 * MS)
    with checks.that(f"{name}: a second click shows whom it waited for, and what that waited for"):
        follow(window, number_of(window, "Meanwhile worker 2 102"))
        said = page_checks.details(window)
        for fact in ("ready to run, waiting for a CPU", "worker 2 102", "50 ms", "updater: 50 ms"):
            assert fact in said, said
        keep(3)
    with checks.that(f"{name}: a third click shows which process took its CPU"):
        x, y = window.run(
            """
            const { drawing, lanes } = window.desktrace;
            const item = lanes.items.find(({ lane }) => lane?.name === "CPU 1");
            const box = drawing.canvas.getBoundingClientRect();
            return [box.left + drawing.xOf(arguments[0]), box.top + drawing.boxOf(item, 0)[2] + 8];""",
            BEGIN + 30 * MS,
        )
        browser.click(window, x, y)
        said = page_checks.details(window)
        for fact in ("updater 200", "CPU 1", "50 ms"):
            assert fact in said, said
    with checks.that(f"{name}: the console has no complaint"):
        complaints = window.complaints()
        assert not complaints, complaints


def main(desktrace, pictures=None):
    checks = page_checks.Checks()
    kinds = browser.installed()
    if not kinds:
        print("1..0 # SKIP neither chromium with chromium-driver nor firefox-esr is installed")
        return 0
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        write(folder + "/demo.pftrace", demo())
        with checks.that("the demo's page is made"):
            command = [desktrace, "report", folder + "/demo.pftrace"]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
        for kind in kinds:
            with browser.browser(kind) as window:
                walk(checks, window, folder, pictures)
    print(f"1..{checks.n}")
    return checks.failed > 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
