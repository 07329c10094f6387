#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Who may do what on the system bus: the service as its own user, two others, and a polkit that answers as told.
# The checks call functions by name.
# shellcheck disable=SC2317
# shellcheck source=tests/integration/bus-lib.sh
. "$(dirname "$0")/bus-lib.sh"

[ "$(id -u)" = 0 ] || skip_all "needs root, to be several users"

# Users that are on every system: the bus daemon wants to know their names.
service_user=daemon alice=games bob=nobody
alice_uid=$(id -u $alice)
bob_uid=$(id -u $bob)
export BUSCTL=--system
answers=$tmp/answers questions=$tmp/questions
: >"$answers"
: >"$questions"

# call_as USER PATH INTERFACE METHOD ARGUMENTS...
call_as() {
        as "$1" busctl --system "${interactive:---allow-interactive-authorization=no}" call "$BUS" "${@:2}"
}
start_as() { # USER OPTIONS...
        call_as "$1" "$ROOT" "$MANAGER" StartSession 'a{sv}' "${@:2}"
}
get_as() { # USER PATH INTERFACE PROPERTY
        as "$1" busctl --system get-property "$BUS" "${@:2}"
}
named() { # USER METHOD ARGUMENTS..., as gdbus shows the error's name
        as "$1" gdbus call --system --dest "$BUS" --object-path "$ROOT" --method "$MANAGER.$2" "${@:3}"
}
answer() { echo "org.desktrace.tracing1.$1 $2" >>"$answers"; }
asked() { grep -qE -- "$1" "$questions"; }
asked_times() { [ "$(grep -cE -- "$1" "$questions")" -ge "$2" ]; }
has_app() { call_as "$1" "$ROOT" "$MANAGER" ListSources | grep -q "$2"; }
background() { # USER COMMAND...
        started setpriv --reuid="$1" --clear-groups -- "${@:2}"
}

system_bus $service_user
cat >"$tmp/producers.d/kernel.conf" <<'CONF'
[Producer]
Name=kernel
DataSources=linux.ftrace;linux.sys_stats;
BusName=org.example.Nobody
CONF
service setpriv --reuid=$service_user --clear-groups -- "$DESKTRACED" --system
background $alice "$TEST_PRODUCER" alices org.example.app
background $bob "$TEST_PRODUCER" bobs org.example.app

# Own programs: no questions.
ok "any user may list sources" eventually has_app $alice '"org.example.app" 1 '
ok "and is shown the own producers only" eventually has_app $bob '"org.example.app" 1 '
gives "kernel sources are listed as the system's" '"linux.ftrace" 0 .*"system" b true' \
        call_as $alice "$ROOT" "$MANAGER" ListSources
gives "a user records the own programs without being asked" 'session/1' \
        start_as $alice 4 sources as 1 org.example.app name s hers duration-ms u 60000 detach b true
gives "of the own uid only" "a\\(ssuus\\) 1 \"org.example.app\" \"alices\" $alice_uid [0-9]+ \"started\"" \
        get_as $alice "$ROOT/session/1" "$SESSION" Sources
ok "polkit was not asked" test ! -s "$questions"

# The system: trace-system.
kernel="{'sources': <['linux.ftrace']>, 'duration-ms': <uint32 5000>}"
fails "without polkit kernel events are refused, and the action is named" \
        'NotAuthorized: .*trace-system, and there is no polkit' named $alice StartSession "$kernel"
started "$FAKE_POLKIT" "$answers" "$questions"
eventually has_owner --system org.freedesktop.PolicyKit1
fails "polkit's no is a no, and the action is named" \
        'NotAuthorized: .*org.desktrace.tracing1.trace-system, which polkit denied' named $alice StartSession "$kernel"
ok "polkit was told what it is about" asked \
        '^check system-bus-name org.desktrace.tracing1.trace-system flags=0 sources=linux.ftrace duration-ms=5000'
answer trace-system ask
fails "interaction is not forced on a caller" 'AuthorizationNeeded' named $alice StartSession "$kernel"
interactive=--allow-interactive-authorization=yes
fails "an unknown kernel source is unknown" 'linux.nosuch' start_as $alice 1 sources as 1 linux.nosuch
ok "and no question for polkit" test "$(grep -c flags=1 "$questions")" = 0
gives "who may record the system" 'session/2' \
        start_as $alice 4 sources as 1 org.example.app scope s system duration-ms u 60000 detach b true
ok "was asked" asked 'trace-system flags=1 sources=org.example.app'
gives "and records all users" "\"bobs\" $bob_uid" get_as $alice "$ROOT/session/2" "$SESSION" Sources
unset interactive

# No deadline: detach.
fails "a detached session without a deadline needs leave" 'org.desktrace.tracing1.detach, which polkit denied' \
        start_as $alice 2 sources as 1 org.example.app detach b true
waits="{'detach': <true>, 'duration-ms': <uint32 1000>, 'config-text': <'buffers { size_kb: 256 }
        data_sources { config { name: \"org.example.app\" } } deferred_start: true'>}"
fails "nor has one that waits to be started an end" 'org.desktrace.tracing1.detach, which polkit denied' \
        named $alice StartSession "$waits"
background $alice "$TEST_CONSUMER" system start org.example.app >"$tmp/attended"
attended=$started
eventually test -s "$tmp/attended"
fails "or is it left alone later" 'org.desktrace.tracing1.detach, which polkit denied' \
        call_as $alice "$(cat "$tmp/attended")" "$SESSION" Detach
gives "it keeps its owner then" 'b false' get_as $alice "$(cat "$tmp/attended")" "$SESSION" Detached
answer detach yes
ok "polkit may let it" call_as $alice "$(cat "$tmp/attended")" "$SESSION" Detach
ok "and it can be freed by who owns it" call_as $alice "$(cat "$tmp/attended")" "$SESSION" Free
kill -KILL "$attended"
gives "and gets it" 'session/4' start_as $alice 2 sources as 1 org.example.app detach b true

ok "as does one that exists" call_as $alice "$ROOT/session/4" "$SESSION" Detach
alone="{'config-text': <'buffers { size_kb: 256 } data_sources { config { name: \"org.example.app\" } }
        exclusive_prio: 1'>}"
fails "who wants to be alone needs leave to end the sessions of others" \
        'NotAuthorized: .*org.desktrace.tracing1.manage-sessions, which polkit denied' \
        named $alice StartSession "$alone"
gives "and has ended none" '"started"' get_as $alice "$ROOT/session/1" "$SESSION" State
fails "who may come is root's to say" 'NotAuthorized: .*lockdown_mode is root' \
        named $alice StartSession "${alone/exclusive_prio: 1/lockdown_mode: LOCKDOWN_SET}"

# Other people's sessions: manage-sessions.
objects() {
        call_as "$1" "$ROOT" org.freedesktop.DBus.ObjectManager GetManagedObjects |
                grep -oE '/(session|producer)/[0-9]+"' | sort -u | wc -l
}
tree() { as "$1" busctl --system tree "$BUS"; }
shows_session() { tree "$1" | grep session/1; }
fails "sessions of others are unknown objects" 'Unknown object' call_as $bob "$ROOT/session/1" "$SESSION" Stop
fails "also their properties" 'Unknown object' get_as $bob "$ROOT/session/1" "$SESSION" State
fails "also by name" 'NoSuchSession' named $bob GetSession hers
fails "they cannot be cloned either" 'Unknown object' call_as $bob "$ROOT/session/1" "$SESSION" Clone 'a{sv}' 0
fails "nor taken over" 'Unknown object' call_as $bob "$ROOT/session/1" "$SESSION" Attach
gives "also in lists" '^a\(otsus\) 0' call_as $bob "$ROOT" "$MANAGER" ListSessions
gives "also in the object manager" '^1$' objects $bob
fails "also in introspection" '^$' shows_session $bob
gives "which shows them to their owner" session/1 tree $alice
gives "their number is no secret" 'u 3' get_as $bob "$ROOT" "$MANAGER" NumSessions
answer manage-sessions yes
gives "whoever manages sessions sees them" "session/1\" 1 \"hers\" $alice_uid" \
        call_as $bob "$ROOT" "$MANAGER" ListSessions
clone_as() { # USER OPTIONS...: busctl leaves at once, and the clone stays
        call_as "$1" "$ROOT/session/1" "$SESSION" Clone 'a{sv}' "${@:2}"
}
gives "and can clone them" 'session/5' clone_as $bob 1 detach b true
gives "the clone is the cloner's" "^u $bob_uid" get_as $bob "$ROOT/session/5" "$SESSION" OwnerUID
fails "but not without the session's filter" 'only root' clone_as $bob 1 skip-filter b true
gives "which root may" 'session/6' clone_as root 2 skip-filter b true detach b true
ok "who manages sessions can stop them" call_as $bob "$ROOT/session/1" "$SESSION" Stop
answer manage-sessions no
fails "a clone is nobody else's" 'Unknown object' get_as $alice "$ROOT/session/5" "$SESSION" OwnerUID
gives "but the cloner's" "^u $bob_uid" get_as $bob "$ROOT/session/5" "$SESSION" OwnerUID
ok "who frees it" call_as $bob "$ROOT/session/5" "$SESSION" Free
ok "root frees the other" call_as root "$ROOT/session/6" "$SESSION" Free
gives "root is never asked" 'session/1" 1 "hers"' call_as root "$ROOT" "$MANAGER" ListSessions
background $bob timeout 3 gdbus monitor --system --dest "$BUS" >"$tmp/seen"
watcher=$started
sleep 0.5
call_as $alice "$ROOT/session/2" "$SESSION" Stop >/dev/null
wait "$watcher"
ok "signals of others are not seen" test "$(grep -c 'session/' "$tmp/seen")" = 0

# Triggers reach the sessions that may record who sends them.
listens="buffers { size_kb: 1024 } data_sources { config { name: \"org.example.app\" } }
        trigger_config { trigger_mode: STOP_TRACING trigger_timeout_ms: 60000
                triggers { name: \"stop\" stop_delay_ms: 50000 } }"
send_as() { call_as "$1" "$ROOT" "$MANAGER" ActivateTriggers 'asa{sv}' 1 stop 0; }
answer trace-system no
start_as $alice 2 detach b true config-text s "$listens" >"$tmp/started"
hers=$(cut -d'"' -f2 "$tmp/started")
gives "a trigger of another user is none" '^u 0' send_as $bob
gives "but one of the same user" '^u 1' send_as $alice
start_as root 3 detach b true scope s system config-text s "$listens" >"$tmp/started"
all=$(cut -d'"' -f2 "$tmp/started")
gives "a session of the system takes everybody's" '^u 1' send_as $bob
call_as root "$hers" "$SESSION" Free
call_as root "$all" "$SESSION" Free

# Questions that nobody answers.
answer trace-system hang
: >"$questions"
background $alice "$TEST_CONSUMER" system start linux.ftrace
eventually asked trace-system
kill -KILL "$started"
ok "a question is withdrawn when the caller goes" eventually asked '^cancel$'
gives "and nothing was started" '^u 3' get_as root "$ROOT" "$MANAGER" NumSessions
: >"$questions"
for _ in 1 2 3 4 5 6 7 8; do
        background $alice "$TEST_CONSUMER" system start linux.ftrace
done
eventually asked_times trace-system 8
fails "questions of one user are limited" 'LimitExceeded: 8 polkit checks' named $alice StartSession "$kernel"

# What nobody may.
fails "a user cannot pose as the kernel" 'SourceNameReserved' named $alice RegisterProducer liar \
        "[('linux.ftrace', @a{sv} {})]" "@a{sv} {}"
request_name() {
        as "$1" busctl --system call org.freedesktop.DBus /org/freedesktop/DBus org.freedesktop.DBus \
                RequestName su "$BUS" 0
}
fails "a user cannot own the service's name" 'denied|not allowed' request_name $alice
producer=$(busctl --system list --no-legend | awk '$3 == "test-producer" { print $1; exit }')
fails "a user cannot call another user's producer" 'denied|rejected' \
        as $alice busctl --system call "$producer" "$ROOT/Producer" "$BUS.Producer" StartDataSource t 1
finish
