#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Point 12: a producer's count of lost packets lies in memory that it writes to, and is no more than its word.
# The checks call functions by name.
# shellcheck disable=SC2317
# shellcheck source=tests/hostile/hostile-lib.sh
. "$(dirname "$0")/hostile-lib.sh"

packets_lost() {
        property "$path" PacketsLost | cut -d' ' -f2
}

# 200 million for each second that this test can take: PRODUCER_DROPS_PER_SECOND_MAX.
loses_what_it_can() {
        [ "$(packets_lost)" -gt 0 ] && [ "$(packets_lost)" -lt 24000000000 ]
}

attacked_service
innocent_records

attacker losses org.example.losses
attacker_records "buffers { size_kb: 64 } data_sources { config { name: 'org.example.losses' } }"
ok "the attack was carried out" eventually grep -q attacked "$tmp/attacker"
ok "no more is believed than it can have lost" eventually loses_what_it_can
innocent_is_unharmed "forged losses"
session "$path" Stop >/dev/null
session "$path" Read u 16777216 | bytes >"$tmp/losses.pftrace"
ok "the trace says that it is the producer's word" counts 'it says it lost [0-9]* packets' "$tmp/losses.pftrace" 1
kill -KILL "$attacker"
attack_is_over "forged losses, and their producer is gone"
finish
