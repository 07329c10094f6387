#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Somebody has taken the service over. The probes do not take its word: without a requester whom polkit allows it gets
# nothing of the kernel, and root it cannot pretend to be.
. ./lib.sh
shorten_idle_times
PROBES=/run/desktrace/probes.sock

service_user() { setpriv --reuid=desktrace --regid=desktrace --clear-groups --inh-caps=-all -- "$@"; }
# says NAME PID START-TIME [FTRACE-CONFIG]: the service says to the probes who has asked
says() { service_user timeout 30 python3 -B ./captured-service.py "$1" "$2" "$3" "${4-1=sched/sched_switch}"; }
# name_of USER, process_of USER: a connection of this user's, and whose it is
name_of() { busctl list --unique --no-legend --no-pager | awk -v user="$1" '$4 == user { print $1; exit }'; }
process_of() { busctl list --unique --no-legend --no-pager | awk -v user="$1" '$4 == user { print $2; exit }'; }
start_time() { sed 's/.*) //' "/proc/$1/stat" | cut -d' ' -f20; }

allow alice org.desktrace.tracing1.trace-system
systemctl start desktrace-probes.socket
as alice gdbus monitor --system --dest org.freedesktop.DBus >/dev/null 2>&1 &
alice=$!
as bob gdbus monitor --system --dest org.freedesktop.DBus >/dev/null 2>&1 &
bob=$!
ok 'somebody who is allowed is there' within 10 sh -c 'busctl list --unique --no-legend | grep -q " alice "'
ok 'and somebody who is not' within 10 sh -c 'busctl list --unique --no-legend | grep -q " bob "'

# What it says.
fails 'a requester whom polkit does not allow is refused' 'NotAuthorized|AuthorizationNeeded' says "$(name_of bob)" 0 0
fails 'also one that is a process' 'NotAuthorized|AuthorizationNeeded' \
        says '' "$(process_of bob)" "$(start_time "$(process_of bob)")"
fails 'and one who has left' 'NotAuthorized.*not there' says :1.99999 0 0
fails 'and a process that began at another time' 'NotAuthorized.*not there' says '' "$(process_of alice)" 1
fails 'names that can go from one to another are nobody' 'NotAuthorized.*not there' says org.freedesktop.login1 0 0
fails 'root is not believed' 'RootIsSilent' says "$(name_of root)" 0 0
fails 'nor are its processes' 'RootIsSilent' says '' 1 "$(start_time 1)"
ok 'who is allowed may be recorded for' says "$(name_of alice)" 0 0
ok 'by the process as well' says '' "$(process_of alice)" "$(start_time "$(process_of alice)")"
fails 'but may not place probes' 'NotAuthorized|AuthorizationNeeded' says "$(name_of alice)" 0 0 30=vfs_read
fails 'nobody else is heard' 'Permission denied' as alice python3 -B ./captured-service.py '' 1 1 1=a
python3 -c "import socket, time
s = socket.socket(socket.AF_UNIX); s.connect('$PROBES'); time.sleep(60)" &
root=$!
sleep 0.5
ok 'root is believed while it is connected itself' says "$(name_of root)" 0 0
kill $root
wait $root 2>/dev/null
fails 'and not afterwards' 'RootIsSilent' says "$(name_of root)" 0 0

# What it does: this one asks nobody, and sets up what it wants.
mkdir -p /etc/desktrace/producers.d
sed 's/^Socket=.*/BusName=org.example.Nobody/' /usr/share/desktrace/producers.d/desktrace-probes.conf \
        >/etc/desktrace/producers.d/desktrace-probes.conf
systemctl restart desktraced.service
systemctl restart desktrace-probes.service
probes=$(main_pid desktrace-probes.service)
registered() { desktrace list sources --no-legend | grep -qE '^linux.ftrace +1 '; }
ok 'the probes are with the service' within 10 registered
fails 'a service that asks nobody gets nothing for root' 'were not told for whom' \
        desktrace record -t 1s -o /tmp/no.pftrace sched/sched_switch
fails 'nor for somebody who is allowed' 'were not told for whom' \
        as alice desktrace record -t 1s -o /home/alice/no.pftrace sched/sched_switch
ok 'nothing of the kernel was recorded for it' not has_instances "$probes"
ok 'the same probes are there' test "$(main_pid desktrace-probes.service)" = "$probes"

rm /etc/desktrace/producers.d/desktrace-probes.conf
systemctl restart desktraced.service
ok 'with the service as it was root records' desktrace record -t 300ms -o /tmp/yes.pftrace sched/sched_switch
systemctl stop desktraced.service
systemctl start desktraced.socket
ok 'on its socket, too' env DESKTRACE_SOCKET=/run/desktrace/native.sock \
        desktrace record -t 300ms -o /tmp/socket.pftrace sched/sched_switch
ok 'and who is allowed' as alice desktrace record -t 300ms -o /home/alice/yes.pftrace sched/sched_switch
fails 'what says RootIsSilent says what to do' 'connected to them' busctl call $BUS $ROOT $MANAGER StartSession \
        'a{sv}' 1 events as 1 sched/sched_switch
kill "$alice" "$bob"
finish
