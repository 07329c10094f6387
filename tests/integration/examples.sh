#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Each example is recorded, and what a viewer would draw of it is held against what its head comment says: named
# threads, slices in slices, arrows, counters. Needs EXAMPLE_PROGRAMS, their directory.

# shellcheck source=tests/integration/cli-lib.sh
. "$(dirname "$0")/cli-lib.sh"

shape=$(dirname "$0")/trace_shape.py

# records NAME: into NAME.pftrace
records() {
        timeout 60 "$DESKTRACE" record --standalone -p apps -o "$1.pftrace" -- \
                "$EXAMPLE_PROGRAMS/$1-desktrace" --seconds 1
}

# recorded NAME: it is, and readers find nothing wrong in it
recorded() {
        ok "$1 is recorded" records "$1"
        ok "$1: nothing is lost" holds "$1.pftrace" 't["losses"]["verdict"] == "none"'
        ok "$1: readers find nothing wrong" python3 "$TRACE_RULES" "$1.pftrace"
}

# shows NAME PROMISE EXPRESSION
shows() {
        ok "$1: $2" python3 "$shape" "$1.pftrace" "$3"
}

# quoted WORD...: as a list of Python's
quoted() {
        printf "'%s', " "$@"
}

# shows_slices NAME PATH...: each is there, in that nesting
shows_slices() {
        shows "$1" "slices are in each other as they should" "all(slices[path] > 2 for path in [$(quoted "${@:2}")])"
}

# shows_arrows NAME ARROW...
shows_arrows() {
        shows "$1" "arrows lead from where to where they should" "all(arrows[a] > 2 for a in [$(quoted "${@:2}")])"
}

recorded daemon
shows daemon "threads of two programs have names" 'set(threads) == {"event loop", "worker", "client"}'
shows daemon "clients are processes of their own" \
        'len(threads["client"]) == 2 and not threads["client"] & threads["worker"]'
shows daemon "which have names" 'sorted(processes.values()) == ["daemon example"] + 2 * ["daemon example\x27s client"]'
shows_slices daemon 'client: request > wait for answer' 'event loop: dispatch > take request' \
        'worker: answer > look up' 'worker: answer > send' 'request: request'
shows_arrows daemon 'client: request -> event loop: take request' 'event loop: take request -> worker: answer' \
        'worker: answer -> client: answer'
shows daemon "every request is answered, with three arrows" \
        'all(arrows[a] == slices["client: request"] for a in arrows) and len(arrows) == 3'
shows daemon "and arrows lead from process to process" \
        'set(crossing) == {a for a in arrows if "client" in a} and crossing == {a: arrows[a] for a in crossing}'
shows daemon "a counter rises and falls to nothing" \
        'counters["requests in work"][-1] == 0 and max(counters["requests in work"]) > 0'
shows daemon "all that begins ends" 'open == 0'

recorded game
shows game "its threads have names" '{"game loop", "job thread 1", "job thread 2", "loader"} <= set(threads)'
shows_slices game 'game loop: frame > step > wait for workers' 'game loop: frame > submit' 'GPU queue: draw' \
        'asset: load' 'loader: read'
shows game "jobs run on the workers" 'sum(n for s, n in slices.items() if s.startswith("job thread")) > 2'
shows_arrows game 'game loop: frame -> game loop: submit' 'game loop: submit -> GPU queue: draw' \
        'asset: load -> loader: read'
shows game "there are arrows to the jobs" \
        'sum(n for a, n in arrows.items() if a.startswith("game loop: queue -> ")) == instants["game loop: queue"]'
shows game "counters have values" 'min(len(counters[c]) for c in ("frame rate", "entities", "GPU frame time")) > 2'
shows game "all that begins ends" 'open == 0'

recorded frame-clock
shows frame-clock "its threads have names" '{"frame clock", "compositor"} <= set(threads)'
shows_slices frame-clock 'frame clock: frame > before-paint' 'frame clock: frame > update' \
        'frame clock: frame > layout' 'frame clock: frame > paint > draw' 'frame clock: frame > after-paint' \
        'compositor: compose'
shows_arrows frame-clock 'frame clock: after-paint -> compositor: compose' 'compositor: compose -> display: presented'
shows frame-clock "counters have values" 'len(counters["frame rate"]) > 2 and min(counters["frame time"]) > 2e6'
shows frame-clock "all that begins ends" 'open == 0'

recorded pool
shows pool "its threads have names" '{"submitter", "worker 1", "worker 2", "worker 3"} <= set(threads)'
shows_slices pool 'submitter: batch > submit'
shows pool "tasks run on the workers, in steps" 'sum(n for s, n in slices.items() if s.endswith("run > compute")) > 2'
shows pool "an arrow leads to each" \
        'sum(n for a, n in arrows.items()) == sum(n for s, n in slices.items() if s[8:] == ": run")'
shows pool "the queue's depth is counted down to nothing" 'counters["queue depth"][-1] == 0'
shows pool "the workers have states" 'set(states["worker 1"]) == {"idle", "busy", ""}'
shows pool "all that begins ends" 'open == 0'

recorded glib
shows glib "its thread has a name" '"main loop" in threads'
shows_slices glib 'main loop: poll' 'main loop: dispatch > on_job' \
        'main loop: dispatch > on_dialog > dispatch > on_job' 'main loop: dispatch > on_dialog > poll' 'job: checksum'
shows_arrows glib 'job: checksum -> main loop: on_job'
shows glib "a counter has values" 'len(counters["jobs done"]) > 2'
shows glib "all that begins ends" 'open == 0'

if [ -x "$EXAMPLE_PROGRAMS/qt-desktrace" ]; then
        recorded qt
        shows qt "its threads have names" '{"Qt", "pool"} <= set(threads)'
        shows_slices qt 'Qt: wait' 'Qt: Timer > frame' 'Qt: Timer > frame > submit' 'Qt: MetaCall' 'pool: run'
        shows_arrows qt 'Qt: submit -> pool: run' 'pool: run -> Qt: result'
        shows qt "counters have values" 'min(len(counters[c]) for c in ("frame rate", "jobs done")) > 2'
fi

# Two that run already, each with its threads, in one trace of a service on the bus. A request that began before the
# recording ends in it, which readers tell: so their rules are not asked.
session_bus
service "$DESKTRACED" --user
started "$EXAMPLE_PROGRAMS/game-desktrace" --seconds 60
started "$EXAMPLE_PROGRAMS/daemon-desktrace" --seconds 60
for program in game-desktrace daemon-desktrace; do
        eventually has_producer "$program"
done
ok "programs that run already are recorded" timeout 60 "$DESKTRACE" record --user -p apps -t 2s -o both.pftrace
ok "both: nothing is lost" holds both.pftrace 't["losses"]["verdict"] == "none"'
shows both "all threads have names" \
        '{"game loop", "job thread 1", "job thread 2", "event loop", "worker", "client"} <= set(threads)'
shows_slices both 'game loop: frame > submit' 'event loop: dispatch > take request' 'worker: answer > look up'
shows_arrows both 'game loop: submit -> GPU queue: draw' 'client: request -> event loop: take request'
shows both "counters have values" 'min(len(counters[c]) for c in ("frame rate", "requests in work")) > 2'

# A display that nobody looks at, where there is one to be had.
display() {
        if command -v Xvfb >/dev/null; then
                export GDK_BACKEND=x11 DISPLAY=:$((1000 + $$ % 50000)) GSK_RENDERER=cairo GTK_A11Y=none
                # What fontconfig keeps to its end is not ours.
                export ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0
                started Xvfb "$DISPLAY" -screen 0 640x480x24 -nolisten tcp
                eventually test -S "/tmp/.X11-unix/X${DISPLAY#:}"
        else
                return 1
        fi
}
if [ -x "$EXAMPLE_PROGRAMS/gtk-desktrace" ] && display; then
        recorded gtk
        shows gtk "its thread has a name" '"GTK" in threads'
        shows_slices gtk 'GTK: frame > before-paint' 'GTK: frame > update > on_tick' 'GTK: frame > paint > on_draw' \
                'GTK: frame > after-paint'
        shows_arrows gtk 'GTK: frame -> display: presented'
        shows gtk "counters have values" 'min(len(counters[c]) for c in ("frame rate", "frame time")) > 2'
fi
finish
