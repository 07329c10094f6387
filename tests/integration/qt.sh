#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# <desktrace/qt.hpp>, with each Qt that is installed: what a private service records is counted.

# shellcheck source=tests/integration/recorded-lib.sh
. "$(dirname "$0")/recorded-lib.sh"

# check VERSION PROGRAM
check() {
        local version=$1 program=$2 file=qt$1.pftrace
        if [ -z "$program" ]; then
                skip "a program with Qt $version is recorded" "Qt $version is not installed"
                return
        fi
        ok "a program with Qt $version is recorded" records "$file" "$program"
        ok "Qt $version: slices" slices "$file" step 'n == 20'
        ok "Qt $version: instants" instants "$file" instant 'n == 20'
        ok "Qt $version: counters" counters "$file" steps 'n == 20'
        ok "Qt $version: events" slices "$file" Timer 'n >= 20'
        ok "Qt $version: the event loop waits" slices "$file" wait 'n >= 20'
        ok "Qt $version: and works" slices "$file" work 'n >= 20'
        for phase in synchronize prepare render swap; do
                ok "Qt $version: frames: $phase" slices "$file" $phase 'n == 20'
        done
        ok "Qt $version: frames: presented" instants "$file" presented 'n == 20'
        ok "Qt $version: messages" instants "$file" default 'n == 1'
        for text in 'größe 20' 'of a QByteArray' 'of a literal' 'QCoreApplication' 'text of the end' \
                'bytes of the end' 'the time is up' "Qt's thread"; do
                ok "Qt $version: \"$text\" is in the trace" grep -qa "$text" "$file"
        done
        ok "Qt $version: what began has ended" json_holds "$file.json" \
                'not any(s["open"] for s in t["slices"]) and t["unmatched_slice_ends"] == 0'
        ok "Qt $version: nothing is lost" lossless "$file"
        ok "Qt $version: and nobody needs to record" "$program"
}

# check_window VERSION PROGRAM: drawn by Qt's software renderer, without a screen
check_window() {
        local version=$1 program=$2 file=quick$1.pftrace phase
        if [ -z "$program" ]; then
                skip "a QQuickWindow of Qt $version is recorded" "Qt Quick $version is not installed"
                return
        fi
        ok "a QQuickWindow of Qt $version is recorded" records "$file" \
                env QT_QPA_PLATFORM=offscreen QT_QUICK_BACKEND=software "$program"
        for phase in synchronize prepare render swap; do
                ok "QQuickWindow of Qt $version: $phase" slices "$file" $phase 'n >= 20'
        done
        ok "QQuickWindow of Qt $version: presented" instants "$file" presented 'n >= 20'
        ok "QQuickWindow of Qt $version: nothing is lost" lossless "$file"
}

check 5 "${QT5_APP-}"
check 6 "${QT6_APP-}"
check_window 5 "${QT5_QUICK-}"
check_window 6 "${QT6_QUICK-}"
finish
