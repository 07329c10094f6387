#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Programs with Perfetto's SDK, as far as the protocol goes, recorded by the command line. Needs PERFETTO_PRODUCER.
# The checks call functions by name.
# shellcheck disable=SC2317
# shellcheck source=tests/integration/cli-lib.sh
. "$(dirname "$0")/cli-lib.sh"

export PERFETTO_PRODUCER_SOCK_NAME=$tmp/producer.sock

sdk() {
        started "$PERFETTO_PRODUCER" "$PERFETTO_PRODUCER_SOCK_NAME" "$@"
        eventually has_sdk "$1"
}

# has_sdk NAME: the service knows it
has_sdk() {
        busctl --user call "$BUS" "$ROOT" org.freedesktop.DBus.ObjectManager GetManagedObjects |
                grep -q "\"Name\" s \"$1\""
}

record() {
        "$DESKTRACE" record --user -f "$@"
}

# The only session has some slices in its buffer; the program keeps them until it is asked.
has_slices() {
        local path
        path=$(manager ListSessions | grep -oE "$ROOT/session/[0-9]+")
        session "$path" Flush u 5000 && has_recorded "$path"
}

# slices FILE NUMBER: each of the first NUMBER, in any order. How many a program writes in a time depends on what else
# the machine does, so few are asked for where a recording ends with its time: two turns of each of its threads.
slices() {
        [ "$(grep -aoE 'slice-[0-9]+\.' "$1" | sort -u | grep -cE "^slice-($(seq -s '|' 1 "$2"))\.$")" = "$2" ]
}

session_bus
service "$DESKTRACED" --user

sdk sdk-app
app=$started
exits 0 "a program with Perfetto's SDK is listed like any other" "^ *$app .*sdk-app .*track_event" \
        "$DESKTRACE" list producers --user --no-legend
exits 0 "and so is its data source" '^track_event +1' "$DESKTRACE" list sources --user --no-legend
exits 0 "it is recorded without losses" 'No losses' record track_event -t 500ms -o one.pftrace
ok "its slices are in the trace, of both threads" slices one.pftrace 8
ok "as its own" holds one.pftrace "any(p['pid'] == $app for p in t['processes'])"
exits 0 "and once more" 'No losses' record track_event -t 300ms -o two.pftrace
ok "from the beginning" slices two.pftrace 8

record track_event -t 1s -o both-one.pftrace -q &
both=$!
exits 0 "two sessions record one program" 'No losses' record track_event -t 600ms -o both-two.pftrace
wait "$both"
ok "each for itself" test "$?" = 0
ok "the one has its slices" counts 'slice-[0-9]+\.' both-one.pftrace 8
ok "and the other" counts 'slice-[0-9]+\.' both-two.pftrace 8

producer demo org.example.demo
demo=$started
cat >both.cfg <<'CONFIG'
buffers { size_kb: 4096 }
data_sources { config { name: "track_event" } }
data_sources { config { name: "org.example.demo" } }
duration_ms: 500
CONFIG
exits 0 "a native program and one of Perfetto's are in one trace" 'No losses' record -c both.cfg -o mixed.pftrace
ok "the one's packets" counts 'demo-[0-9]+\.' mixed.pftrace 4
ok "and the other's" counts 'slice-[0-9]+\.' mixed.pftrace 8
kill "$demo"

sdk sdk-start startup
exits 0 "what a program wrote before it was recorded" 'No losses' record track_event -t 300ms -o startup.pftrace
ok "is in its own memory, and then in the trace" slices startup.pftrace 108
kill "$started"

kill -STOP "$app"
exits 6 "a stopped program is not waited for, which is said" 'hand over its last packets' \
        record track_event -t 300ms -o stopped.pftrace
kill -CONT "$app"
ok "and is still there when it goes on" eventually record track_event -q -t 300ms -o continued.pftrace
ok "to be recorded" counts 'slice-[0-9]+\.' continued.pftrace 8

kill -KILL "$daemon"; wait "$daemon" 2>/dev/null
service "$DESKTRACED" --user
ok "programs come back by themselves to a service that was killed" eventually has_sdk sdk-app
exits 0 "and are recorded as before" 'No losses' record track_event -t 300ms -o again.pftrace
ok "from the beginning, too" slices again.pftrace 8

"$DESKTRACE" record --user track_event -o killed.pftrace -q &
killed=$!
started "$PERFETTO_PRODUCER" "$PERFETTO_PRODUCER_SOCK_NAME" sdk-die die
die=$started
wait "$die" 2>/dev/null
kill "$killed"
wait "$killed"
ok "a program that is killed leaves what it had finished" slices killed.pftrace 99
kill "$app"

sdk sdk-flood flood
exits 6 "more than its memory holds is said to be lost" 'packets of a writer are missing' \
        record track_event -t 500ms -o flood.pftrace
ok "the rest is there" counts 'slice-[0-9]+\.' flood.pftrace 100
kill "$started"

cat >trigger.cfg <<'CONFIG'
buffers { size_kb: 4096 }
data_sources { config { name: "track_event" } }
trigger_config { trigger_mode: STOP_TRACING trigger_timeout_ms: 20000
triggers { name: "jank-1" stop_delay_ms: 10 producer_name_regex: "sdk-.*" } }
CONFIG
sdk sdk-app
record -c trigger.cfg -o trigger.pftrace -q &
record=$!
eventually has_slices
"$PERFETTO_PRODUCER" "$PERFETTO_PRODUCER_SOCK_NAME" sdk-trigger trigger
wait "$record"
ok "a program that only sends a trigger is heard" test "$?" = 0
ok "and the trace has what was before" counts 'slice-[0-9]+\.' trigger.pftrace 4
finish
