#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Attacks on a Debian 12 that has dbus-broker: those of tests/boot/case-hostile.sh on one that is booted with it as its
# message bus, and those of tests/hostile, each on a bus of its own. scripts/packages leaves dbus-broker out, as it
# takes the place of dbus-daemon where it is installed.
# Time limit: 30 min

# shellcheck source=tests/machines/lib.sh
. "$(dirname "$0")/lib.sh"

# Each word is a package.
# shellcheck disable=SC2086
machine bookworm build test $BOOT_PACKAGES +dbus-broker
project
ok 'all of it is configured' as_root meson setup build -Dprefix=/usr
ok 'the programs are built' as_root ninja -C build
# shellcheck disable=SC2016 # for the shell inside
ok 'under dbus-broker no attack harms anybody' as_root sh -c 'status=0
        meson test -C build --no-rebuild --timeout-multiplier 3 boot-hostile-broker >/dev/null || status=$?
        cat build/meson-logs/testlog.txt
        exit $status'
said 'it was the bus' '^ok [0-9]+ - the bus is the one that is wanted$'
said 'the innocent recording was whole in the end' '^ok [0-9]+ - in the end: nothing of it is lost$'
# One after the other: a hostile peer of one test is nobody that another one has counted on.
# shellcheck disable=SC2016 # for the shell inside
ok 'nor does any of those of each point harm anybody' as_root sh -c 'status=0
        meson test -C build --no-rebuild --timeout-multiplier 3 --num-processes 1 --suite hostile-broker || status=$?
        grep -E "^# worst reply|^not ok" build/meson-logs/testlog.txt
        exit $status'
said 'all of them ran' '^Fail: +0'
grep '^# worst reply' "$output"
finish
