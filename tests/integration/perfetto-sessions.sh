#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# "Who is recording me?": a session of a program on Perfetto's consumer socket is an object on the bus. It can be
# watched, stopped and cloned there; its data stays that program's.
# The checks call functions by name.
# shellcheck disable=SC2317
# shellcheck source=tests/integration/bus-lib.sh
. "$(dirname "$0")/bus-lib.sh"

socket=$tmp/consumer.sock
program=$(dirname "$0")/perfetto_consumer.py
consume() { timeout 30 /usr/bin/python3 -B "$program" "$socket" "$@"; }
heard() { eventually grep -qE -- "$1" "$tmp/signals"; }
listed() { manager ListSessions | grep -qE "$1"; }
gone() { ! listed "$1"; }
path_of() { manager GetSession s "$1" | cut -d'"' -f2; }
hold() { # SOURCE NAME: its pid is in $started
        started /usr/bin/python3 -B "$program" "$socket" hold "$@" >/dev/null
}

session_bus
PERFETTO_CONSUMER_SOCK_NAME=$socket service "$DESKTRACED" --user --idle-timeout=60s
started gdbus monitor --session --dest "$BUS" >"$tmp/signals"
eventually grep -q 'Monitoring signals' "$tmp/signals"
producer demo org.example.demo

hold org.example.demo held
holder=$started
ok "a session of Perfetto's port is listed" eventually listed '"held" [0-9]+ "started"'
held=$(path_of held)
ok "it has come with a signal" heard "InterfacesAdded.*$held'"
ok "and its buffer" heard "InterfacesAdded.*$held/buffer/0'"
gives "it says what it records" '"org.example.demo" "demo" [0-9]+ [0-9]+ "started"' property "$held" Sources
ok "what starts is told" heard "$held.*SourceStateChanged.*'started'"
ok "what is recorded is counted" recorded "$held"
gives "each is counted once" '^u 1$' busctl --user get-property "$BUS" "$ROOT" "$MANAGER" NumSessions

for call in "Read u 0" Free Attach Detach; do
        # shellcheck disable=SC2086 # a method and its arguments
        fails "its data stays that program's: ${call%% *}" "Perfetto's consumer socket" session "$held" $call
done
gives "a clone of it is the caller's" 'o "/org/desktrace' session "$held" Clone 'a{sv}' 0
ok "and the session goes on" listed '"held" [0-9]+ "started"'
gives "it can be flushed" '^a' session "$held" Flush u 1000
gives "it can be stopped" '^a' session "$held" Stop
ok "which is told" heard "$held.*Stopped.*'requested'"
gives "as its state is" '"stopped"' property "$held" State
kill "$holder"
ok "it goes with its connection" eventually gone held
ok "with a signal" heard "InterfacesRemoved.*$held'"

hold org.example.demo armed snap
holder=$started
ok "a session that takes snapshots is listed" eventually listed '"armed" [0-9]+ "started"'
armed=$(path_of armed)
gives "a trigger reaches it" '^u 1$' manager ActivateTriggers 'asa{sv}' 1 snap 0
ok "which is told" heard "$armed: .*Triggered \('snap'"
ok "as is the snapshot" heard "$armed: .*SnapshotTaken \(objectpath '$ROOT/session/[0-9]+', 'snap'\)"
snapshot=$(grep -oE "SnapshotTaken \(objectpath '[^']+" "$tmp/signals" | cut -d"'" -f2)
gives "which is an object, too" "^t ${armed##*/}\$" property "$snapshot" ClonedFrom
gives "and has stopped" '"stopped"' property "$snapshot" State
kill "$holder"
ok "it goes with its connection as well" eventually gone armed

gives "a session that is left behind" '^left$' consume leave org.example.demo key 60000
ok "is listed, too" listed '"" [0-9]+ "start(ing|ed)"'
gives "until somebody attaches to it and leaves" '^attached$' consume attach key
ok "then it is gone" eventually gone '"start(ing|ed)"'

# Perfetto's service refuses a target_buffer that is out of bounds, also of a config that has no buffers at all.
gives "a config without buffers and sources is accepted" '^recorded$' consume bufferless
gives "one whose source has no buffer to write to is refused" \
        '^org.example.demo: the config has no buffers: add "buffers \{ size_kb: 4096 \}"$' \
        consume bufferless org.example.demo
gives "on the bus a config without buffers gets one" 'o "/org/desktrace' \
        manager StartSession 'a{sv}' 1 sources as 1 org.example.demo
ok "the service is still there" kill -0 "$daemon"
finish
