#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Unmodified programs are recorded by points in their libraries, and what is in the trace is what they say of
# themselves. Those that are not installed are skipped.

# The checks call functions by name.
# shellcheck disable=SC2317
# shellcheck source=tests/integration/kernel-lib.sh
. "$(dirname "$0")/kernel-lib.sh"

[ -e "$TRACEFS/uprobe_events" ] || skip_all 'this kernel has no uprobes'
case $(uname -m) in x86_64 | aarch64 | riscv64) ;; *) skip_all 'points are not known on this machine' ;; esac

export XDG_RUNTIME_DIR=$tmp/run LIBGL_ALWAYS_SOFTWARE=1
mkdir -m 700 "$tmp/run"

cat >stalls.cfg <<'CONFIG'
buffers { size_kb: 65536 fill_policy: RING_BUFFER }
data_sources { config { name: "linux.program_points" program_points_config { stall_ms: 100 } } }
CONFIG

# records FILE COMMAND...: while the command runs, whose output goes to FILE.txt
records() {
        local file=$1
        shift
        timeout 60 "$DESKTRACE" record --standalone -q -f -c stalls.cfg -o "$file" -- "$@" \
                >"$file.txt" 2>"$file.err" || {
                cat "$file.err"
                return 1
        }
        "$DESKTRACE" inspect --json=short "$file" >"$file.json" || [ $? = 6 ]
}

# sums FILE NAME EXPRESSION: of all slices and instants of that name, n of them, the longest of them in ms, the
# expression is true; `said` is what the program printed
sums() {
        python3 -c 'import json, sys
rows = [s for s in json.load(open(sys.argv[1] + ".json"))["slices"] if s["name"] == sys.argv[2]]
n = sum(s["count"] + s["instants"] for s in rows)
ms = max([s["max_ns"] for s in rows] or [0]) / 1e6
said = open(sys.argv[1] + ".txt", errors="replace").read()
sys.exit(0 if eval(sys.argv[3]) else f"not so: {sys.argv[3]} (n = {n}, ms = {ms}, said: {said[-400:]!r})")' "$@"
}

# stalls FILE EXPRESSION: of the durations in ms of stalls of the program, and of what it printed, this is true
stalls() {
        PYTHONPATH=$(dirname "$TRACE_RULES") python3 -c 'import sys
import trace_file
from trace_file import message
parents, ours, begun, ms = {}, set(), {}, []
for packet in map(message, trace_file.packets(open(sys.argv[1], "rb").read())):
    for track in map(message, packet.get(60, [])):
        parents[track[1][0]] = track.get(5, [0])[0]
        if b"stalling-app" in message(track.get(3, [b""])[0]).get(6, []):
            ours.add(track[1][0])
    for event in map(message, packet.get(11, [])):
        track, kind, at = event[11][0], event[9][0], packet[8][0]
        if kind == 1 and event.get(23) == [b"stall"]:
            begun[track] = at
        elif kind == 2 and track in begun and parents.get(track) in ours:
            ms.append((at - begun.pop(track)) / 1e6)
said = open(sys.argv[1] + ".txt").read()
sys.exit(0 if eval(sys.argv[2]) else f"not so: {sys.argv[2]} (ms = {ms}, said: {said!r})")' "$@"
}

# as_the_compositor_says FILE: the times between two frames are those that the program was told, to the microsecond in
# which it prints them. The recording may lack the first and the last ones; pauses are no frames.
as_the_compositor_says() {
        "$DESKTRACE" query "$1" "select s.dur from slice s join track t on s.track_id = t.id
                where t.name glob 'Frames * (presented)' and s.name glob '*frame' order by s.ts" |
                sed 1d >"$1.presented"
        python3 -c 'import re, sys
seen = [int(line) / 1000 for line in open(sys.argv[1] + ".presented") if line.strip()]
said = [int(us) for us in re.findall(r"p2p +(\d+) us", open(sys.argv[1] + ".txt", errors="replace").read())]
said = [us for us in said if 0 < us < 250000]
def agree(shift):
    pairs = list(zip(seen, said[shift:])) if shift >= 0 else list(zip(seen[-shift:], said))
    return len(pairs) > 10 and len(pairs) >= len(said) - 6 and all(abs(a - b) <= 2 for a, b in pairs)
sys.exit(0 if any(map(agree, range(-6, 7))) else f"seen {seen}\nsaid {said}")' "$1"
}

# Other tests may record at the same time: what is theirs belongs to a process that lives.
no_definitions() {
        ! "$DESKTRACE_PROBES" --cleanup 2>&1 | grep removed
}

skip() {
        n_checks=$((n_checks + 1))
        echo "ok $n_checks - $1 # SKIP $2"
}

ok 'a program that stalls is recorded' records stalls.pftrace "$STALLING_APP" 6
# In a pid namespace of its own the kernel's pids are others, so the program has no name.
if [ "$(readlink /proc/self/ns/pid)" = 'pid:[4026531836]' ]; then
        ok 'all of its stalls are found, and waiting is none' stalls stalls.pftrace \
                'sum(n >= 199 for n in ms) >= int(said) == 6 and len(ms) < 12'
else
        skip 'all of its stalls are found, and waiting is none' 'a pid namespace'
fi
ok 'nothing is left in the kernel' no_definitions

has_programs() {
        timeout 60 "$DESKTRACE" record --standalone -f -p desktop -o preset.pftrace -- "$STALLING_APP" 2 \
                >preset.txt 2>preset.err
        grep 'events* of programs' preset.err && ! grep 'Nothing that ran uses' preset.err
}
if [ "$(readlink /proc/self/ns/pid)" = 'pid:[4026531836]' ]; then
        ok 'a preset with points does not say that there is nothing of programs' has_programs
else
        skip 'a preset with points does not say that there is nothing of programs' 'a pid namespace'
fi

if command -v dbus-run-session >/dev/null && command -v gdbus >/dev/null; then
        ok 'a program that waits for replies on a bus is recorded' records bus.pftrace dbus-run-session -- \
                gdbus call --session --dest org.freedesktop.DBus --object-path /org/freedesktop/DBus \
                --method org.freedesktop.DBus.ListNames
        ok 'each wait is a slice' sums bus.pftrace 'wait for D-Bus reply' '"org.freedesktop.DBus" in said and n >= 1'
else
        skip 'a program that waits for replies on a bus is recorded' 'there is no gdbus'
fi

if "$PLAYING_APP" >/dev/null 2>&1; then
        ok 'a program that plays sound is recorded' records sound.pftrace "$PLAYING_APP" 50
        ok 'each time that it hands some over is a slice' sums sound.pftrace 'ALSA write' \
                'said == "50 writes\n" and 25 <= n <= 50'
        ok 'none was lost' holds sound.pftrace 't["losses"]["verdict"] == "none"'
else
        skip 'a program that plays sound is recorded' 'there is no ALSA'
fi

if command -v weston >/dev/null && command -v weston-presentation-shm >/dev/null; then
        weston --backend=headless-backend.so --use-pixman --socket=points --idle-time=0 >weston.log 2>&1 &
        weston=$!
        eventually test -S "$XDG_RUNTIME_DIR/points"
        export WAYLAND_DISPLAY=points
        presentation() {
                timeout 4 weston-presentation-shm -f
                return 0
        }
        export -f presentation
        ok 'a program below a compositor that runs already is recorded' records wayland.pftrace \
                bash -c 'stdbuf -oL bash -c presentation'
        # One line for each frame, but for the first and the last ones.
        ok 'each frame that it says was presented is one' sums wayland.pftrace presented \
                'n > 20 and abs(n - said.count("c2p")) <= 3'
        ok 'at the times that the compositor has told the program' as_the_compositor_says wayland.pftrace
        ok 'it committed as many' sums wayland.pftrace commit 'n > 20 and abs(n - said.count("c2p")) <= 6'
        ok 'nothing was lost' holds wayland.pftrace 't["losses"]["verdict"] == "none"'
        kill "$weston"
        wait "$weston" 2>/dev/null
else
        skip 'a program below a compositor is recorded' 'there is no weston'
fi

if command -v Xvfb >/dev/null && command -v glxgears >/dev/null; then
        Xvfb -displayfd 5 -screen 0 320x240x24 5>display >xvfb.log 2>&1 &
        xvfb=$!
        eventually test -s display
        DISPLAY=:$(head -n1 display)
        export DISPLAY
        gears() {
                timeout 7 stdbuf -oL glxgears
                return 0
        }
        export -f gears
        ok 'a program of the X Window System is recorded' records gears.pftrace bash -c gears
        ok 'the frames that it counts are there' sums gears.pftrace glXSwapBuffers \
                'n >= sum(int(line.split()[0]) for line in said.splitlines() if line[:1].isdigit()) > 0'
        ok 'nothing was lost of it' holds gears.pftrace 't["losses"]["verdict"] == "none"'
        kill "$xvfb"
        wait "$xvfb" 2>/dev/null
else
        skip 'a program of the X Window System is recorded' 'there is no Xvfb or no glxgears'
fi
ok 'nothing is left in the kernel of these, either' no_definitions
finish
