#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Access on the system bus, who may do what: the service as its own user, two others, and a polkit that answers as told.
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
hers='' all='' endless='' clone='' unfiltered='' # paths of sessions, from replies
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
# replies PROMISE VARIABLE COMMAND...: the command succeeds, and the path that it replies with is in VARIABLE
replies() {
        local reply
        reply=$("${@:3}" 2>&1)
        printf -v "$2" %s "$(cut -d'"' -f2 <<<"$reply")"
        gives "$1" "^o \"$ROOT/session/[0-9]+\"" echo "$reply"
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
replies "a user records the own programs without being asked" hers \
        start_as $alice 4 sources as 1 org.example.app name s hers duration-ms u 60000 detach b true
gives "of the caller's uid only" "a\\(ssuus\\) 1 \"org.example.app\" \"alices\" $alice_uid [0-9]+ \"started\"" \
        get_as $alice "$hers" "$SESSION" Sources
ok "polkit was not asked" test ! -s "$questions"

# The system: trace-system.
kernel="{'sources': <['linux.ftrace']>, 'duration-ms': <uint32 5000>}"
fails "without polkit kernel events are refused, and the action is named" \
        'NotAuthorized: .*trace-system, and no polkit is available' named $alice StartSession "$kernel"
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
replies "who may record the system" all \
        start_as $alice 4 sources as 1 org.example.app scope s system duration-ms u 60000 detach b true
ok "was asked" asked 'trace-system flags=1 sources=org.example.app'
gives "and records all users" "\"bobs\" $bob_uid" get_as $alice "$all" "$SESSION" Sources
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
replies "and gets it" endless start_as $alice 2 sources as 1 org.example.app detach b true

ok "as does one that exists" call_as $alice "$endless" "$SESSION" Detach
alone="{'config-text': <'buffers { size_kb: 256 } data_sources { config { name: \"org.example.app\" } }
        exclusive_prio: 1'>}"
fails "who wants to be alone needs leave to end the sessions of others" \
        'NotAuthorized: .*org.desktrace.tracing1.manage-sessions, which polkit denied' \
        named $alice StartSession "$alone"
gives "and has ended none" '"started"' get_as $alice "$hers" "$SESSION" State
fails "who may come is root's to say" 'NotAuthorized: .*only root may set lockdown_mode' \
        named $alice StartSession "${alone/exclusive_prio: 1/lockdown_mode: LOCKDOWN_SET}"

# Other people's sessions: manage-sessions.
objects() {
        call_as "$1" "$ROOT" org.freedesktop.DBus.ObjectManager GetManagedObjects |
                grep -oE '/(session|producer)/[0-9]+"' | sort -u | wc -l
}
tree() { as "$1" busctl --system tree "$BUS"; }
shows_session() { tree "$1" | grep "${hers#"$ROOT/"}"; }
fails "sessions of others are unknown objects" 'Unknown object' call_as $bob "$hers" "$SESSION" Stop
fails "also their properties" 'Unknown object' get_as $bob "$hers" "$SESSION" State
fails "also by name" 'NoSuchSession' named $bob GetSession hers
asked_about() { # USER COMMAND...: the questions for polkit that it leads to
        : >"$questions"
        "${@:2}" >/dev/null 2>&1
        cat "$questions"
}
alike() { # EXISTING ABSENT COMMAND...: the same questions, at least one, and the same reply but for the name
        local there absent
        there=$(asked_about $bob "${@:3}" "$1") absent=$(asked_about $bob "${@:3}" "$2")
        [ -n "$there" ] && [ "$there" = "$absent" ] &&
                [ "$("${@:3}" "$1" 2>&1 | sed "s,\\b$1\\b,X,g")" = "$("${@:3}" "$2" 2>&1 | sed "s,\\b$2\\b,X,g")" ]
}
stop_as_bob() { call_as $bob "$ROOT/session/$1" "$SESSION" Stop; }
get_as_bob() { get_as $bob "$ROOT/session/$1" "$SESSION" State; }
find_as_bob() { named $bob GetSession "$1"; }
buffer_as_bob() { call_as $bob "$ROOT/session/$1/buffer/0" org.freedesktop.DBus.Properties GetAll s "$BUS.Buffer"; }
ok "a session of another user and none lead to the same question and reply" alike "${hers##*/}" 999 stop_as_bob
ok "for a property" alike "${hers##*/}" 999 get_as_bob
ok "for a buffer" alike "${hers##*/}" 999 buffer_as_bob
ok "for a number" alike "${hers##*/}" 999 find_as_bob
ok "for a name" alike hers nobodys find_as_bob
fails "they cannot be cloned either" 'Unknown object' call_as $bob "$hers" "$SESSION" Clone 'a{sv}' 0
fails "nor taken over" 'Unknown object' call_as $bob "$hers" "$SESSION" Attach
gives "also in lists" '^a\(otsus\) 0' call_as $bob "$ROOT" "$MANAGER" ListSessions
gives "also in the object manager" '^1$' objects $bob
fails "also in introspection" '^$' shows_session $bob
gives "which shows them to their owner" "${hers#"$ROOT/"}" tree $alice
gives "not even how many they are" '^u 0$' get_as $bob "$ROOT" "$MANAGER" NumSessions
answer manage-sessions yes
gives "who manages sessions sees them" "$hers\" ${hers##*/} \"hers\" $alice_uid" \
        call_as $bob "$ROOT" "$MANAGER" ListSessions
clone_as() { # USER OPTIONS...: busctl leaves at once, and the clone stays
        call_as "$1" "$hers" "$SESSION" Clone 'a{sv}' "${@:2}"
}
replies "and can clone them" clone clone_as $bob 1 detach b true
gives "the clone is the cloner's" "^u $bob_uid" get_as $bob "$clone" "$SESSION" OwnerUID
fails "but not without the session's filter" 'only root' clone_as $bob 1 skip-filter b true
replies "which root may" unfiltered clone_as root 2 skip-filter b true detach b true
ok "who manages sessions can stop them" call_as $bob "$hers" "$SESSION" Stop
answer manage-sessions no
fails "a clone is nobody else's" 'Unknown object' get_as $alice "$clone" "$SESSION" OwnerUID
gives "but the cloner's" "^u $bob_uid" get_as $bob "$clone" "$SESSION" OwnerUID
ok "who frees it" call_as $bob "$clone" "$SESSION" Free
ok "root frees the other" call_as root "$unfiltered" "$SESSION" Free
gives "root is never asked" "$hers\" ${hers##*/} \"hers\"" call_as root "$ROOT" "$MANAGER" ListSessions
background $bob timeout 3 gdbus monitor --system --dest "$BUS" >"$tmp/seen"
watcher=$started
sleep 0.5
call_as $alice "$all" "$SESSION" Stop >/dev/null
wait "$watcher"
ok "signals of others are not seen" test "$(grep -c 'session/' "$tmp/seen")" = 0

# Triggers reach the sender's sessions, and those of others whose config takes them.
listens="buffers { size_kb: 1024 } data_sources { config { name: \"org.example.app\" } }
        trigger_config { trigger_mode: STOP_TRACING trigger_timeout_ms: 60000
                triggers { name: \"stop\" stop_delay_ms: 50000 } }"
send_as() { call_as "$1" "$ROOT" "$MANAGER" ActivateTriggers 'asa{sv}' 1 stop 0; }
answer trace-system no
start_as $alice 2 detach b true config-text s "$listens" >"$tmp/started"
waiting=$(cut -d'"' -f2 "$tmp/started")
gives "a trigger of another user has no effect" '^u 0' send_as $bob
gives "but one of the same user" '^u 1' send_as $alice
start_roots() { # CONFIG: root's session is $roots
        start_as root 3 detach b true scope s system config-text s "$1" >"$tmp/started"
        roots=$(cut -d'"' -f2 "$tmp/started")
}
ends() { get_as root "$roots" "$SESSION" EndTime; }
start_roots "$listens"
before=$(ends)
gives "also for a session of the system" '^u 0' send_as $bob
ok "which goes on" test "$(ends)" = "$before"
call_as root "$roots" "$SESSION" Free
start_roots "${listens/name: \"stop\"/name: \"stop\" from_other_users: true}"
before=$(ends)
gives "unless its config takes them, which the sender is not told" '^u 0' send_as $bob
fails "then it ends" '^$' test "$(ends)" = "$before"
call_as root "$waiting" "$SESSION" Free
call_as root "$roots" "$SESSION" Free

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
fails "questions of one user are limited" 'LimitExceeded: 8 polkit questions' named $alice StartSession "$kernel"

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
