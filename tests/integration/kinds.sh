#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Eight kinds of programs as Debian has them, all at once below a compositor without a display and an X server: one
# recording of five seconds with the preset "desktop" has frames of each. Programs take their time to start, so it is
# made again until it has, and one that never draws fails.

# The checks call functions by name.
# shellcheck disable=SC2317
# shellcheck source=tests/integration/kernel-lib.sh
. "$(dirname "$0")/kernel-lib.sh"

RECORDINGS_MAX=20
[ -e "$TRACEFS/uprobe_events" ] || skip_all 'this kernel has no uprobes'
sprites=/usr/libexec/installed-tests/SDL2/testsprite2
for program in weston Xvfb gtk3-demo gtk4-demo qmlscene $sprites es2gears_wayland vkcube-wayland firefox-esr \
        chromium; do
        command -v "$program" >/dev/null || skip_all "there is no $program"
done

export XDG_RUNTIME_DIR=$tmp/run LIBGL_ALWAYS_SOFTWARE=1 HOME=$tmp/home
mkdir -m 700 "$tmp/run" "$tmp/home"
started weston --backend=headless-backend.so --use-pixman --socket=kinds --idle-time=0
started Xvfb -displayfd 1 -screen 0 640x480x24 >display
eventually test -S "$XDG_RUNTIME_DIR/kinds"
eventually test -s display
x=(env "DISPLAY=:$(head -n1 display)" GDK_BACKEND=x11 QT_QPA_PLATFORM=xcb)
wayland=(env -u DISPLAY WAYLAND_DISPLAY=kinds GDK_BACKEND=wayland MOZ_ENABLE_WAYLAND=1)

cat >page.html <<'HTML'
<div id="box" style="position: absolute; width: 50px; height: 50px; background: red"></div><script>
let n = 0;
function draw() { document.getElementById("box").style.left = n++ % 200 + "px"; requestAnimationFrame(draw); }
draw();
</script>
HTML
cat >turn.qml <<'QML'
import QtQuick 2.0
Rectangle { width: 100; height: 100
  Rectangle { width: 50; height: 50; color: "red"
    NumberAnimation on rotation { from: 0; to: 360; duration: 1000; loops: Animation.Infinite } } }
QML
started "${x[@]}" gtk3-demo --run=fishbowl
started "${wayland[@]}" gtk4-demo --run=fishbowl
started "${x[@]}" qmlscene turn.qml
started "${x[@]}" $sprites
started "${wayland[@]}" es2gears_wayland
started "${wayland[@]}" vkcube-wayland
started "${wayland[@]}" firefox-esr --no-remote --profile "$HOME" "file://$PWD/page.html"
started "${wayland[@]}" chromium --no-sandbox --ozone-platform=wayland --no-first-run "--user-data-dir=$HOME/c" \
        "file://$PWD/page.html"

# answer SQL
answer() { "$DESKTRACE" query kinds.pftrace "$1" | sed 1d | tr -d ' '; }
frames="from slice s join track t on s.track_id = t.id where t.name glob 'Frames [0-9]*' and s.name like '%frame'"
# has KIND
has() {
        [ "$(answer "select count(*) $frames and t.id in (select pt.id from process_track pt join process p using (upid)
                where p.name like '%$1%')")" -gt 1 ]
}
kinds=(gtk3-demo gtk4-demo qmlscene testsprite2 es2gears vkcube firefox chromium)
# In a pid namespace of its own the kernel's pids are others, so programs have no names; a browser may have two tracks.
has_all() {
        local kind
        if [ "$(readlink /proc/self/ns/pid)" != 'pid:[4026531836]' ]; then
                [ "$(answer "select count(*) from (select t.id $frames group by t.id having count(*) > 1)")" -ge 8 ]
                return
        fi
        for kind in "${kinds[@]}"; do
                has "$kind" || return 1
        done
}
shows_all() {
        local n
        for ((n = 0; n < RECORDINGS_MAX; n++)); do
                timeout -k 10 60 "$DESKTRACE" record --standalone -q -f -p desktop -t 5s -o kinds.pftrace 2>kinds.err
                has_all && return
        done
        cat kinds.err
        answer "select t.name, count(*) $frames group by t.id" 2>&1
        return 1
}
ok 'frames of eight kinds of programs are in one recording' shows_all
finish
