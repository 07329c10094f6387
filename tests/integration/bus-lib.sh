# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Verbs of the bus tests: private buses, the service in each mode, producers, and checks. Each check is one TAP line;
# what a failing check saw is printed before it. Needs DESKTRACED, TEST_PRODUCER,
# TEST_CONSUMER, FAKE_POLKIT and BUS_POLICY.

set -u

BUS=org.desktrace.Tracing1
ROOT=/org/desktrace/Tracing1
MANAGER=$BUS.Manager
SESSION=$BUS.Session

tmp=$(mktemp -d "${TMPDIR:-/tmp}/desktrace-test.XXXXXX")
chmod 755 "$tmp"
n_checks=0 n_failed=0 pids=() daemon=
unset DESKTRACE_SOCKET DESKTRACE_WAIT DESKTRACE_STARTUP DBUS_SESSION_BUS_ADDRESS DBUS_SYSTEM_BUS_ADDRESS
unset NOTIFY_SOCKET LISTEN_FDS LISTEN_PID PERFETTO_PRODUCER_SOCK_NAME PERFETTO_CONSUMER_SOCK_NAME
# Neither bus of this machine: a library that finds no bus where it looks waits for one.
export DBUS_SESSION_BUS_ADDRESS=unix:path=$tmp/session.sock DBUS_SYSTEM_BUS_ADDRESS=unix:path=$tmp/system.sock
export DESKTRACE_CONFIG=$tmp/desktraced.conf DESKTRACE_PRODUCERS_PATH=$tmp/producers.d
export DESKTRACE_PRESET_PATH=$tmp/presets
mkdir "$tmp/presets" "$tmp/producers.d"

# tell_crashes: of the programs that have ended by themselves; tests/second_run.py must see that, too
tell_crashes() {
        local pid status
        for pid in "${pids[@]}"; do
                ! kill -0 "$pid" 2>/dev/null || continue
                wait "$pid" 2>/dev/null
                status=$?
                case $status in
                132 | 134 | 135 | 136 | 139) echo "# process $pid has crashed: signal $((status - 128))" ;;
                esac
        done
}

# left_running: all that have this test's environment. Programs of a desktop start others, which live on without them.
left_running() {
        grep -lzsxF "DESKTRACE_CONFIG=$tmp/desktraced.conf" /proc/[0-9]*/environ | cut -d/ -f3
}

cleanup() {
        local n stragglers
        tell_crashes
        {
                [ ${#pids[@]} = 0 ] || kill -KILL "${pids[@]}"
                for ((n = 0; n < 20; n++)); do # what is killed may have started another one just then
                        mapfile -t stragglers < <(left_running)
                        kill -KILL "${stragglers[@]}" || break
                done
                [ ${#pids[@]} = 0 ] || wait "${pids[@]}"
        } 2>/dev/null
        mountpoint -q "$tmp/full" 2>/dev/null && umount "$tmp/full"
        rm -rf "$tmp"
}
trap cleanup EXIT

# started COMMAND...: in the background, ended with the test; the pid is in $started. It never has a pipe for its
# output: that is this test's own, or a check's, and who reads one to its end waits for all processes that have it.
started() {
        if [ -p /dev/stdout ] || [ -S /dev/stdout ]; then
                "$@" >>"$tmp/log" 2>&1 &
        else
                "$@" 2>>"$tmp/log" &
        fi
        started=$!
        pids+=("$started")
}

# ended PID...: of those that were started; killed if they do not end when they are told to
ended() {
        local pid n
        {
                kill "$@"
                for pid; do
                        for ((n = 0; n < 100; n++)); do
                                kill -0 "$pid" || break
                                sleep 0.1
                        done
                        kill -KILL "$pid"
                done
                wait "$@"
        } 2>/dev/null
}

# crashes: the first lines that a sanitizer said, wherever in the log they are: tests/second_run.py must see them
crashes() {
        grep -aE 'Sanitizer|runtime error: ' "$tmp/log" 2>/dev/null | head -n 5
}

# failed PROMISE TEXT...: what was seen, and what the programs said last
failed() {
        { printf '%s\n' "${@:2}" | head -n 20; crashes; tail -n 10 "$tmp/log"; } | cut -c1-400 | sed 's/^/# /'
        echo "not ok $n_checks - $1"
        n_failed=$((n_failed + 1))
}

# ok PROMISE COMMAND...: the command succeeds
ok() {
        local promise=$1 output
        shift
        n_checks=$((n_checks + 1))
        if output=$("$@" 2>&1); then
                echo "ok $n_checks - $promise"
        else
                failed "$promise" "$* ($?): $output"
        fi
}

# gives PROMISE PATTERN COMMAND...: the command succeeds and its output matches
gives() {
        local promise=$1 pattern=$2 output
        shift 2
        n_checks=$((n_checks + 1))
        if output=$("$@" 2>&1) && grep -qE -- "$pattern" <<<"$output"; then
                echo "ok $n_checks - $promise"
        else
                failed "$promise" "$*: $output" "wanted: $pattern"
        fi
}

# fails PROMISE PATTERN COMMAND...: the command fails and its output matches
fails() {
        local promise=$1 pattern=$2 output
        shift 2
        n_checks=$((n_checks + 1))
        if ! output=$("$@" 2>&1) && grep -qE -- "$pattern" <<<"$output"; then
                echo "ok $n_checks - $promise"
        else
                failed "$promise" "$*: $output" "wanted: $pattern"
        fi
}

skip_check() {
        n_checks=$((n_checks + 1))
        echo "ok $n_checks - $1 # SKIP $2"
}

skip_all() {
        echo "1..0 # SKIP $1"
        exit 0
}

finish() {
        echo "1..$n_checks"
        exit $((n_failed > 0))
}

# eventually COMMAND...: succeeds within half a minute, or longer where the machine is so busy that asking takes time
eventually() {
        local n
        for ((n = 0; n < 600; n++)); do
                "$@" >/dev/null 2>&1 && return 0
                sleep 0.05
        done
        "$@"
}

# has_owner --user|--system NAME: not "busctl status", which fails where there are no control groups
has_owner() {
        local bus=org.freedesktop.DBus
        busctl "$1" call $bus /org/freedesktop/DBus $bus GetNameOwner s "$2" >/dev/null 2>&1
}

# message_bus session|system CONFIG SOCKET [USER]: dbus-daemon, or what $TEST_BUS says; the process that passes
# messages on is in $bus_daemon
message_bus() {
        local config=$2 socket=$3 user=${4-} side=--user scope=user
        [ "$1" = session ] || side=--system scope=system
        case ${TEST_BUS-dbus-daemon} in
        dbus-broker)
                started unshare --mount --propagation private sh -c 'mount -t tmpfs tmpfs /run && exec "$@"' sh \
                        /usr/bin/python3 -B "$(dirname "${BASH_SOURCE[0]}")/broker.py" $scope "$config" "$socket" \
                        ${user:+"$user"}
                ;;
        *) started ${user:+setpriv "--reuid=$user" --clear-groups --} dbus-daemon --nofork --config-file="$config" ;;
        esac
        bus_daemon=$started
        eventually has_owner $side org.freedesktop.DBus
        [ "${TEST_BUS-}" != dbus-broker ] || bus_daemon=$(child_of "$(child_of "$started")")
}
child_of() { tr -d ' ' <"/proc/$1/task/$1/children"; }

# A session bus as every desktop has it, but without service files; $tmp/session.d may have more of its configuration.
session_bus() {
        mkdir -p "$tmp/session.d"
        cat >"$tmp/session.conf" <<CONF
<busconfig><type>session</type><listen>unix:path=$tmp/session.sock</listen><auth>EXTERNAL</auth>
<policy context="default"><allow send_destination="*" eavesdrop="true"/>
<allow eavesdrop="true"/><allow own="*"/></policy>
<includedir>$tmp/session.d</includedir></busconfig>
CONF
        message_bus session "$tmp/session.conf" "$tmp/session.sock"
}

# A system bus with the rules of every system bus, our own policy, and one for a polkit. $1: the service's user.
system_bus() {
        mkdir -p "$tmp/system.d"
        sed "s/user=\"desktrace\"/user=\"$1\"/" "$BUS_POLICY" >"$tmp/system.d/desktrace.conf"
        cat >"$tmp/system.conf" <<CONF
<busconfig><type>system</type><listen>unix:path=$tmp/system.sock</listen><auth>EXTERNAL</auth>
<policy context="default"><allow user="*"/><deny own="*"/><deny send_type="method_call"/>
<allow send_type="signal"/><allow send_requested_reply="true" send_type="method_return"/>
<allow send_requested_reply="true" send_type="error"/><allow receive_type="method_call"/>
<allow receive_type="method_return"/><allow receive_type="error"/><allow receive_type="signal"/>
<allow send_destination="org.freedesktop.DBus"/><allow send_destination="org.freedesktop.PolicyKit1"/></policy>
<policy user="root"><allow own="org.freedesktop.PolicyKit1"/></policy>
<includedir>$tmp/system.d</includedir></busconfig>
CONF
        message_bus system "$tmp/system.conf" "$tmp/system.sock"
        chmod 666 "$tmp/system.sock"
}

# make_box USER: "${boxed[@]}" COMMAND... runs in a root like Flatpak's: a tmpfs, and in it a mount .flatpak-info, which
# says that it is org.example.Boxed. With "${boxed_apart[@]}" it has a pid namespace, too.
make_box() {
        mkdir "$tmp/root"
        cat >"$tmp/boxed.sh" <<'SH'
root=$1 uid=$2 && shift 2 && mount -t tmpfs -o mode=755 tmpfs "$root" && cd "$root" || exit
for at in /*; do
        if [ -L "$at" ]; then cp -P "$at" .
        elif [ -d "$at" ]; then mkdir ".$at" && mount --rbind "$at" ".$at"; fi || exit
done
printf '[Application]\nname=org.example.Boxed\n' >info && : >.flatpak-info && mount --bind info .flatpak-info || exit
exec chroot . setpriv --reuid="$uid" --clear-groups -- "$@"
SH
        # shellcheck disable=SC2034 # for the tests
        boxed=(unshare -m --propagation private sh "$tmp/boxed.sh" "$tmp/root" "$1")
        # The shell stays, as a process that has changed its user no longer hears that its parent was killed.
        # shellcheck disable=SC2016,SC2034 # for the shell inside, and for the tests
        boxed_apart=(unshare --pid --fork --kill-child sh -c '"$@"; exit $?' sh "${boxed[@]}")
}

# service COMMAND...: the daemon, until it owns its name; its pid is in $daemon. It stays, unless a time is given: on a
# busy machine a test may leave it alone for longer than its own.
service() {
        local bus=--user
        [[ " $* " == *" --idle-timeout="* ]] || set -- "$@" --idle-timeout=infinity
        [[ " $* " != *" --system"* ]] || bus=--system
        started "$@"
        # shellcheck disable=SC2034 # for the tests
        daemon=$started
        eventually has_owner $bus $BUS
}

# producer NAME SOURCE [BEHAVIOUR]: until the service knows one more; its pid is in $started
producer() {
        started "$TEST_PRODUCER" "$@"
        eventually has_producer "$1"
}

has_producer() {
        busctl "${BUSCTL:---user}" call $BUS $ROOT org.freedesktop.DBus.ObjectManager GetManagedObjects |
                grep -q "\"Name\" s \"$1\""
}

# manager METHOD ARGUMENTS...; session PATH METHOD ARGUMENTS...; property PATH NAME
manager() {
        busctl "${BUSCTL:---user}" call $BUS $ROOT $MANAGER "$@"
}

session() {
        busctl "${BUSCTL:---user}" call $BUS "$1" $SESSION "${@:2}"
}

property() {
        busctl "${BUSCTL:---user}" get-property $BUS "$1" $SESSION "$2"
}

# recorded PATH: what a test-producer writes at its start is in the buffer
recorded() {
        eventually has_recorded "$1"
}

has_recorded() {
        property "$1" BytesWritten | grep -qE '[0-9]{4}'
}

# consumer OPTIONS...: a test-consumer that stays; its session is $path, its pid $started, its descriptor 3 is ours
consumer() {
        : >"$tmp/consumer"
        "$TEST_CONSUMER" "$@" >"$tmp/consumer" 2>>"$tmp/log" &
        started=$!
        pids+=("$started")
        eventually test -s "$tmp/consumer"
        path=$(cat "$tmp/consumer")
}

# start OPTIONS...: StartSession, the path is in $path
start() {
        path=$(manager StartSession 'a{sv}' "$@" 2>"$tmp/start-error" | cut -d'"' -f2)
        [ -n "$path" ]
}

# Bytes out of the reply of Read.
bytes() {
        perl -ane 'print pack "C*", @F[2 .. $#F - 1]'
}

# as UID COMMAND...: without any privilege
as() {
        setpriv --reuid="$1" --clear-groups --inh-caps=-all -- "${@:2}"
}

# counts PATTERN FILE N: at least N matches
counts() {
        [ "$(grep -aoE -- "$1" "$2" | wc -l)" -ge "$3" ]
}
