#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# What services use is read from within the probes' sandbox, for a user whom a rule allows it; also of services that
# begin and end meanwhile.
. ./lib.sh
shorten_idle_times
allow alice org.desktrace.tracing1.trace-system

BUSY='while :; do :; done'
cat >/home/alice/units.pbtxt <<'CONFIG'
buffers { size_kb: 4096 }
data_sources { config { name: "linux.cgroup" cgroup_config { period_ms: 100 cgroups: "busy*.service" } } }
CONFIG

cpu_time() { trace "$1" '[c["max"] for c in d["counters"] if c["name"].endswith(".service/CPU time")][0]'; }
has_used_at_least() { [ "$(cpu_time "$1")" -ge "$2" ]; }

ok 'this system has cgroup v2' test -e /sys/fs/cgroup/cgroup.controllers
ok 'the source is available' sh -c 'desktrace list sources | grep -q linux.cgroup'
fails 'others need the permission' 'trace-system' as bob desktrace record -t 100ms -o /home/bob/no.pftrace linux.cgroup

systemd-run -q --unit=busy-before.service sh -c "$BUSY"
ok 'a user records it' as alice desktrace record -c /home/alice/units.pbtxt -o /home/alice/one.pftrace -- sleep 1.5
ok 'the busy service is in the trace, by its name' grep -aq 'busy-before.service' /home/alice/one.pftrace
ok 'so is the slice that it is in' grep -aq 'system.slice' /home/alice/one.pftrace
ok 'it has used the CPU' has_used_at_least /home/alice/one.pftrace 1000000
[ ! -e /sys/fs/cgroup/system.slice/cpu.pressure ] || ok 'pressure is recorded' is_true /home/alice/one.pftrace \
        '[c for c in d["counters"] if c["name"] == "Units/system.slice/busy-before.service/CPU pressure: some"]'
ok 'services that nobody asked for are not' not grep -aq 'dbus.service' /home/alice/one.pftrace
systemctl stop busy-before.service

as alice desktrace record -c /home/alice/units.pbtxt -o /home/alice/two.pftrace -- \
        sh -c 'touch ~/begin; until [ -e ~/end ]; do sleep 0.1; done' >/tmp/recorder 2>&1 &
recorder=$!
within 10 test -e /home/alice/begin
systemd-run -q --unit='busy\x2descaped.service' sh -c "$BUSY"
sleep 1
systemctl stop 'busy\x2descaped.service'
sleep 0.3
touch /home/alice/end
wait $recorder
status=$?
ok 'services may come and go meanwhile' sh -c "cat /tmp/recorder; exit $status"
ok 'one that did is there, with a readable name' grep -aq 'busy-escaped.service' /home/alice/two.pftrace
ok 'and what it has used' has_used_at_least /home/alice/two.pftrace 1000000
ok 'the journal has no complaint' complaints
finish
