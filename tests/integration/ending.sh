#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A service that is told to end has work to do yet. Programs that connect meanwhile are served by the next one.
# The checks call functions by name.
# shellcheck disable=SC2317
# shellcheck source=tests/integration/bus-lib.sh
. "$(dirname "$0")/bus-lib.sh"

socket=$tmp/native.sock
p2p() {
        timeout 40 gdbus call --timeout 30 --address "unix:path=$socket" --dest "$BUS" --object-path "$ROOT" \
                --method "$@"
}
p2p_has() { p2p "$MANAGER".ListSources | grep -q "$1"; }
gone() { ! kill -0 "$1" 2>/dev/null; }
service_pid() { pgrep -P "$activator"; }

started /usr/bin/python3 -B "$(dirname "$0")/socket-activator.py" "$socket" "$DESKTRACED" --standalone
activator=$started
eventually test -S "$socket"
DESKTRACE_SOCKET=$socket started "$TEST_PRODUCER" steady org.example.steady
DESKTRACE_SOCKET=$socket started "$TEST_PRODUCER" mute org.example.mute silent
ok "a program registers" eventually p2p_has org.example.steady
ok "and one that never answers" eventually p2p_has org.example.mute
consumer "$socket" start org.example.mute
daemon=$(service_pid)
kill -TERM "$daemon"
sleep 0.3
p2p "$MANAGER".ListPresets >"$tmp/late" 2>&1 &
late=$!
sleep 0.3
ok "the service waits for the program before it ends" kill -0 "$daemon"
ok "and serves nobody who connects by now" test ! -s "$tmp/late"
ok "it ends" eventually gone "$daemon"
wait $late
gives "who has connected meanwhile is answered" '^\(' cat "$tmp/late"
ok "by the next one" test "$(service_pid)" != "$daemon"
ok "where the programs register again" eventually p2p_has org.example.steady
finish
