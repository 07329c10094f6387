#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The same service point to point: no bus, one socket, passed as systemd passes it.
# The checks call functions by name.
# shellcheck disable=SC2317
# shellcheck source=tests/integration/bus-lib.sh
. "$(dirname "$0")/bus-lib.sh"

socket=$tmp/native.sock
p2p() {
        gdbus call --address "unix:path=$socket" --dest "$BUS" --object-path "${object:-$ROOT}" --method "$@"
}
gone() { ! kill -0 "$1" 2>/dev/null; }
p2p_has() { p2p "$MANAGER".ListSources | grep -q "$1"; }

fails "standalone needs a socket" 'needs a listening socket' "$DESKTRACED" --standalone
started systemd-socket-activate -l "$socket" "$DESKTRACED" --standalone
daemon=$started
eventually test -S "$socket"
gives "the socket answers" "'[0-9.]+'" p2p org.freedesktop.DBus.Properties.Get "$MANAGER" Version
DESKTRACE_SOCKET=$socket started "$TEST_PRODUCER" app org.example.app
app=$started
ok "a producer registers on the socket" eventually p2p_has org.example.app

consumer "$socket" start org.example.app output 3>"$tmp/p2p.pftrace"
gives "a session is started on the socket" /org/desktrace/Tracing1/session/1 echo "$path"
sleep 0.4
object=$path
ok "and stopped" p2p "$SESSION".Stop
ok "its file has the packets" counts 'app-[0-9]+\.' "$tmp/p2p.pftrace" 100
kill "$started"
object=$ROOT
consumer "$socket" start org.example.app
object=$path
ok "a session exists while its connection does" p2p "$SESSION".GetBufferStats
kill -KILL "$started"
sleep 0.3
fails "and not longer" 'UnknownObject|UnknownMethod' p2p "$SESSION".GetBufferStats
object=$ROOT
DESKTRACE_SOCKET=$socket started "$TEST_PRODUCER" brief org.example.brief brief
eventually p2p_has org.example.brief
consumer "$socket" start org.example.brief
object=$path
gives "a producer that ends in the middle of its start has not refused" \
        "'org.example.brief', 'brief', .*'(gone|stopped)'" p2p org.freedesktop.DBus.Properties.Get "$SESSION" Sources
kill "$started"
object=$ROOT
if [ "$(id -u)" = 0 ]; then
        chmod 666 "$socket"
        fails "other users may not" 'Error|closed' as 30001 gdbus call --address "unix:path=$socket" --dest "$BUS" \
                --object-path "$ROOT" --method "$MANAGER".ListSources
fi
ok "who calls and never reads is not listened to for ever" \
        /usr/bin/python3 "$(dirname "$0")/hostile-peer.py" flood "$socket"
gives "and others are served" "'[0-9.]+'" p2p org.freedesktop.DBus.Properties.Get "$MANAGER" Version
ok "the service is still there" kill -0 "$daemon"
kill "$app"
ok "it leaves when the last client has gone" eventually gone "$daemon"
wait "$daemon"
ok "without an error" test $? = 0
finish
