#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# On a bus of several users nobody sees what others record, or which programs of theirs offer what: neither as objects
# nor by signals.
# The checks call functions by name.
# shellcheck disable=SC2317
# shellcheck source=tests/integration/bus-lib.sh
. "$(dirname "$0")/bus-lib.sh"

[ "$(id -u)" = 0 ] || skip_all "needs root, to be several users"

# Users that are on every system: the bus daemon wants to know their names.
service_user=daemon alice=games bob=nobody
export BUSCTL=--system

call_as() { # USER PATH INTERFACE METHOD ARGUMENTS...
        as "$1" busctl --system call "$BUS" "${@:2}"
}
background() { # USER COMMAND...
        started setpriv --reuid="$1" --clear-groups -- "${@:2}"
}
watch_as() { # USER: what it hears is in $tmp/heard.USER
        started setpriv --reuid="$1" --clear-groups -- "$TEST_CONSUMER" system watch - >"$tmp/heard.$1"
        eventually grep -q '^watching' "$tmp/heard.$1"
}
heard() { # USER PATTERN
        eventually grep -qE -- "$2" "$tmp/heard.$1"
}
tree_as() {
        as "$1" busctl --system --list tree "$BUS"
}
objects_as() {
        call_as "$1" "$ROOT" org.freedesktop.DBus.ObjectManager GetManagedObjects
}
lists() { # USER PATTERN
        objects_as "$1" | grep -q "$2"
}

system_bus $service_user
cat >"$tmp/producers.d/kernel.conf" <<'CONF'
[Producer]
Name=kernel
DataSources=linux.ftrace;
BusName=org.example.Nobody
CONF
service setpriv --reuid=$service_user --clear-groups -- "$DESKTRACED" --system --idle-timeout=60s
watch_as $alice
watch_as $bob
watch_as root

background $alice "$TEST_PRODUCER" alices org.example.alices
alices=$started
ok "the own sources are objects" eventually lists $alice source/org_2eexample_2ealices
ok "that come with a signal" heard $alice 'org_2eexample_2ealices'
fails "those of others are not" '^$' lists $bob org_2eexample_2ealices
fails "and cannot be guessed" 'Unknown object' as $bob busctl --system get-property "$BUS" \
        "$ROOT/source/org_2eexample_2ealices" "$BUS".SourceInfo Producers
ok "root sees them" lists root source/org_2eexample_2ealices
gives "what could be started is everybody's" 'source/linux_2eftrace' tree_as $bob
gives "as is what the service says of itself" 'source/desktrace_2eself' tree_as $bob

# A source that both offer: each sees its own producer, and hears of no other.
background $alice "$TEST_PRODUCER" shared-a org.example.shared
heard root org_2eexample_2eshared
heard $alice org_2eexample_2eshared
background $bob "$TEST_PRODUCER" shared-b org.example.shared
bobs=$started
producers_as() { # USER
        as "$1" busctl --system get-property "$BUS" "$ROOT/source/org_2eexample_2eshared" "$BUS".SourceInfo Producers
}
eventually lists $bob source/org_2eexample_2eshared
gives "a shared source shows the own producer only" '^ao 1 ' producers_as $alice
gives "to each" '^ao 1 ' producers_as $bob
gives "and all to root" '^ao 2 ' producers_as root
ok "for the second user it is new" heard $bob 'InterfacesAdded'
ok "for root it has changed" heard root 'Path=/org/desktrace/Tracing1/source/org_2eexample_2eshared .*PropertiesChanged'
kill "$bobs"
ok "it goes where nobody offers it now" heard $bob 'InterfacesRemoved'
ok "and stays for the others" lists $alice source/org_2eexample_2eshared
fails "who have heard of none of that" '^$' \
        grep -qE 'InterfacesRemoved|/org_2eexample_2eshared .*PropertiesChanged' "$tmp/heard.$alice"

# Buffers and writers are those of a session.
session=$(call_as $alice "$ROOT" "$MANAGER" StartSession 'a{sv}' 3 sources as 1 org.example.alices \
        duration-ms u 60000 detach b true | cut -d'"' -f2)
object=${session#"$ROOT/"}
ok "a buffer is an object for its session's owner" lists $alice "$object/buffer/0"
ok "and for root" lists root "$object/buffer/0"
fails "but for nobody else" '^$' lists $bob "$object"
buffer_size() { # USER
        as "$1" busctl --system get-property "$BUS" "$session/buffer/0" "$BUS".Buffer Size
}
gives "the owner reads it" '^t [1-9]' buffer_size $alice
fails "others cannot" 'Unknown object' buffer_size $bob
fails "nor see its writers" 'Unknown object' call_as $bob "$session" "$SESSION" GetWriterStats
ok "its owner hears what becomes of its sources" heard $alice 'SourceStateChanged'
ok "root, too" heard root 'SourceStateChanged'
kill "$alices"
ok "and that they end" heard $alice '"gone"'
call_as $alice "$session" "$SESSION" Free
ok "and that the buffer goes" heard root "$object/buffer/0"
ok "others hear nothing of a session" test "$(grep -c 'session/' "$tmp/heard.$bob")" = 0
ok "nor of a program that is not theirs" test "$(grep -c alices "$tmp/heard.$bob")" = 0
ok "the log's level is not for users" test "$(as $alice busctl --system set-property "$BUS" \
        /org/freedesktop/LogControl1 org.freedesktop.LogControl1 LogLevel s debug 2>&1 | grep -c 'denied')" = 1
ok "but for root" busctl --system set-property "$BUS" /org/freedesktop/LogControl1 org.freedesktop.LogControl1 \
        LogLevel s notice
finish
