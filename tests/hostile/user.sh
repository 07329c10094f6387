#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A user's own instance: other users do not reach it, programs in sandboxes are producers there as well, and a hostile
# program of the same user does not take the recording of another one with it.
# The checks call functions by name.
# shellcheck disable=SC2317,SC2154,SC2034
# shellcheck source=tests/hostile/hostile-lib.sh
. "$(dirname "$0")/hostile-lib.sh"

[ "$(id -u)" = 0 ] || skip_all "needs root, to be several users"
unshare -m true 2>/dev/null || skip_all "may not mount"

alice=games bob=nobody
innocent_as=(setpriv "--reuid=$alice" --clear-groups --)
attacker_as=("${innocent_as[@]}") service_as=("${innocent_as[@]}")

# Its own user may connect, as to every such bus; and root, who looks at it for the test.
mkdir -p "$tmp/session.d"
cat >"$tmp/session.conf" <<CONF
<busconfig><type>session</type><listen>unix:path=$tmp/session.sock</listen><auth>EXTERNAL</auth>
<policy context="default"><allow send_destination="*" eavesdrop="true"/>
<allow eavesdrop="true"/><allow own="*"/><allow user="root"/></policy></busconfig>
CONF
install -d -o $alice -m 755 "$tmp/home" "$tmp/sockets"
sed -i "s|$tmp/session.sock|$tmp/home/session.sock|" "$tmp/session.conf"
export DBUS_SESSION_BUS_ADDRESS=unix:path=$tmp/home/session.sock
bus_socket=$tmp/home/session.sock
message_bus session "$tmp/session.conf" "$bus_socket" "$alice"
PERFETTO_PRODUCER_SOCK_NAME=$tmp/home/producer.sock PERFETTO_CONSUMER_SOCK_NAME=$tmp/home/consumer.sock native_service
eventually test -S "$tmp/home/consumer.sock"
chown $alice "$socket"
chmod 600 "$socket"
make_box $alice
cp "$(dirname "$0")"/{raw_bus,flood}.py "$(dirname "$0")"/../integration/perfetto_*.py "$tmp"
innocent_records

# Another user. The sockets' modes are all that keeps one away.
own_call() { # USER METHOD ARGUMENT...
        as "$1" timeout 20 gdbus call --address "unix:path=$socket" --dest "$BUS" --object-path "$ROOT" \
                --method "$MANAGER.$2" "${@:3}"
}
gives "its user is served" '^\(' own_call $alice ListSources
fails "another user does not get at the native socket" 'Permission denied' own_call $bob ListSources
for port in producer consumer; do
        fails "nor at Perfetto's $port socket" 'Permission' as $bob timeout 20 \
                /usr/bin/python3 -B "$tmp/perfetto_ipc.py" bind "$tmp/home/$port.sock" "${port^}Port"
done
fails "nor at the bus" 'AccessDenied|rejected|Error|closed|refused' as $bob timeout 20 \
        gdbus call --session --dest "$BUS" --object-path "$ROOT" --method "$MANAGER.ListSources"

# Where the modes are too wide, the service looks who it is.
chmod 666 "$socket" "$tmp"/home/{producer,consumer}.sock
fails "another user who gets at the native socket is not served" . own_call $bob ListSources
for port in producer consumer; do
        fails "nor at Perfetto's $port socket" . as $bob timeout 20 \
                /usr/bin/python3 -B "$tmp/perfetto_ipc.py" bind "$tmp/home/$port.sock" "${port^}Port"
        gives "but its user is, at the $port socket" . as $alice timeout 20 \
                /usr/bin/python3 -B "$tmp/perfetto_ipc.py" bind "$tmp/home/$port.sock" "${port^}Port"
done
gives "its user is served there as before" '^\(' own_call $alice ListSources
gives "and so is root" '^\(' own_call root ListSources
ok "the service says why" grep -q "serves its own user and root only" "$tmp/log"
chmod 600 "$socket" "$tmp"/home/{producer,consumer}.sock

# A program of the same user in a sandbox.
boxed_call() { # METHOD ARGUMENT...
        "${boxed[@]}" timeout 20 gdbus call --session --dest "$BUS" --object-path "$ROOT" \
                --method "$MANAGER.$1" "${@:2}"
}
boxed_native() { # METHOD ARGUMENT...
        "${boxed[@]}" timeout 20 gdbus call --address "unix:path=$socket" --dest "$BUS" --object-path "$ROOT" \
                --method "$MANAGER.$1" "${@:2}"
}
own="{'sources': <['org.example.innocent']>, 'duration-ms': <uint32 1000>, 'detach': <true>}"
for call in boxed_call boxed_native; do
        fails "$call: a program in a sandbox is shown nothing" 'NotAuthorized|PolkitUnavailable|AuthorizationNeeded' \
                $call ListSources
        fails "$call: and records no other programs" 'NotAuthorized|PolkitUnavailable|AuthorizationNeeded' \
                $call StartSession "$own"
done
fails "nor over Perfetto's socket" . "${boxed[@]}" timeout 30 /usr/bin/python3 -B "$tmp/perfetto_consumer.py" \
        "$tmp/home/consumer.sock" record org.example.innocent
started "${boxed[@]}" "$TEST_PRODUCER" boxed org.example.boxed
ok "it may be recorded" eventually has_producer boxed
# Sandboxes have pid namespaces. What is none may carry the file about, and is not believed for it.
app_of() { # PRODUCER
        as $alice "$DESKTRACE" list producers --user --json=short | python3 -c 'import json, sys
print([each["app"] for each in json.load(sys.stdin) if each["name"] == sys.argv[1]])' "$1"
}
started "${boxed_apart[@]}" "$TEST_PRODUCER" apart org.example.apart
ok "so may one with a pid namespace" eventually has_producer apart
if grep -qE '^0::/$|^0::.*/user@' /proc/self/cgroup; then
        gives "which is listed by the name of its app" "^\\['org\\.example\\.Boxed'\\]$" app_of apart
        gives "the other has none" "^\\[''\\]$" app_of boxed
else
        skip_check "which is listed by the name of its app" "the test's own control group may name it"
fi
innocent_is_unharmed "a program in a sandbox"

# A hostile program of the same user.
for attack in bell doorbell; do
        attacker $attack org.example.$attack
        start 3 detach b true duration-ms u 60000 config-text s \
                "buffers { size_kb: 64 } data_sources { config { name: 'org.example.$attack' } }"
        ok "$attack: the attack was carried out" eventually grep -q attacked "$tmp/attacker"
        for n in 1 2 3; do session "$path" Flush u 100 >/dev/null 2>&1; done
        innocent_is_unharmed $attack
        kill -KILL "$attacker"
done

# attacks NAME PROGRAM ARGUMENT...
attacks() {
        : >"$tmp/attacker"
        "${attacker_as[@]}" /usr/bin/python3 -B "$tmp/$2" "${@:3}" >"$tmp/attacker" 2>>"$tmp/log" &
        attacker=$!
        pids+=("$attacker")
        ok "$1: the attack is on" eventually eventually grep -q attacked "$tmp/attacker"
        sleep 1
        innocent_is_unharmed "$1"
        kill -KILL "$attacker"
}
attacks "messages without end" raw_bus.py unfinished "$socket" 20 60
attacks "calls on the native socket" flood.py calls native "$socket" 20
# A user's own programs share one connection to the service over the bus daemon, whose time the flood takes.
answered_over=native
attacks "calls on the bus" flood.py calls bus "$bus_socket" 20
answered_over=bus
ok "when it has ended, the innocent is answered over the bus again" eventually is_answered
attack_is_over "a hostile program of the same user"
finish
