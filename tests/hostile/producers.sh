#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Producers that turn against the service what it has given them.
# The checks call functions by name.
# shellcheck disable=SC2317
# shellcheck source=tests/hostile/hostile-lib.sh
. "$(dirname "$0")/hostile-lib.sh"

session_bus
service "$DESKTRACED" --user
innocent_records

for attack in bell doorbell; do
        attacker $attack org.example.$attack
        start 3 detach b true duration-ms u 60000 config-text s "buffers { size_kb: 64 }
                data_sources { config { name: 'org.example.$attack' } }"
        ok "$attack: the attack was carried out" eventually grep -q attacked "$tmp/attacker"
        # Each flush and stop is a request in the producer's memory, which rings.
        for n in 1 2 3; do timeout 20 busctl --user call $BUS "$path" $SESSION Flush u 100 >/dev/null 2>&1; done
        timeout 20 busctl --user call $BUS "$path" $SESSION Stop >/dev/null 2>&1
        innocent_is_unharmed $attack
        kill -KILL "$attacker"
        innocent_is_unharmed "$attack, and its producer is gone"
done
finish
