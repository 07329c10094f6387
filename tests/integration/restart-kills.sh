#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The service is killed at random moments, again and again, under programs that count, one with Perfetto's SDK, the
# probes, a file, a compressed one, one that Perfetto's client has left, and a flight recorder: nothing is anywhere
# twice, and everything in its order. $KILLS: how often; more than a few tens are for scripts/kill-service. $RECORDINGS:
# where these are left, or nowhere.
# The checks call functions by name.
# shellcheck disable=SC2317
# shellcheck source=tests/integration/restart-lib.sh
. "$(dirname "$0")/restart-lib.sh"

KILLS=${KILLS:-12}
PROGRAMS=4
SYS_STATS='data_sources { config { name: "linux.sys_stats" sys_stats_config { meminfo_period_ms: 50 } } }'
# The probes serve a service of root's only.
HAS_PROBES=
if [ "$(id -u)" = 0 ] && [ -x "$DESKTRACE_PROBES" ]; then HAS_PROBES=y; fi
programs=()
# is_in_order FILE
restart_check() { /usr/bin/python3 -B "$(dirname "$TRACE_CHECK")/restart-check.py" "$@"; }
is_in_order() { restart_check --gaps "$@" "${programs[@]}"; }
# has_order FILE: that, and what comes from the SDK, and from the probes
has_order() { is_in_order --streamed --field=11 ${HAS_PROBES:+--field=7} "$1"; }
n_are_stored() { [ "$(grep -c -- "-$1\$" "$tmp/manager/stored")" -ge "$2" ]; }

# pause: at most a quarter of a second, from the nanoseconds of the clock: each run has other moments
pause() { sleep "0.$(printf %03d $(($(date +%-N) / 1000 % 250)))"; }

# kill_again N: N times. Three processes in a row that end soon are taken for the fault of what they have taken over,
# so every third one is told to end.
kill_again() {
        local n
        for ((n = 1; n <= $1; n++)); do
                pause
                ends KILL || return
                ((n % 2)) || { pause && ends TERM; } || return
        done
}

# recording NAME TEXT...: a config with that, and the command that records it in the background
recording() {
        local n
        {
                echo 'buffers { size_kb: 16384 }'
                echo 'write_into_file: true file_write_period_ms: 100'
                for n in $(seq $PROGRAMS); do echo "data_sources { config { name: \"org.example.count$n\" } }"; done
                echo 'data_sources { config { name: "track_event" } }'
                [ -z "$HAS_PROBES" ] || echo "$SYS_STATS"
                printf '%s\n' "${@:2}"
        } >"$1.pbtxt"
        "$DESKTRACE" record --user -q -f -c "$1.pbtxt" -o "$outputs/$1.pftrace" 2>"$1.said" &
        clients+=("$!")
        pids+=("$!")
}

session_bus
producers=$tmp/producer.sock consumers=$tmp/consumer.sock
service "$SERVICE_MANAGER" --listen="perfetto-producer:$producers" --listen="perfetto-consumer:$consumers" \
        "$tmp/manager" "$DESKTRACED" --user
started "$PERFETTO_PRODUCER" "$producers" sdk
# They look for the system's service, which this bus has for them.
[ -z "$HAS_PROBES" ] ||
        DBUS_SYSTEM_BUS_ADDRESS=$DBUS_SESSION_BUS_ADDRESS started "$DESKTRACE_PROBES" --system --trust-service
for n in $(seq $PROGRAMS); do
        producer "count$n" "org.example.count$n" counting
        programs+=("count$n")
done
ok 'the SDK is there' eventually has_producer sdk
PROBES='so are the probes'
if [ -n "$HAS_PROBES" ]; then
        ok "$PROBES" eventually has_producer desktrace-probes
else
        skip_check "$PROBES" 'needs root, and the probes'
fi
clients=()
recording plain
recording zstd 'compression { zstd { level: 3 } }'
sed '/write_into_file/d' plain.pbtxt >ring.pbtxt
echo 'duration_ms: 3600000' >>ring.pbtxt # or it would need polkit
"$DESKTRACE" record --user -q --detach -n ring -c ring.pbtxt >/dev/null # its number
consume() { timeout 30 /usr/bin/python3 -B "$(dirname "$0")/perfetto_consumer.py" "$consumers" "$@"; }
: >"$outputs/left.pftrace"
ok 'one is left by a client of Perfetto' \
        test "$(consume leave-into org.example.count1 left 3600000 3>"$outputs/left.pftrace")" = left
ok 'recordings are kept' eventually n_are_stored c0 4
ok "the service is killed $KILLS times, and is there again each time" kill_again "$KILLS"
"$DESKTRACE" snapshot --user -q -f -o ring.pftrace ring
ok 'a ring has what each program has counted, once and in its order' is_in_order ring.pftrace
ok 'what was left can be attached to' test "$(consume fetch left 3>/dev/null)" = attached
for n in 0 1; do
        status=0
        kill -INT "${clients[$n]}"
        wait "${clients[$n]}" || status=$?
        ok "recording $n has ended as ever, or says that something is lost" grep -qx '[06]' <<<"$status"
done
for name in plain zstd; do
        ok "$name: the file has what each program, the SDK and the probes have written, once and in its order" \
                has_order "$outputs/$name.pftrace"
        ok "$name: nothing in it is damaged" holds "$outputs/$name.pftrace" 't["end"] == "complete"'
done
programs=(count1)
ok 'left: it has what its program has counted, once and in its order' \
        eventually is_in_order --streamed "$outputs/left.pftrace"
[ -z "${RECORDINGS-}" ] || cp ring.pftrace "$outputs"/*.pftrace "$RECORDINGS"
finish
