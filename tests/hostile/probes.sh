#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Point 6: somebody who may record the system, as the example rule lets him, and now wants to read the memory of others.
# The checks call functions by name.
# shellcheck disable=SC2317
# shellcheck source=tests/hostile/hostile-lib.sh
. "$(dirname "$0")/hostile-lib.sh"

[ "$(id -u)" = 0 ] || skip_all "needs root, to be several users"

asked() { grep -qF -- "$1" "$questions"; }
# attack FTRACE_CONFIG
attack() {
        named_as "$bob" StartSession "{'config-text': <'buffers { size_kb: 64 }
                data_sources { config { name: \"linux.ftrace\" ftrace_config { $1 } } } duration_ms: 1000'>}"
}

cat >"$tmp/producers.d/kernel.conf" <<'CONF'
[Producer]
Name=kernel
DataSources=linux.ftrace;
BusName=org.example.Nobody
CONF
two_users
answer trace-system yes
innocent_records

DENIED='NotAuthorized.*org\.desktrace\.tracing1\.trace-dynamic'
fails "strings of other users' programs are not to be read with trace-system" "$DENIED" \
        attack 'uprobe_events { path: "/bin/sh" symbol: "main" args: "secret=+0(%di):ustring" }'
ok "polkit is told each probe" asked 'trace-dynamic flags=0 sources=linux.ftrace duration-ms=1000 session='
ok "in full" asked ' probes=uprobe entry /bin/sh symbol=main with secret=+0(%di):ustring'
fails "nor is the kernel's memory" "$DENIED" \
        attack 'kprobe_events { probe: "vfs_read" args: "secret=+0(@jiffies):u64" }'
fails "nor may root's programs be stopped in the middle of an instruction" "$DENIED" \
        attack 'uprobe_events { path: "/bin/su" offset: 4097 }'
fails "nor the memory that events point to be asked about" "$DENIED" \
        attack 'ftrace_events: "syscalls/sys_enter_openat" event_filters { event: "syscalls/sys_enter_openat"
                filter: "filename.ustring ~ \\"/root/*\\"" }'
ok "each of them was asked about" test "$(grep -c trace-dynamic "$questions")" = 4
fails "what a person could not be shown is not asked about" 'LimitExceeded.*polkit' \
        attack "$(for n in {1..100}; do printf 'kprobe_events { probe: "f" args: "x=%%di:%0200d" } ' "$n"; done)"
attack_is_over "probes of one's own"
finish
