#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The toolkits and languages of Debian 13, as authors have them: programs in GJS, Python, Vala, C++ with Qt, and Rust,
# and windows of GTK and Qt Quick, are recorded, and their events counted; and the heaps of programs of these, of
# GStreamer and of Go, and call stacks of GTK, Qt and Go; the compositors of GNOME and KDE, and what GTK, GLib and
# mutter tell sysprof. The tests are those that skip what is not installed.
# Time limit: 30 min

# shellcheck source=tests/machines/lib.sh
. "$(dirname "$0")/lib.sh"

# toolkit NAME [VERB]: all of that test's checks pass, where the verb puts it; what it skips is printed
toolkit() {
        # shellcheck disable=SC2016 # for the shell inside
        ok "the test \"$1\" passes" "${2:-in_chroot}" sh -c 'status=0
                meson test -C build --timeout-multiplier 3 "$0" >/dev/null || status=$?
                cat build/meson-logs/testlog.txt
                exit $status' "$1"
        grep -aE '^ok .*# SKIP' "$output" | sed 's/^/# /'
}

# has CHECK...: the last test did each of these
has() {
        local check
        for check; do
                said "$check" "^ok [0-9]+ - $check\$"
        done
}

machine trixie build test +gir1.2-gtk-4.0 +gir1.2-gtk-3.0 +xvfb +xauth +qt6-base-dev +qt6-declarative-dev +cargo \
        +librust-tracing-subscriber-dev +gtk-4-examples +gjs +gstreamer1.0-tools +golang-go +rustc \
        +mutter +kwin-wayland
project
ok 'all of it is configured' in_chroot meson setup build -Dprefix=/usr -Dprobes=enabled -Dglib-binding=enabled \
        -Dintrospection=enabled -Dvapi=enabled
ok 'the bindings are built' in_chroot ninja -C build bindings/glib/desktrace-glib.vapi
toolkit glib
has 'hooks are recorded' 'GJS: slices' 'PyGObject: slices' 'Vala: slices' 'GTK 3.0: frames' 'GTK 4.0: frames' \
        'GTK 4.0: phases'
toolkit qt
has 'Qt 6: slices' 'a QQuickWindow of Qt 6 is recorded' 'QQuickWindow of Qt 6: render'
toolkit rust
has 'slices' 'a program with the tracing crate is built' 'spans within spans'
toolkit heap-live
has 'Python is recorded' 'GJS is recorded' 'a GTK 4 app is recorded' 'GStreamer is recorded' \
        'a Rust program is recorded' 'a static Go program is refused' 'one that calls C is recorded'
ok 'the probes are built' in_chroot ninja -C build src/probes/desktrace-probes
toolkit kernel-stack-toolkits as_root
has 'GTK 4: what draws is called by its main loop' 'Qt 6: what paints is called by its main loop' \
        'a Go program: the functions of a goroutine' 'one with the build ID of Go alone: the functions of a goroutine'
toolkit bridges-sysprof-session
has 'mutter: its marks are there' 'GTK 4: how it began is there' 'GLib: turns of main loops are there'
toolkit kernel-compositors as_root
has 'mutter: its frames are there' 'KWin: its frames are there'
finish
