#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A flight recorder outlives its service: what is in its ring, its number, its name and its uuid.
. ./lib.sh
shorten_idle_times

snapshot=/home/alice/snapshot.pftrace

list_sessions() { as alice desktrace list sessions --json=short; }
session() { list_sessions | json "[(s['id'], s['name'], s['state'], s['start_ns']) for s in d]"; }
is_same_session() { [ -n "$1" ] && [ "$(session)" = "$1" ]; }
has_no_session() { list_sessions | json 'd and sys.exit(1)'; }
boottime() { python3 -c 'import time; print(time.clock_gettime_ns(time.CLOCK_BOOTTIME))'; }
# The half of a snapshot's uuid that is its session's.
uuid() { trace $snapshot 'd["uuid"][16:]'; }

# has_slices WHEN: how many slices the snapshot has WHEN, as SQL says it
has_slices() {
        as alice desktrace query --json=short $snapshot "SELECT count(*) AS n FROM slice WHERE ts $1" |
                grep -vqE '"n":0\b'
}

# records WHEN: a new snapshot has such slices
records() {
        as alice desktrace snapshot -f -o $snapshot && has_slices "$1"
}

as alice ./hello-desktrace --seconds 145 >/dev/null 2>&1 &
hello=$!
ok 'a user leaves a flight recorder running' as alice desktrace record --flight-recorder -p apps
ok 'it records' within 20 records '> 0'
recorder=$(session)
first_uuid=$(uuid)
killed=$(main_pid desktraced.service)
before=$(boottime)
ok 'the service is restarted' systemctl restart desktraced.service
ok 'it is another process' test "$(main_pid desktraced.service)" != "$killed"
after=$(boottime)
ok 'its session is the same' is_same_session "$recorder"
ok 'and records again' within 30 records ">= $after"
ok 'what was recorded before is there' has_slices "< $before"
ok 'the snapshot says that the service was away' grep -aq 'the service was away from' $snapshot
ok 'it has the same uuid' test "$(uuid)" = "$first_uuid"
ok 'nothing is wrong with it' is_true $snapshot 'd["end"] == "complete" and d["undecodable_events"] == 0'

kill -KILL "$(main_pid desktraced.service)"
ok 'a killed service is started again' within 20 is_same_session "$recorder"
after=$(boottime)
ok 'its session records, too' within 30 records ">= $after"
ok 'and still has what was before the restart' has_slices "< $before"
ok 'nothing is wrong with that' is_true $snapshot 'd["end"] == "complete" and d["undecodable_events"] == 0'

ok 'the journal says that the session went on' \
        grep -q 'of the process before goes on' <(journalctl -b -q -o cat -u desktraced.service)
kill $hello
ok 'a service that is stopped' systemctl stop desktraced.service
ok 'begins with nothing' has_no_session
finish
