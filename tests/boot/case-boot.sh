#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A boot is recorded afterwards, as systemd-analyze plots it; and units, jobs and logins while they come and go.
. ./lib.sh
shorten_idle_times
allow alice org.desktrace.tracing1.trace-system

units() { ./units-in-trace.py "$@"; }
has_line() { grep -qxF -- "$1"; }
has_slice() { units slices "$1" "$2" | has_line "$3"; }
has_arrow() { units arrows "$1" | has_line "$2 > $3"; }
# As systemd has booted until it says so, and the plot wants that.
booted() { [ "$(systemctl show -P FinishTimestampMonotonic)" != 0 ]; }

trace_file=/home/alice/boot.pftrace
ok 'the sources are available' sh -c 'desktrace list sources | grep -q org.freedesktop.systemd'
fails 'others need the permission' 'trace-system' as bob desktrace record -p boot -o /home/bob/no.pftrace
ok 'this system has booted' within 20 booted
systemd-analyze plot >/tmp/plot.svg 2>/tmp/plot.error
ok 'the boot is recorded, and the recording ends by itself' as alice timeout 30 desktrace record -p boot -o $trace_file
ok 'the trace has what is plotted' units plot $trace_file /tmp/plot.svg
ok 'at the times that systemd has' units times $trace_file
ok 'and the stage of userspace' has_slice $trace_file Boot userspace
ok 'what services waited for is shown' grep -aq waited_for $trace_file
ok 'by arrows from what systemd orders before them' units order $trace_file
ok 'the journal since the boot is in it' grep -aq 'Reached target.*Basic System' $trace_file
ok 'nothing was lost' is_true $trace_file 'all(p["losses"] == 0 for p in d["producers"])'

mkdir -p /run/systemd/system
printf '[Service]\nType=oneshot\nExecStart=/bin/sleep 0.3\n' >/run/systemd/system/walk-first.service
printf '[Unit]\nWants=walk-first.service\nAfter=walk-first.service\n[Service]\nExecStart=/bin/sleep 60\n' \
        >/run/systemd/system/walk-second.service
printf '[Service]\nType=oneshot\nExecStart=/bin/false\n' >/run/systemd/system/walk-bad.service
systemctl daemon-reload
as alice desktrace record org.freedesktop.systemd org.freedesktop.login1 -o /home/alice/live.pftrace -- \
        sh -c 'touch ~/begin; until [ -e ~/end ]; do sleep 0.1; done' >/tmp/recorder 2>&1 &
recorder=$!
within 10 test -e /home/alice/begin
systemctl start walk-second.service
systemctl start walk-bad.service 2>/dev/null
systemctl stop walk-second.service
systemd-run -q --unit=alice-login -p PAMName=login -p User=alice sleep 30
within 5 sh -c 'loginctl list-sessions --no-legend | grep -q alice'
session=$(loginctl list-sessions --no-legend | awk '/alice/ { print $1; exit }')
loginctl lock-session "$session"
systemctl stop alice-login.service
sleep 0.5
touch /home/alice/end
wait $recorder
status=$?
ok 'units and logins are recorded as they come and go' sh -c "cat /tmp/recorder; exit $status"
live=/home/alice/live.pftrace
ok 'a service that starts has its phases' has_slice $live walk-first.service activating
ok 'and one that ran and was stopped' has_slice $live walk-second.service active
ok 'which waited for the first' has_arrow $live walk-first.service walk-second.service
ok 'jobs are shown with their kind' has_slice $live jobs start
ok 'and that one had to wait' has_slice $live jobs waiting
ok 'a failure is told' grep -aq failed $live
ok 'units that did nothing have no track' not grep -aq 'polkit.service' $live
ok 'a login has a track' grep -aq 'session .* of alice' $live
ok 'that it was to be locked is told' grep -aq 'asked to lock' $live
ok 'the journal has no complaint' complaints
finish
