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
        timeout -k 10 60 "$DESKTRACE" record --standalone -q -f -c stalls.cfg -o "$file" -- "$@" \
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

# In a pid namespace of its own the kernel's pids are others, so programs have no names.
has_names() {
        [ "$(readlink /proc/self/ns/pid)" = 'pid:[4026531836]' ]
}

# stalls_of_the_program FILE: all that it made are stalls of one process, its own if that has a name; and it has no
# others but short ones
stalls_of_the_program() {
        local name='*'
        ! has_names || name='stalling-app*'
        "$DESKTRACE" query "$1" "select coalesce(pt.upid, t.parent_id + 1000000) || ' ' || (s.dur / 1000000)
                from slice s join track t on s.track_id = t.id left join process_track pt on pt.id = t.id
                left join process p using (upid)
                where s.name = 'stall' and coalesce(p.name, '') glob '$name'" | tr -d '"' | sed 1d >"$1.stalls"
        python3 -c 'import collections, sys
said, ms = int(open(sys.argv[1] + ".txt").read()), collections.defaultdict(list)
for line in open(sys.argv[1] + ".stalls"):
    ms[line.split()[0]].append(int(line.split()[1]))
if not any(sum(n >= 199 for n in one) == said and len(one) < 2 * said for one in ms.values()):
    sys.exit(f"said {said}, found {dict(ms)}")' "$1"
}

# Of what was too much for a busy machine nothing is concluded, which the recording says.
has_lost() {
        [ "$("$DESKTRACE" query "$1" "select count(*) > 0 from slice where name = 'lost'" | sed 1d)" = 1 ]
}

finds_all_stalls() {
        local n
        for n in 1 2 3 4 5; do
                records stalls.pftrace "$STALLING_APP" 6 || return
                stalls_of_the_program stalls.pftrace && return
                has_lost stalls.pftrace || return
                echo "$n: records were lost"
        done
        return 1
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

ok 'all stalls of a program are found, and waiting is none' finds_all_stalls
ok 'nothing is left in the kernel' no_definitions

has_programs() {
        timeout -k 10 60 "$DESKTRACE" record --standalone -f -p desktop -o preset.pftrace -- "$STALLING_APP" 2 \
                >preset.txt 2>preset.err
        grep "[1-9][0-9]* events* of programs" preset.err && ! grep 'Nothing that ran uses' preset.err
}
ok 'a preset with points does not say that there is nothing of programs' has_programs

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
        started weston --backend=headless-backend.so --use-pixman --socket=points --idle-time=0
        weston=$started
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
        ended "$weston"
else
        skip 'a program below a compositor is recorded' 'there is no weston'
fi

if command -v Xvfb >/dev/null && command -v glxgears >/dev/null; then
        started Xvfb -displayfd 1 -screen 0 320x240x24 >display
        xvfb=$started
        eventually test -s display
        DISPLAY=:$(head -n1 display)
        export DISPLAY
        # It counts for five seconds, and longer where a frame takes its time.
        gears() {
                local n
                timeout -k 5 50 stdbuf -oL glxgears >gears.lines &
                for ((n = 0; n < 200; n++)); do
                        ! grep -q frames gears.lines || break
                        sleep 0.2
                done
                kill $!
                wait $!
                cat gears.lines
        }
        export -f gears
        ok 'a program of the X Window System is recorded' records gears.pftrace bash -c gears
        ok 'the frames that it counts are there' sums gears.pftrace glXSwapBuffers \
                'n >= sum(int(line.split()[0]) for line in said.splitlines() if line[:1].isdigit()) > 0'
        ok 'nothing was lost of it' holds gears.pftrace 't["losses"]["verdict"] == "none"'
        ended "$xvfb"
else
        skip 'a program of the X Window System is recorded' 'there is no Xvfb or no glxgears'
fi
ok 'nothing is left in the kernel of these, either' no_definitions
finish
