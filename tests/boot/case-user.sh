#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The user instance: the same program on the session bus of a user manager.
. ./lib.sh

user_is_gone() { [ "$(as alice systemctl --user show -P ActiveState desktraced.service)" = inactive ]; }

ok 'a user manager runs' systemctl start user@60101.service
ok 'it has a session bus' within 10 as alice busctl --user list
ok 'the user instance does not run before it is asked' user_is_gone
ok 'it starts by being asked' as alice busctl --user call $BUS $ROOT $MANAGER ListPresets
ok 'as the user' test "$(ps -o user:32= -C desktraced | tr -d ' \n')" = alice

as alice ./hello-desktrace --seconds 120 >/dev/null 2>&1 &
hello=$!
ok 'it records the own programs' as alice desktrace --user record -t 1s -o /home/alice/user.pftrace -p apps
ok 'with their events' is_true /home/alice/user.pftrace 'd["track_events_total"] > 0'
ok 'the system instance was not started for it' is_gone desktraced.service
kill $hello
finish
