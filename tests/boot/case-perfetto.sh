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
# shellcheck disable=SC2086
ok 'they can be switched off' systemctl stop $both
ok 'and leave the address to others' not test -e "$producers"
ok 'the journal has no complaint' complaints
finish
