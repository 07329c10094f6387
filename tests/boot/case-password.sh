#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# On a terminal without a desktop, polkit asks for an administrator's password through an agent that the command line
# starts: kernel events without sudo.
. ./lib.sh

usermod -aG sudo alice
echo 'alice:open sesame' | chpasswd
# log_in PASSWORD COMMAND: in a session of its own, on a terminal. Polkit looks for agents of sessions only.
log_in() { timeout 30 /usr/bin/python3 "$PWD/answer-prompt.py" assword: "$1" su --pty -l alice -c "$2"; }

fails 'a wrong password is refused, and the action is named' 'org\.desktrace\.tracing1\.trace-system' \
        log_in 'open barley' 'desktrace record -t 100ms -o no.pftrace sched/sched_switch'
ok 'the right password lets record the kernel' \
        log_in 'open sesame' 'desktrace record -t 1s -o yes.pftrace sched/sched_switch -- sleep 0.3'
ok 'its events are in the trace' is_true /home/alice/yes.pftrace 'd["kernel_events_total"] > 10'
ok 'no agent is left' within 10 sh -c '! pgrep pkttyagent'
# Ctrl-C at any moment, from before the question to long after it.
interrupt() {
        timeout 120 su --pty -l alice -c "/usr/bin/python3 $PWD/interrupt-prompt.py 40 30 assword: \
                desktrace record -t 100ms -o interrupted.pftrace sched/sched_switch" </dev/null
}
ok 'Ctrl-C ends it at any moment of the prompt, and leaves the terminal as it was' interrupt
ok 'no agent is left then' within 10 sh -c '! pgrep pkttyagent'
ok 'nor a session' within 10 sh -c '! desktrace list sessions --no-legend | grep -q .'
ok 'nor a file' test ! -e /home/alice/interrupted.pftrace
fails 'who does not want to be asked is not' 'polkit would have to ask' \
        log_in 'open sesame' 'desktrace record --no-ask-password -t 100ms -o no.pftrace sched/sched_switch'
# All that the preset of the desktop is made of is one permission, which is asked for once.
asks_once() {
        log_in 'open sesame' 'desktrace record -p desktop -t 1s -o desktop.pftrace' >/tmp/asked &&
                [ "$(grep -c 'AUTHENTICATING FOR' /tmp/asked)" = 1 ] || { cat /tmp/asked; return 1; }
}
ok 'the preset "desktop" asks once' asks_once
ok 'and records' is_true /home/alice/desktop.pftrace 'd["kernel_events_total"] > 10'
left_out() {
        as bob desktrace record -p gnome --no-ask-password -t 1s -o /home/bob/gnome.pftrace >/tmp/left 2>&1
        grep 'this is left out: linux.program_points' /tmp/left || { cat /tmp/left; return 1; }
}
ok 'without the permission "gnome" says what it leaves out' left_out
ok 'own programs need no password' log_in 'not asked' 'desktrace record -p apps -t 100ms -o own.pftrace'
finish
