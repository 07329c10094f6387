#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Perfetto's sockets: switched on apart from ours, left to a service that has them, and served from within the sandbox
# under the rules of the bus.
. ./lib.sh
shorten_idle_times

producers=/run/perfetto/traced-producer.sock consumers=/run/perfetto/traced-consumer.sock
both='desktraced-perfetto-producer.socket desktraced-perfetto-consumer.socket'
consume() { # USER VERB ARGUMENTS...
        as "$1" python3 -B ./perfetto_consumer.py "$consumers" "${@:2}"
}
says() { # TEXT COMMAND...
        "${@:2}" | grep -q -- "$1"
}

# shellcheck disable=SC2086 # two units
ok 'the units are good' systemd-analyze verify --man=no $both
# shellcheck disable=SC2086
ok 'they are not switched on by themselves' not systemctl is-enabled --quiet $both

mkdir /run/perfetto
python3 -c 'import socket, sys; s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1])' "$consumers"
systemctl start desktraced-perfetto-consumer.socket
ok 'an address that somebody has is left alone' not is_active desktraced-perfetto-consumer.socket
rm "$consumers"

# shellcheck disable=SC2086
ok 'they can be switched on' systemctl start $both
ok 'which alone starts nothing' is_gone desktraced.service
ok 'everybody may connect' test "$(stat -c %a "$producers" "$consumers" | sort -u)" = 666
ok 'a program with the SDK finds its service there' \
        says CommitData as alice python3 -B ./perfetto_ipc.py bind "$producers" ProducerPort
ok 'so the service runs' is_active desktraced.service
ok 'a user records the own programs without being asked' says recorded consume alice record org.example.app
ok 'the machine needs a permission' says 'polkit denied' consume alice record linux.sys_stats
allow alice org.desktrace.tracing1.trace-system
ok 'which a rule can give' says recorded consume alice record linux.sys_stats
ok 'to whom it is for' says 'polkit denied' consume bob record linux.sys_stats
ok 'the service is gone when nobody is on its sockets' within 10 is_gone desktraced.service
ok 'and comes again for the next one' says recorded consume bob record org.example.app
ok 'the journal has no complaint' complaints

# The SDK has no way back to its memory: what the service had taken is kept, and the program connects again.
taken=/home/alice/taken.pftrace
# has_slices WHEN: a new snapshot has such slices, as SQL says it
has_slices() {
        as alice desktrace snapshot sdk -q -f -o $taken
        as alice desktrace query --json=short $taken "SELECT COUNT(*) n FROM slice WHERE name GLOB 'slice-*' AND $1" |
                grep -vqE '"n":0\b'
}
is_another() { [ "$(main_pid desktraced.service)" != "$1" ] && is_active desktraced.service; }
says_away() {
        as alice desktrace snapshot sdk -q -f -o $taken
        is_true $taken 'd["away"]'
}
away() { trace $taken "d['away'][0]['$1']"; }
if [ -x ./perfetto-producer ]; then
        as alice ./perfetto-producer "$producers" sdk-app >/dev/null 2>&1 &
        sdk=$!
        ok 'a session records a program with the SDK' \
                as alice desktrace record -q --detach -t 600 -n sdk track_event
        ok 'which writes slices' within 20 has_slices 'ts > 0'
        killed=$(main_pid desktraced.service)
        kill -KILL "$killed"
        ok 'a service that was killed is there again' within 20 is_another "$killed"
        ok 'its session says so' within 20 says_away
        ok 'it has what the program had handed over' has_slices "ts < $(away from_ns)"
        ok 'and what it writes for the next process' within 20 has_slices "ts > $(away until_ns)"
        ok 'the session ends' as alice desktrace stop sdk -f -o $taken
        kill $sdk
fi
# shellcheck disable=SC2086
ok 'they can be switched off' systemctl stop $both
ok 'and leave the address to others' not test -e "$producers"
finish
