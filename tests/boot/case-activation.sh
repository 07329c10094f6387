#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Nothing runs until asked; a user records the own program without a prompt; all is gone again when idle.
. ./lib.sh
shorten_idle_times

ok 'the units are good' systemd-analyze verify --man=no desktraced.{service,socket} desktrace-probes.{service,socket}
ok 'directories for what is only of this boot are there' test -d /run/desktrace/presets -a -d /run/desktrace/producers.d
ok 'nothing runs before it is asked' is_gone desktraced.service
ok 'no probes run either' is_gone desktrace-probes.service

# The program is there before the service is, and does not start it.
as alice ./hello-desktrace --seconds 120 >/dev/null 2>&1 &
hello=$!
sleep 0.5
ok 'an instrumented program does not start the service' is_gone desktraced.service

ok 'a user starts the service by asking it' as alice busctl call $BUS $ROOT $MANAGER ListPresets
ok 'it runs under its own user' test "$(ps -o user:32= -p "$(main_pid desktraced.service)")" = desktrace

session=$(start alice 3 sources as 1 track_event duration-ms u 1000 detach b true)
ok 'a session records the own program without a prompt' test -n "$session"
ok 'it stops by itself when its time is over' within 10 is_in_state alice "$session" stopped
ok 'its data can be read with busctl' as alice python3 ./read-session.py "$session" /home/alice/own.pftrace
ok 'the events of the program are in it' is_true /home/alice/own.pftrace 'd["track_events_total"] > 0'
ok 'nothing else is in it' is_true /home/alice/own.pftrace 'd["kernel_events_total"] == 0'
ok 'the session can be freed' as alice busctl call $BUS "$session" $BUS.Session Free
ok 'the service is gone when idle, though the program runs' within 10 is_gone desktraced.service

ok 'the command line records, too' as alice desktrace record -t 500ms -o /home/alice/cli.pftrace -p apps
ok 'with the same events' is_true /home/alice/cli.pftrace 'd["track_events_total"] > 0'
kill $hello

ok 'the service is gone again' within 10 is_gone desktraced.service
ok 'the native socket can be switched on' systemctl start desktraced.socket
ok 'which alone starts nothing' is_gone desktraced.service
ok 'a client on the socket is served' env DESKTRACE_SOCKET=/run/desktrace/native.sock desktrace list sources
ok 'so the service runs' is_active desktraced.service
ok 'the service is gone when nobody is on the socket' within 10 is_gone desktraced.service
ok 'the probes are gone, too, which were asked for the list' within 10 is_gone desktrace-probes.service

# What they say is what they can do within their sandbox, for every caller.
as alice desktrace list sources --no-legend >/tmp/sources 2>/tmp/hint
MACHINE='^linux\.(ftrace|process_stats|sys_stats|systemd_journald)'
ok 'a user sees what could be started for the kernel and processes' \
        test "$(grep -cE "$MACHINE +0 +on demand +trace-system +-" /tmp/sources)" = 4
ok 'and why it is not known whether it can record' grep -q 'only for users who may record the system' /tmp/hint
ok 'nothing with capabilities was started for it' is_gone desktrace-probes.service
fails 'nor does systemd do it' 'authentication|denied|Access' \
        as alice systemctl --no-ask-password start desktrace-probes.service
fails 'nor does the bus' 'ServiceUnknown|not provided' as alice gdbus call --system --dest org.freedesktop.DBus \
        --object-path /org/freedesktop/DBus --method org.freedesktop.DBus.StartServiceByName org.desktrace.Probes1 0
fails 'nor does their socket' 'Permission denied' as alice python3 -c \
        'import socket; socket.socket(socket.AF_UNIX).connect("/run/desktrace/probes.sock")'
ok 'which is the service'"'"'s alone' test "$(stat -c '%U %a' /run/desktrace/probes.sock)" = 'desktrace 600'
fails 'nobody can send it anything' 'denied|rejected|AccessDenied|not provided' \
        as alice busctl call org.desktrace.Probes1 / a.b c
ok 'so no probes run' is_gone desktrace-probes.service
allow alice org.desktrace.tracing1.trace-system
as alice desktrace list sources --no-legend >/tmp/sources
ok 'who may record sees that the kernel and processes can be recorded here' \
        test "$(grep -cE "$MACHINE +1 .* yes" /tmp/sources)" = 4
ok 'and why something cannot' test -z "$(grep -E ' no +-?$' /tmp/sources)"
ok 'the probes are gone soon after' within 10 is_gone desktrace-probes.service

ok 'the journal has no complaint' complaints
finish
