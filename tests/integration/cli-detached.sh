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

exits 2 "a time before belongs to a flight recorder" 'require --flight-recorder' record --before 10s
exits 2 "so does a trigger" 'require --flight-recorder' record --trigger x
exits 2 "a time after belongs to a trigger" '"desktrace snapshot --after"' record --flight-recorder --after 5s
exits 2 "a trigger needs a name" "trigger name" record --flight-recorder --trigger ''
exits 2 "a time before must be one" "'soon' is not a duration" record --flight-recorder --before soon
exits 2 "and has a bound" 'at most 1h' record --flight-recorder --before 2h
exits 2 "a flight recorder writes no file by itself" '"desktrace snapshot -o"' record --flight-recorder -o x
exits 2 "nor for a command" '"--ring" writes at the end' record --flight-recorder -- true
exits 2 "nor does it outlive a service of its own" 'requires --trigger' \
        "$DESKTRACE" record --standalone --flight-recorder
exits 2 "triggers write more than stdout can be" 'stdout' record --flight-recorder --trigger x -o -
exits 2 "and replace no files" 'unused numbers' record --flight-recorder --trigger x -f
exits 2 "and need us" 'mutually exclusive' record --flight-recorder --trigger x --detach
exits 2 "a private service is its recording's" 'set DESKTRACE_SOCKET' desktrace snapshot --standalone
exits 1 "files that cannot be made are told before anything is started" 'cannot write /nowhere/x-1.pftrace' \
        record --flight-recorder --trigger x -o /nowhere/x
exits 2 "a trigger has a name" 'requires an argument' desktrace trigger
exits 2 "a file and --discard are not possible together" 'mutually exclusive' desktrace stop -o x --discard y
exits 2 "to replace is for a file" 'requires -o' desktrace stop -f y
exits 2 "a snapshot is of one session" "does not take the argument 'b'" desktrace snapshot a b
exits 2 "its time before must be one" "'x' is not a duration" desktrace snapshot --before x
for verb in snapshot trigger attach stop; do
        exits 0 "$verb has help" '--json' desktrace "$verb" --help
done
ok "nothing is recorded" nothing_is_there '*'

# ------------------------------------------------------------------------------------------------------------------
# A flight recorder, and nobody to ask

exits 8 "no bus is told" 'the user bus' desktrace snapshot --user
session_bus
exits 8 "no service is told" 'desktrace status' desktrace snapshot --user
service "$DESKTRACED" --user
producer demo org.example.demo
exits 5 "no session is told, and how to start one" 'record --user --flight-recorder' desktrace snapshot --user
exits 5 "an unknown one is told" '"nosuch"' desktrace snapshot --user nosuch
exits 5 "also when it is to be taken over" '"nosuch"' desktrace attach --user nosuch
exits 5 "or stopped into a file" '"nosuch"' desktrace stop --user nosuch -o x.pftrace
ok "no file is left" nothing_is_there '*'

exits 0 "a flight recorder is left running, with a name" 'session 1, "flight-recorder"' \
        record --flight-recorder org.example.demo
exits 0 "it is listed as detached, with its end" ' flight-recorder .* started +yes .* in 23h59m' \
        desktrace list sessions --user
exits 1 "a second one of that name is told how" '--name sets another' record --flight-recorder org.example.demo
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

# What it says is what it is, and nothing went wrong.
says_only() { # PATTERN OPTIONS...
        record "${@:2}" >"$tmp/output" 2>&1 && grep -qE "$1" "$tmp/output" && ! grep -q '^desktrace:' "$tmp/output"
}
ok "a session that is left says its number and no more" says_only '^[0-9]+$' --detach -t 1m -n left org.example.demo
exits 0 "and is discarded" '^$' desktrace stop --user --discard left
ok "so does a flight recorder" says_only 'desktrace snapshot --user' --flight-recorder org.example.demo
exits 0 "and is discarded, too" '^$' desktrace stop --user --discard flight-recorder
producer noting org.example.noting note
exits 0 "what a session that is left does not record is told" '^desktrace: note: org.example.noting: the left channel' \
        record --detach -t 1m -n noted org.example.noting
exits 0 "unless nobody wants to know" '^[0-9]+$' record --detach -q -t 1m -n quiet org.example.noting
ok "by a line" test "$(record --detach -q -t 1m -n quieter org.example.noting 2>&1 | wc -l)" = 1
for name in noted quiet quieter; do
        desktrace stop --user --discard $name
done
exits 0 "a flight recorder tells it as well" '^desktrace: note: org.example.noting: the left channel' \
        record --flight-recorder org.example.noting
exits 0 "and is discarded as well" '^$' desktrace stop --user --discard flight-recorder

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
exits 2 "a terminal is no file" 'redirect stdout to a file' "$CLI_PTY" "$DESKTRACE" snapshot --user -o -
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
exits 1 "Ctrl-C gives up the waiting" 'cancelled' "$CLI_PTY" --interrupt 'Ctrl-C' \
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

# One that writes a file: its snapshot has the rest.
"$DESKTRACE" record --user -q -n writer -o writer.pftrace org.example.demo &
client=$!
pids+=("$client")
eventually test -s writer.pftrace
exits 0 "a snapshot of a recording that is being written is no copy of its file" 'not written there yet' \
        desktrace snapshot --user -o rest.pftrace
number=$(desktrace list sessions --user --no-legend | awk '{ print $1 }')
exits 0 "a session is meant by its number, too" 'back:' desktrace snapshot --user -fo rest.pftrace "$number"
kill -INT "$client"
wait "$client"
ok "the recording has everything" holds writer.pftrace 't["losses"]["verdict"] == "none" and t["packets"] > 10'

# A ring that is too small for what is asked of it.
started "$EXAMPLE" --seconds 60 --quiet
exits 0 "a small ring is started" '^[0-9]+$' record --flight-recorder -q -b 64K 'cat:*'
forgets() {
        desktrace snapshot --user --before 30s -fo forgets.pftrace 2>&1 | grep -q 'was too small'
}
eventually forgets
exits 0 "what it has forgotten is no loss, but told" 'the ring buffer was too small' \
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
exits 6 "a snapshot without what it holds is incomplete" 'did not hand over its last packets in time' \
        desktrace snapshot --user mute -o mute-snapshot.pftrace
exits 9 "so is who does not stop" 'mute .* did not answer in time' desktrace stop --user mute
exits 0 "its data is still there" '^$' desktrace stop --user --discard mute
exits 6 "a recording that it is part of is incomplete" 'mute .* did not answer in time' \
        record -c mute.pbtxt -t 500ms -o mute.pftrace
ok "and is there" holds mute.pftrace 't["packets"] > 1'
exits 0 "another session with it starts" '^[0-9]+$' record --detach -q -t 1m -n mute -c mute.pbtxt
exits 6 "so is one that is stopped into a file" '"silent":\[\{"source":"org.example.mute","producer":"mute"' \
        desktrace stop --user mute -qo mute2.pftrace --json=short

# ------------------------------------------------------------------------------------------------------------------
# Triggers

# A recorder that stays, in the background: its status comes from recorder_ends, what it says is in $tmp/recorder.
recorder() {
        "$DESKTRACE" record --user --flight-recorder "$@" 2>"$tmp/recorder" &
        client=$!
        pids+=("$client")
        eventually grep -q 'Ctrl-C stops it' "$tmp/recorder"
}
recorder_ends() {
        local status=0
        kill -INT "$client"
        wait "$client" || status=$?
        cat "$tmp/recorder"
        return $status
}

exits 5 "a trigger that nobody waits for is told" 'none of your sessions is waiting' desktrace trigger --user nobody
exits 5 "also as JSON" '\{"sessions":0\}' desktrace trigger --user nobody -q --json=short
exits 2 "a trigger needs a name" "trigger name" desktrace trigger --user ''
echo mine >slow-2.pftrace
recorder --trigger slow --trigger fast --after 300ms -o slow.pftrace org.example.demo
ok "how to trigger is said" grep -q 'desktrace trigger --user slow' "$tmp/recorder"
ok "nothing is written before" test ! -e slow-1.pftrace
exits 0 "a trigger says how many sessions it reached" 'Reached 1 session' desktrace trigger --user slow
ok "its file is written while the recorder goes on" \
        eventually grep -q 'Trigger slow: .* in slow-1.pftrace' "$tmp/recorder"
ok "with what was before and after it" holds slow-1.pftrace 't["losses"]["verdict"] == "none" and t["packets"] > 10'
exits 0 "several triggers reach it at once" '^Reached 1 session\.$' desktrace trigger --user fast slow
ok "each has its file, under a number that is free" eventually test -s slow-4.pftrace
ok "the one that was there is as it was" grep -qx mine slow-2.pftrace
exits 0 "a trigger that is not due yet" '"sessions":1' desktrace trigger --user fast --json=short
# Not in a subshell, which could not wait for it.
recorder_ends >"$tmp/output" 2>&1
status=$?
ok "Ctrl-C ends the recorder" test $status = 0
ok "and what was triggered before it is written" test -s slow-5.pftrace
ok "the service has nothing left" test -z "$(desktrace list sessions --user --no-legend)"

recorder --trigger never -t 1s -o never org.example.demo
wait "$client"
status=$?
ok "a recorder without a trigger ends with its time" test $status = 0
ok "and says so" grep -q 'No trigger arrived' "$tmp/recorder"
ok "without a file" nothing_is_there 'never*'

started "$EXAMPLE" --seconds 60 --quiet
recorder --trigger back --before 1s -b 1M -o back 'cat:*'
sleep 3 # that it reaches back one second is the promise
desktrace trigger --user back >/dev/null
ok "it reaches back as far as it was to" eventually grep -q 'Trigger back' "$tmp/recorder"
ok "with the events of then" holds back-1.pftrace 't["track_events_total"] > 0'
# How much farther depends on how fast the machine fills the buffer.
reach=$(grep -oE 'Trigger back: [0-9.]+ s' "$tmp/recorder" | grep -oE '[0-9.]+')
ok "which it says" awk "BEGIN { exit !(${reach:-0} >= 1) }"
recorder_ends >/dev/null 2>&1

if [ "$(id -u)" = 0 ] && mkdir -p full && mount -t tmpfs -o size=16k tmpfs full 2>/dev/null; then
        head -c 12K /dev/zero >full/other
        recorder --trigger big -o full/x 'cat:*'
        sleep 1
        desktrace trigger --user big >/dev/null
        ok "a full disk is told, and the recorder goes on" eventually grep -q 'No space left' "$tmp/recorder"
        umount -l full
        desktrace trigger --user big >/dev/null
        ok "to the next file" eventually grep -q 'in full/x-2.pftrace' "$tmp/recorder"
        recorder_ends >"$tmp/output" 2>&1
        status=$?
        ok "and fails at the end" test $status = 1
fi

exits 0 "a command sends triggers to its recorder" 'Trigger mine: .* in command-1.pftrace' \
        "$DESKTRACE" record --standalone --flight-recorder --trigger mine -o command org.example.demo -- \
        sh -c '"$0" trigger mine && sleep 1' "$DESKTRACE"
ok "how others would is said there, too" grep -q 'DESKTRACE_SOCKET=/.* desktrace trigger mine' <(
        "$DESKTRACE" record --standalone --flight-recorder --trigger mine -o x org.example.demo -- true 2>&1)

# A service that dies.
recorder --trigger dead -o dead org.example.demo
kill -KILL "$daemon"
wait "$client"
status=$?
ok "a recorder whose service dies fails" test $status = 8
# A client that waits for an answer just then, or asks in the next moment, hears it from the bus.
gives "and says so" 'closed the connection|recipient disconnected|service went away|was not provided by any' \
        cat "$tmp/recorder"
service "$DESKTRACED" --user
eventually has_producer demo

# ------------------------------------------------------------------------------------------------------------------
# Triggers of configs

trigger_config() {
        printf '%s\n' 'buffers { size_kb: 1024 } data_sources { config { name: "org.example.demo" } }' "$@"
}
trigger_config 'trigger_config { trigger_mode: START_TRACING trigger_timeout_ms: 20000
        triggers { name: "go" stop_delay_ms: 700 } }' >start.pbtxt
trigger_config 'trigger_config { trigger_mode: STOP_TRACING trigger_timeout_ms: 20000
        triggers { name: "halt" stop_delay_ms: 100 } }' >stop.pbtxt
trigger_config 'trigger_config { trigger_mode: CLONE_SNAPSHOT trigger_timeout_ms: 8000
        triggers { name: "look" } triggers { name: "see" } }' >clone.pbtxt
printf 'activate_triggers: "go" activate_triggers: "halt" activate_triggers: "look"\n' >activate.pbtxt

exits 5 "a config of triggers sends them instead of recording" 'none of your sessions is waiting' \
        record -c activate.pbtxt -o none.pftrace
ok "without a file" test ! -e none.pftrace
exits 2 "which is in vain with a service of one's own" 'no session can receive' \
        "$DESKTRACE" record --standalone -c activate.pbtxt
exits 2 "a config with triggers has no use for others" 'its own triggers' \
        record -c start.pbtxt --flight-recorder --trigger x
# triggered TRIGGERS OPTIONS...: a while after the recording began; $tmp/triggered is as old as the trigger
triggered() {
        (
                eventually has_session 'configured|started'
                sleep 1
                touch "$tmp/triggered"
                "$DESKTRACE" $1 >/dev/null 2>&1
        ) &
        timeout 100 "$DESKTRACE" record --user "${@:2}"
}
# starts_with_trigger FILE: no longer than since then, and that is since the file is there
starts_with_trigger() {
        local since
        since="($(stat -c %.9Y "$1") - $(stat -c %.9Y "$tmp/triggered"))"
        holds "$1" "t['packets'] > 10 and t['duration_ns'] < $since * 1e9"
}
exits 0 "a start trigger starts" 'Recorded' triggered 'trigger --user go' -c start.pbtxt -o start.pftrace
ok "only then" starts_with_trigger start.pftrace
exits 0 "a stop trigger stops" 'Recorded' triggered 'trigger --user halt' -c stop.pbtxt -o halt.pftrace
ok "with what was before it" holds halt.pftrace 't["duration_ns"] > 0.5e9 and t["packets"] > 10'
exits 0 "also when a config sends it" 'Recorded' \
        triggered 'record --user -c activate.pbtxt' -c stop.pbtxt -o halt2.pftrace
exits 0 "clone triggers make files" 'Trigger look: .* in clone-1.pftrace' \
        triggered 'trigger --user look see' -c clone.pbtxt -o clone.pftrace
ok "one for each" test -s clone-2.pftrace
ok "a session with clone triggers is left running" \
        start 3 detach b true name s clones config-text s "$(cat clone.pbtxt)"
exits 1 "only the snapshots of such a session can be read" 'only snapshots of this session' \
        timeout --foreground --preserve-status -s INT 5 "$DESKTRACE" attach --user clones -o empty.pftrace
ok "and no empty file is left" test ! -e empty.pftrace
sed -i 's/trigger_timeout_ms: 20000/trigger_timeout_ms: 500/' start.pbtxt stop.pbtxt
exits 0 "without its trigger nothing is recorded" 'No trigger arrived' record -c start.pbtxt -o none.pftrace
ok "and no file is left" test ! -e none.pftrace
exits 0 "nor is it when none stops" 'No trigger arrived' record -c stop.pbtxt -o none.pftrace
ok "and no file is left there either" test ! -e none.pftrace

# ------------------------------------------------------------------------------------------------------------------
# Taking over

attached() { # OPTIONS...: attaches, and stops it from elsewhere
        (
                eventually has_session ' box .* started +- '
                sleep 1
                "$DESKTRACE" stop --user box >/dev/null 2>&1
        ) &
        timeout 100 "$DESKTRACE" attach --user "$@"
}
exits 0 "a session is left running" '^[0-9]+$' record -q --detach -t 1m -n box org.example.demo
exits 2 "to take it over clobbers no file" 'File exists' desktrace attach --user box -o slow-1.pftrace
exits 0 "it is taken over until it is stopped" 'Recorded' attached box -o box.pftrace
ok "and its data is there" counts 'demo-[0-9]+\.' box.pftrace 10
ok "the session is gone" test -z "$(desktrace list sessions --user --no-legend)"
exits 0 "another one is left running" '^[0-9]+$' record -q --detach -t 1m -n box org.example.demo
exits 0 "Ctrl-C stops one that was taken over" 'again to discard' "$CLI_PTY" --interrupt 'Recording:' \
        "$DESKTRACE" attach --user box -o box2.pftrace
ok "and keeps its data" holds box2.pftrace 't["losses"]["verdict"] == "none"'
exits 0 "a short one is left running" '^[0-9]+$' record -q --detach -t 300ms -n box org.example.demo
eventually has_session ' box .* stopped '
exits 0 "one that has stopped by itself still gives its data" 'Recorded' desktrace attach --user box -o box3.pftrace
ok "all of it" counts 'demo-[0-9]+\.' box3.pftrace 3
exits 0 "a session is left to be orphaned" '^[0-9]+$' record -q --detach -t 1m -n box org.example.demo
"$DESKTRACE" attach --user box -q -o orphan.pftrace &
client=$!
eventually has_session ' box .* started +- '
exits 2 "while somebody follows it, that one gets its data" 'desktrace attach' \
        desktrace stop --user box -o stolen.pftrace
exits 0 "while somebody has it, it is not detached" ' box .* started +- ' desktrace list sessions --user
kill -KILL $client
ok "it ends with who took it over" eventually test -z "$(desktrace list sessions --user --no-legend)"

cat >alone.pbtxt <<'CONFIG'
buffers { size_kb: 1024 }
data_sources { config { name: "org.example.demo" } }
duration_ms: 300
exclusive_prio: 1
CONFIG
ended() { # by another that wants to be alone
        (
                eventually has_session ' started '
                sleep 1
                "$DESKTRACE" record --user -q -c alone.pbtxt -o alone.pftrace
        ) &
        timeout 100 "$DESKTRACE" record --user -t 100s -o ended.pftrace org.example.demo
}
exits 1 "who is ended by an exclusive session is told" 'exclusive session ended this one' ended
ok "and keeps what was recorded" counts 'demo-[0-9]+\.' ended.pftrace 10
ok "the other one records" eventually counts 'demo-[0-9]+\.' alone.pftrace 1

finish
