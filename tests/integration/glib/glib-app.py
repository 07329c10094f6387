#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The events that glib-app.sh counts, from PyGObject."""

import gi

gi.require_version("Desktrace", "0")
from gi.repository import Desktrace, GLib, GObject  # noqa: E402


class Clock(GObject.Object):
    """Has the signals of GTK's frame clock."""

    __gsignals__ = {
        phase: (GObject.SignalFlags.RUN_LAST, None, ())
        for phase in ("before-paint", "update", "layout", "paint", "after-paint")
    }


def step(work, lanes, number):
    size = GLib.Variant("a{sv}", {"width": GLib.Variant("i", 3)})
    args = Desktrace.Args.new().add_int("number", number).add_string("language", "PyGObject")
    work.begin("step", args.add_variant("size", size))
    work.count("steps", number)
    request = work.start(lanes, "request", None)
    if number % 10 == 0:
        work.instant("ten", Desktrace.Args.new().add_double("share", number / 100))
    request.end(None)
    work.mark(Desktrace.Track.new("marks", 0, None), "mark", Desktrace.now_ns() - 1000, 500, None)
    work.end(Desktrace.Args.new().add_boolean("done", True))


def main():
    Desktrace.init()
    work = Desktrace.Category.new("work", "What this program does", None)
    lanes = Desktrace.Lanes.new("requests", 0)
    loop = GLib.MainLoop()
    clock = Clock()
    numbers = iter(range(1, 31))

    def on_time():
        number = next(numbers)
        step(work, lanes, number)
        for phase in ("before-paint", "paint", "after-paint"):
            clock.emit(phase)
        if number == 30:
            loop.quit()
        return number < 30

    Desktrace.trace_frame_clock(clock)
    source_id = GLib.timeout_add(2, on_time)
    Desktrace.trace_source(GLib.MainContext.default().find_source_by_id(source_id), "steps")
    loop.run()


main()
