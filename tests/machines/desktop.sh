#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Programs of a stock desktop, as Debian has them, below a compositor without a display and below an X server, are
# recorded by points in their libraries, and what they tell by the bridges. The tests are those of the integration
# suite, which skip what is not installed.
# Time limit: 25 min

# shellcheck source=tests/machines/lib.sh
. "$(dirname "$0")/lib.sh"

# has CHECK...: the test did each of these
has() {
        local check
        for check; do
                said "$check" "^ok [0-9]+ - $check\$"
        done
}

machine bookworm build test desktop +weston +mesa-utils +mesa-vulkan-drivers +vulkan-tools +gtk-3-examples \
        +gtk-4-examples +qmlscene +qml-module-qtquick2 +libsdl2-tests +firefox-esr +chromium +mutter +kwin-wayland
echo '127.0.0.1 localhost' >"$root/etc/hosts" # what an installed system has, and browsers ask for
project
ok 'all of it is configured' as_root meson setup build -Dprefix=/usr
ok 'the programs are built' as_root ninja -C build

# run_test TITLE NAME: with what it said
run_test() {
        # shellcheck disable=SC2016 # for the shell inside
        ok "the test of $1 passes" as_root sh -c 'status=0
                meson test -C build --no-rebuild --timeout-multiplier 3 "$0" >/dev/null || status=$?
                cat build/meson-logs/testlog.txt
                exit $status' "$2"
}

run_test points kernel-points
has 'each frame that it says was presented is one' 'at the times that the compositor has told the program' \
        'the frames that it counts are there' 'nothing is left in the kernel of these, either'
run_test PipeWire bridges-pipewire-session
has 'a program that plays waits and is busy below its own process' 'a player that is stopped is not in time'
run_test X11 bridges-x-session
has 'at the times that the server has told the program'
run_test GStreamer gstreamer
has 'an arrow leads there with each buffer' 'buffers that were late are instants'
run_test Vulkan vulkan-layer
has 'from each to the next is a frame' 'all that it submits is worked on by the GPU'
run_test Firefox bridges-firefox-session
has 'Firefox: what the page has measured is there' 'Firefox: of several processes'
run_test killing kernel-killed-desktop
has 'compositor: nothing is left when it is killed'
run_test compositors kernel-compositors
has 'mutter: its frames are there' 'KWin: its frames are there'
run_test 'eight kinds of programs' kernel-kinds
has 'frames of eight kinds of programs are in one recording'
finish
