#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A flight recorder outlives its service: what is in its ring, its number, its name and its uuid.
. ./lib.sh
shorten_idle_times

snapshot=/home/alice/snapshot.pftrace
stopped=/home/alice/stopped.pftrace
triggered=/home/alice/triggered.pftrace
later=/home/alice/later.pftrace
written=/tmp/written.pftrace # on a tmpfs: the root is an overlay here, whose files are not kept
cat >/home/alice/triggered.pbtxt <<'END'
buffers { size_kb: 1024 }
data_sources { config { name: "track_event" } }
unique_session_name: "triggered"
trigger_config { trigger_mode: STOP_TRACING trigger_timeout_ms: 600000 triggers { name: "seen" stop_delay_ms: 2000 } }
END

list_sessions() { as alice desktrace list sessions --json=short; }
state_of() { list_sessions | json "[s['state'] for s in d if s['name'] == '$1']"; }
is_stopped() { [ "$(state_of "$1")" = "['stopped']" ]; }
# Of the flight recorder.
session() {
        list_sessions |
                json "[(s['id'], s['name'], s['state'], s['start_ns']) for s in d if s['name'] == 'flight-recorder']"
}
is_same_session() { [ -n "$1" ] && [ "$(session)" = "$1" ]; }
has_bytes() { [ "$(stat -c %s "$1" 2>/dev/null || echo 0)" -ge "$2" ]; }
says() { [ "$(grep -c 'the recording goes on' /tmp/written.said)" -ge "$1" ]; }
is_another() { [ "$(main_pid desktraced.service)" != "$1" ] && is_active desktraced.service; }
has_no_session() { list_sessions | json 'd and sys.exit(1)'; }
n_stored() { systemctl show -P NFileDescriptorStore desktraced.service; }
has_stored_more_than() { [ "$(n_stored)" -gt "$1" ]; }
# The half of a snapshot's uuid that is its session's.
uuid() { trace $snapshot 'd["uuid"][16:]'; }

# has_slices WHEN [FILE]: whether the snapshot, or the file, has slices WHEN
has_slices() { file_has_slices "${2:-$snapshot}" "$1"; }

# has_recorded NAME: a snapshot of that session has slices
has_recorded() {
        as alice desktrace snapshot "$1" -q -f -o $later && has_slices '> 0' $later
}

id_of() { list_sessions | json "[s['id'] for s in d if s['name'] == '$1'][0]"; }
detach() { as alice busctl call $BUS "$ROOT/session/$(id_of "$1")" $BUS.Session Detach; }

# records WHEN: a new snapshot has such slices
records() {
        as alice desktrace snapshot -f -o $snapshot && has_slices "$1"
}

# The key that the service has given to alice's program, as it passes over the bus; as numbers.
busctl monitor --system --json=short --match="member='SetupTracing'" >/tmp/monitor 2>/dev/null &
keys() {
        /usr/bin/python3 -c 'import json, sys
for line in sys.stdin:
    key = json.loads(line)["payload"]["data"][2].get("key", {}).get("data", [])
    print(len(key), *key)' </tmp/monitor
}
has_key() { [ "$(keys | wc -l)" -ge 1 ]; }
# program KEY: of alice's program; its path has its number
program() {
        as alice desktrace list producers --system --json=short |
                json "[p['$1'] for p in d if p['name'] == 'hello-desktrace'][0]"
}
is_path_but() { [[ $2 == /org/* && $2 != "$1" ]]; }
is_same_program() { [ "$(program path)" = "$1" ]; }
# registers_as USER KEY...: who names that key is a producer of the user's own. It goes again with the call.
registers_as() {
        local user=$1
        shift
        as "$user" busctl --json=short call $BUS $ROOT $MANAGER RegisterProducer 'sa(sa{sv})a{sv}' thief 0 2 \
                memory-key ay "$@" instances at 1 1
}

as alice ./hello-desktrace --seconds 145 >/dev/null 2>&1 &
hello=$!
ok 'a user leaves a flight recorder running' as alice desktrace record --flight-recorder -p apps
ok 'it records' within 20 records '> 0'
recorder=$(session)
first_uuid=$(uuid)
ok 'another recording has ended' as alice desktrace record --detach -t 1 -p apps -n ended
ok 'and waits to be read' within 30 is_stopped ended
ok 'a third one waits for a trigger' as alice desktrace record --detach -c /home/alice/triggered.pbtxt
ok 'which is sent' within 10 as alice desktrace trigger seen
n=$(n_stored)
as alice desktrace record --ring -q -t 600 -n later -p apps -o $later.ring >/dev/null 2>&1 &
ok 'a fourth one belongs to who has started it' within 20 has_recorded later
ok 'and is kept, too' within 20 has_stored_more_than "$n"
ok 'it is detached' detach later
# Its command would read it, too, once it is stopped, so that goes.
pkill -KILL -u alice -f -- '--ring -q'
as alice desktrace record -t 40 -f -p apps -o $written >/tmp/written.said 2>&1 &
writer=$!
ok 'a fifth one is written while it records' within 20 has_bytes $written 1
ok 'its output is kept' within 20 has_stored_more_than $((n + 4))
# From the next process on: as if it hung.
mkdir -p /run/systemd/system/desktraced.service.d
printf '[Service]\nWatchdogSec=2s\n' >/run/systemd/system/desktraced.service.d/watchdog.conf
systemctl daemon-reload
killed=$(main_pid desktraced.service)
before=$(boottime)
ok 'the service is restarted' systemctl restart desktraced.service
ok 'it is another process' test "$(main_pid desktraced.service)" != "$killed"
after=$(boottime)
ok 'its session is the same' is_same_session "$recorder"
ok 'and records again' within 30 records ">= $after"
ok 'what was recorded before is there' has_slices "< $before"
ok 'the snapshot says that the service was away' grep -aq 'the service was away from' $snapshot
ok 'and how long, as an event of the service' \
        is_true $snapshot 'len(d["away"]) == 1 and 0 < d["away"][0]["from_ns"] < d["away"][0]["until_ns"]'
ok 'so does the status, for its user' grep -q 'the service was away' <(as alice desktrace status --system)
ok 'it has the same uuid' test "$(uuid)" = "$first_uuid"
ok 'nothing is wrong with it' is_true $snapshot 'd["end"] == "complete" and d["undecodable_events"] == 0'

ok 'the recording that had ended can be read' as alice desktrace stop ended -o $stopped
ok 'it has what was recorded' has_slices "< $before" $stopped
ok 'the trigger of before ends the third one' within 30 is_stopped triggered
ok 'which can be read' as alice desktrace stop triggered -o $triggered
ok 'it has what was before and after the trigger' has_slices "< $before" $triggered
ok 'what was detached later can be read' as alice desktrace stop later -f -o $later
ok 'it has what was recorded before' has_slices "< $before" $later

hung=$(main_pid desktraced.service)
kill -STOP "$hung"
ok 'one that hangs is ended by the watchdog' within 30 is_another "$hung"
ok 'for that reason' grep -q 'watchdog' <(journalctl -b -q -o cat -u desktraced.service)
ok 'and the next goes on' within 20 is_same_session "$recorder"
rm /run/systemd/system/desktraced.service.d/watchdog.conf
systemctl daemon-reload
after=$(boottime)
ok 'its session records, too' within 30 records ">= $after"
status=0
wait "$writer" || status=$?
ok 'the fifth one has ended at its time' grep -qx '[06]' <<<"$status"
ok 'who recorded it was told both times' says 2
ok 'its file has what was before the restart' has_slices "< $before" $written
ok 'and after the second time' has_slices ">= $after" $written
ok 'and is whole' is_true $written 'd["end"] == "complete" and d["undecodable_events"] == 0'
ok 'and still has what was before the restart' has_slices "< $before"
ok 'nothing is wrong with that' is_true $snapshot 'd["end"] == "complete" and d["undecodable_events"] == 0'

# While alice's program cannot say that it is there.
ok 'her program was given a key for its memory' within 10 has_key
owned=$(program path)
pid=$(program pid)
kill -STOP "$pid"
killed=$(main_pid desktraced.service)
kill -KILL "$killed"
ok 'the service is killed' within 20 is_another "$killed"
# shellcheck disable=SC2046 # a number and that many bytes
registered=$(registers_as bob $(keys | tail -n 1))
ok 'another user with her key is a program of his own' \
        is_path_but "$owned" "$(json 'd["data"][0]' <<<"$registered")"
kill -CONT "$pid"
ok 'hers comes back to what it was' within 20 is_same_program "$owned"

systemctl reset-failed desktraced.service
ok 'it is restarted again' systemctl restart desktraced.service
ok 'and again' systemctl restart desktraced.service
ok 'and again, as soon' systemctl restart desktraced.service
ok 'a process that was told to end has not failed' within 20 is_same_session "$recorder"
ok 'the journal says that the session went on, and after how long' \
        grep -qE 'of the process before goes on after [0-9.]+ s' <(journalctl -b -q -o cat -u desktraced.service)
kill $hello
ok 'a service that is stopped' systemctl stop desktraced.service
ok 'begins with nothing' has_no_session
finish
