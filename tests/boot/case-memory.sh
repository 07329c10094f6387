#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Out of memory: what the units say is in effect; probes that are killed for it cost recordings a gap that is told, and
# the service goes on. The service itself is started again.
. ./lib.sh
shorten_idle_times

for unit in desktraced desktrace-probes; do
        ok "$unit: the kernel's memory is not to be had without limit" \
                sh -c "systemctl show -P MemoryHigh $unit.service | grep -qx '[0-9]*'"
        ok "$unit: one process that is killed for memory takes the unit along" \
                test "$(systemctl show -P OOMPolicy $unit.service)" = kill
        ok "$unit: and it is started again" test "$(systemctl show -P Restart $unit.service)" = on-failure
done

cgroup_of() { echo "/sys/fs/cgroup$(systemctl show -P ControlGroup "$1")"; }
# has_limit UNIT: the kernel has it, too
has_limit() { grep -qx '[0-9]*' "$(cgroup_of "$1")/memory.high"; }

# Where the machine has the memory controller in its old hierarchy, that one starves as well; systemd then knows no more
# than the signal.
OLD=/run/old-memory
has_old_memory() { mkdir -p $OLD && mount -t cgroup -o memory none $OLD && mkdir $OLD/desktrace-boot; }
leave_old_memory() { rmdir $OLD/desktrace-boot; }
# starve UNIT: nothing is left for it
starve() {
        if [ -e "$(cgroup_of "$1")/memory.max" ]; then
                systemctl set-property --runtime "$1" MemorySwapMax=0 MemoryMax=64K
        else
                echo 64K >$OLD/desktrace-boot/memory.limit_in_bytes
                main_pid "$1" >$OLD/desktrace-boot/cgroup.procs
        fi
}
feed() { [ ! -e "$(cgroup_of "$1")/memory.max" ] || systemctl set-property --runtime "$1" MemoryMax=infinity; }
was_killed_for_memory() {
        journalctl -b -q -o cat -u "$1" | grep -q oom-kill ||
                [ "$(sed -n 's/^oom_kill //p' $OLD/desktrace-boot/memory.oom_control)" -gt 0 ]
}
was_starved() { [ "$(main_pid "$1")" != "$2" ]; }
# are_starved OLD-PID: the old hierarchy refuses new memory only, so they get more to do until they want some
are_starved() {
        was_starved desktrace-probes.service "$1" && return
        timeout 5 desktrace record -t 200ms -o /tmp/more.pftrace -p units >/dev/null 2>&1
        was_starved desktrace-probes.service "$1"
}

desktrace record -t 60s -o /tmp/starved.pftrace sched/sched_switch >/tmp/starved 2>&1 &
recorder=$!
records() {
        local now

        now=$(main_pid desktrace-probes.service)
        [ "$now" != "${1:-0}" ] && is_active desktrace-probes.service && records_kernel "$now"
}
ok 'the kernel is recorded' within 10 records
probes=$(main_pid desktrace-probes.service)
service=$(main_pid desktraced.service)
if [ -e "$(cgroup_of desktraced.service)/memory.high" ]; then
        ok 'the limit of the service is in effect' has_limit desktraced.service
        ok 'that of the probes, too' has_limit desktrace-probes.service
elif has_old_memory 2>/dev/null; then
        trap leave_old_memory EXIT
else
        skip_check 'out of memory' 'no memory controller for the cgroups in here'
        kill -TERM $recorder
        finish
fi

starve desktrace-probes.service
ok 'probes without memory are killed' within 20 are_starved "$probes"
feed desktrace-probes.service
ok 'for that reason' was_killed_for_memory desktrace-probes.service
ok 'they are started again for the recording' within 20 records "$probes"
ok 'the service is the process that it was' test "$(main_pid desktraced.service)" = "$service"
sleep 0.5
kill -TERM $recorder
wait $recorder
status=$?
ok 'the recording says that data is lost' test $status = 6
ok 'in words' grep -qiE 'cut short|lost|missing' /tmp/starved
ok 'it has what came before and after' is_true /tmp/starved.pftrace 'd["kernel_events_total"] > 10'

as alice ./hello-desktrace --seconds 100 >/dev/null 2>&1 &
hello=$!
as alice desktrace record -t 60s -o /home/alice/starved.pftrace -p apps >/tmp/alice 2>&1 &
recorder=$!
# On a tmpfs: what is on the root, an overlay here, ends with the service.
as alice desktrace record -t 60s -o /tmp/kept.pftrace -p apps >/tmp/kept 2>&1 &
kept=$!
within 10 test -s /home/alice/starved.pftrace
within 10 test -s /tmp/kept.pftrace
service=$(main_pid desktraced.service)
starve desktraced.service
ok 'a service without memory is killed' within 20 was_starved desktraced.service "$service"
feed desktraced.service
wait $recorder
ok 'who records is told' test $? != 0
ok 'who records into a file that outlives it goes on' within 20 grep -q 'the recording goes on' /tmp/kept
after=$(python3 -c 'import time; print(time.clock_gettime_ns(time.CLOCK_BOOTTIME))')
sleep 0.5
kill -INT $kept
wait $kept
ok 'and ends as ever' grep -qx '[06]' <<<$?
ok 'with what was before and after' is_true /tmp/kept.pftrace \
        "d['start_ns'] < d['away'][0]['from_ns'] and d['start_ns'] + d['duration_ns'] > $after"
ok 'the next one records as before' as alice desktrace record -t 500ms -o /home/alice/after.pftrace -p apps
ok 'the program, too' is_true /home/alice/after.pftrace 'd["track_events_total"] > 0'
kill $hello
finish
