#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The tests on Debian 13, as an ordinary user: unit and integration on the machine, and unit as packages are built, in a
# chroot without systemd, a bus or /sys. As root, programs as they are there.
# Time limit: 25 min

# shellcheck source=tests/machines/lib.sh
. "$(dirname "$0")/lib.sh"

# run_tests SUITE...: of a build that there is; whatever else this machine does, no test is to run out of time
run_tests() {
        export CK_TIMEOUT_MULTIPLIER=3
        rm -f build/meson-logs/second.json
        meson test --timeout-multiplier 3 -C build --no-rebuild --num-processes $(($(nproc) * 2)) \
                "${@/#/--suite=}" </dev/null ||
                python3 tests/second_run.py build meson --timeout-multiplier 3 "${@/#/--suite=}"
        python3 tests/report.py "plain=build/meson-logs/testlog.json"
}

# passes PROMISE SUITES VERB...: no test of these fails there
passes() {
        local promise=$1 suites=$2
        shift 2
        ok "$promise" "$@" bash -c "$(declare -f run_tests); run_tests $suites"
        said 'and many have run' '^[0-9]{4,} passed, 0 failed, [0-9]+ skipped$'
        grep -aE '^SKIPPED|^UNSTABLE|^[0-9]+ passed' "$output" | cut -c 1-200 | sed 's/^/# /'
}

machine trixie build test +weston
user alice
project alice
ok 'it builds as a user' as_user alice sh -c \
        'meson setup build -Dprefix=/usr -Dtests=enabled -Dprobes=enabled && ninja -C build'
passes 'no test fails as an ordinary user' 'unit integration' as_user alice
passes "nor in a build's chroot" unit in_bare_chroot_as alice
# Only root may record these.
ok 'programs as they are are recorded' as_root sh -c 'status=0
        meson test -C build --no-rebuild --timeout-multiplier 3 kernel-points >/dev/null || status=$?
        cat build/meson-logs/testlog.txt
        exit $status'
said 'at the times that the compositor has told the program' \
        '^ok [0-9]+ - at the times that the compositor has told the program$'
finish
