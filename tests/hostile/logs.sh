#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# What peers say can neither begin a line of the log nor fill it, nor drive the terminal of who looks at it.
# The checks call functions by name.
# shellcheck disable=SC2317
# shellcheck source=tests/hostile/hostile-lib.sh
. "$(dirname "$0")/hostile-lib.sh"

[ "$(id -u)" = 0 ] || skip_all "needs root, to be several users"

cp "$(dirname "$0")"/../integration/perfetto_{ipc,wire}.py "$tmp"
export PERFETTO_PRODUCER_SOCK_NAME=$tmp/sockets/producer.sock
two_users
innocent_records
bob_uid=$(id -u $bob)

# A config with a trigger of this name, which never ends it; protobuf's text escapes it.
listens() {
        echo "buffers { size_kb: 16 } data_sources { config { name: 'none' } }
                trigger_config { trigger_mode: STOP_TRACING trigger_timeout_ms: 60000
                        triggers { name: '$1' stop_delay_ms: 50000 } }"
}
listen() {
        call_as $bob $ROOT $MANAGER StartSession 'a{sv}' 2 detach b true config-text s "$(listens "$1")" >/dev/null
}
send() { call_as $bob $ROOT $MANAGER ActivateTriggers 'asa{sv}' 1 "$1" 0; }

ok "an attacker has a trigger of more than one line" listen 't\n<0>FORGED'
gives "and sends it" '^u 1' send $'t\n<0>FORGED'
ok "it is logged" eventually grep -q 'FORGED' "$tmp/log"
fails "but begins no line" '^$' grep '^<0>' "$tmp/log"
ok "as it is escaped" grep -qF 't\x0a<0>FORGED' "$tmp/log"

send_by_port() {
        as $bob timeout 30 /usr/bin/python3 -B "$tmp/perfetto_ipc.py" trigger "$PERFETTO_PRODUCER_SOCK_NAME" "$1"
}
ok "Perfetto's socket: it has another one" listen 'p\n<0>FORGED'
ok "Perfetto's socket: and sends it" send_by_port $'p\n<0>FORGED'
ok "Perfetto's socket: it is logged, escaped" eventually grep -qF 'p\x0a<0>FORGED' "$tmp/log"
fails "Perfetto's socket: and begins no line" '^$' grep '^<0>' "$tmp/log"

for n in 1 2 3 4 5; do listen noise; done
for ((n = 0; n < 60; n++)); do send noise >/dev/null 2>&1; done
lines() { grep -c 'trigger "noise"' "$tmp/log"; }
ok "and sends hundreds: the log has few of them" test "$(lines)" -gt 0 -a "$(lines)" -le 32
ok "and says whose are suppressed" grep -q "messages of user $bob_uid are suppressed" "$tmp/log"

# Names that drive a terminal, in lists and in errors.
evil=$'\e]0;owned\a\e[2J'
config="buffers { size_kb: 16 } data_sources { config { name: 'none' } }
        unique_session_name: \"\\033]0;owned\\a\\033[2J\""
for path in $(call_as $bob $ROOT $MANAGER ListSessions | grep -oE '/org[^"]*'); do
        call_as $bob "$path" $SESSION Free >/dev/null
done
ok "a session has a name that drives terminals" call_as $bob $ROOT $MANAGER StartSession 'a{sv}' 3 detach b true \
        duration-ms u 60000 config-text s "$config"
"$DESKTRACE" list sessions --system >"$tmp/shown" 2>&1
"$DESKTRACE" status --system >>"$tmp/shown" 2>&1
"$DESKTRACE" stop --system "no$evil" >>"$tmp/shown" 2>&1
ok "which root is shown" grep -q owned "$tmp/shown"
fails "without what drives it" '^$' grep $'\e' "$tmp/shown"
attack_is_over logs
finish
