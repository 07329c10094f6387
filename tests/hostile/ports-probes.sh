#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Points 6 and 8 on Perfetto's sockets: who may record the system wants to read the memory of others as well; and who
# may not have a source of the system's offers one of its name.
# The checks call functions by name.
# shellcheck disable=SC2317,SC2154
# shellcheck source=tests/hostile/hostile-lib.sh
. "$(dirname "$0")/hostile-lib.sh"

[ "$(id -u)" = 0 ] || skip_all "needs root, to be several users"

cat >"$tmp/producers.d/kernel.conf" <<'CONF'
[Producer]
Name=kernel
DataSources=linux.ftrace;
BusName=org.example.Nobody
CONF
wants() { as $bob timeout 60 /usr/bin/python3 -B "$attacks/perfetto-attacks.py" probe "$consumer_socket" "$1"; }
asked() { grep -qF -- "$1" "$questions"; }

attacked_ports
innocent_records
gives "probes: the system is not recorded without a permission" 'trace-system' wants ftrace
answer trace-system yes
for kind in kprobe uprobe; do
        gives "probes: nor is anything read by a $kind with that permission" 'trace-dynamic' wants $kind
done
ok "probes: polkit is told each in full" asked ' probes=uprobe entry /bin/sh symbol=main with secret=+0(%di):ustring'
ok "probes: the one of the kernel, too" asked 'kprobe entry vfs_read'
offered() { call_as root $ROOT $MANAGER ListSources; }
attacks_port pretend "$producer_socket" linux.ftrace
ok "probes: a program offers what is the system's" eventually grep -q attacked "$tmp/attacker"
gives "probes: and one of its own, which is listed" '"org.example.mine" 1' offered
gives "probes: the other is not" '"linux.ftrace" 0' offered
# It never answers what it is asked.
asks() { as $bob timeout 60 /usr/bin/python3 -B "$attacks/perfetto-attacks.py" "$@"; }
attacker_records "buffers { size_kb: 64 } data_sources { config { name: 'org.example.mine' } }"
# BUS_REQUESTS_PER_CLIENT_MAX
gives "calls that wait for a program: more than 64 of one connection are refused" '^refused' \
        asks flushes "$socket" "$path" 65
gives "triggers: as many as one call may send" '^done' asks triggers "$producer_socket" 64
fails "triggers: are taken" '^$' grep PRODUCER_TRIGGERS_MAX "$tmp/log"
gives "triggers: one more" '^done' asks triggers "$producer_socket" 65
ok "triggers: is refused with its limit" eventually grep -q PRODUCER_TRIGGERS_MAX "$tmp/log"
kill -KILL "$attacker"
attack_is_over "probes over Perfetto's sockets"
finish
