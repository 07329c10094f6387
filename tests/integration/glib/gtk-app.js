#!/usr/bin/env gjs
// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A window of GTK 3 or 4 that draws 30 frames, which one call records.
//
//      gtk-app.js 3.0|4.0

imports.gi.versions.Gtk = ARGV[0];
const { Desktrace, GLib, Gtk } = imports.gi;

const is_gtk3 = ARGV[0] === '3.0';
const loop = GLib.MainLoop.new(null, false);
let n_frames = 0;

Desktrace.init();
if (is_gtk3)
    Gtk.init(null);
else
    Gtk.init();
const window = new Gtk.Window();
const area = new Gtk.DrawingArea();
if (is_gtk3)
    window.add(area);
else
    window.set_child(area);
window.connect('realize', () => {
    if (!Desktrace.trace_frame_clock(window.get_frame_clock()))
        throw new Error('this is no frame clock');
});
area.add_tick_callback(() => {
    area.queue_draw();
    if (++n_frames < 30)
        return GLib.SOURCE_CONTINUE;
    loop.quit();
    return GLib.SOURCE_REMOVE;
});
if (is_gtk3)
    window.show_all();
else
    window.present();
loop.run();
