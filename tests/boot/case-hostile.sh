#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# What one user does to the unit as it is installed, with its watchdog and its sandbox, while another one records.
. ./lib.sh

NATIVE=/run/desktrace/native.sock
WATCHDOG_S=4
ATTACK_S=$((WATCHDOG_S + 2)) # a main thread that hangs is found out by then

mkdir -p /run/systemd/system/desktraced.service.d
printf '[Service]\nWatchdogSec=%ss\n' $WATCHDOG_S >/run/systemd/system/desktraced.service.d/10-boot.conf
systemctl daemon-reload
shorten_idle_times

value_of() { # PROPERTY
        as bob busctl --json=short get-property $BUS "$session" $BUS.Session "$1" | json 'd["data"]'
}
bytes() {
        as bob busctl call $BUS "$session" $BUS.Session Flush u 2000 >/dev/null
        value_of BytesWritten
}
has_grown() { [ "$(bytes)" -gt "$1" ]; }

# unharmed ATTACK: the same process answers, and nothing of the recording is lost
unharmed() {
        local before
        before=$(bytes)
        ok "$1: the service answers the other user" as bob busctl call $BUS $ROOT $MANAGER ListSources
        ok "$1: it is the process that it was" test "$(main_pid desktraced.service)" = "$service"
        ok "$1: the recording goes on" within 30 has_grown "$before"
        ok "$1: nothing of it is lost" test "$(value_of PacketsLost) $(value_of ChunksLost)" = '0 0'
}

# attack USER COMMAND...: in the background; its pid is in $attacker
attack() {
        local user=$1
        shift
        : >/tmp/attacker
        as "$user" env DESKTRACE_SOCKET=$NATIVE "$@" >/tmp/attacker 2>&1 &
        attacker=$!
}
says() { grep -q "$1" /tmp/attacker; }
hostile_session() { # SOURCE
        start alice 3 detach b true duration-ms u 60000 config-text s \
                "buffers { size_kb: 64 } data_sources { config { name: '$1' } }"
}

# The service's main process is in $service, the innocent user's recording in $session.
ok 'the bus is the one that is wanted' grep -qx "${SYSTEM_BUS:-dbus-daemon}" \
        "/proc/$(systemctl show -P MainPID dbus.service)/comm"
ok 'the sockets are there' systemctl start desktraced.socket desktraced-perfetto-producer.socket
as bob ./hello-desktrace --seconds 140 >/dev/null 2>&1 &
session=$(start bob 3 sources as 1 track_event duration-ms u 140000 detach b true)
ok 'an innocent user records' within 10 has_grown 0
service=$(main_pid desktraced.service)

for kind in bell doorbell; do
        attack alice ./hostile-producer $kind "org.example.$kind"
        ok "$kind: a hostile program registers" within 10 says ready
        theirs=$(hostile_session "org.example.$kind")
        ok "$kind: it attacks" within 10 says attacked
        for _ in 1 2 3; do as alice timeout 5 busctl call $BUS "$theirs" $BUS.Session Flush u 100 >/dev/null 2>&1; done
        sleep $ATTACK_S
        unharmed $kind
        kill -KILL $attacker
        wait $attacker 2>/dev/null
        unharmed "$kind, and the program is gone"
done

for target in /run/systemd/notify /run/systemd/journal/socket /run/systemd/journal/stdout; do
        fails "outputs: $target is refused" 'pass a pipe|a pipe' as alice python3 ./hostile-user.py output $target
done
sleep 1
unharmed outputs
ok 'outputs: the watchdog was not triggered' test "$(systemctl show -P NRestarts desktraced.service)" = 0
ok 'outputs: nothing was logged in the name of the service' not \
        sh -c 'journalctl -b -q -o cat _SYSTEMD_UNIT=desktraced.service | grep -q FORGED'

# The file's own file system answers the closes of a bus that has it on its way: the bus is not what is looked at.
[ -e /dev/fuse ] || mknod -m 666 /dev/fuse c 10 229
spared=$(pgrep -x dbus-broker || main_pid dbus.service)
for way in 'perfetto /run/perfetto/traced-producer.sock' "native $NATIVE" 'bus /run/dbus/system_bus_socket'; do
        if ! head -c 0 /dev/fuse 2>/tmp/fuse; then
                skip_check "files: ${way% *}" "no file system of one's own here: $(head -c 200 /tmp/fuse)"
                continue
        fi
        : >/tmp/attacker
        # shellcheck disable=SC2086 # two words
        unshare -m --propagation private python3 -B ./stuck-file.py $way 20 "$spared" >/tmp/attacker 2>&1 &
        attacker=$!
        ok "files: ${way% *} is passed one that cannot be closed" within 10 says attacked
        sleep $ATTACK_S
        unharmed "files: ${way% *}"
        kill -KILL $attacker
        wait $attacker 2>/dev/null
        unharmed "files: ${way% *}, and their file system is gone"
done

# A user with several processes that connect would be ahead of it otherwise.
thread_is() { ps -L -o comm= -o ni= -p "$service" | grep -qx "$1"; }
if grep -q '^Max nice priority *30' "/proc/$service/limits"; then
        ok 'connects: the thread that accepts them goes first' thread_is 'accept *-10'
else
        ok 'connects: a thread accepts them' thread_is "accept *$(ps -o ni= -p "$service" | tr -d ' ')"
        skip_check 'connects: it goes first' 'this systemd may not raise the limit (LimitNICE=)'
fi
attack alice python3 ./hostile-user.py connects $NATIVE /run/dbus/system_bus_socket
ok 'connects: the flood is on' within 10 says attacked
sleep 2
unharmed connects
kill -KILL $attacker
wait $attacker 2>/dev/null

attack alice python3 ./hostile-user.py matches
ok 'matches: a bus full of rules' within 20 says attacked
unharmed matches
kill -KILL $attacker
wait $attacker 2>/dev/null
unharmed 'in the end'
ok 'the unit has not been started again' test "$(systemctl show -P NRestarts desktraced.service)" = 0
ok 'the recording can be read' test "$(as bob busctl --json=short call $BUS "$session" $BUS.Session Read u 0 |
        json 'len(d["data"][0]) > 1000')" = True
finish
