#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# docs/INSTRUMENT.md to the letter: its files are saved, its commands run, and what they record is looked at.

# shellcheck source=tests/integration/page-lib.sh
. "$(dirname "$0")/page-lib.sh"

ok "the page has four programs" test -s app.c -a -s requests.c -a -s app.cpp -a -s app.py
ok "and commands" test "$(wc -l <commands)" -gt 8
follow_page
is_recorded app.pftrace frame 100
is_recorded requests.pftrace request 20
is_recorded cpp.pftrace read 100
is_recorded python.pftrace read 100

# Its builds, with the library and where there is none. What is not installed is passed over.
without_library() {
        PKG_CONFIG_PATH=/nowhere PKG_CONFIG_LIBDIR=/nowhere "$@"
}

# builds TOOL DIRECTORY COMMAND: leaves DIRECTORY/app, and off-DIRECTORY/app
builds() {
        local tool=$1 directory=$2 command=$3
        if ! command -v "$tool" >/dev/null; then
                n_checks=$((n_checks + 1))
                echo "ok $n_checks - $tool builds it # SKIP $tool is not installed"
                return
        fi
        ok "$tool builds it with the library" bash -euc "${command//DIRECTORY/$directory}"
        ok "which is linked" grep -q libdesktrace.so "$directory/app"
        gives "and recorded" 'No losses' desktrace record --standalone -p apps -o "$tool.pftrace" -- "$directory/app"
        is_recorded "$tool.pftrace" frame 100
        ok "$tool builds it without" without_library bash -euc "${command//DIRECTORY/off-$directory}"
        fails "which is not linked" '^$' grep -q libdesktrace.so "off-$directory/app"
        ok "and runs" "off-$directory/app"
}
builds meson with-meson 'meson setup DIRECTORY && ninja -C DIRECTORY'
builds cmake with-cmake 'cmake -B DIRECTORY && cmake --build DIRECTORY'
builds make with-make 'mkdir -p DIRECTORY && make -B app && mv app DIRECTORY/'
finish
