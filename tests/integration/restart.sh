#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The service is killed at any moment while programs write: what they had written is in the trace, once and in its
# order, and so is what they write while there is no service and after that.
# The checks call functions by name.
# shellcheck disable=SC2317
# shellcheck source=tests/integration/bus-lib.sh
. "$(dirname "$0")/bus-lib.sh"

here=$(dirname "$0")
trace=$tmp/trace.pftrace

n_ready() { cat "$tmp/manager/ready" 2>/dev/null || echo 0; }
is_ready() { [ "$(n_ready)" -ge "$1" ]; }
is_there() { property "$path" State | grep -q "\"$1\""; }
# next_service SIGNAL: the service gets it, and another process of the service is there
next_service() {
        local n
        n=$(n_ready)
        kill "-$1" "$(cat "$tmp/manager/pid")"
        eventually is_ready $((n + 1))
}
# is_whole NAME...: see restart-check.py
is_whole() { /usr/bin/python3 -B "$here/restart-check.py" "$trace" "$@"; }
log_says() { grep -aq -- "$1" "$tmp/log"; }
# Status 6: on a slow machine a program's memory may have been full before there was a service again.
read_trace() {
        local status=0
        "$DESKTRACE" stop --user whole -f -o "$trace" || status=$?
        [ $status = 0 ] || [ $status = 6 ]
}

# The keys that the service has given, as they pass over the bus; each in the form that busctl wants it in.
keys() {
        /usr/bin/python3 -c 'import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if message.get("member") == "SetupTracing":
        key = message["payload"]["data"][2].get("key", {}).get("data", [])
        print(len(key), *key)' <"$tmp/monitor"
}
# There is something to hear by now, as this asks.
is_heard() { has_owner --user $BUS && [ -s "$tmp/monitor" ]; }
has_keys() { [ "$(keys | wc -l)" -ge "$1" ]; }
# registers_as PATTERN KEY...: who names that key is such a producer
registers_as() {
        local pattern=$1
        shift
        manager RegisterProducer 'sa(sa{sv})a{sv}' thief 0 2 memory-key ay "$@" instances at 1 1 | grep -qE "$pattern"
}

session_bus
started busctl --user monitor --json=short >"$tmp/monitor"
mkdir "$tmp/manager"
service "$here/service-manager.py" "$tmp/manager" "$DESKTRACED" --user
eventually is_heard
producer slow org.example.test
slow=$started
producer busy org.example.test busy
producer short org.example.test
short=$started
start 5 sources as 1 org.example.test buffer-size-kb u 262144 duration-ms u 300000 detach b true name s whole
ok "a session records" recorded "$path"
ok "each program has a key for its memory" eventually has_keys 3

# A snapshot that a trigger has asked for, and that nobody fetches; the session that it is of is freed.
recorder=$path
start 2 detach b true config-text s \
        'buffers { size_kb: 1024 } data_sources { config { name: "org.example.test" } }
        trigger_config { trigger_mode: CLONE_SNAPSHOT trigger_timeout_ms: 300000 triggers { name: "now" } }'
ok "another session waits for a trigger" eventually is_there started
manager ActivateTriggers 'asa{sv}' 1 now 0 >/dev/null
# The snapshot has the name of its trigger. Prints its number.
snapshot() { manager ListSessions | grep -oE '[0-9]+ "now" [0-9]+ "stopped"' | cut -d' ' -f1; }
has_snapshot() { [ -n "$(snapshot)" ]; }
ok "and has a snapshot taken" eventually has_snapshot
snapshot=$(snapshot)
session "$path" Free >/dev/null
path=$recorder
ok "which is kept, as nobody fetches it" eventually grep -q "^keep-$snapshot-c" "$tmp/manager/stored"

next_service KILL
ok "after a kill its session goes on" is_there started
ok "the next process expects the programs back" log_says 'programs of the process before are expected back'
# Three in a row that end soon would be too many; one that is told to end has not failed.
for how in TERM KILL KILL TERM KILL KILL TERM; do
        sleep "0.0$((RANDOM % 10))"
        next_service $how
done
ok "after more of them, too" eventually is_there started

# One ends while there is no service, and somebody else comes with the keys of them all.
kill -STOP "$slow"
kill -KILL "$short"
next_service KILL
for key in "$(keys | sed -n 1p)" "$(keys | sed -n 2p)" "0"; do
        # shellcheck disable=SC2086 # a number and that many bytes
        ok "another process is another producer, with whatever key" registers_as 'producer/([4-9]|[0-9]{2,})"' $key
done
kill -CONT "$slow"
ok "a flush is answered" "$DESKTRACE" flush --user whole
ok "it can be read" read_trace
ok "what each program had written is there, once and in its order" is_whole slow busy short
ok "the snapshot can be read as well" "$DESKTRACE" stop --user now -f -o "$trace"
ok "and has what was written before it" /usr/bin/python3 -B "$here/restart-check.py" --gaps "$trace" slow busy short
[ -z "${RESTART_TRACE-}" ] || cp "$trace" "$RESTART_TRACE"
finish
