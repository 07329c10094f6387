#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Points 1, 12 and 14 on Perfetto's sockets: who makes those wait that write to him, who forges losses, and who has so
# many writers that their tables are larger than what they write.
# The checks call functions by name.
# shellcheck disable=SC2317
# shellcheck source=tests/hostile/hostile-lib.sh
. "$(dirname "$0")/hostile-lib.sh"

says() { grep -q "$1" "$tmp/attacker"; }
attacker_calls() {
        "${attacker_as[@]}" timeout 20 busctl "${BUSCTL:---user}" call $BUS "$path" $SESSION "$@" >/dev/null 2>&1
}
packets_lost() { property "$path" PacketsLost | cut -d' ' -f2; }
chunks_lost() { property "$path" ChunksLost | cut -d' ' -f2; }
# Five chunks with three packets each were sent.
loses_what_it_sent() { [ "$(packets_lost)" -le 15 ] && [ "$(chunks_lost)" -le 5 ]; }
# Of the trace: the field previous_packet_dropped, and the number that is forged.
has_bytes() { LC_ALL=C grep -qaP "$1" "$tmp/losses.pftrace"; }
has_none() { ! has_bytes "$1"; }
has_written() { [ "$(property "$path" BytesWritten | cut -d' ' -f2)" -gt 0 ]; }

attacked_ports
innocent_records

attacks_port deaf "$producer_socket" org.example.deaf
ok "deaf: a producer that will read nothing registers" eventually says ready
attacker_records "buffers { size_kb: 64 } data_sources { config { name: 'org.example.deaf' } }"
ok "deaf: the attack was carried out" eventually says attacked
for n in 1 2 3; do attacker_calls Flush u 100; done
attacker_calls Stop
innocent_is_unharmed "a deaf producer"
kill -KILL "$attacker"
attack_is_over "a deaf producer, and it is gone"

attacks_port deaf-consumer "$consumer_socket"
ok "deaf: the attack of a consumer was carried out" eventually says attacked
innocent_is_unharmed "a deaf consumer"
kill -KILL "$attacker"
attack_is_over "a deaf consumer, and it is gone"

attacks_port losses "$producer_socket" org.example.losses
ok "losses: a producer that will forge them registers" eventually says ready
attacker_records "buffers { size_kb: 64 } data_sources { config { name: 'org.example.losses' } }"
ok "losses: the attack was carried out" eventually says attacked
ok "losses: its chunks are in the recording" eventually has_written
ok "losses: no more is believed than it has sent" loses_what_it_sent
innocent_is_unharmed "forged losses"
session "$path" Stop >/dev/null
session "$path" Read u 16777216 | bytes >"$tmp/losses.pftrace"
ok "losses: the trace says that something was lost" has_bytes '\xd0\x02\x01'
ok "losses: but does not have the forged numbers" has_none '\xff{8}\x7f'
kill -KILL "$attacker"
attack_is_over "forged losses, and their producer is gone"

# A table of the session has them. A buffer of 64 KiB has TRACE_BUFFER_SEQUENCES_MIN of them at a time.
attacks_port writers "$producer_socket" org.example.writers
ok "writers: a producer that will have all numbers of them registers" eventually says ready
attacker_records "buffers { size_kb: 64 } data_sources { config { name: 'org.example.writers' } }"
ok "writers: the attack was carried out" eventually eventually says attacked
ok "writers: their chunks are in the recording" eventually has_written
memory_is "writers: they take little memory" has_at_most $((memory_before + left_mib_max))
innocent_is_unharmed "very many writers"
kill -KILL "$attacker"
attack_is_over "very many writers, and their producer is gone"
finish
