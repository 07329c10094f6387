#!/usr/bin/env gjs
// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The events that glib-app.sh counts, from GJS.

const { Desktrace, GLib, GObject } = imports.gi;

const signals = { Signals: {} };
for (const phase of ['before-paint', 'update', 'layout', 'paint', 'after-paint'])
    signals.Signals[phase] = {};
const Clock = GObject.registerClass(signals, class Clock extends GObject.Object {});

function step(render, lanes, number) {
    const size = new GLib.Variant('a{sv}', { width: GLib.Variant.new_int32(3) });
    const args = Desktrace.Args.new().add_int('number', number).add_string('language', 'GJS').add_variant('size', size);

    render.begin('step', args);
    render.count('steps', number);
    const request = render.start(lanes, 'request', null);
    if (number % 10 === 0)
        render.instant('ten', Desktrace.Args.new().add_double('share', number / 100));
    request.end(null);
    render.mark(Desktrace.Track.new('marks', 0, null), 'mark', Desktrace.now_ns() - 1000, 500, null);
    render.end(Desktrace.Args.new().add_boolean('done', true));
}

Desktrace.init();
const render = Desktrace.Category.new('work', 'What this program does', null);
const lanes = Desktrace.Lanes.new('requests', 0);
const loop = GLib.MainLoop.new(null, false);
const clock = new Clock();
let number = 0;

Desktrace.trace_frame_clock(clock);
const source = GLib.timeout_source_new(2);
source.set_callback(() => {
    step(render, lanes, ++number);
    clock.emit('before-paint');
    clock.emit('paint');
    clock.emit('after-paint');
    if (number < 30)
        return GLib.SOURCE_CONTINUE;
    loop.quit();
    return GLib.SOURCE_REMOVE;
});
Desktrace.trace_source(source, 'steps');
source.attach(null);
loop.run();
