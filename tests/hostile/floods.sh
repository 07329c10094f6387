#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Floods: match rules by the ten thousand, and signals for connections that do not read.
# The checks call functions by name.
# shellcheck disable=SC2317
# shellcheck source=tests/hostile/hostile-lib.sh
. "$(dirname "$0")/hostile-lib.sh"

attacked_service
innocent_records
cp "$(dirname "$0")/flood.py" "$tmp/caller"
bus_socket=$tmp/${innocent_bus/user/session}.sock

# flood NAME VERB bus|native SOCKET ARGUMENT...
flood() {
        : >"$tmp/attacker"
        "${attacker_as[@]}" /usr/bin/python3 -B "$tmp/caller/flood.py" "${@:2}" >"$tmp/attacker" 2>>"$tmp/log" &
        attacker=$!
        pids+=("$attacker")
        ok "$1: the flood is on" eventually eventually grep -q attacked "$tmp/attacker"
        sleep 1
        innocent_is_unharmed "$1"
        kill -KILL "$attacker"
        attack_is_over "$1, and it is over"
}

# As long as a user's own data sources make it.
list_bytes() { "${attacker_as[@]}" busctl "${BUSCTL:---user}" call $BUS $ROOT $MANAGER ListSources | wc -c; }
is_long() { [ "$(list_bytes)" -gt 900000 ]; }
started "${attacker_as[@]}" /usr/bin/python3 -B "$tmp/caller/raw_bus.py" register "$bus_socket"
ok "who sends no flood gets a long reply, and all of it" eventually is_long
kill -KILL "$started"

flood "match rules on the bus" matches bus "$bus_socket" 40 500
flood "match rules on the native socket" matches native "$socket" 40 2000
flood "signals on the bus that nobody reads" listeners bus "$bus_socket" 40
flood "signals on the native socket that nobody reads" listeners native "$socket" 40
flood "calls on the bus" calls bus "$bus_socket" 20
flood "calls on the native socket" calls native "$socket" 20
flood "calls with long replies on the bus" long-calls bus "$bus_socket" 20
flood "calls with long replies on the native socket" long-calls native "$socket" 20
# The bus says whose calls these are behind all of them, as the service stands still until they are there.
: >"$tmp/attacker"
kill -STOP "$daemon"
"${attacker_as[@]}" /usr/bin/python3 -B "$tmp/caller/flood.py" strangers bus "$bus_socket" 40 120 \
        >"$tmp/attacker" 2>>"$tmp/log" &
attacker=$!
pids+=("$attacker")
eventually grep -q attacked "$tmp/attacker"
kill -CONT "$daemon"
kill -USR2 "$innocent_caller"
ok "calls of new connections are answered" eventually eventually grep -q answered "$tmp/attacker"
# An ordinary user attacks himself: the innocent call may wait beside these, past TURNS_CALLS_PER_USER_MAX.
others='displaced 0 answered 4095'
[ "$(id -u)" = 0 ] || others="($others|displaced 1 answered 4094)"
gives "those past BUS_UNKNOWN_MESSAGES_MAX with a refusal, and no others" "^refused 705 $others late " \
        tail -n 1 "$tmp/attacker"
gives "the one call of the connection that came last is not among these" 'late answered$' tail -n 1 "$tmp/attacker"
kill -KILL "$attacker"
attack_is_over "calls of new connections"
# One connection of these: BUS_UNKNOWN_MESSAGES_OF_ONE_MAX.
for n in 127 128; do
        : >"$tmp/attacker"
        kill -STOP "$daemon"
        "${attacker_as[@]}" /usr/bin/python3 -B "$tmp/caller/flood.py" stranger bus "$bus_socket" $n \
                >"$tmp/attacker" 2>>"$tmp/log" &
        attacker=$!
        pids+=("$attacker")
        eventually grep -q attacked "$tmp/attacker"
        kill -CONT "$daemon"
        kill -USR2 "$innocent_caller"
        expected=$([ $n -lt 128 ] && echo answered || echo refused)
        ok "one new connection, its call after $n others: it is $expected" \
                eventually eventually grep -qx $expected "$tmp/attacker"
        kill -KILL "$attacker"
done
attack_is_over "calls of one new connection"
ok "the native socket answers again" eventually /usr/bin/python3 -B "$(dirname "$0")/raw_bus.py" hello "$socket"
finish
