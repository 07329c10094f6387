#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Producers that turn against the service what it has given them.
# The checks call functions by name.
# shellcheck disable=SC2317
# shellcheck source=tests/hostile/hostile-lib.sh
. "$(dirname "$0")/hostile-lib.sh"

attacker_calls() {
        "${attacker_as[@]}" timeout 20 busctl "${BUSCTL:---user}" call $BUS "$path" $SESSION "$@" >/dev/null 2>&1
}

attacked_service
innocent_records

for attack in bell doorbell; do
        attacker $attack org.example.$attack
        attacker_records "buffers { size_kb: 64 } data_sources { config { name: 'org.example.$attack' } }"
        ok "$attack: the attack was carried out" eventually grep -q attacked "$tmp/attacker"
        # Each flush and stop is a request in the producer's memory, which rings.
        for n in 1 2 3; do attacker_calls Flush u 100; done
        attacker_calls Stop
        innocent_is_unharmed $attack
        kill -KILL "$attacker"
        attack_is_over "$attack, and its producer is gone"
done
finish
