#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The README's own commands: every block behind its marker "tested:" up to the next heading, run as it stands, on a
# system bus; then those behind "tested-cli:", with our own tools.
# shellcheck source=tests/integration/bus-lib.sh
. "$(dirname "$0")/bus-lib.sh"

[ "$(id -u)" = 0 ] || skip_all "not root: a private system bus does not let others own the service's name"

# blocks MARKER
blocks() {
        sed -n "/^<!-- $1:/,/^## /p" "$README" | sed -n '/^```sh$/,/^```$/p' | sed '/^```/d'
}

system_bus root
service "$DESKTRACED" --system
cp "$PRESETS"/apps.pbtxt "$tmp/presets/"
started "$EXAMPLE" --seconds 300 >/dev/null
cd "$tmp" || exit 1
blocks tested >commands.sh
# People take a snapshot after something has happened.
blocks tested-cli | sed "/^desktrace record --flight-recorder .*at once$/a sleep 1" >cli-commands.sh

ok "the README has commands to test" test "$(wc -l <commands.sh)" -gt 20
ok "and something happens before the first snapshot" grep -q "^sleep 1" cli-commands.sh
BUSCTL=--system
eventually has_producer "$(basename "$EXAMPLE")"

# succeed PROMISE FILE OUTPUT: each command of it. Not in a condition, where -e would have no effect.
succeed() {
        local status
        bash -eux -o pipefail "$2" >"$3" 2>&1
        status=$?
        n_checks=$((n_checks + 1))
        if [ $status = 0 ]; then
                echo "ok $n_checks - $1"
        else
                failed "$1" "$(tail -n 12 "$3")"
        fi
}

succeed "every command of the README succeeds" commands.sh output
gives "sources are listed" '"track_event" 1 "/org/desktrace/Tracing1/producer/' cat output
gives "presets are listed" '"apps" "' cat output
for number in 1 2 3; do
        gives "session $number is started" "^o \"/org/desktrace/Tracing1/session/$number\"" cat output
done
gives "a session is started with gdbus" "objectpath '/org/desktrace/Tracing1/session/4'" cat output
gives "the state is shown" '^s "started"' cat output
gives "what is recorded is shown" "\"track_event\" \"$(basename "$EXAMPLE")\" 0 [0-9]+ \"started\"" cat output
gives "counters are signalled" "'BytesWritten': <uint64 [1-9]" cat output
gives "the data is a trace with the program's slices" '"slices"' "$DESKTRACE" inspect --json=short mine.pftrace
gives "which it names" '"frame"' "$DESKTRACE" inspect --json=short mine.pftrace

PATH=$(dirname "$DESKTRACE"):$PATH
succeed "so does every one of ours" cli-commands.sh cli-output
gives "a recorder says how to ask it" 'desktrace snapshot$' cat cli-output
for trace in just-now soon rest slow-1; do
        gives "$trace.pftrace has the program's slices" '"frame"' "$DESKTRACE" inspect --json=short $trace.pftrace
done
gives "a trigger says whom it reached" 'Reached 1 session' cat cli-output
finish
