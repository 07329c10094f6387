#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# What ends with whom: sessions with consumers, instances with producers, the service when nobody needs it.
# The checks call functions by name.
# shellcheck disable=SC2317
# shellcheck source=tests/integration/bus-lib.sh
. "$(dirname "$0")/bus-lib.sh"

# Process substitutions are read once, so what is looked at again and again is a function.
says() { property "$1" "$2" | grep -qE -- "$3"; }
fails_quietly() { ! "$@" 2>/dev/null; }
gone() { ! kill -0 "$1" 2>/dev/null; }
no_producers() { busctl --user get-property "$BUS" "$ROOT" "$MANAGER" NumProducers | grep -qx 'u 0'; }
free_all() {
        local one
        for one in $(manager ListSessions | grep -oE '/org/[^"]*'); do
                session "$one" Free
        done
}

session_bus
service "$DESKTRACED" --user --idle-timeout=2s
producer app org.example.app
app=$started

consumer user start org.example.app
ok "a session exists while its consumer does" property "$path" State
ok "its producer records" eventually says "$path" Sources started
kill -KILL "$started"
ok "a consumer that dies takes its session along" eventually fails_quietly property "$path" State

start 3 sources as 1 org.example.app duration-ms u 60000 detach b true
ok "a detached session outlives its consumer" property "$path" State
sleep 0.3
kill -KILL "$app"
ok "a dead producer is gone" eventually no_producers
gives "its session goes on" '"started"' property "$path" State
gives "and tells what became of it" '"org.example.app" "app" [0-9]+ [0-9]+ "gone"' property "$path" Sources
ok "the session can be stopped" session "$path" Stop
session "$path" Read u 16777216 | bytes >"$tmp/dead.pftrace"
ok "what the dead producer had finished is in the trace" counts 'app-[0-9]+\.' "$tmp/dead.pftrace" 100

producer late org.example.late
start 3 sources as 1 org.test.later duration-ms u 60000 detach b true
gives "a source that nobody offers yet is shown as missing" '"org.test.later" "" 0 0 "missing"' property "$path" Sources
producer later org.test.later
ok "a producer that comes late joins" eventually says "$path" Sources '"later".*"started"'

producer mute org.example.mute silent
start 3 sources as 1 org.example.mute duration-ms u 60000 detach b true
mute='^a\(ssuu\) 1 "org.example.mute" "mute" [0-9]+ [0-9]+$'
gives "a flush names the producer that does not answer" "$mute" session "$path" Flush u 200
gives "which cannot hold up a stop either, and is named" "$mute" session "$path" Stop
session "$path" Read u 16777216 | bytes >"$tmp/mute.pftrace"
ok "its packets are in the trace nevertheless" counts 'mute-[0-9]+\.' "$tmp/mute.pftrace" 100

# One process of two is stopped: everything goes on without it, in far less than the five seconds that the silent have.
producer awake org.example.pair
producer asleep org.example.pair
eventually has_producer asleep
kill -STOP "$started"
before=$(date +%s%N)
start 3 sources as 1 org.example.pair duration-ms u 60000 detach b true
asleep='^a\(ssuu\) 1 "org.example.pair" "asleep" [0-9]+ [0-9]+$'
ok "a start does not wait for a suspended program" says "$path" Sources '"awake" [0-9]+ [0-9]+ "started"'
gives "which is shown as that" '"asleep" [0-9]+ [0-9]+ "suspended"' property "$path" Sources
gives "nor does a flush, which names it" "$asleep" session "$path" Flush u 0
kill -CONT "$started"
ok "it starts when it goes on" eventually says "$path" Sources '"asleep" [0-9]+ [0-9]+ "started"'
sleep 0.3
kill -STOP "$started"
gives "nor does a stop" "$asleep" session "$path" Stop
gives "it is shown as failed" '"failed: its program is suspended, and did not stop"' property "$path" Sources
after=$(date +%s%N)
ok "and that together in less than a deadline" test $(((after - before) / 1000000)) -lt 5000
session "$path" Read u 16777216 | bytes >"$tmp/pair.pftrace"
ok "what it had committed is in the trace" counts 'asleep-[0-9]+\.' "$tmp/pair.pftrace" 100
kill -CONT "$started"
start 3 sources as 1 org.example.pair duration-ms u 60000 detach b true
ok "it takes part in the next session" eventually says "$path" Sources '"asleep" [0-9]+ [0-9]+ "started"'
session "$path" Free >/dev/null

producer no org.example.no refuse
fails "a producer may refuse, and its reason is told" 'org.example.no cannot be recorded: the test wants it so' \
        manager StartSession 'a{sv}' 3 sources as 1 org.example.no duration-ms u 60000 detach b true
start 4 sources as 1 org.example.no duration-ms u 60000 detach b true partial b true
gives "also when the rest is recorded" '"failed: the test wants it so"' property "$path" Sources

# hoard: sessions with a large config each, for a producer that answers nothing
hoard() {
        local config n
        config="data_sources { config { name: \"org.example.deaf\"
                track_event_config { enabled_categories: \"$(printf 'x%.0s' {1..100000})\" } } }"
        for ((n = 0; n < 60; n++)); do
                start 1 config-text s "buffers { size_kb: 256 } deferred_start: true $config" || break
                fails_quietly has_producer deaf && return
        done
        eventually fails_quietly has_producer deaf
}
producer deaf org.example.deaf silent
ok "what a silent producer is to be told is not kept without end" hoard

producer brief org.example.brief brief
start 3 sources as 1 org.example.brief duration-ms u 60000 detach b true
gives "a producer that ends in the middle of its start has not refused" \
        '"org.example.brief" "brief" [0-9]+ [0-9]+ "(gone|stopped)"' property "$path" Sources
gives "and its session goes on" '"started"' property "$path" State

start 2 sources as 1 org.example.late duration-ms u 300
ok "a session that is not detached is gone with busctl" eventually fails_quietly property "$path" State
start 3 sources as 1 org.example.late duration-ms u 300 detach b true
ok "a duration ends a session" eventually says "$path" State stopped
gives "and says so" '"duration"' property "$path" StopReason

free_all
ok "an idle service leaves, producers or not" eventually gone "$daemon"
wait "$daemon"
ok "without an error" test $? = 0

service "$DESKTRACED" --user --idle-timeout=infinity
ok "producers come back to a new service" eventually has_producer later
start 3 sources as 1 org.test.later duration-ms u 60000 detach b true
kill -TERM "$daemon"
wait "$daemon"
ok "SIGTERM ends the service in order" test $? = 0
finish
