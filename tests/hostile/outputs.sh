#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Point 2: descriptors to which the service would say what a caller chose, with its own credentials, and those that make
# it wait. Only files and pipes are written to, each on a thread.
# The checks call functions by name.
# shellcheck disable=SC2317
# shellcheck source=tests/hostile/hostile-lib.sh
. "$(dirname "$0")/hostile-lib.sh"

SOURCE=org.example.innocent # of the attacker's there is none, which does not matter
declare -A kinds=(
        [bus]='datagram stream linger event directory'
        [native]='datagram packets linger terminal'
        [perfetto]='datagram stream linger terminal path'
)

# passing KIND COMMAND...: as the attacker
passing() {
        local uid=()
        [ "$(id -u)" != 0 ] || uid=("ATTACKER_UID=$(id -u $bob)")
        env "${uid[@]}" /usr/bin/python3 -B "$tmp/attack/hostile/passes.py" "$1" "$tmp/heard" "${@:2}"
}
into_bus() { passing "$1" timeout 20 "$TEST_CONSUMER" $innocent_bus start $SOURCE output; }
into_native() { passing "$1" timeout 20 "$TEST_CONSUMER" "$socket" start $SOURCE output; }
into_perfetto() {
        passing "$1" timeout 20 /usr/bin/python3 -B "$tmp/attack/integration/perfetto_consumer.py" \
                "$consumer_socket" into $SOURCE | tee "$tmp/told"
        ! grep -q 'cannot use the output\|neither a file\|O_PATH\|reading only' "$tmp/told"
}
read_into() { passing "$1" timeout 20 "$TEST_CONSUMER" $innocent_bus read-into "$path"; }
n_sessions() { busctl "${BUSCTL:---user}" get-property $BUS $ROOT $MANAGER NumSessions | cut -d' ' -f2; }
are_sessions() { [ "$(n_sessions)" = "$1" ]; }

# Where an attacker may read it.
mkdir -p "$tmp/attack/hostile" "$tmp/attack/integration" "$tmp/sockets"
cp "$(dirname "$0")"/{passes,stuck-file,raw_bus}.py "$tmp/attack/hostile"
cp "$(dirname "$0")"/../integration/perfetto_{consumer,ipc,wire}.py "$tmp/attack/integration"
consumer_socket=$tmp/sockets/consumer.sock
PERFETTO_CONSUMER_SOCK_NAME=$consumer_socket attacked_service
eventually test -S "$consumer_socket"
chmod 666 "$consumer_socket"
: >"$tmp/heard"
chmod 666 "$tmp/heard"
innocent_records

refused='neither a file nor a pipe.*pass a pipe|opened with O_PATH|open for reading only'
for way in bus native perfetto; do
        for kind in ${kinds[$way]}; do
                fails "$way: no trace is written to \"$kind\"" "$refused" into_$way $kind
        done
done
attacker_records "buffers { size_kb: 64 } data_sources { config { name: 'org.nobody.has.this' } }"
for kind in datagram linger; do
        fails "nor is one read into \"$kind\"" "$refused" read_into $kind
done
innocent_is_unharmed "sockets and devices as outputs"
ok "nobody was told anything by the service" test ! -s "$tmp/heard"

# A file may be written to, but its file system never answers. The attacker hangs as well.
if [ "$(id -u)" = 0 ] && [ -w /dev/fuse ] && unshare -m true 2>/dev/null; then
        n=$(n_sessions)
        for way in native perfetto; do
                : >"$tmp/heard"
                into_$way stuck >"$tmp/attacker" 2>&1 &
                eventually test -s "$tmp/heard"
                file_system=$(cat "$tmp/heard")
                pids+=("$file_system")
                n=$((n + 1))
                ok "$way: a trace goes to a file that hangs" eventually are_sessions $n
                innocent_is_unharmed "$way: a file that hangs"
        done
else
        skip_check "a trace goes to a file that hangs" 'no file system of its own may be mounted here'
fi
attack_is_over outputs
finish
