#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Times a page of "desktrace report" in the browsers that are installed: until it shows its picture, and each picture
while it is moved over.

Usage: page.py PAGE
"""

import os
import sys
import time

sys.path.append(os.path.join(os.path.dirname(os.path.realpath(__file__)), "../tests/browser"))
from browser import browser, installed  # noqa: E402

PICTURES = 200
MOVE = """
    const done = arguments[arguments.length - 1], times = [];
    const page = window.desktrace;
    page.zoom(0.2);
    function step() {
        const begin = performance.now();
        page.move(times.length % 2 ? 0.010 : 0.013);
        page.drawing.draw();
        times.push(performance.now() - begin);
        if (times.length < arguments_n) requestAnimationFrame(step);
        else done(times.sort((a, b) => a - b));
    }
    requestAnimationFrame(step);""".replace("arguments_n", str(PICTURES))


def main(page):
    for kind in installed():
        with browser(kind) as window:
            begin = time.monotonic()
            window.open("file://" + os.path.realpath(page))
            while not window.run("return !!window.desktrace"):
                time.sleep(0.01)
            opened = time.monotonic() - begin
            times = window.run_async(MOVE)
            median, worst = times[len(times) // 2], times[-1]
            print(f"{kind.name}: opens in {opened:.2f} s; a picture takes {median:.1f} ms, {worst:.1f} ms at most")


main(*sys.argv[1:])
