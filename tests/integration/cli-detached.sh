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

# ------------------------------------------------------------------------------------------------------------------
# Snapshots

exits 0 "a flight recorder is started" '^[0-9]+$' record --flight-recorder -q org.example.demo
sleep 0.5
exits 0 "a snapshot is taken of the only session, and says how far back it reaches" '^[0-9.]+ m?s back: .*now.pftrace' \
        desktrace snapshot --user -o now.pftrace
ok "what was just now is in it" counts 'demo-[0-9]+\.' now.pftrace 10
ok "without losses" holds now.pftrace 't["losses"]["verdict"] == "none"'
exits 0 "the session goes on" ' flight-recorder .* started ' desktrace list sessions --user
ok "and nothing else is left" test "$(desktrace list sessions --user --no-legend | wc -l)" = 1
exits 2 "a snapshot clobbers no file" 'File exists' desktrace snapshot --user -o now.pftrace
exits 0 "it replaces one when asked to, and goes to stdout as JSON" '"reaches_back_ns":[1-9].*"silent":\[\]' \
        desktrace snapshot --user -qfo now.pftrace --json=short flight-recorder
exits 2 "a terminal is no file" 'send stdout to a file' "$CLI_PTY" "$DESKTRACE" snapshot --user -o -
piped_snapshot() {
        desktrace snapshot --user -q -o - | cat >piped.pftrace
}
ok "a snapshot goes through a pipe" piped_snapshot
ok "whole" holds piped.pftrace 't["losses"]["verdict"] == "none" and t["packets"] > 10'

last_packet() {
        grep -aoE 'demo-[0-9]+' "$1" | cut -d- -f2 | sort -n | tail -n 1
}
after_is_in() {
        local first
        desktrace snapshot --user -q -o at-once.pftrace || return
        first=$(last_packet at-once.pftrace)
        desktrace snapshot --user -q --after 700ms -o after.pftrace || return
        [ "$(last_packet after.pftrace)" -gt $((first + 20)) ]
}
ok "what comes after is waited for" after_is_in
exits 1 "Ctrl-C gives up the waiting" 'given up' "$CLI_PTY" --interrupt 'Ctrl-C' \
        "$DESKTRACE" snapshot --user --after 1m -o given-up.pftrace
ok "and leaves no file" test ! -e given-up.pftrace
if [ "$(id -u)" = 0 ] && mkdir full && mount -t tmpfs -o size=4k tmpfs full 2>/dev/null; then
        exits 1 "a full disk is told" 'No space left' desktrace snapshot --user -o full/x.pftrace
        ok "and no half of a snapshot is left" nothing_is_left_in full
        umount full
fi
exits 0 "a second recorder is started" '^[0-9]+$' record --flight-recorder -q -n other org.example.demo
exits 0 "the one with the usual name is meant" 'back:' desktrace snapshot --user -o usual.pftrace
exits 0 "the other one can be" 'back:' desktrace snapshot --user -o other.pftrace other
exits 0 "the usual one ends" '^$' desktrace stop --user --discard flight-recorder
exits 0 "now the other one is meant" 'back:' desktrace snapshot --user -o other.pftrace -f
exits 0 "a third one is started" '^[0-9]+$' record --detach -q -t 1m -n third org.example.demo
exits 2 "of several the choices are told" '^ +[0-9]+  other' desktrace snapshot --user -o which.pftrace
exits 2 "all of them" '^ +[0-9]+  third' desktrace snapshot --user -o which.pftrace
ok "and no file is left" test ! -e which.pftrace
exits 0 "one of them ends" '^$' desktrace stop --user --discard third
exits 0 "and the other" '^$' desktrace stop --user --discard other

# A ring that is too small for what is asked of it.
started "$EXAMPLE" --seconds 60 --quiet
exits 0 "a small ring is started" '^[0-9]+$' record --flight-recorder -q -b 64K 'cat:*'
sleep 3
exits 0 "what it has forgotten is no loss, but told" 'the ring was too small' \
        desktrace snapshot --user --before 30s -o small.pftrace
exits 0 "and ends" '^$' desktrace stop --user --discard flight-recorder

# ------------------------------------------------------------------------------------------------------------------
# Somebody who does not answer

printf '%s\n' 'buffers { size_kb: 64 } flush_timeout_ms: 200 data_source_stop_timeout_ms: 200 flush_period_ms: 60000' \
        'data_sources { config { name: "org.example.mute" } }' >mute.pbtxt
producer mute org.example.mute silent
exits 0 "a session with it starts" '^[0-9]+$' record --detach -q -t 1m -n mute -c mute.pbtxt
exits 9 "who does not answer a flush is named" "^desktrace: mute \(pid $started\) did not answer in time" \
        desktrace flush --user --timeout 200ms mute
exits 9 "so is who does not stop" 'mute .* did not answer in time' desktrace stop --user mute
exits 0 "its data is there all the same" '^$' desktrace stop --user --discard mute
exits 6 "a recording that it is part of is incomplete" 'mute .* did not answer in time' \
        record -c mute.pbtxt -t 500ms -o mute.pftrace
ok "and is there" holds mute.pftrace 't["packets"] > 1'
exits 0 "another session with it starts" '^[0-9]+$' record --detach -q -t 1m -n mute -c mute.pbtxt
exits 6 "so is one that is stopped into a file" '"silent":\[\{"source":"org.example.mute","producer":"mute"' \
        desktrace stop --user mute -qo mute2.pftrace --json=short

finish
