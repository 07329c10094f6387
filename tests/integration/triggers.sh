#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Triggers on a session bus: what each mode does, who is told, and what becomes of snapshots that nobody reads.
# The checks call functions by name.
# shellcheck disable=SC2016,SC2046,SC2317
# shellcheck source=tests/integration/bus-lib.sh
. "$(dirname "$0")/bus-lib.sh"

session_bus
service "$DESKTRACED" --user --idle-timeout=60s
producer demo org.example.demo
cd "$tmp" || exit 1

trigger() { # NAMES...
        manager ActivateTriggers 'asa{sv}' $# "$@" 1 producer s tester
}
start_with() { # TRIGGER_CONFIG: the path is in $path
        start 2 detach b true config-text s "buffers { size_kb: 4096 }
                data_sources { config { name: \"org.example.demo\" } }
                trigger_config { $1 }"
}
state_is() { property "$1" State | grep -q "\"$2\""; }
read_all() { # PATH FILE
        local reply
        : >"$2"
        while reply=$(session "$1" Read u 262144); do
                bytes <<<"$reply" >>"$2"
                [[ $reply == *true ]] || return 0
        done
        return 1
}
gone() { ! property "$1" State; }

gives "a trigger that nobody listens to is no error" '^u 0' trigger nothing
fails "an option that nobody knows is one" 'unknown option "produce"; did you mean' \
        manager ActivateTriggers 'asa{sv}' 1 a 1 produce s x
long=$(printf 'x%.0s' {1..200})
fails "so is a name that is too long" 'longer than 128 bytes' \
        manager ActivateTriggers 'asa{sv}' 1 a 1 producer s "$long"
fails "and too many triggers in one call" 'TRIGGER_NAMES_MAX' manager ActivateTriggers 'asa{sv}' 65 {1..65} 0

start_with 'trigger_mode: START_TRACING trigger_timeout_ms: 60000 triggers { name: "go" stop_delay_ms: 300 }'
gives "a session waits for its trigger" '"configured"' property "$path" State
gives "which one session takes" '^u 1' trigger go other
ok "then it records and stops" eventually state_is "$path" stopped
gives "and says why" '"trigger"' property "$path" StopReason
ok "it is read" read_all "$path" start.pftrace
ok "and has the data" counts 'demo-[0-9]+\.' start.pftrace 100
ok "and who sent the trigger" counts 'tester' start.pftrace 1
session "$path" Free

start_with 'trigger_mode: STOP_TRACING trigger_timeout_ms: 500 triggers { name: "stop" }'
ok "a session that no trigger stops ends with its timeout" eventually state_is "$path" stopped
gives "and says why" '"trigger-timeout"' property "$path" StopReason
gives "there is nothing to read" '^ayb 0 false' session "$path" Read u 0
session "$path" Free

start_with 'trigger_mode: CLONE_SNAPSHOT trigger_timeout_ms: 600000 triggers { name: "crash" stop_delay_ms: 100 }'
recorder=$path
recorded "$recorder"
started timeout 3 gdbus monitor --session --dest "$BUS" --object-path "$recorder" >signals.txt
watcher=$started
sleep 0.3
gives "a recorder takes a trigger" '^u 1' trigger crash
wait "$watcher"
gives "the hit is signalled" "Session.Triggered \('crash', 'tester', (uint32 )?$(id -u)\)" cat signals.txt
gives "so is the snapshot" \
        "SnapshotTaken \(objectpath '/org/desktrace/Tracing1/session/[0-9]+', 'crash'\)" cat signals.txt
snapshot=$(grep -oE "$ROOT/session/[0-9]+', 'crash'" signals.txt | cut -d"'" -f1)
gives "the snapshot is a clone of it" "^t ${recorder##*/}" property "$snapshot" ClonedFrom
gives "with the trigger's name" '"crash"' property "$snapshot" Name
ok "and is read" read_all "$snapshot" snapshot.pftrace
ok "it has the data" counts 'demo-[0-9]+\.' snapshot.pftrace 100
gives "the recorder goes on" '"started"' property "$recorder" State
gives "and gives nothing itself" '^ayb 0 false' session "$recorder" Read u 0

snapshots() { manager ListSessions | grep -oE 'session/[0-9]+" [0-9]+ "crash"' | wc -l; }
has_snapshots() { [ "$(snapshots)" = "$1" ]; }
for _ in 1 2 3 4 5 6; do
        trigger crash >/dev/null
        sleep 0.4
done
ok "snapshots that nobody reads make room for later ones" eventually has_snapshots 5
ok "but not one that somebody read" state_is "$snapshot" stopped
session "$recorder" Free >/dev/null
ok "snapshots outlive the recorder" has_snapshots 5
for one in $(manager ListSessions | grep -oE 'session/[0-9]+'); do
        session "$ROOT/$one" Free
done

# A program with the library, at 500 events a millisecond.
producer busy org.example.busy steady
busy=$started
start 2 detach b true config-text s 'buffers { size_kb: 2048 } data_sources { config { name: "org.example.busy" } }
        trigger_config { trigger_mode: CLONE_SNAPSHOT trigger_timeout_ms: 600000
                triggers { name: "busy" producer_name_regex: "bus." } }'
recorder=$path
latest_snapshot() {
        manager ListSessions | grep -oE "$ROOT/session/[0-9]+\" [0-9]+ \"busy\"" | tail -1 | cut -d'"' -f1
}
has_no_gap() { perl -ne 'exit 1 if $. > 1 && $_ != $last + 1; $last = $_; END { exit 1 if $. < 1000 }' "$1"; }
has_snapshot() { [ -n "$(latest_snapshot)" ]; }
# Megabytes: busctl would print each byte as a number.
read_into() { # PATH FILE
        "$TEST_CONSUMER" user read-into "$1" 3>"$2" >/dev/null
}
for n in 1 2 3; do
        sleep 0.5
        kill -USR1 "$busy"
        ok "its trigger makes snapshot $n" eventually has_snapshot
        snapshot=$(latest_snapshot)
        ok "which is read" read_into "$snapshot" "busy$n.pftrace"
        session "$snapshot" Free
        grep -aoE 'busy-[0-9]+\.' "busy$n.pftrace" | grep -oE '[0-9]+' >numbers
        ok "and has no gap" has_no_gap numbers
done
gives "the recorder has lost no chunk" '^t 0' property "$recorder" ChunksLost
gives "and the program no packet" '^t 0' property "$recorder" PacketsLost
session "$recorder" Free >/dev/null

send_many() { for _ in 1 2 3; do trigger $(yes "$1" | head -n 64) || return; done; }
ok "who sends what nobody listens to may send it often" send_many nothing
start_with 'trigger_mode: STOP_TRACING trigger_timeout_ms: 60000 triggers { name: "often" stop_delay_ms: 50000 }'
fails "who sends too many is refused" 'sends too many triggers: 100 at once and 10 a second' send_many often
finish
