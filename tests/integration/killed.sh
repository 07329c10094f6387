#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# What a recording that was killed leaves in the kernel: nothing, as soon as the next one begins or --cleanup has run,
# and what others record stays. Without a service manager, so nobody else cleans up (tests/boot/case-recovery.sh).
# The checks call functions by name.
# shellcheck disable=SC2317
# shellcheck source=tests/integration/kernel-lib.sh
. "$(dirname "$0")/kernel-lib.sh"

libc=$(awk '/libc\.so/ { print $6; exit }' /proc/self/maps)

# config NAME: of kernel.pbtxt, with a probe of that name in a function that the load calls
config() {
        cat >kernel.pbtxt <<CONFIG
buffers { size_kb: 16384 }
data_sources { config { name: "linux.ftrace" ftrace_config {
  ftrace_events: "sched/*" ftrace_events: "irq/*" ftrace_events: "timer/*" ftrace_events: "ftrace/print"
  uprobe_events { path: "$libc" symbol: "getenv" name: "$1" type: KPROBE_TYPE_BOTH }
  syscall_events: "openat" drain_period_ms: 20 } } }
CONFIG
}

# The switches that belong to everybody; a recording has its own.
top_level() (
        cd $TRACEFS || return
        grep -l '^1' events/*/*/enable
        grep -H '' tracing_on current_tracer set_event trace_clock buffer_size_kb events/raw_syscalls/*/filter
)

top_level_is_untouched() {
        diff "$tmp/before" <(top_level)
}

# left_by PID: its instance, or its probes, which have names that nobody else has
left_by() {
        compgen -G "$TRACEFS/instances/desktrace-$1-*" || grep -s "${names[$1]:-no name}\>" $TRACEFS/dynamic_events
}

leaves_nothing() {
        ! left_by "$1"
}

declare -A names
n_names=0
next_config() {
        name=killed_$$_$((n_names += 1))
        config $name
}

# recorder FILE: in the background, until it has an instance; its pid is in $recorder, its probes' in $probes
recorder() {
        next_config
        started "$DESKTRACE" record --standalone -c kernel.pbtxt -t 60s -f -o "$1"
        recorder=$started
        eventually pgrep -P "$recorder" desktrace-probe
        probes=$(pgrep -P "$recorder" desktrace-probe)
        names[$probes]=$name
        eventually left_by "$probes"
}

# Also when its parent has not asked for its status yet.
is_gone() {
        ! readlink "/proc/$1/exe" >/dev/null
}

# killed PID...: until they are
killed() {
        local pid
        kill -KILL "$@"
        for pid; do eventually is_gone "$pid"; done
}

top_level >"$tmp/before"

recorder first.pftrace
first=$probes
ok "a recording has an instance of its own" left_by "$first"
[ ! -e $TRACEFS/uprobe_events ] ||
        ok "and probes in programs" eventually grep "${names[$first]}" $TRACEFS/dynamic_events
killed "$first"
ok "which it leaves when it is killed" left_by "$first"
recorder second.pftrace
ok "the next recording takes it away" eventually leaves_nothing "$first"
second=$probes
ok "cleaning up while one records" "$DESKTRACE_PROBES" --cleanup
ok "leaves that one alone" left_by "$second"
sleep 0.3
kill -INT "$recorder"
eventually is_gone "$recorder"
ok "and its events are whole" holds second.pftrace 't["kernel_events_total"] > 10 and t["losses"]["verdict"] == "none"'
ok "one that ends leaves nothing" leaves_nothing "$second"

# An open file keeps an instance, and with it what is on in there, from being removed.
recorder watched.pftrace
exec 7<"$(left_by "$probes" | grep -m 1 instances)/tracing_on"
kill -INT "$recorder"
sleep 0.3
exec 7<&-
eventually is_gone "$recorder"
ok "nor does one that somebody looks at when it ends" leaves_nothing "$probes"

recorder third.pftrace
killed "$probes"
ok "cleaning up" "$DESKTRACE_PROBES" --cleanup
ok "takes away what a killed one left" leaves_nothing "$probes"

# The command starts the service again, and the same probes go on, unless the recording had only begun to start.
recorder fourth.pftrace
killed "$(pgrep -P "$recorder" -x desktraced)"
kill -INT "$recorder"
ok "a recording whose service was killed ends" eventually is_gone "$recorder"
ok "and its probes leave nothing" eventually leaves_nothing "$probes"

recorder fifth.pftrace
killed "$recorder"
ok "so do those of a client that is killed" eventually leaves_nothing "$probes"
rm -rf "$TMPDIR"/desktrace-*

recorder sixth.pftrace
killed "$probes"
kill -INT "$recorder"
ok "a client cleans up after its probes" eventually leaves_nothing "$probes"
eventually is_gone "$recorder"

# At any moment of setup: from before there is an instance until all is enabled.
for delay in 0.00 0.01 0.02 0.03 0.04 0.05 0.06 0.08 0.10 0.13 0.16 0.20; do
        next_config
        started "$DESKTRACE" record --standalone -c kernel.pbtxt -t 60s -f -o setup.pftrace
        eventually pgrep -P "$started" desktrace-probe
        setup+=("$(pgrep -P "$started" desktrace-probe)")
        names[${setup[-1]}]=$name
        sleep $delay
        killed "${setup[-1]}" "$started"
done
rm -rf "$TMPDIR"/desktrace-*
"$DESKTRACE_PROBES" --cleanup
setups_leave_nothing() {
        local pid
        for pid in "${setup[@]}"; do leaves_nothing "$pid" || return; done
}
ok "probes that are killed while they set up leave nothing" setups_leave_nothing
ok "and nothing that belongs to everybody has changed" top_level_is_untouched
ok "cleaning up where there is nothing is no error" "$DESKTRACE_PROBES" --cleanup
finish
