#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Session.Clone() on a session bus: what a clone is to whom, what becomes of it, and of a call that waits for it.
# The checks call functions by name.
# shellcheck disable=SC2317
# shellcheck source=tests/integration/bus-lib.sh
. "$(dirname "$0")/bus-lib.sh"

here=$(cd "$(dirname "$0")" && pwd)

session_bus
service "$DESKTRACED" --user --idle-timeout=60s
producer demo org.example.demo
cd "$tmp" || exit 1

clone() { # PATH OPTIONS...
        session "$1" Clone 'a{sv}' "${@:2}"
}
state_is() { property "$1" State | grep -q "\"$2\""; }
gone() { ! property "$1" State; }
trace_check() { python3 "$here/trace-check.py" "$@"; }

start 4 sources as 1 org.example.demo name s recorder detach b true duration-ms u 600000 || exit 1
source=$path
recorded "$source"

gives "a clone is a session" 'o "/org/desktrace/Tracing1/session/2"' clone "$source" 2 detach b true name s snap
clone=$ROOT/session/2
gives "that has stopped" '"stopped"' property "$clone" State
gives "and says why" '"cloned"' property "$clone" StopReason
gives "and of what it is a clone" '^t 1' property "$clone" ClonedFrom
gives "with a name of its own" '"snap"' property "$clone" Name
gives "the original goes on" '"started"' property "$source" State
gives "and is no clone itself" '^t 0' property "$source" ClonedFrom
gives "and keeps its name" 'session/1' manager GetSession s recorder
read_all() { session "$1" Read u 16777216 | bytes >"$2"; }
ok "the clone is read" read_all "$clone" clone.pftrace
ok "and has the packets of the start" counts 'demo-[0-9]+\.' clone.pftrace 100
ok "the original is read, too" read_all "$source" source.pftrace
ok "and still has them" counts 'demo-[0-9]+\.' source.pftrace 100
ok "a clone is freed" session "$clone" Free

# Whose it is.
gives "a clone that nobody keeps" 'session/3' clone "$source" 0
ok "ends with its caller" eventually gone "$ROOT/session/3"
exec 3>out.pftrace
consumer user clone "$source" output
gives "with an output it is written there" '"stopped"' property "$path" State
written() { counts 'synchronization|demo-[0-9]+\.' out.pftrace 1; }
ok "at once" eventually written
fails "and nowhere else" 'writes to its output' session "$path" Read u 0
kill -KILL "$started"
ok "and is gone with its caller" eventually gone "$path"
exec 3>&-

# A config that compresses, by name.
start 2 detach b true config-text s 'buffers { size_kb: 4096 } unique_session_name: "packed" duration_ms: 60000
        compression_type: COMPRESSION_TYPE_DEFLATE data_sources { config { name: "org.example.demo" } }' || exit 1
packed=$path
recorded "$packed"
by_name=$(manager GetSession s packed | cut -d'"' -f2)
exec 3>packed.pftrace
consumer user clone "$by_name" output
exec 3>&-
is_finished() { trace_check packed.pftrace 'torn == 0 and stats == 1'; }
ok "a clone is compressed as its original is" eventually is_finished
ok "and as whole" trace_check packed.pftrace 'compressed[50] >= 1 and in_order and n_texts >= 100'
kill -KILL "$started"
session "$packed" Free

# What is refused changes nothing.
fails "an option that nobody knows is named" 'unknown option "befor-ms"; did you mean "before-ms"' \
        clone "$source" 1 befor-ms u 1
fails "so is one of another type" '"before-ms" has D-Bus type "s"' clone "$source" 1 before-ms s 10
fails "and one that says nothing" '"before-ms" is 0' clone "$source" 1 before-ms u 0
long=$(printf 'x%.0s' {1..200})
fails "a long name" 'longer than 128 bytes' clone "$source" 1 name s "$long"
exec 3</dev/null
"$TEST_CONSUMER" user clone "$source" output >/dev/null 2>error.txt
exec 3<&-
ok "an output that cannot be written to" grep -q OutputFailed error.txt
for n in 1 2 3 4 5 6 7; do
        clone "$source" 1 detach b true >/dev/null
done
fails "clones count as sessions" \
        'cannot clone the session: .*SERVICE_SESSIONS_PER_USER_MAX' clone "$source" 1 detach b true
gives "and nothing came of the refused ones" '^a\(otsus\) 8 ' manager ListSessions
sessions_left() { manager ListSessions | grep -oE 'session/[0-9]+' | grep -v '/1$'; }
for one in $(sessions_left); do
        session "$ROOT/$one" Free
done

# A producer that keeps everybody waiting.
producer silent org.example.silent silent
start 3 sources as 1 org.example.silent detach b true duration-ms u 60000 || exit 1
waits=$path
session "$waits" Clone 'a{sv}' 0 >reply.txt 2>&1 &
caller=$!
sleep 0.5
ok "a session can be freed while it is cloned" session "$waits" Free
wait "$caller"
gives "the caller is told" 'ended' cat reply.txt
ok "and the service goes on" state_is "$source" started
finish
