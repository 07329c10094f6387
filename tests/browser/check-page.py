#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Opens a page of "desktrace report" in real browsers, and does what people do with it.

The recording is made here, so that it is known which pixels have to be of which slice. Prints TAP.

Usage: check-page.py DESKTRACE [PICTURES]     PICTURES: a folder for screenshots, to look at
"""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time

import accessibility
from browser import BrowserError, browser, click, installed, press
from png import read_png
from recording import MEM_AVAILABLE, MS, PRESSURE_MEMORY, counter, event, machine_stats, process, process_memory
from recording import stack_samples, thread, value, write

FLOW = 77
TICK = MS // 5  # every half of a millisecond, but for a pause in the middle
MARKUP = "</script><script>window.hurt = 1</script><img src=x onerror='window.hurt = 1'>"
OPEN_SECONDS = 60
# WebDriver's names of keys.
ENTER, HOME, RIGHT, DOWN = "\ue007", "\ue011", "\ue014", "\ue015"
# What the browsers ask for besides the page: nothing of a page's own.
OWN_ADDRESSES = ("chrome:", "chrome-", "about:", "data:", "resource:")


# A recording: one program, "game", with two threads.


def make_recording(path, longer=0):
    """Frames of 4.5 ms, of which one takes 9.5, both longer by some nanoseconds."""
    packets = [process(1, 100, "game"), thread(2, 100, "main"), thread(3, 101, MARKUP), thread(4, 102, "ticker")]
    for number in range(100):
        at = number * 10 * MS
        packets.append(event(at, 1, 2, "frame", FLOW if number == 10 else None))
        packets.append(event(at + MS, 1, 2, "draw"))
        packets.append(event(at + (9 if number == 70 else 3) * MS, 2, 2))
        packets.append(event(at + (9 if number == 70 else 4) * MS + MS // 2 + longer, 2, 2))
    packets += [event(200 * MS, 1, 3, MARKUP, FLOW), event(800 * MS, 2, 3)]
    for number in range(2000):
        if not 800 <= number < 1200:
            at = number * MS // 2
            packets += [event(at, 1, 4, "tick"), event(at + TICK, 2, 4)]
    # Memory falls and pressure rises in the second half; another counter has the name of one, and is no number.
    for number in range(11):
        at, is_late = number * 100 * MS, number > 5
        some = max(number - 5, 0) * 40 * MS
        packets.append(machine_stats(at, {MEM_AVAILABLE: 4096 if is_late else 8192}, {PRESSURE_MEMORY: some}))
        packets.append(process_memory(at, 100, 1024 * (1 + number)))
    packets += [counter(9, "psi.cpu.some"), counter(10, MARKUP), value(0, 9, float("nan")), value(10 * MS, 9, 1e308)]
    packets += [value(20 * MS, 9, float("-inf")), value(30 * MS, 9, -1e308), value(0, 10, float("nan"))]
    write(path, packets)


FUNCTIONS = [["start", "waits"], ["start", "touches"]]
UNIT_NS, UNIT_FAULTS = 1, 5


def make_stacks_recording(path):
    """A thread that sleeps and touches memory."""
    packets = [process(1, 100, "game"), thread(2, 100, "main")]
    packets += stack_samples(2, "linux.offcpu", UNIT_NS, FUNCTIONS, [(100 * MS, 100, 300 * MS, 1)])
    faults = [(at * MS, 100, 64, 2) for at in range(500, 510)]
    packets += stack_samples(3, "linux.faults", UNIT_FAULTS, FUNCTIONS, faults)
    write(path, packets)


class Checks:
    def __init__(self):
        self.n = self.failed = 0

    @contextlib.contextmanager
    def that(self, promise):
        self.n += 1
        try:
            yield
            print(f"ok {self.n} - {promise}", flush=True)
        except (AssertionError, BrowserError) as error:
            self.failed += 1
            print(f"# {type(error).__name__}: {error}".replace("\n", "\n# "))
            print(f"not ok {self.n} - {promise}", flush=True)


def open_page(window, path):
    window.open("file://" + path)
    end = time.monotonic() + OPEN_SECONDS
    while not window.run("return !!window.desktrace || !document.querySelector('.problem').hidden"):
        assert time.monotonic() < end, "the page does not open"
        time.sleep(0.05)
    problem = window.run("return document.querySelector('.problem').textContent")
    assert not problem, problem
    settle(window)


def settle(window):
    window.run_async("const done = arguments[arguments.length - 1];"
                     "requestAnimationFrame(() => requestAnimationFrame(() => done()));")


def shown(window):
    return window.run("return [window.desktrace.drawing.from, window.desktrace.drawing.to]")


def details(window):
    return window.run("return document.getElementById('details').textContent")


def flows(window):
    """Beginnings and ends of those that are drawn."""
    return window.run("""
        const { hovered, selection, lanes } = window.desktrace.drawing;
        return lanes.flowsOf(hovered ?? selection).map((flow) => [flow.out.at, flow.in.at]);""")


def flames(window):
    """Milliseconds by name; each name is there once."""
    found = window.run("return window.desktrace.flames.nodes.map(({ node }) => [node.name, node.total])")
    return {name: total / MS for name, total in found if name}


def place_of(window, name, kind="slices"):
    """Where the line of a name's first row is in the window: left, right, top and bottom of the plot's line."""
    return window.run(
        """
        const { drawing, lanes } = window.desktrace;
        document.getElementById("canvas").scrollIntoView();
        for (const item of lanes.items) {
            if (item.lane?.kind !== arguments[1]) continue;
            for (const [depth, line] of item.lane.lines.entries())
                if (lanes.nameOf(item.lane, line.what[0]) === arguments[0]) {
                    const box = drawing.canvas.getBoundingClientRect();
                    const [left, right, top, bottom] = drawing.boxOf(item, depth);
                    return [box.left + left, box.left + right, box.top + top, box.top + bottom];
                }
        }
        return null;""",
        name, kind,
    )


def check_pixels(window):
    """Each slice is as long as it should be: the runs of its line that are not background, in the whole recording."""
    left, right, top, bottom = place_of(window, "frame")
    settle(window)
    width, _, n, rows = read_png(window.picture())
    scale = width / window.run("return window.innerWidth")
    line = rows[round((top + 3) * scale)]
    back = rows[round((bottom + 1) * scale)]
    from_ns, to_ns = shown(window)
    wanted = found = 0
    for x in range(round(left * scale) + 2, round(right * scale) - 3):
        at = from_ns + (x / scale + 0.5 / scale - left) / (right - left) * (to_ns - from_ns)
        into = at % (10 * MS)
        longest = (9.5 if int(at // (10 * MS)) == 70 else 4.5) * MS
        edge = min(into, abs(into - longest), 10 * MS - into) < 1.5 * (to_ns - from_ns) / (right - left) / scale
        if edge:
            continue
        wanted += 1
        found += (line[x * n : x * n + 3] != back[x * n : x * n + 3]) == (into < longest)
    assert wanted > 300, wanted
    assert found > 0.98 * wanted, f"{found} of {wanted} pixels are as they should be"


def check_narrow_pixels(window):
    """Slices that are narrower than a pixel are seen, and nothing is seen where there are none."""
    left, right, top, _ = place_of(window, "tick")
    settle(window)
    width, _, n, rows = read_png(window.picture())
    scale = width / window.run("return window.innerWidth")
    line, (from_ns, to_ns) = rows[round((top + 4) * scale)], shown(window)
    pixel = (to_ns - from_ns) / (right - left)
    assert pixel > 1.5 * TICK, f"a pixel is {pixel} ns"
    at_pause = round((left + (500 * MS - from_ns) / pixel) * scale)
    back = line[at_pause * n : at_pause * n + 3]
    for x in range(round(left * scale) + 3, round(right * scale) - 4):
        at = from_ns + (x / scale - left) * pixel
        if min(abs(at - i * 100 * MS) for i in range(11)) < 4 * pixel:
            continue  # an edge, or a line of the axis
        is_there = line[x * n : x * n + 3] != back
        assert is_there == (not 400 * MS < at < 600 * MS), f"at {at} ns"


# How many pixels of the canvas have another colour when it is painted again, after each of some moves, and how often
# what was painted before was kept. A colour may be rounded another way.
MOVES = """
    const { drawing } = window.desktrace;
    const { width, height } = drawing.canvas;
    const copy = Object.assign(document.createElement("canvas"), { width, height });
    const context = copy.getContext("2d", { willReadFrequently: true });
    const read = () => {
        context.drawImage(drawing.canvas, 0, 0);
        return context.getImageData(0, 0, width, height).data;
    };
    let [kept, differ] = [0, 0];
    for (const [x, y] of [[0.1, 0], [-0.031, 0], [0.004, 40], [-0.3, -25], [0.2, 3], [0.45, 0], [-0.013, -9]]) {
        window.desktrace.move(x);
        window.desktrace.scroll(y);
        kept += drawing.rows.moved() !== null;
        drawing.draw();
        const moved = read();
        drawing.rows.kept = null;
        drawing.draw();
        const again = read();
        for (let i = 0; i < again.length; i++) differ += Math.abs(again[i] - moved[i]) > 2;
    }
    return [kept, differ];"""


def check_moving(window):
    for begin, end in ((350, 650), (450, 550), (699, 712)):
        window.run(f"window.desktrace.show({begin}e6, {end}e6)")
        settle(window)
        found = window.run(MOVES)
        assert found == [7, 0], (begin, end, found)


def check_names(window):
    unnamed = window.run("""
        return [...document.querySelectorAll("button, input, select, a, canvas")].filter((one) =>
            one.tabIndex < 0 || !(one.textContent.trim() || one.labels?.length || one.ariaLabel ||
            document.getElementById(one.getAttribute("aria-labelledby")))).map((one) => one.outerHTML)""")
    assert not unnamed, unnamed


def check_access(checks, window, what):
    name = window.name
    with checks.that(f"{name}: {what}: can be read on a light desktop and on a dark one"):
        light, dark = (accessibility.check_theme(window, scheme) for scheme in ("light", "dark"))
        assert light == "rgb(255, 255, 255)" != dark, (light, dark)
    with checks.that(f"{name}: {what}: has the structure that screen readers go by"):
        accessibility.check_structure(window)
    with checks.that(f"{name}: {what}: is whole and light on paper"):
        accessibility.check_paper(window)
    with checks.that(f"{name}: {what}: is printed"):
        accessibility.check_printing(window)


def check(checks, window, folder, pictures):
    name = window.name
    with checks.that(f"{name}: the page opens from a file"):
        open_page(window, folder + "/game.html")
    with checks.that(f"{name}: no name of the recording is run or becomes an element"):
        assert window.run("return window.hurt === undefined && document.images.length === 0")
        assert MARKUP in window.run("return document.getElementById('findings').textContent")
    with checks.that(f"{name}: the pixels are those of the slices"):
        window.run("window.desktrace.show(400e6, 800e6)")
        settle(window)
        check_pixels(window)
    with checks.that(f"{name}: what is narrower than a pixel is seen"):
        window.run("window.desktrace.show(0, 1e12)")
        check_narrow_pixels(window)
    with checks.that(f"{name}: what is moved looks as if it were painted again"):
        check_moving(window)
    with checks.that(f"{name}: a link of the findings shows its place and selects it"):
        window.run(
            "[...document.querySelectorAll('#findings a')].find((a) => a.textContent.startsWith('frame')).click()"
        )
        settle(window)
        first, last = shown(window)
        assert first < 700 * MS and last > 709.5 * MS and last - first < 100 * MS, (first, last)
        assert "9.5 ms" in details(window), details(window)
    with checks.that(f"{name}: keys zoom, move, and go back to the whole"):
        window.run("document.getElementById('canvas').focus()")
        before = shown(window)
        press(window, "w")
        closer = shown(window)
        assert closer[1] - closer[0] < before[1] - before[0], (before, closer)
        press(window, "d")
        assert shown(window)[0] > closer[0]
        press(window, "0")
        assert shown(window)[0] == 0, shown(window)
    with checks.that(f"{name}: a search counts, and steps through what it finds"):
        window.type("#search", "draw")
        assert window.run("return document.getElementById('matches').textContent").startswith("100 "), "100 matches"
        window.run("document.getElementById('canvas').focus()")
        press(window, "n", "n")
        assert "draw" in details(window), details(window)
        assert window.run("return document.getElementById('matches').textContent") == "2 / 100"
    with checks.that(f"{name}: a click selects, and another beside it drops the selection"):
        press(window, "0")
        window.run("window.desktrace.show(0, 20e6)")
        left, right, top, bottom = place_of(window, "draw")
        settle(window)
        click(window, left + (right - left) * 0.1, (top + bottom) / 2)
        assert "draw" in details(window) and "2 ms" in details(window), details(window)
        click(window, left + (right - left) * 0.4, (top + bottom) / 2)
        assert "draw" not in details(window), details(window)
    with checks.that(f"{name}: dragging moves"):
        before = shown(window)
        left, right, _, bottom = place_of(window, "draw")
        click(window, (left + right) / 2, bottom + 1, ((left + right) / 2 - 200, bottom + 1))
        assert shown(window)[0] > before[0], (before, shown(window))
    with checks.that(f"{name}: what is pointed at has its flows, and nothing else has any"):
        window.run("window.desktrace.show(95e6, 125e6)")
        left, right, top, bottom = place_of(window, "frame")
        settle(window)
        # 102 ms and 122 ms: the frames that begin at 100 ms and 120 ms.
        for at, wanted in ((102, [[100 * MS, 200 * MS]]), (122, [])):
            click(window, left + (right - left) * (at - 95) / 30, (top + bottom) / 2)
            assert flows(window) == wanted, (at, flows(window))
    with checks.that(f"{name}: the times of a name are those of the recording"):
        note = window.run("return document.getElementById('times-note').textContent")
        for fact in ("How many: 100", "Half took at most: 4.5 ms", "Longest: 9.5 ms"):
            assert fact in note, note
        assert "99 %" not in note, "there are too few for that"
        window.run("document.getElementById('times-longest').click()")
        settle(window)
        first, last = shown(window)
        assert first < 700 * MS and last > 709.5 * MS, (first, last)
        assert "frame" in details(window) and "9.5 ms" in details(window), details(window)
        assert sum(window.run("return [...window.desktrace.times.bins()]")) == 100
    with checks.that(f"{name}: keys go through the strip of times"):
        window.run("document.getElementById('strip').focus()")
        press(window, HOME)
        assert "0 s" in details(window), details(window)
        press(window, RIGHT)
        assert "10 ms" in details(window), details(window)
    with checks.that(f"{name}: a flame graph adds up what the picture shows"):
        window.run("window.desktrace.show(0, 1e12); window.desktrace.flames.make()")
        assert flames(window) == {
            "game 100": 99 * 4.5 + 9.5 + 600 + 1600 * 0.2, "ticker 102": 1600 * 0.2, "tick": 1600 * 0.2,
            "main 100": 99 * 4.5 + 9.5, f"{MARKUP} 101": 600,
            "frame": 99 * 4.5 + 9.5, "draw": 99 * 2 + 8, MARKUP: 600,
        }, flames(window)
        window.run("window.desktrace.show(0, 100e6); window.desktrace.flames.make()")
        assert flames(window)["draw"] == 20, flames(window)
    with checks.that(f"{name}: keys walk through a flame graph, and into it and out again"):
        window.run("document.querySelector('#flames [tabindex=\"0\"]').focus()")
        press(window, DOWN, DOWN)
        assert window.run("return document.activeElement.title").startswith("main 100: 45 ms"), "two down is a thread"
        press(window, ENTER)
        assert window.run("return document.getElementById('flame-note').textContent").startswith("main 100: 45 ms")
        assert window.run("return document.activeElement.style.width") == "100%"
        press(window, ENTER)
        assert window.run("return document.getElementById('flame-note').textContent").startswith("game 100: ")
    with checks.that(f"{name}: memory and pressure are those of the recording"):
        text = window.run("return document.getElementById('memory').innerText").replace("\t", " ")
        for row in ("MemAvailable 8 MiB 4 MiB 4 MiB 8 MiB", "game 100 1 MiB 11 MiB 1 MiB 11 MiB",
                    "some waited for memory 20.0 % 40.0 %"):
            assert row in " ".join(text.split()), text
        assert "CPU" not in text, "what is no number is no pressure"
        window.run("[...document.querySelectorAll('#memory button')].at(-1).click()")
        settle(window)
        assert "psi.mem.some" in details(window), details(window)
        assert shown(window)[0] >= 400 * MS, shown(window)
    with checks.that(f"{name}: what can be used has a name, and is reached by the keyboard"):
        check_names(window)
    check_access(checks, window, "a page")
    with checks.that(f"{name}: the console has no complaint"):
        complaints = window.complaints()
        assert not complaints, complaints
    with checks.that(f"{name}: no request leaves"):
        own = (*OWN_ADDRESSES, f"file://{folder}/game.html")
        asked = [url for url in window.requests() if not url.startswith(own)]
        assert not asked, asked
    if pictures:
        with open(os.path.join(pictures, f"page-{name}.png"), "wb") as file:
            file.write(window.picture())


def flames_of(window, kind):
    """What the flame graph of a kind adds up to, by name, without the lane's own."""
    window.run(f"""const kind = document.getElementById("flame-kind"); kind.value = "{kind}";
               kind.dispatchEvent(new Event("change"));""")
    found = window.run("return window.desktrace.flames.nodes.map(({ node }) => [node.name, node.total])")
    return {name: total for name, total in found if name in ("start", "waits", "touches")}


def check_stacks(checks, window, folder):
    name = window.name
    with checks.that(f"{name}: a page of sleep and page faults opens, and draws their lanes"):
        open_page(window, folder + "/stacks.html")
        window.run("""const { lanes, drawing } = window.desktrace;
                   for (const group of lanes.data.groups) lanes.open(group); drawing.draw();""")
        assert place_of(window, "waits", "sleeps") and place_of(window, "touches", "faults")
    with checks.that(f"{name}: flame graphs have the time of the one, and the number of the others"):
        kinds = window.run("return [...document.getElementById('flame-kind').options].map((one) => one.value)")
        assert kinds == ["sleeps", "faults"], kinds
        assert flames_of(window, "sleeps") == {"start": 300 * MS, "waits": 300 * MS}, flames_of(window, "sleeps")
        assert flames_of(window, "faults") == {"start": 640, "touches": 640}, flames_of(window, "faults")
        assert "640 page faults" in window.run("return document.getElementById('flame-note').textContent")
    with checks.that(f"{name}: a row of faults says how many it stands for"):
        window.run("""const lanes = window.desktrace.lanes.data.groups.flatMap((group) => group.lanes);
                   const lane = lanes.find((one) => one.kind === "faults");
                   window.desktrace.describe({ lane, line: lane.lines[0], row: 0 });""")
        assert "64 page faults: touches" in details(window), details(window)
    with checks.that(f"{name}: the console has no complaint about stacks"):
        complaints = window.complaints()
        assert not complaints, complaints


SIDES = "const [a, b] = window.desktraceSides.map(({ drawing }) => [drawing.from, drawing.to]); return [a, b];"


def check_pair(checks, window, folder, pictures):
    name = window.name
    with checks.that(f"{name}: two recordings open beside each other"):
        open_page(window, folder + "/game-later.html")
        boxes = window.run("""
            return ["canvas-a", "canvas-b"].map((id) => document.getElementById(id).getBoundingClientRect())
                .map((box) => [box.left, box.right, box.top, box.width]);""")
        assert boxes[0][1] < boxes[1][0] and boxes[0][3] > 300, boxes
        assert window.run("return window.hurt === undefined && document.images.length === 0")
    with checks.that(f"{name}: the table has what differs"):
        rows = window.run("return [...document.querySelectorAll('#differences tr')].map((row) => row.innerText)")
        frame = next(row for row in rows if row.startswith("frame"))
        assert "4.50 ms" in frame and "4.90 ms" in frame and "8.9" in frame, frame
    with checks.that(f"{name}: a value shows its longest slice, on both sides"):
        window.run("[...document.querySelectorAll('#differences tr')].find((row) => row.innerText.startsWith('frame'))"
                   ".querySelector('a').click()")
        settle(window)
        said = [window.run(f"return document.getElementById('details-{side}').textContent") for side in "ab"]
        assert "9.5 ms" in said[0] and "9.9 ms" in said[1], said
    with checks.that(f"{name}: what moves one moves the other, unless that is unwished"):
        window.run("for (const page of window.desktraceSides) page.show(0, 1e12)")
        window.run("document.getElementById('canvas-b').focus()")
        press(window, "w")
        a, b = window.run(SIDES)
        assert a == b and a[1] - a[0] < 700 * MS, (a, b)
        window.run("document.getElementById('together').click(); document.getElementById('canvas-a').focus()")
        press(window, "w")
        a, after = window.run(SIDES)
        assert after == b and a[1] - a[0] < b[1] - b[0], (a, b, after)
    with checks.that(f"{name}: ids are there once, and what can be used has a name"):
        check_names(window)
        twice = window.run("""
            const ids = [...document.querySelectorAll("[id]")].map((one) => one.id);
            return ids.filter((id, at) => ids.indexOf(id) !== at);""")
        assert not twice, twice
    check_access(checks, window, "two recordings")
    with checks.that(f"{name}: the console has no complaint about two recordings"):
        complaints = window.complaints()
        assert not complaints, complaints
    if pictures:
        with open(os.path.join(pictures, f"pair-{name}.png"), "wb") as file:
            file.write(window.picture())


def main(desktrace, pictures=None):
    checks = Checks()
    kinds = installed()
    if not kinds:
        print("1..0 # SKIP neither chromium with chromium-driver nor firefox-esr is installed")
        return 0
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        make_recording(folder + "/game.pftrace")
        with checks.that("the page is made"):
            command = [desktrace, "report", folder + "/game.pftrace"]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode == 0, json.dumps(done.stderr)
        make_recording(folder + "/later.pftrace", 400000)
        with checks.that("the page of two recordings is made"):
            command = [desktrace, "report", folder + "/game.pftrace", "--", folder + "/later.pftrace"]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode == 0, json.dumps(done.stderr)
        make_stacks_recording(folder + "/stacks.pftrace")
        with checks.that("the page of call stacks is made"):
            command = [desktrace, "report", folder + "/stacks.pftrace"]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode == 0, json.dumps(done.stderr)
        for kind in kinds:
            with browser(kind) as window:
                check(checks, window, folder, pictures)
            with browser(kind) as window:
                check_stacks(checks, window, folder)
            with browser(kind) as window:
                check_pair(checks, window, folder, pictures)
    print(f"1..{checks.n}")
    return checks.failed > 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
