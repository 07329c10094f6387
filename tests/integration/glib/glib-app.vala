// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The events that glib-app.sh counts, from Vala.

public class Clock : Object {
    public signal void before_paint ();
    public signal void update ();
    public signal void layout ();
    public signal void paint ();
    public signal void after_paint ();
}

void step (Desktrace.Category work, Desktrace.Lanes lanes, int number) {
    var size = new VariantDict ();
    var args = new Desktrace.Args ();

    size.insert_value ("width", new Variant.int32 (3));
    args.add_int ("number", number).add_string ("language", "Vala").add_variant ("size", size.end ());
    work.begin ("step", args);
    work.count ("steps", number);
    var request = work.start (lanes, "request", null);
    if (number % 10 == 0)
        work.instant ("ten", new Desktrace.Args ().add_double ("share", number / 100.0));
    request.end (null);
    work.mark (new Desktrace.Track ("marks", 0, null), "mark", Desktrace.now_ns () - 1000, 500, null);
    work.end (new Desktrace.Args ().add_boolean ("done", true));
}

int main () {
    Desktrace.init ();
    var work = new Desktrace.Category ("work", "What this program does", null);
    var lanes = new Desktrace.Lanes ("requests", 0);
    var loop = new MainLoop ();
    var clock = new Clock ();
    var source = new TimeoutSource (2);
    int number = 0;

    Desktrace.trace_frame_clock (clock);
    source.set_callback (() => {
        step (work, lanes, ++number);
        clock.before_paint ();
        clock.paint ();
        clock.after_paint ();
        if (number == 30)
            loop.quit ();
        return number < 30;
    });
    Desktrace.trace_source (source, "steps");
    source.attach (null);
    loop.run ();
    return 0;
}
