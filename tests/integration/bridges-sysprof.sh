#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# org.gnome.sysprof: a command that is given a socket for its marks, and mutter and GTK where they are installed.

# shellcheck source=tests/integration/bridges-lib.sh
. "$(dirname "$0")/bridges-lib.sh"

trace=$tmp/marks.pftrace
app=$(dirname "$0")/sysprof-app.py
source=org.gnome.sysprof
export DESKTRACE_BRIDGES=$BRIDGES LIBGL_ALWAYS_SOFTWARE=1 XDG_RUNTIME_DIR=$tmp
count='select count(*) from slice where name ='

# marked MODE: all that the program wrote from its first to its last moment is in the trace
marked() {
        local n
        ok "$1: a command is recorded" test "$status" = 0
        n=$(tail -n 1 "$tmp/steps")
        gives "$1: all of its marks are there" "^$n\$" asked "$trace" "$count 'step'"
        gives "$1: the last one, too" '^1$' asked "$trace" "$count 'the last one'"
        gives "$1: and its counter" "^$n\$" asked "$trace" \
                "select count(*) from counter c join track t on c.track_id = t.id where t.name = 'steps'"
        gives "$1: below its own process" 'python3' "$DESKTRACE" inspect "$trace"
}

"$DESKTRACE" --standalone record -q -f -o "$trace" $source -- python3 "$app" 1 >"$tmp/steps" 2>>"$tmp/log"
status=$?
marked standalone

"$DESKTRACE" --standalone record -q -f -o "$trace" $source -- python3 "$app" 2 10000 >"$tmp/steps" 2>>"$tmp/log"
gives 'none of 10,000 marks a second is lost' '^20000$' asked "$trace" "$count 'step'"
gives 'nor said to be' 'No losses' "$DESKTRACE" inspect "$trace"

bridged_session
"$DESKTRACE" --user record -q -f -o "$trace" $source -- python3 "$app" 1 >"$tmp/steps" 2>>"$tmp/log"
status=$?
marked 'of a user'

# Without a compositor there is nothing to record, which is said.
"$DESKTRACE" --user record -q -f -t 1s -o "$trace" $source 2>>"$tmp/log"
gives 'that there is no compositor is said' '^1$' asked "$trace" "$count 'the compositor is not recorded'"

if command -v mutter >/dev/null; then
        started mutter --wayland --headless --no-x11 --virtual-monitor 640x480 --wayland-display wl-test
        eventually has_owner --user org.gnome.Mutter.DisplayConfig
        # Without OpenGL, which takes long to begin where the machine is busy.
        started env WAYLAND_DISPLAY=wl-test GDK_BACKEND=wayland GSK_RENDERER=cairo gtk4-demo --run=fishbowl
        # Newer ones call marks as their functions.
        dispatches="$count 'Frame Clock (dispatch)' or name = 'Clutter::FrameClock::dispatch()'"
        for _ in 1 2 3 4 5; do
                sleep 3
                recording "$trace" 4 $source
                wait "$recording"
                [ "$(asked "$trace" "$dispatches")" = 0 ] || break
        done
        gives 'mutter: its marks are there' '^[1-9]' asked "$trace" "$dispatches"
        gives 'mutter: none is without an end' '^0$' asked "$trace" 'select count(*) from slice where dur < 0'

        # A compositor that still records for a bridge that has crashed is stopped, and starts again.
        recording "$trace" 3 $source
        sleep 1
        bridges=$(busctl --user call org.freedesktop.DBus /org/freedesktop/DBus org.freedesktop.DBus \
                GetConnectionUnixProcessID s org.desktrace.Bridges1 | cut -d' ' -f2)
        kill -KILL "$bridges"
        wait "$recording"
        recording "$trace" 4 $source
        wait "$recording"
        gives 'mutter: it is recorded after a crash of the bridge' '^0$' \
                asked "$trace" "$count 'the compositor is not recorded'"
        ok 'mutter: it lives' has_owner --user org.gnome.Mutter.DisplayConfig
        fails 'mutter: nobody is recorded for afterwards' '.' \
                busctl --user call org.gnome.Mutter.DisplayConfig /org/gnome/Sysprof3/Profiler \
                org.gnome.Sysprof3.Profiler Stop
else
        skip_check 'mutter: its marks are there' 'mutter is not installed'
fi

if command -v gtk4-widget-factory >/dev/null && command -v Xvfb >/dev/null; then
        started Xvfb :97 -screen 0 800x600x24
        sleep 1
        DISPLAY=:97 GDK_BACKEND=x11 "$DESKTRACE" --user record -q -f -o "$trace" $source -- \
                timeout 8 gtk4-widget-factory >/dev/null 2>>"$tmp/log"
        gives 'GTK 4: how it began is there' '^1$' asked "$trace" \
                "$count 'gtk init' or name = 'Application startup'"
        gives 'GTK 4: none is without an end' '^0$' asked "$trace" 'select count(*) from slice where dur < 0'
        # GLib 2.84 does; of older ones nobody has asked for it.
        if grep -qs SYSPROF_CONTROL_FD /usr/lib/*/libglib-2.0.so.0; then
                gives 'GLib: turns of main loops are there' '^[1-9]' asked "$trace" "$count 'g_main_context_iterate'"
        fi
else
        skip_check 'GTK 4: how it began is there' 'gtk4-widget-factory or Xvfb is not installed'
fi
finish
