#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Ctrl-C at any moment of a recording: before it has begun, while it starts, records, stops, and writes.

# shellcheck source=tests/integration/cli-lib.sh
. "$(dirname "$0")/cli-lib.sh"

STEP_MS=15
ATTEMPTS=60
export DESKTRACE

# interrupted ARGUMENTS...: a recording, by a private service
interrupted() {
        "$(dirname "$0")/cli-interrupt.py" $STEP_MS $ATTEMPTS -- "$DESKTRACE" record --standalone -o '{}' "$@"
}
# Each line is an ending that is in order, and no other one came.
only_in_order() {
        interrupted "$@" >"$tmp/endings" || return
        if grep -vE '^(killed|cancelled|stopped|over) \([0-9]+\)$' "$tmp/endings"; then return 1; fi
        grep -q '^cancelled' "$tmp/endings" && grep -q '^stopped' "$tmp/endings"
}
nothing_is_left() {
        nothing_is_left_in "$TMPDIR" && nothing_is_left_in .
}

ok "at any moment, a recording that streams is whole or not there" only_in_order -p apps -t 200ms
ok "and nothing else is left" nothing_is_left
ok "so is one that is kept in memory" only_in_order -p apps --ring -t 200ms
ok "and nothing else is left" nothing_is_left
ok "and one of a command" only_in_order -p apps -- sleep 0.2
ok "and nothing else is left" nothing_is_left
if [ "$(id -u)" = 0 ] && [ -e /sys/kernel/tracing/instances ]; then
        ok "and one of the kernel" only_in_order -t 200ms sched/sched_switch
        ok "and nothing else is left" nothing_is_left
else
        skip_check "one of the kernel" "no tracefs, or not root"
fi
finish
