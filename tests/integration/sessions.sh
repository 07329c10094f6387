#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Several recordings of the kernel at once, through one service and one probes process: each has what it asked for, all
# of it, and nothing else.
# The checks call functions by name.
# shellcheck disable=SC2317
# shellcheck source=tests/integration/kernel-lib.sh
. "$(dirname "$0")/kernel-lib.sh"

mkdir "$tmp/system.d"
echo '<busconfig><policy user="root"><allow own="org.desktrace.Probes1"/></policy></busconfig>' \
        >"$tmp/system.d/probes.conf"
system_bus root
service "$DESKTRACED" --system
started "$DESKTRACE_PROBES" --system --trust-service
probes=$started
BUSCTL=--system
ok "the probes serve" eventually has_producer desktrace-probes

# config NAME EVENTS [OPTIONS]: NAME.pbtxt, with processes
config() {
        local event
        {
                echo 'buffers { size_kb: 65536 }'
                echo 'data_sources { config { name: "linux.process_stats"'
                echo '  process_stats_config { scan_all_processes_on_start: true } } }'
                echo "data_sources { config { name: \"linux.ftrace\" ftrace_config { buffer_size_kb: 16384 $3"
                for event in $2; do echo "ftrace_events: \"$event\""; done
                echo '} } }'
        } >"$1.pbtxt"
}

# record NAME: in the background, until it is told to end; its pid is in ${recorders[NAME]}
declare -A recorders
declare -A statuses
record() {
        started "$DESKTRACE" record -q -c "$1.pbtxt" -o "$1.pftrace"
        recorders[$1]=$started
}

# runs N: so many sessions are there, and all record
runs() {
        local session n=0
        for session in $(busctl --system tree --list $BUS | grep -E '/session/[0-9]+$'); do
                [ "$(busctl --system get-property $BUS "$session" $BUS.Session State)" = 's "started"' ] || return
                n=$((n + 1))
        done
        [ $n = "$1" ]
}

# end NAME...: until they have; nothing is lost
end() {
        local name
        for name; do
                kill -TERM "${recorders[$name]}"
                wait "${recorders[$name]}"
                statuses[$name]=$?
        done
}

# Events all the time, of which each recording sees those of its own time.
work() {
        while true; do
                /bin/true
                sleep 0.01
        done
}

only() {
        rules "$1.pftrace" "set(events) == {$2} and min(events.values()) > 5 and packets[2] > 0"
}

config switches 'sched/sched_switch' ''
config same 'sched/sched_switch' ''
config tasks 'task/task_newtask task/task_rename' ''
config wakes 'sched/sched_waking sched/sched_switch' 'compact_sched { enabled: false } symbolize_ksyms: true'
config calls '' 'syscall_events: "openat"'
config other_calls '' 'syscall_events: "execve"'
config generic 'sched/sched_stat_runtime' 'drain_period_ms: 1000'

work &
pids+=($!)
record switches
ok "one recording has begun" eventually runs 1
sleep 0.3
for name in same tasks wakes calls other_calls generic; do
        record $name
done
ok "all have" eventually runs 7
sleep 2
end tasks
end switches wakes calls
sleep 0.3
end same other_calls generic
all_ended_well() {
        [[ "${statuses[*]}" =~ ^(0 ?){7}$ ]] || { echo "${statuses[@]}"; return 1; }
}
ok "recordings end in any order, without losses" all_ended_well

ok "the first has what it asked for" only switches 4
ok "so has one that wants the same and came later" only same 4
same_switches() {
        local name
        for name in switches same; do rules --json $name.pftrace >$name.json; done
        python3 -c 'import json
first, second = (sorted(json.load(open(name))["switches"]) for name in ("switches.json", "same.json"))
begin, end = second[0] + 50_000_000, first[-1] - 50_000_000
first, second = ([at for at in times if begin < at < end] for times in (first, second))
assert len(first) > 10 and first == second, (len(first), len(second))'
}
ok "while both recorded they saw the same" same_switches
ok "so have those that want something else" only tasks '235, 236'
ok "also in another form" only wakes '4, 20'
ok "system calls are those of its own filter" rules calls.pftrace 'len(syscalls) == 1 and set(events) == {329, 330}'
ok "and not those of others" rules other_calls.pftrace 'len(syscalls) == 1 and set(events) == {329, 330}'
ok "one that is read out seldom has all" rules generic.pftrace 'generic == {"sched_stat_runtime"}'
ok "no instance is left when the last has ended" eventually nothing_is_there "$TRACEFS/instances/desktrace-$probes-*"
finish
