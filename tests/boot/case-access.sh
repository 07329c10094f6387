#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Kernel events need polkit; the sessions of others do not exist; names of the system cannot be taken.
. ./lib.sh
shorten_idle_times
DENIED='org\.desktrace\.tracing1\.trace-system'

fails 'kernel events are refused, and the action is named' "$DENIED" \
        as alice busctl call $BUS $ROOT $MANAGER StartSession 'a{sv}' 1 events as 1 sched/sched_switch
fails 'so they are to the command line' "$DENIED" \
        as alice desktrace record -t 100ms -o /home/alice/no.pftrace sched/sched_switch
fails 'the refusal has its name' 'Error\.NotAuthorized' as alice gdbus call --system --interactive \
        --dest $BUS --object-path $ROOT --method $MANAGER.StartSession "{'events': <['sched/sched_switch']>}"
fails 'another one when nobody may be asked' 'Error\.AuthorizationNeeded' as alice gdbus call --system \
        --dest $BUS --object-path $ROOT --method $MANAGER.StartSession "{'events': <['sched/sched_switch']>}"
fails 'the probes are not started by who may not use them' '^inactive$' \
        sh -c 'systemctl is-active desktrace-probes.service'
ok 'no file is left' test ! -e /home/alice/no.pftrace

allow alice org.desktrace.tracing1.trace-system
ok 'a rule allows them' as alice desktrace record -t 1s -o /home/alice/sched.pftrace sched/sched_switch -- \
        sh -c 'systemctl show -P MainPID desktrace-probes.service >~/probes; sleep 0.3'
probes=$(cat /home/alice/probes)
ok 'kernel events are really in the trace' is_true /home/alice/sched.pftrace 'd["kernel_events_total"] > 10'
probing() { # FTRACE_CONFIG
        echo "buffers { size_kb: 64 } duration_ms: 100
                data_sources { config { name: \"linux.ftrace\" ftrace_config { $1 } } }" >/tmp/probing.pbtxt
        as alice desktrace record -c /tmp/probing.pbtxt -o /home/alice/no.pftrace
}
fails 'but no probes into the memory of others' 'org\.desktrace\.tracing1\.trace-dynamic' \
        probing 'uprobe_events { path: "/bin/su" symbol: "main" args: "x=+0(%si):ustring" }'
fails 'nor into the kernel' 'org\.desktrace\.tracing1\.trace-dynamic' probing 'kprobe_events { probe: "vfs_read" }'
ok 'the rule is for one user only' not as bob desktrace record -t 100ms -o /home/bob/no.pftrace sched/sched_switch

session=$(start alice 4 sources as 1 track_event duration-ms u 60000 detach b true name s mine)
ok 'a user sees the own session' sh -c "busctl call $BUS $ROOT $MANAGER ListSessions | grep -q '$session'"
sessions_of_bob() { as bob busctl --json=short call $BUS $ROOT $MANAGER ListSessions | json 'd["data"][0]'; }
ok 'another user does not' test "$(sessions_of_bob)" = '[]'
fails 'nor by name' 'No such|no session|NoSuchSession' as bob busctl call $BUS $ROOT $MANAGER GetSession s mine
fails 'nor by number' 'No such|no session|NoSuchSession' \
        as bob busctl call $BUS $ROOT $MANAGER GetSession s "${session##*/}"
fails 'another user cannot stop it' . as bob busctl call $BUS "$session" $BUS.Session Stop
fails 'nor read it' . as bob busctl call $BUS "$session" $BUS.Session Read u 0
fails 'nor see what it is' . as bob busctl get-property $BUS "$session" $BUS.Session OwnerUID
ok 'it still runs' is_in_state alice "$session" started
ok 'root may stop it' busctl call $BUS "$session" $BUS.Session Stop
ok 'its owner can free it' as alice busctl call $BUS "$session" $BUS.Session Free

fails 'no user can pose as the kernel' 'reserved|linux' \
        as alice busctl call $BUS $ROOT $MANAGER RegisterProducer 'sa(sa{sv})a{sv}' fake 1 linux.ftrace 0 0
ok 'service and probes are gone when idle' within 20 is_gone desktraced.service
ok 'the probes are gone, too' within 20 is_gone desktrace-probes.service
ok 'no instance of tracefs is left' not has_instances "$probes"
ok 'the journal has no complaint' complaints
finish
