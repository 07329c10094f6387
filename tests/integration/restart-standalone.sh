#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A recording with a service of its own goes on when that is killed: the command line keeps what it leaves.
# The checks call functions by name.
# shellcheck disable=SC2317
# shellcheck source=tests/integration/cli-lib.sh
. "$(dirname "$0")/cli-lib.sh"

is_in_order() { /usr/bin/python3 -B "$(dirname "$TRACE_CHECK")/restart-check.py" "$@"; }
not() { ! "$@"; }
is_larger() { [ "$(stat -c %s "$1" 2>/dev/null || echo 0)" -gt "$2" ]; }
# grows FILE: it is written on
grows() { eventually is_larger "$1" "$(stat -c %s "$1" 2>/dev/null || echo 0)"; }

# begins FILE: there is more in it than the service's own packets
begins() { eventually is_larger "$1" 10000; }

# recording NAME OPTIONS...: of a program that counts, in the background; the command's pid is in $client
recording() {
        "$DESKTRACE" record --standalone "${@:2}" -- "$TEST_PRODUCER" count org.example.count counting \
                >"$1.said" 2>&1 &
        client=$!
        pids+=("$client")
}
service_pid() { pgrep -P "$client" -x desktraced; }
has_other_service() {
        local pid
        pid=$(service_pid) && [ "$pid" != "$1" ]
}
# kills: the service, until the next one is there
kills() {
        local pid
        pid=$(service_pid) && kill -KILL "$pid" && eventually has_other_service "$pid"
}
# stop_client: Ctrl-C; how it has ended is in $status
stop_client() {
        status=0
        kill -INT "$client"
        wait "$client" || status=$?
}
says_so() { [ "$(grep -c 'was away for .* the recording goes on' "$1.said")" -ge "$2" ]; }

# The probes serve a service of root's only.
STATS=
if [ "$(id -u)" = 0 ] && [ -x "$DESKTRACE_PROBES" ]; then
        STATS='data_sources { config { name: "linux.sys_stats" sys_stats_config { meminfo_period_ms: 50 } } }'
fi
BUFFER='buffers { size_kb: 4096 } data_sources { config { name: "org.example.count" } }'
echo "$BUFFER write_into_file: true file_write_period_ms: 100" >file.pbtxt
echo "$(cat file.pbtxt) $STATS" >more.pbtxt

recording file -c more.pbtxt -o file.pftrace
ok 'a file is written' begins file.pftrace
ok 'and goes on when the service is killed' kills
ok 'which the command says' eventually says_so file 1
ok 'it is written on' grows file.pftrace
ok 'the service is killed once more' kills
ok 'the command says it again' eventually says_so file 2
ok 'the file is written on' grows file.pftrace
stop_client
ok 'the command ends as ever' test "$status" = 0
ok 'what its program has written is there, once and in its order' is_in_order file.pftrace count
PROBES='so are the figures of the probes, which have stayed'
if [ -n "$STATS" ]; then
        ok "$PROBES" is_in_order --field=7 file.pftrace
else
        skip_check "$PROBES" 'needs root, and the probes'
fi
ok 'nobody else says more' not grep -q '^desktraced:' file.said

recording told -c file.pbtxt -o told.pftrace
ok 'another one is written' begins told.pftrace
has_ended() { ! kill -0 "$client" 2>/dev/null; }
ok 'its service is told to end' kill -TERM "$(service_pid)"
ok 'so the recording ends' eventually has_ended
ok 'in order' holds told.pftrace 't["end"] == "complete"'

recording flight --flight-recorder --trigger seen -o flight org.example.count
socket() { sed -n 's/^ *DESKTRACE_SOCKET=\([^ ]*\) .*/\1/p' flight.said; }
is_waiting() { [ -S "$(socket)" ] && pgrep -P "$client" -x test-producer >/dev/null; }
ok 'a flight recorder runs' eventually is_waiting
sleep 0.5
ok 'its service is killed' kills
ok 'the command says that it goes on' eventually says_so flight 1
sleep 0.5
ok 'a trigger comes' env DESKTRACE_SOCKET="$(socket)" "$DESKTRACE" trigger seen
ok 'and the snapshot is written' eventually grep -q '^Trigger seen' flight.said
stop_client
ok 'the command ends as ever' test "$status" = 0
ok 'the snapshot has what was before and after' is_in_order flight-1.pftrace count
ok 'and says when the service was away' \
        holds flight-1.pftrace '"the service was away" in json.dumps(t)'

# As a recording that kills each process that takes it.
recording loop -c file.pbtxt -o loop.pftrace
ok 'one more file is written' begins loop.pftrace
has_ended_or_says() { has_ended || says_so loop "$1"; }
# Each time when the process has taken it.
kills_until_it_ends() {
        local n pid
        for n in {1..12}; do
                ! pid=$(service_pid) || kill -KILL "$pid"
                eventually has_ended_or_says "$n" || return
                ! has_ended || return 0
        done
        return 1
}
ok 'its service is killed again and again' kills_until_it_ends
status=0
wait "$client" || status=$?
ok 'then the command ends' test "$status" = 8
ok 'and says why' grep -q 'its next process could not continue the recording' loop.said
ok 'and where the recording is' grep -q 'in loop.pftrace' loop.said
ok 'what was written is whole' is_in_order loop.pftrace count

ok 'nothing is left in the temporary directory' nothing_is_left_in "$TMPDIR"
recording alone -c file.pbtxt -o alone.pftrace
ok 'the last one is written' begins alone.pftrace
kill -KILL "$client"
ok 'when its command is killed, the file is written to its end' \
        eventually holds alone.pftrace 't["end"] == "complete"'
ok 'with what there was until then' is_in_order alone.pftrace count
finish
