#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The command line and sessions that outlive it: flight recorders, snapshots, triggers, taking over.

# shellcheck source=tests/integration/cli-lib.sh
. "$(dirname "$0")/cli-lib.sh"

desktrace() {
        "$DESKTRACE" "$@"
}
record() {
        "$DESKTRACE" record --user "$@"
}

# ------------------------------------------------------------------------------------------------------------------
# Options that say nothing together

exits 2 "a time before belongs to a flight recorder" 'are for --flight-recorder' record --before 10s
exits 2 "so does a trigger" 'are for --flight-recorder' record --trigger x
exits 2 "a time after belongs to a trigger" '"desktrace snapshot --after"' record --flight-recorder --after 5s
exits 2 "a trigger needs a name" "trigger's name" record --flight-recorder --trigger ''
exits 2 "a time before must be one" "'soon' is no duration" record --flight-recorder --before soon
exits 2 "and has a bound" 'at most 1h' record --flight-recorder --before 2h
exits 2 "a flight recorder writes no file by itself" '"desktrace snapshot -o"' record --flight-recorder -o x
exits 2 "nor for a command" '"--ring" writes at the end' record --flight-recorder -- true
exits 2 "nor does it outlive a service of its own" 'add --trigger' "$DESKTRACE" record --standalone --flight-recorder
exits 2 "triggers write more than stdout can be" 'stdout' record --flight-recorder --trigger x -o -
exits 2 "and replace no files" 'numbers that are free' record --flight-recorder --trigger x -f
exits 2 "and need us" 'excludes --detach' record --flight-recorder --trigger x --detach
exits 2 "a trigger has a name" 'needs an argument' desktrace trigger
exits 2 "to stop into a file and to discard exclude each other" 'exclude each other' desktrace stop -o x --discard y
exits 2 "to replace is for a file" 'for -o' desktrace stop -f y
exits 2 "a snapshot is of one session" "no use for the argument 'b'" desktrace snapshot a b
exits 2 "its time before must be one" "'x' is no duration" desktrace snapshot --before x
for verb in snapshot trigger attach stop; do
        exits 0 "$verb has help" '--json' desktrace "$verb" --help
done
ok "nothing is recorded" nothing_is_there '*'

# ------------------------------------------------------------------------------------------------------------------
# A flight recorder, and nobody to ask

exits 8 "no bus is told" 'no user bus' desktrace snapshot --user
session_bus
exits 8 "no service is told" 'desktrace status' desktrace snapshot --user
service "$DESKTRACED" --user
producer demo org.example.demo
exits 5 "no session is told, and how to start one" 'record --flight-recorder' desktrace snapshot --user
exits 5 "an unknown one is told" '"nosuch"' desktrace snapshot --user nosuch
exits 5 "also when it is to be taken over" '"nosuch"' desktrace attach --user nosuch
exits 5 "or stopped into a file" '"nosuch"' desktrace stop --user nosuch -o x.pftrace
ok "no file is left" nothing_is_there '*'

exits 0 "a flight recorder is left running, with a name" 'session 1, "flight-recorder"' \
        record --flight-recorder org.example.demo
exits 0 "it is listed as detached, with its end" ' flight-recorder .* started +yes .* in 23h59m' \
        desktrace list sessions --user
exits 1 "a second one of that name is told how" '--name chooses another' record --flight-recorder org.example.demo
exits 0 "the next commands are told, as they are to be written" 'desktrace snapshot --user --before 20s .two words.' \
        record --flight-recorder --before 20s -n 'two words' -t 2h org.example.demo
exits 0 "the time is what was asked for" ' two words .* in 1h59m' desktrace list sessions --user
exits 0 "the ring is large enough" '"buffer_bytes":251658240' \
        record --flight-recorder --before 1m -n three -q --json=short org.example.demo
exits 0 "the list has ages and ends as JSON" '"detached":true.*"start_ns":[1-9].*"end_ns":[1-9]' \
        desktrace list sessions --user --json=short
sleep 0.5
exits 0 "a session is stopped into a file" 'No losses' desktrace stop --user 'two words' -o two.pftrace
ok "its packets are in the file" counts 'demo-[0-9]+\.' two.pftrace 10
exits 5 "and it is gone" 'two words' desktrace stop --user 'two words'
exits 2 "to stop clobbers no file" 'File exists' desktrace stop --user three -o two.pftrace
exits 0 "and stops nothing then" ' three .* started ' desktrace list sessions --user
exits 0 "a file is replaced when asked to" '"verdict":"none"' \
        desktrace stop --user three -fq -o two.pftrace --json=short
exits 0 "a session is discarded" '^$' desktrace stop --user --discard flight-recorder

finish
