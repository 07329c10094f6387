#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Memory of the service on its native socket: messages without end, and replies that nobody reads.
# The checks call functions by name.
# shellcheck disable=SC2317
# shellcheck source=tests/hostile/hostile-lib.sh
. "$(dirname "$0")/hostile-lib.sh"

# Of one user 32 MiB may wait before sd-bus, and each connection has something in it as well.
held_mib_max=160

raw() { /usr/bin/python3 -B "$(dirname "$0")/raw_bus.py" "$@"; }

# floods VERB ARGUMENT...: until nothing more is taken; its pid is in $attacker
floods() {
        : >"$tmp/attacker"
        "${attacker_as[@]}" /usr/bin/python3 -B "$tmp/caller/raw_bus.py" "$1" "$socket" "${@:2}" \
                >"$tmp/attacker" 2>>"$tmp/log" &
        attacker=$!
        pids+=("$attacker")
        eventually eventually grep -q attacked "$tmp/attacker"
}

attacked_service
ok "the native socket answers" raw hello "$socket"
innocent_records

for attack in "unfinished 20 60" "unread 20 100"; do
        # shellcheck disable=SC2086
        floods $attack
        ok "$attack: the attack was carried out" grep -q attacked "$tmp/attacker"
        memory_is "$attack: it takes little memory" has_at_most $((memory_before + held_mib_max))
        innocent_is_unharmed "$attack"
        kill -KILL "$attacker"
        attack_is_over "$attack, and the attacker is gone"
        ok "$attack: the native socket answers again" raw hello "$socket"
done
finish
