#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# "desktrace doctor" as a user of a machine with systemd and polkit: what is broken by an administrator is named.
. ./lib.sh

# says PATTERN [ARGUMENT...]: a finding as "level topic: text" matches
says() {
        as alice desktrace doctor --json=short "${@:2}" >/home/alice/findings || [ $? = 10 ] || return
        json '"\n".join("%s %s: %s | %s" % (f["level"], f["topic"], f["text"], f["remedy"]) for f in d["findings"])' \
                </home/alice/findings >/home/alice/lines
        grep -E -- "$1" /home/alice/lines || { cat /home/alice/lines; return 1; }
}

ok 'a user learns that the service starts on demand' says '^ok service: does not run; D-Bus starts it'
ok 'and the probes, too' says '^ok probes: do not run; they are started'
ok 'and that polkit asks for a password' says "^note polkit: .*an administrator's password"
ok 'all is installed' says '^ok installation'
ok 'nothing was started for it' is_gone desktraced.service
ok 'the probes were not either' is_gone desktrace-probes.service
systemctl mask --runtime desktrace-probes.service
ok 'probes that are masked are named' says '^problem probes: .*masked.*systemctl unmask desktrace-probes.service'
systemctl unmask --runtime desktrace-probes.service
mkdir -p /run/systemd/system/desktrace-probes.service.d
printf '[Service]\nProtectKernelTunables=yes\nCapabilityBoundingSet=\n' \
        >/run/systemd/system/desktrace-probes.service.d/x.conf
systemctl daemon-reload
ok 'a sandbox that is too tight is named' says '^problem probes: ProtectKernelTunables='
ok 'and a capability that is missing' says '^problem probes: .*CAP_DAC_OVERRIDE'
rm -r /run/systemd/system/desktrace-probes.service.d
systemctl daemon-reload
systemctl mask --runtime desktraced.service
ok 'a service that is masked is named' says '^problem service: .*masked.*systemctl unmask desktraced.service'
systemctl unmask --runtime desktraced.service
ok 'events are not known before the kernel was recorded' says '^note event: .*not known' sched/sched_switch
ok 'the probes did not start for that' is_gone desktrace-probes.service
ok 'root asks for them' sh -c 'desktrace list events --no-legend "sched/*" | grep -q sched/sched_switch'
ok 'they go' within 30 is_gone desktrace-probes.service
ok 'the service goes' systemctl stop desktraced.service
user_sees_events() {
        as alice desktrace list events --no-legend 'sched/*' | grep -q sched/sched_switch
}
ok 'then a user sees them' user_sees_events
ok 'the doctor, too' says '^ok event: this kernel has sched/sched_switch' sched/sched_switch
ok 'and no probes ran for it' is_gone desktrace-probes.service
finish
