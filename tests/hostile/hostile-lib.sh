# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Verbs of the hostile tests: an innocent user records while somebody else attacks, and must not notice.
# Needs HOSTILE_PRODUCER besides what bus-lib.sh needs.

# shellcheck source=tests/integration/bus-lib.sh
. "$(dirname "$0")/../integration/bus-lib.sh"

innocent_as=() innocent_bus=user

# two_users: the system bus, the service as a user of its own, and a polkit that grants nothing; $alice is innocent, and
# $bob attacks
two_users() {
        local service_user=daemon # users that are on every system: the bus daemon wants to know their names
        alice=games bob=nobody
        answers=$tmp/answers questions=$tmp/questions
        : >"$answers"
        : >"$questions"
        export BUSCTL=--system
        innocent_as=(setpriv "--reuid=$alice" --clear-groups --) innocent_bus=system
        system_bus $service_user
        started "$FAKE_POLKIT" "$answers" "$questions"
        eventually has_owner --system org.freedesktop.PolicyKit1
        service setpriv --reuid=$service_user --clear-groups -- "$DESKTRACED" --system "$@"
}

# call_as USER PATH INTERFACE METHOD ARGUMENTS...; the same of a method of the manager, whose error's name is shown
call_as() {
        as "$1" busctl --system --allow-interactive-authorization=no call "$BUS" "${@:2}"
}
named_as() { # USER METHOD ARGUMENTS...
        as "$1" gdbus call --system --dest $BUS --object-path $ROOT --method "$MANAGER.$2" "${@:3}"
}
get_as() { # USER PATH INTERFACE PROPERTY
        as "$1" busctl --system get-property "$BUS" "${@:2}"
}
answer() { echo "org.desktrace.tracing1.$1 $2" >>"$answers"; }

# start_as USER OPTIONS...: a session that stays, its path is in $path
start_as() {
        path=$(call_as "$1" $ROOT $MANAGER StartSession 'a{sv}' $((($# - 1) / 3 + 2)) "${@:2}" \
                detach b true duration-ms u 60000 2>"$tmp/start-error" | cut -d'"' -f2)
        [ -n "$path" ]
}

# innocent_records: a program that writes a packet every 10 ms, and a session that streams it into a file
innocent_records() {
        producer_as innocent org.example.innocent
        innocent_program=$started
        : >"$tmp/consumer"
        "${innocent_as[@]}" "$TEST_CONSUMER" $innocent_bus start org.example.innocent output \
                3>"$tmp/innocent.pftrace" >"$tmp/consumer" 2>>"$tmp/log" &
        started=$!
        pids+=("$started")
        eventually test -s "$tmp/consumer"
        path=$(cat "$tmp/consumer")
        innocent_session=$path innocent_consumer=$started
        recorded "$innocent_session"
}

producer_as() {
        started "${innocent_as[@]}" "$TEST_PRODUCER" "$@"
        eventually has_producer "$1"
}

# A service on the session bus and on the native socket $socket
native_service() {
        local name keep=()
        for name in ${!DESKTRACE_*} DBUS_SESSION_BUS_ADDRESS PERFETTO_PRODUCER_SOCK_NAME PERFETTO_CONSUMER_SOCK_NAME; do
                [ -z "${!name-}" ] || keep+=(-E "$name")
        done
        socket=$tmp/native.sock
        started systemd-socket-activate -l "$socket" "${keep[@]}" "$DESKTRACED" --user
        daemon=$started
        eventually test -S "$socket"
        timeout 20 /usr/bin/python3 -B "$(dirname "$0")/raw_bus.py" hello "$socket"
        eventually has_owner --user $BUS
}

# What the service says of itself must come, however long it takes: bus-lib's "eventually" is no measure of time.
answers() {
        timeout 20 busctl "${BUSCTL:---user}" --timeout=20 get-property $BUS $ROOT $MANAGER Version >/dev/null
}

bytes_written() {
        property "$innocent_session" BytesWritten | cut -d' ' -f2
}

has_written_more_than() {
        session "$innocent_session" Flush u 1000 && [ "$(bytes_written)" -gt "$1" ]
}

# innocent_is_unharmed ATTACK: the service is the process that it was and answers; nothing is lost in the recording
innocent_is_unharmed() {
        local before
        ok "$1: the service answers" answers
        ok "$1: it is the same process" kill -0 "$daemon"
        before=$(bytes_written)
        ok "$1: the innocent recording goes on" eventually has_written_more_than "${before:-0}"
        gives "$1: nothing of it is lost" '^t 0$' property "$innocent_session" PacketsLost
        gives "$1: and no chunk" '^t 0$' property "$innocent_session" ChunksLost
}

# attacker ATTACK SOURCE: a hostile producer that is registered; its pid is in $attacker
attacker() {
        : >"$tmp/attacker"
        "$HOSTILE_PRODUCER" "$@" >"$tmp/attacker" 2>>"$tmp/log" &
        attacker=$!
        pids+=("$attacker")
        eventually grep -q ready "$tmp/attacker"
}

# Memory of the service that belongs to no file.
memory_mib() { awk '$1 == "RssAnon:" { print int($2 / 1024) }' "/proc/$daemon/status"; }
has_at_most() { [ "$(memory_mib)" -le "$1" ]; }
# memory_is PROMISE COMMAND...: a sanitizer keeps what is freed, so nothing is measured there
memory_is() {
        if ldd "$DESKTRACED" | grep -qE 'lib(asan|tsan)'; then
                skip_check "$1" 'a sanitizer keeps memory of its own'
        else
                ok "$@"
        fi
}
