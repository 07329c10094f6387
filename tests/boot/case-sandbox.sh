#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The units' sandboxes are as tight as promised, and really on in the running processes.
. ./lib.sh

status_of() { sed -n "s/^$2:\t*//p" "/proc/$1/status"; }
namespace_of() { readlink "/proc/$1/ns/$2"; }
inside() { nsenter -t "$1" -m -- "${@:2}"; }

# check_process NAME PID
check_process() {
        local name=$1 pid=$2

        ok "$name: a system call filter is on" test "$(status_of "$pid" Seccomp)" = 2
        ok "$name: it cannot gain privileges" test "$(status_of "$pid" NoNewPrivs)" = 1
        ok "$name: it has a network of its own" test "$(namespace_of "$pid" net)" != "$(namespace_of 1 net)"
        ok "$name: with no interface but loopback" test "$(sed 1,2d "/proc/$pid/net/dev" | grep -vc '^ *lo:')" = 0
        ok "$name: it has mounts of its own" test "$(namespace_of "$pid" mnt)" != "$(namespace_of 1 mnt)"
        fails "$name: the system is read-only" 'Read-only' inside "$pid" touch /usr/x
        fails "$name: so is /etc" 'Read-only' inside "$pid" touch /etc/x
        ok "$name: homes are out of sight" test -z "$(inside "$pid" ls -A /home)"
}

ok 'desktraced.service is exposed to 1.5 at most' systemd-analyze security --threshold=15 desktraced.service
ok 'desktrace-probes.service is exposed to 2.0 at most' systemd-analyze security --threshold=20 desktrace-probes.service

# Both run while root records.
desktrace record -t 30s -o /tmp/sandbox.pftrace sched/sched_switch >/dev/null 2>&1 &
recorder=$!
ok 'the service runs' within 10 is_active desktraced.service
ok 'the probes run' within 10 is_active desktrace-probes.service
service=$(main_pid desktraced.service)
probes=$(main_pid desktrace-probes.service)

check_process desktraced "$service"
ok 'desktraced: it has no capability' test "$(status_of "$service" CapEff)" = 0000000000000000
ok 'desktraced: nor can get one' test "$(status_of "$service" CapBnd)" = 0000000000000000
ok 'desktraced: it is not root' test "$(stat -c %U "/proc/$service")" != root

check_process desktrace-probes "$probes"
ok 'desktrace-probes: it has only the capabilities that its unit names' \
        test "$(status_of "$probes" CapBnd)" = "$(unit_capabilities desktrace-probes.service)"

sessions() { busctl call $BUS $ROOT $MANAGER ListSessions; }
is_recording() { sessions | grep -q '"started"'; }
ok 'the session records' within 10 is_recording
for _ in $(seq 20); do sleep 0.01; done # something to switch to
kill -TERM $recorder
wait $recorder
ok 'what was recorded from within the sandboxes is there' is_true /tmp/sandbox.pftrace 'd["kernel_events_total"] > 10'

desktrace record -o /tmp/sources.pftrace linux.systemd_journald linux.system_info -- \
        sh -c 'echo sa""id | systemd-cat -t sandbox; sleep 0.5' >/dev/null 2>&1
ok 'the journal is read from within the sandbox' grep -aq said /tmp/sources.pftrace
ok 'so is what the processors are' is_true /tmp/sources.pftrace \
        '[s for s in d["sources"] if s["kind"] == "cpu_info"]'

ok 'and which boot it was, which only the unit knows' \
        grep -aq "$(tr -d - </proc/sys/kernel/random/boot_id)" /tmp/sources.pftrace

# Call stacks: perf_event_open(), and the files that processes have mapped, from within the sandbox.
if /usr/libexec/desktrace-probes --list-sources | sed -n '/^linux.perf/,/^[^ ]/p' | grep -q 'available *yes'; then
        desktrace record -p cpu -o /tmp/stacks.pftrace -- sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done
                pid=$(systemctl show -p MainPID --value desktrace-probes.service)
                cat /proc/$pid/stat >/tmp/probes.stat; cat /proc/$pid/limits >/tmp/probes.limits' >/tmp/stacks.out 2>&1
        ok 'the probes run meanwhile' grep -q '^Max nice priority' /tmp/probes.limits
        if grep -q '^Max nice priority *30' /tmp/probes.limits; then
                ok 'what samples has precedence over what is sampled' \
                        test "$(sed 's/.*) //' /tmp/probes.stat | cut -d' ' -f17)" = -10
        else
                skip_check 'what samples has precedence' 'this systemd may not raise the limit (LimitNICE=)'
        fi
        # A busy machine may lose some, and says so.
        ok 'call stacks are recorded from within the sandbox' grep -q '^Recorded' /tmp/stacks.out
        ok 'with the files that programs have mapped' grep -aq '/libc.so' /tmp/stacks.pftrace
        ok 'and the names of the kernel' grep -aq 'asm_sysvec\|entry_SYSCALL\|do_syscall' /tmp/stacks.pftrace
fi

# The probes' own network has only a loopback over which nothing goes, and so no track.
cat >/tmp/counters.pbtxt <<END
buffers { size_kb: 4096 }
data_sources { config { name: "linux.sys_stats" sys_stats_config {
  netdev_period_ms: 50 slab_period_ms: 50 block_queue_period_ms: 50 stat_period_ms: 50
} } }
data_sources { config { name: "linux.process_stats" process_stats_config {
  scan_all_processes_on_start: true
} } }
END
desktrace record -c /tmp/counters.pbtxt -o /tmp/counters.pftrace -- \
        bash -c 'for _ in 1 2 3; do (: </dev/tcp/127.0.0.1/9) 2>/dev/null; sleep 0.1; done' >/tmp/counters.log 2>&1
ok "the machine's network is seen from within the sandbox" grep -aq 'lo received bytes' /tmp/counters.pftrace
ok "so are the kernel's caches" grep -aq 'kmalloc-' /tmp/counters.pftrace
ok 'and the queues of block devices' grep -aq 'reads in flight' /tmp/counters.pftrace
ok 'the processes say which services they belong to' is_true /tmp/counters.pftrace \
        '{"init.scope", "desktraced.service", "desktrace-probes.service"} <= {p["unit"] for p in d["processes"]}'

# Everybody's definitions are one file, of which only its own may change.
libc=$(ldd /bin/sh | awk '/libc\.so/ { print $3 }')
cat >/tmp/uprobe.pbtxt <<EOF
buffers { size_kb: 1024 }
data_sources {
  config {
    name: "linux.ftrace"
    ftrace_config { uprobe_events { path: "$libc" symbol: "malloc" name: "sandboxed" type: KPROBE_TYPE_BOTH } }
  }
}
duration_ms: 1000
EOF
desktrace record -c /tmp/uprobe.pbtxt -o /tmp/uprobe.pftrace -- sh -c 'for i in 1 2 3; do ls / >/dev/null; done' \
        >/dev/null 2>&1
ok 'a function is probed from within the sandbox' grep -aq sandboxed /tmp/uprobe.pftrace
fails 'and its definition goes with the recording' '' grep -q desktrace_ /sys/kernel/tracing/dynamic_events
ok 'the journal has no complaint' complaints
finish
