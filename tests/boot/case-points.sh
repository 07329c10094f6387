#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Programs as they are, from within the probes' sandbox: a library in another user's home is found through the program
# that has it mapped, and nothing is left when the probes are killed.
. ./lib.sh
[ -e /sys/kernel/tracing/uprobe_events ] || {
        skip_check 'programs are recorded as they are' 'this kernel has no uprobes'
        finish
        exit
}
shorten_idle_times
allow alice org.desktrace.tracing1.trace-system

mkdir -p /etc/desktrace/points.d
cat >/etc/desktrace/points.d/toy.conf <<'POINTS'
[Point outer]
Group=toy
Library=libpointed.so.1
Symbol=pointed_outer
Means=slice
POINTS
cat >/home/alice/points.pbtxt <<'CONFIG'
buffers { size_kb: 4096 }
data_sources { config { name: "linux.program_points" program_points_config { points: "toy/outer" } } }
CONFIG
install -o bob -m 700 libpointed.so.1 pointed-app /home/bob/

calls() { trace "$1" 'sum(s["count"] for s in d["slices"] if s["name"] == "outer")'; }
has_calls() { [ "$(calls "$1")" -ge 5 ]; }
nothing_is_left() { ! /usr/libexec/desktrace-probes --cleanup 2>&1 | grep removed; }

ok 'the source is available' sh -c 'desktrace list sources | grep -qE "linux.program_points .* yes "'
fails 'others need the permission' 'trace-system' as bob \
        desktrace record -t 100ms -o /home/bob/no.pftrace linux.program_points

as bob /home/bob/pointed-app /home/bob/libpointed.so.1 &
ok 'a user records it' as alice desktrace record -c /home/alice/points.pbtxt -o /home/alice/one.pftrace -- sleep 1.5
ok 'a program that runs already is in the trace' has_calls /home/alice/one.pftrace

as bob /home/bob/pointed-app /home/bob/libpointed.so.1 &
as alice desktrace record -c /home/alice/points.pbtxt -o /home/alice/two.pftrace -t 4s >/tmp/recorder 2>&1 &
recorder=$!
sleep 1.5
kill -9 "$(main_pid desktrace-probes)"
wait $recorder
ok 'it goes on when the probes were killed' has_calls /home/alice/two.pftrace
within 10 is_gone desktrace-probes
ok 'nothing of theirs is left in the kernel' nothing_is_left
finish
