#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Compositors of desktops, as Debian has them and without a display, draw a client's window, and their own frames are
# recorded by points in their libraries: each that they compose is painted and presented. They take their time to
# start, so a recording is made again until it has some.

# The checks call functions by name.
# shellcheck disable=SC2317
# shellcheck source=tests/integration/kernel-lib.sh
. "$(dirname "$0")/kernel-lib.sh"

RECORDINGS_MAX=10
FRAMES_MIN=10 # in a recording that counts
[ -e "$TRACEFS/uprobe_events" ] || skip_all 'this kernel has no uprobes'
for program in mutter kwin_wayland gtk4-demo dbus-run-session; do
        command -v "$program" >/dev/null || skip_all "there is no $program"
done
export XDG_RUNTIME_DIR=$tmp/run LIBGL_ALWAYS_SOFTWARE=1 HOME=$tmp/home
mkdir -m 700 "$tmp/run" "$tmp/home"
unset DISPLAY WAYLAND_DISPLAY

# count GROUP NAME: how many of these points were hit
count() {
        "$DESKTRACE" query frames.pftrace "select count(*) from slice where category = '$1' and name = '$2'" | sed 1d
}

# has_frames GROUP FIRST NAME...: a recording has at least FRAMES_MIN of FIRST, and as many of the others, but for
# those at its beginning and end
has_frames() {
        local group=$1 first=$2 n name recording
        shift 2
        for ((recording = 0; recording < RECORDINGS_MAX; recording++)); do
                timeout -k 10 60 "$DESKTRACE" record --standalone -q -f -p desktop -t 4s -o frames.pftrace 2>frames.err
                n=$(count "$group" "$first")
                [ "$n" -ge "$FRAMES_MIN" ] && break
        done
        for name in "$first" "$@"; do
                echo "$name: $(count "$group" "$name")"
                [ "$n" -ge "$FRAMES_MIN" ] && [ $(($(count "$group" "$name") - n)) -ge -3 ] &&
                        [ $(($(count "$group" "$name") - n)) -le 3 ] || return 1
        done
        # What clients are told is about the same frames.
        [ "$(count wayland commit)" -ge $((n / 2)) ]
}

# compositor NAME SOCKET COMMAND...: with a client. What its bus has started ends with the test, if not with the bus.
compositor() {
        local name=$1 socket=$2
        shift 2
        started setsid dbus-run-session -- "$@"
        compositor=$started
        ok "$name: it runs" eventually test -S "$XDG_RUNTIME_DIR/$socket"
        # By OpenGL it would translate shaders for minutes where the machine is busy.
        started env WAYLAND_DISPLAY="$socket" GDK_BACKEND=wayland GSK_RENDERER=cairo gtk4-demo --run=fishbowl
        client=$started
}

ends() {
        ended "$client"
        kill -KILL -- "-$compositor"
        wait "$compositor" 2>/dev/null
}

compositor mutter mutter-test mutter --wayland --headless --no-x11 --virtual-monitor 640x480 \
        --wayland-display mutter-test
ok 'mutter: its frames are there' has_frames mutter presented paint
ends

# The installed program has capabilities, which not every container gives; a copy has none, and wants its name.
mkdir "$tmp/bin"
cp "$(command -v kwin_wayland)" "$tmp/bin/kwin_wayland"
compositor KWin kwin-test "$tmp/bin/kwin_wayland" --virtual --width 640 --height 480 --socket kwin-test \
        --no-lockscreen
ok 'KWin: its frames are there' has_frames kwin presented paint composite
ends
finish
