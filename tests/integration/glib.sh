#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# libdesktrace-glib from C, GJS, PyGObject and Vala: what a private service records of each is counted.

# shellcheck source=tests/integration/recorded-lib.sh
. "$(dirname "$0")/recorded-lib.sh"

#
# C
#

ok "events of each kind are recorded" records events.pftrace "$GLIB_APP" events
ok "slices of the thread" slices events.pftrace step 'n == 10'
ok "slices of a track" slices events.pftrace 'on a track' 'n == 10'
ok "slices that are known when they are over" slices events.pftrace mark 'n == 10'
ok "slices that overlap, each ended once" slices events.pftrace request 'n == 20'
ok "a counter by its name" counters events.pftrace steps 'n == 10'
ok "and by its track" counters events.pftrace memory 'n == 10'
ok "a counter of fractions" counters events.pftrace share 'n == 10'
ok "more arguments than there is room for do no harm" instants events.pftrace 'too much' 'n == 1'
ok "nothing is lost" lossless events.pftrace
for text in 'of the event' heights 'done at the end' 'the main thread' 'odd or even' 'too many'; do
        ok "\"$text\" is in the trace" grep -qa "$text" events.pftrace
done
fails "what is too long is not" '^$' grep -qa xxxxxxxx events.pftrace
ok "each slice that began has ended" json_holds events.pftrace.json \
        'not any(s["open"] for s in t["slices"]) and t["unmatched_slice_ends"] == 0'

ok "hooks are recorded" records hooks.pftrace "$GLIB_APP" hooks
ok "each dispatch of a source" slices hooks.pftrace turns 'n == 20'
ok "of one that was attached already, too" slices hooks.pftrace frames 'n == 12'
ok "turns of the main loop wait" slices hooks.pftrace poll 'n >= 20'
ok "and dispatch" slices hooks.pftrace dispatch 'n >= 20'
ok "frames" slices hooks.pftrace frame 'n == 12'
ok "phases of frames" slices hooks.pftrace paint 'n == 12'
ok "those that there were" slices hooks.pftrace update 'n == 6'
ok "nothing is left open but the other thread's last turn" json_holds hooks.pftrace.json \
        'sum(s["open"] for s in t["slices"]) == 1 and t["unmatched_slice_ends"] == 0'
ok "the slices of handlers" slices hooks.pftrace 'lay out' 'n == 12'
ok "how long frames took" counters hooks.pftrace 'frame time' 'n == 12'
ok "nothing is lost" lossless hooks.pftrace
ok "what cannot be hooked is refused" records refused.pftrace "$GLIB_APP" refused
ok "and nobody needs to record" "$GLIB_APP" hooks

#
# Other languages
#

# has_all LANGUAGE FILE
has_all() {
        ok "$1: slices" slices "$2" step 'n == 30'
        ok "$1: slices on lanes" slices "$2" request 'n == 30'
        ok "$1: marks" slices "$2" mark 'n == 30'
        ok "$1: instants" instants "$2" ten 'n == 3'
        ok "$1: counters" counters "$2" steps 'n == 30'
        ok "$1: a source" slices "$2" steps 'n == 30'
        ok "$1: frames and their phases" slices "$2" paint 'n == 30'
        ok "$1: turns of the main loop" slices "$2" poll 'n >= 30'
        ok "$1: arguments" eval "grep -qa $1 $2 && grep -qa width $2"
        ok "$1: nothing is lost" lossless "$2"
}

if [ -n "${TYPELIBS-}" ]; then
        export GI_TYPELIB_PATH=$TYPELIBS LD_LIBRARY_PATH=$TYPELIBS:$TYPELIBS/../../src/lib
        if command -v gjs >/dev/null; then
                ok "a GJS program is recorded" records gjs.pftrace gjs "$GLIB_APPS/glib-app.js"
                has_all GJS gjs.pftrace
        else
                skip "a GJS program is recorded" "gjs is not installed"
        fi
        for version in 3.0 4.0; do
                file=gtk$version.pftrace
                if gjs -c "imports.gi.versions.Gtk = '$version'; imports.gi.Gtk" 2>/dev/null &&
                        command -v xvfb-run >/dev/null; then
                        ok "a window of GTK $version is recorded" records "$file" \
                                env G_DEBUG='' GSK_RENDERER=cairo xvfb-run -a gjs "$GLIB_APPS/gtk-app.js" $version
                        ok "GTK $version: frames" slices "$file" frame 'n >= 29'
                        ok "GTK $version: phases" slices "$file" paint 'n >= 29'
                        ok "GTK $version: turns of the main loop" slices "$file" dispatch 'n >= 29'
                        ok "GTK $version: nothing is lost" lossless "$file"
                else
                        skip "a window of GTK $version is recorded" "gjs, GTK $version or xvfb-run is not installed"
                fi
        done
        if /usr/bin/python3 -c 'import gi' 2>/dev/null; then
                ok "a PyGObject program is recorded" records python.pftrace /usr/bin/python3 "$GLIB_APPS/glib-app.py"
                has_all PyGObject python.pftrace
        else
                skip "a PyGObject program is recorded" "python3-gi is not installed"
        fi
else
        skip "GJS and PyGObject programs are recorded" "built without introspection"
fi

if [ -n "${VAPIS-}" ] && command -v valac >/dev/null; then
        mkdir pkgconfig
        # shellcheck disable=SC2016 # pkg-config's variable
        for name in desktrace desktrace-glib; do
                sed 's|^Cflags:.*|Cflags: -I${srcdir}/src/lib/include -I${srcdir}/bindings/glib|' \
                        "$UNINSTALLED/$name-uninstalled.pc" >"pkgconfig/$name.pc"
        done
        ok "a Vala program is built" env PKG_CONFIG_PATH="$PWD/pkgconfig" \
                valac --vapidir="$VAPIS" --pkg desktrace-glib -X -w -o vala-app "$GLIB_APPS/glib-app.vala"
        ok "and recorded" records vala.pftrace ./vala-app
        has_all Vala vala.pftrace
else
        skip "a Vala program is recorded" "valac is not installed, or built without it"
fi

finish
