#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Descriptors of TCP sockets that linger: who lets go of the last one waits, also where it was never received.
# The checks call functions by name.
# shellcheck disable=SC2317
# shellcheck source=tests/hostile/hostile-lib.sh
. "$(dirname "$0")/hostile-lib.sh"

# lingering WAY SOCKET N: passes them while the service is stopped; its pid is in $attacker
lingering() {
        : >"$tmp/attacker"
        "${attacker_as[@]}" /usr/bin/python3 -B "$tmp/attack/hostile/lingering.py" "$@" \
                >"$tmp/attacker" 2>>"$tmp/log" < <(
                        eventually grep -q ready "$tmp/attacker" && kill -STOP "$daemon" && echo
                ) &
        attacker=$!
        pids+=("$attacker")
        eventually grep -q attacked "$tmp/attacker"
        kill -CONT "$daemon"
        kill -USR2 "$innocent_caller"
        sleep 0.5
}

# is_attacked WAY SOCKET N
is_attacked() {
        lingering "$@"
        ok "$1, $3 times: they are passed" grep -q attacked "$tmp/attacker"
        innocent_is_unharmed "$1, $3 times"
        kill -KILL "$attacker"
}

# Where an attacker may read it.
mkdir -p "$tmp/attack/hostile" "$tmp/attack/integration"
cp "$(dirname "$0")"/{lingering,raw_bus}.py "$tmp/attack/hostile"
cp "$(dirname "$0")"/../integration/perfetto_{ipc,wire}.py "$tmp/attack/integration"

PERFETTO_PRODUCER_SOCK_NAME=$tmp/sockets/perfetto.sock attacked_service
innocent_records
for n in 1 20; do
        is_attacked perfetto "$tmp/sockets/perfetto.sock" $n
        for way in line message urgent unread; do
                is_attacked $way "$socket" $n
        done
        if [ "${TEST_BUS-}" = dbus-broker ]; then
                skip_check "bus, $n times: they are passed" 'dbus-broker has the last of each, and waits for it itself'
        else
                is_attacked bus "${bus_socket-$tmp/${innocent_bus/user/session}.sock}" $n
        fi
done
attack_is_over "lingering sockets"
ok "the native socket answers again" eventually /usr/bin/python3 -B "$(dirname "$0")/raw_bus.py" hello "$socket"
finish
