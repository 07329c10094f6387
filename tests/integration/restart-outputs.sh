#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Recordings that are written while they are made go on in the next process of the service, however the one before has
# ended: nothing is in a file twice, nothing is torn, and the command that records stays. Nobody needs to be told.
# The checks call functions by name.
# shellcheck disable=SC2317
# shellcheck source=tests/integration/restart-lib.sh
. "$(dirname "$0")/restart-lib.sh"

# config FILE TEXT...: of the producer that counts, streaming ten times a second
config() {
        {
                echo 'buffers { size_kb: 4096 } write_into_file: true file_write_period_ms: 100'
                echo 'data_sources { config { name: "org.example.count" } }'
                printf '%s\n' "${@:2}"
        } >"$1"
}

# recording NAME OPTIONS...: in the background, until it is one whose output is kept; its pid is in $client
recording() {
        local n
        n=$(grep -c -- '-o0' "$tmp/manager/stored")
        "$DESKTRACE" record --user -f -c "$1.pbtxt" "${@:2}" >"$1.said" 2>&1 &
        client=$!
        pids+=("$client")
        eventually has_outputs $((n + 1))
}
has_outputs() { [ "$(grep -c -- '-o0' "$tmp/manager/stored")" -ge "$1" ]; }

# stop_client: Ctrl-C; how it has ended is in $status
stop_client() {
        status=0
        kill -INT "$client"
        wait "$client" || status=$?
}
# Status 6 says that something is lost, as may be when a service is killed.
is_recorded() { [ "$status" = 0 ] || [ "$status" = 6 ]; }

says_what_is_lost() {
        local expected='"verdict":"none"'
        [ "$status" = 0 ] || expected='"verdict":"lost"'
        "$DESKTRACE" inspect --json=short "$1" | grep -q "$expected"
}

# n_looks N: "top" has seen slices of programs, or that there are none, in its Nth line or later
n_looks() { tail -n "+$1" top.lines | grep -q '"slices":\['; }

WHOLE='torn == 0 and increasing and n_texts > 100'

echo 'buffers { size_kb: 4096 } data_sources { config { name: "org.example.count" } }' >ring.pbtxt
session_bus
service "$SERVICE_MANAGER" "$tmp/manager" "$DESKTRACED" --user
producer count org.example.count counting

declare -A codecs=([plain]='' [zstd]='compression { zstd { level: 3 } }')
for kind in plain zstd; do
        file=$outputs/$kind.pftrace
        config "$kind.pbtxt" "${codecs[$kind]}"
        recording $kind -o "$file"
        ok "$kind: a recording's output is kept" is_stored '-o0'
        ok "$kind: it is written" grows "$file"
        for end in TERM KILL SEGV; do
                ok "$kind: the service ends by SIG$end, and is there again" ends $end
                ok "$kind: the file is written on" grows "$file"
        done
        stop_client
        ok "$kind: the command ends as ever" is_recorded
        ok "$kind: it has said each time that the service was away" \
                counts 'was away for .* the recording goes on' $kind.said 3
        ok "$kind: and that data is lost just where the file says so" says_what_is_lost "$file"
        ok "$kind: the file is whole" check "$file" "$WHOLE and stats >= 1"
        ok "$kind: nothing of it is kept any longer" eventually not is_stored .
done

config limited.pbtxt 'max_file_size_bytes: 60000'
recording limited -o "$outputs/limited.pftrace"
ok 'one with a limit is recorded' eventually is_larger "$outputs/limited.pftrace" 20000
ok 'the service is killed' ends KILL
wait "$client" || status=$?
ok 'it ends when its file is full' is_recorded
ok 'which is no larger than it may be' \
        check "$outputs/limited.pftrace" "$WHOLE and 20000 < size <= 60000 and stats >= 1"

"$DESKTRACE" record --user -c plain.pbtxt -o - 2>piped.said > >(cat >piped.pftrace) &
client=$!
pids+=("$client")
ok 'one into a pipe is kept' eventually is_stored '-o0'
ok 'the service is restarted' ends TERM
ok 'the command goes on' eventually counts 'the recording goes on' piped.said 1
ok 'the pipe is written on' grows piped.pftrace
stop_client
ok 'it ends as ever' is_recorded
ok 'what came out of it is whole' eventually check piped.pftrace "$WHOLE and stats >= 1"

"$DESKTRACE" record --user --ring -c ring.pbtxt -o ring.pftrace >ring.said 2>&1 &
client=$!
pids+=("$client")
ok 'a ring that belongs to a connection is kept' eventually is_stored '-c0'
ok 'the service is killed' ends KILL
ok 'the command goes on' eventually counts 'the recording goes on' ring.said 1
sleep 1
stop_client
ok 'the ring is written when it ends' is_recorded
ok 'with what was before and after' check ring.pftrace "$WHOLE"

"$DESKTRACE" record --user --flight-recorder --trigger seen -o "$tmp/taken.pftrace" org.example.count \
        >waiting.said 2>&1 &
client=$!
pids+=("$client")
ok 'a command that waits for a trigger is kept' eventually is_stored '-c0'
"$DESKTRACE" top --user --json=short -i 200ms >top.lines 2>/dev/null &
top=$!
pids+=("$top")
ok 'so is one that looks on' eventually n_looks 1
ok 'the service is killed' ends KILL
ok 'who waits goes on' eventually counts 'the recording goes on' waiting.said 1
ok 'the trigger comes after that' eventually "$DESKTRACE" trigger --user seen
ok 'and the snapshot is taken' eventually test -s "$tmp/taken-1.pftrace"
ok 'who looks on sees slices again' eventually n_looks $(($(wc -l <top.lines) + 1))
ok 'of the same session' test "$("$DESKTRACE" list sessions --user --no-legend | wc -l)" = 2
kill -INT "$top"
wait "$top"
stop_client
ok 'the one that waited ends as ever' is_recorded

# As a session that kills each process that takes it.
recording plain -o "$outputs/looping.pftrace"
ok 'one more is written' grows "$outputs/looping.pftrace"
says_where_it_is() {
        grep -aq "is lost, but for what is in its output $outputs/looping.pftrace: the processes before" "$tmp/log"
}
# Four, and more on a machine that is so slow that one of them does not count as soon.
kills_in_a_row() {
        for _ in {1..12}; do
                ends KILL
                says_where_it_is && return
        done
}
ok 'after a crash loop the log says where what was recorded is' kills_in_a_row
ok 'the command ends' eventually not kill -0 "$client"
ok 'what was written is whole' check "$outputs/looping.pftrace" 'increasing and n_texts > 0'
ok 'nothing of it is kept' eventually not is_stored .

recording plain -o "$outputs/left.pftrace"
kill -STOP "$(service_pid)"
kill -KILL "$client"
ok 'a service is killed together with the command that records' ends KILL
ok 'whose recording ends then' eventually not has_session .

# Into a pipe that nobody empties, and which has less room than what is read into it.
producer busy org.example.busy busy
sed s/org.example.count/org.example.busy/ ring.pbtxt >busy.pbtxt
mkfifo full
exec 9<>full
"$DESKTRACE" record --user --ring -n read -c busy.pbtxt -o - >full 2>read.said &
client=$!
pids+=("$client")
ok 'one more ring is recorded' eventually has_session MiB
"$DESKTRACE" snapshot --user -o - read >full 2>snapshot.said &
snapshot=$!
pids+=("$snapshot")
ok 'a snapshot of it is read' eventually has_session stopped
ok 'the service is killed' ends KILL
wait "$snapshot" && status=0 || status=$?
ok 'who reads it is told' test "$status" = 8
ok 'with what to do' grep -q 'The service stopped unexpectedly' snapshot.said
ok 'the ring itself goes on' eventually counts 'the recording goes on' read.said 1
kill -INT "$client"
ok 'it is read' eventually has_session stopped
ok 'the service is killed once more' ends KILL
wait "$client" && status=0 || status=$?
exec 9<&-
ok 'who reads it is told, too' test "$status" = 8
ok 'also what to do' grep -q 'The service stopped unexpectedly' read.said
finish
