#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# What is left when something is killed: nothing.
. ./lib.sh
shorten_idle_times

# records_since PID: other probes than these record now
records_since() {
        local now

        now=$(main_pid desktrace-probes.service)
        [ "$now" != "$1" ] && is_active desktrace-probes.service && has_instances "$now"
}

desktrace record -t 60s -o /tmp/killed.pftrace sched/sched_switch >/dev/null 2>&1 &
recorder=$!
ok 'a recording has an instance of tracefs' within 10 records_since 0
killed=$(main_pid desktrace-probes.service)
kill -KILL "$killed"
ok 'probes that were killed are started again for the recording' within 10 records_since "$killed"
ok 'and have removed what the killed ones left' within 5 not has_instances "$killed"
restarted=$(main_pid desktrace-probes.service)
sleep 0.5
kill -TERM $recorder
wait $recorder
status=$?
# 6: the client knows that some data is lost
ok 'the recording ends in order' test $status = 0 -o $status = 6
ok 'its trace has kernel events' is_true /tmp/killed.pftrace 'd["kernel_events_total"] > 10 and d["end"] == "complete"'
ok 'the next recording works' desktrace record -t 300ms -o /tmp/next.pftrace sched/sched_switch
ok 'and has kernel events' is_true /tmp/next.pftrace 'd["kernel_events_total"] > 10'
ok 'the probes are gone when idle' within 20 is_gone desktrace-probes.service
ok 'with every instance' not has_instances "$restarted"

as alice ./hello-desktrace --seconds 120 >/dev/null 2>&1 &
hello=$!
ok 'a program is recorded' as alice desktrace record -t 300ms -o /home/alice/before.pftrace -p apps
as alice busctl call $BUS $ROOT $MANAGER ListPresets >/dev/null
kill -KILL "$(main_pid desktraced.service)"
ok 'after a crash of the service programs are recorded as before' \
        as alice desktrace record -t 500ms -o /home/alice/after.pftrace -p apps
ok 'with their events' is_true /home/alice/after.pftrace 'd["track_events_total"] > 0'
kill $hello
finish
