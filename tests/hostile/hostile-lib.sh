# shellcheck shell=bash disable=SC2034
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Verbs of the hostile tests: an innocent user records while somebody else attacks, and must not notice.
# Needs HOSTILE_PRODUCER besides what bus-lib.sh needs. With $HOSTILE_HIDEPID nobody but root sees processes of others
# in /proc.
if [ "${HOSTILE_HIDEPID-}" ]; then
        unset HOSTILE_HIDEPID
        in_namespace=(unshare --mount --pid --fork --kill-child --mount-proc --propagation private bash -c)
        "${in_namespace[@]}" 'mount -o remount,hidepid=2 /proc' 2>/dev/null ||
                { echo '1..0 # SKIP may not mount /proc'; exit 0; }
        # shellcheck disable=SC2016 # for the shell inside
        exec "${in_namespace[@]}" 'mount -o remount,hidepid=2 /proc && exec "$0" "$@"' "$0" "$@"
fi

# shellcheck source=tests/integration/bus-lib.sh
. "$(dirname "$0")/../integration/bus-lib.sh"

innocent_as=() attacker_as=() service_as=() innocent_bus=user service_mode=--user
# What allocators keep of a memory that was held for others.
left_mib_max=24

# The system bus, and a polkit that grants nothing; $alice is innocent, $bob attacks, and the service is somebody else.
three_users() {
        local service_user=daemon # users that are on every system: the bus daemon wants to know their names
        alice=games bob=nobody
        answers=$tmp/answers questions=$tmp/questions
        : >"$answers"
        : >"$questions"
        export BUSCTL=--system
        innocent_as=(setpriv "--reuid=$alice" --clear-groups --) innocent_bus=system
        attacker_as=(setpriv "--reuid=$bob" --clear-groups --)
        service_as=(setpriv "--reuid=$service_user" --clear-groups --) service_mode=--system
        mkdir -p "$tmp/system.d"
        cat >"$tmp/system.d/floor.conf" <<CONF
<busconfig><policy user="$alice"><allow own="org.example.Floor"/></policy>
<policy context="default"><allow send_destination="org.example.Floor"/></policy></busconfig>
CONF
        system_bus $service_user
        started "$FAKE_POLKIT" "$answers" "$questions"
        eventually has_owner --system org.freedesktop.PolicyKit1
        mkdir -p "$tmp/sockets"
        chown $service_user "$tmp/sockets"
}

# two_users: the service on the system bus alone
two_users() {
        three_users
        service "${service_as[@]}" "$DESKTRACED" --system "$@"
}

# attacked_service: on a bus and on its native socket $socket; a user who is not root is innocent and attacker in one
attacked_service() {
        if [ "$(id -u)" = 0 ]; then
                three_users
        else
                session_bus
                fi
        native_service
}

# attacked_ports: the same, and Perfetto's sockets $producer_socket and $consumer_socket; what attacks is in $attacks
attacked_ports() {
        attacks=$tmp/attack/hostile # where an attacker may read it
        mkdir -p "$tmp/sockets" "$attacks" "$tmp/attack/integration"
        cp "$(dirname "$0")"/{perfetto-attacks,raw_bus}.py "$attacks"
        cp "$(dirname "$0")"/../integration/perfetto_{ipc,wire,consumer}.py "$tmp/attack/integration"
        producer_socket=$tmp/sockets/producer.sock consumer_socket=$tmp/sockets/consumer.sock
        PERFETTO_PRODUCER_SOCK_NAME=$producer_socket PERFETTO_CONSUMER_SOCK_NAME=$consumer_socket attacked_service
        eventually test -S "$consumer_socket"
        chmod 666 "$producer_socket" "$consumer_socket"
}
# attacks_port VERB SOCKET ARGUMENT...: in the background; its pid is in $attacker, what it says in $tmp/attacker
attacks_port() {
        : >"$tmp/attacker"
        "${attacker_as[@]}" /usr/bin/python3 -B "$attacks/perfetto-attacks.py" "$@" >"$tmp/attacker" 2>>"$tmp/log" &
        attacker=$!
        pids+=("$attacker")
}
# consume_as USER VERB ARGUMENT...: perfetto_consumer.py
consume_as() {
        as "$1" timeout 60 /usr/bin/python3 -B "$tmp/attack/integration/perfetto_consumer.py" \
                "$consumer_socket" "${@:2}"
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

# attacker_records CONFIG: a session of the attacker's that stays, its path is in $path
attacker_records() {
        if [ "$(id -u)" = 0 ]; then
                start_as "$bob" config-text s "$1"
        else
                start 3 detach b true duration-ms u 60000 config-text s "$1"
        fi
}

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
        innocent_calls
        memory_before=$(memory_mib)
}

# innocent_calls: somebody who asks for a property all the time, over the bus and on the native socket
innocent_calls() {
        local native=$tmp/sockets/native.sock
        [ -S "$native" ] || native=
        mkdir -p "$tmp/caller"
        cp "$(dirname "$0")"/{innocent-caller,raw_bus}.py "$tmp/caller"
        : >"$tmp/replies"
        "${innocent_as[@]}" /usr/bin/python3 -B "$tmp/caller/innocent-caller.py" \
                "${bus_socket-$tmp/${innocent_bus/user/session}.sock}" ${native:+"$native"} \
                >"$tmp/replies" 2>>"$tmp/log" &
        innocent_caller=$!
        pids+=("$innocent_caller")
        eventually test -s "$tmp/replies"
}
has_said_more_than() { [ "$(wc -l <"$tmp/replies")" -gt "$1" ]; }

# has_answered ATTACK: the one who asks had replies meanwhile; the worst ones are a comment, which nothing asserts: over
# the bus, of a bare service on that bus, by how much ours was later than that in the same moment, and these of sockets.
# answered_over=native: where the innocent's own bus is flooded by a program of the same user
asks_for_replies() {
        local n
        n=$(wc -l <"$tmp/replies")
        kill -USR1 "$innocent_caller" && eventually has_said_more_than "$n"
}
# adds_replies: asks once more; the worst so far and the sums are in $replies. Succeeds when there was a reply.
adds_replies() {
        asks_for_replies || return
        read -ra replies < <({ echo "${replies[@]}"; tail -n 1 "$tmp/replies"; } | awk '
                { for (i = 1; i <= 8; i++) all[i] = i > 6 ? all[i] + $i : $i > all[i] + 0 ? $i : all[i] + 0 }
                END { print all[1], all[2], all[3], all[4], all[5], all[6], all[7], all[8] }')
        has_replies
}
has_replies() {
        if [ "${answered_over-bus}" = bus ]; then
                [ "${replies[6]}" -gt 0 ]
        else
                [ "${replies[7]}" -gt 0 ]
        fi
}
has_answered() {
        replies=(0 0 0 0 0 0 0 0)
        # The last line may be of a moment ago, and there is no telling when the next reply comes.
        eventually adds_replies
        echo "# worst reply to the innocent, ms | $1 | bus ${replies[0]} | floor ${replies[1]} |" \
                "over it ${replies[2]} | native ${replies[3]} | floor ${replies[4]} | over it ${replies[5]} |" \
                "${replies[6]} and ${replies[7]} replies"
        tells_longest_turn "$1"
        ok "$1: the innocent is answered" has_replies
}
# Of the service's main loop since this was asked last, in time of a CPU, where $TEST_LONGEST_TURN names liblongest-turn
reset_turns() { dd if=/dev/zero of="$tmp/turn" bs=8 count=1 conv=notrunc status=none; }
tells_longest_turn() {
        [ "${TEST_LONGEST_TURN-}" ] || return 0
        echo "# longest turn, ms of CPU | $1 | $(od -An -td8 -N8 "$tmp/turn" | awk '{ printf "%.1f", $1 / 1e6 }')"
        reset_turns
}
# is_answered: since this was asked last
is_answered() {
        local n_replies n_native
        asks_for_replies
        read -r _ _ _ _ _ _ n_replies n_native < <(tail -n 1 "$tmp/replies")
        [ "${answered_over-bus}" = bus ] || n_replies=$n_native
        [ "$n_replies" -gt 0 ]
}

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

# attack_is_over ATTACK: and nothing is left of it
attack_is_over() {
        innocent_is_unharmed "$1"
        memory_is "$1: the memory is given back" eventually has_at_most $((memory_before + left_mib_max))
}

producer_as() {
        started "${innocent_as[@]}" "$TEST_PRODUCER" "$@"
        eventually has_producer "$1"
}

# A service on its bus and on the native socket $socket
native_service() {
        local name keep=()
        for name in ${!DESKTRACE_*} DBUS_{SESSION,SYSTEM}_BUS_ADDRESS PERFETTO_{PRODUCER,CONSUMER}_SOCK_NAME; do
                [ -z "${!name-}" ] || keep+=(-E "$name")
        done
        if [ "${TEST_LONGEST_TURN-}" ]; then
                cp "$TEST_LONGEST_TURN" "$tmp/longest-turn.so"
                reset_turns
                chmod 666 "$tmp/turn"
                keep+=(-E "LD_PRELOAD=$tmp/longest-turn.so" -E "LONGEST_TURN=$tmp/turn")
        fi
        mkdir -p "$tmp/sockets"
        socket=${sockets-$tmp/sockets}/native.sock
        started "${service_as[@]}" systemd-socket-activate -l "$socket" "${keep[@]}" "$DESKTRACED" $service_mode
        daemon=$started
        eventually test -S "$socket"
        chmod 666 "$socket"
        timeout 20 /usr/bin/python3 -B "$(dirname "$0")/raw_bus.py" hello "$socket"
        eventually has_owner "${BUSCTL:---user}" $BUS
}

# What the service says of itself must come, however long it takes: bus-lib's "eventually" is no measure of time.
answers() {
        timeout 60 busctl "${BUSCTL:---user}" --timeout=60 get-property $BUS $ROOT $MANAGER Version >/dev/null
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
        has_answered "$1"
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
        DESKTRACE_SOCKET=${socket-} "${attacker_as[@]}" "$HOSTILE_PRODUCER" "$@" >"$tmp/attacker" 2>>"$tmp/log" &
        attacker=$!
        pids+=("$attacker")
        eventually grep -q ready "$tmp/attacker"
}
