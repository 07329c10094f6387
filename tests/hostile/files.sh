#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Descriptors of a file system that never answers: to close one, or to ask about its file, is to wait for ever.
# The checks call functions by name.
# shellcheck disable=SC2317
# shellcheck source=tests/hostile/hostile-lib.sh
. "$(dirname "$0")/hostile-lib.sh"

[ "$(id -u)" = 0 ] || skip_all "needs root, to mount a file system of its own"
[ -w /dev/fuse ] || skip_all "there is no /dev/fuse"
unshare -m true 2>/dev/null || skip_all "may not mount"

# stuck_file WHERE SOCKET N [PID]: passes such a descriptor N times; its pid is in $attacker
stuck_file() {
        : >"$tmp/attacker"
        ATTACKER_UID=$(id -u $bob) unshare -m --propagation private \
                /usr/bin/python3 -B "$(dirname "$0")/stuck-file.py" "$@" >"$tmp/attacker" 2>>"$tmp/log" &
        attacker=$!
        pids+=("$attacker")
        eventually grep -q attacked "$tmp/attacker"
}

PERFETTO_PRODUCER_SOCK_NAME=$tmp/sockets/perfetto.sock attacked_service
innocent_records

stuck_file perfetto "$tmp/sockets/perfetto.sock" 1
first=$attacker
ok "a descriptor that cannot be closed is passed" grep -q attacked "$tmp/attacker"
innocent_is_unharmed "one stuck file"
ok "another peer is served by the same socket" timeout 20 \
        /usr/bin/python3 -B "$(dirname "$0")/../integration/perfetto_ipc.py" bind \
        "$tmp/sockets/perfetto.sock" ProducerPort
stuck_file perfetto "$tmp/sockets/perfetto.sock" 40
ok "more are passed" grep -q attacked "$tmp/attacker"
innocent_is_unharmed "many stuck files"
kill -KILL "$first" "$attacker"
innocent_is_unharmed "stuck files whose file system is gone"

for n in 1 100; do
        stuck_file native "$socket" $n
        ok "native socket: it is passed $n times" grep -q attacked "$tmp/attacker"
        innocent_is_unharmed "native socket, $n stuck files"
        kill -KILL "$attacker"
        innocent_is_unharmed "native socket, $n stuck files whose file system is gone"
        stuck_file bus "$tmp/system.sock" $n "$bus_daemon"
        ok "message bus: it is passed $n times" grep -q attacked "$tmp/attacker"
        innocent_is_unharmed "message bus, $n stuck files"
        kill -KILL "$attacker"
        innocent_is_unharmed "message bus, $n stuck files whose file system is gone"
done
attack_is_over "stuck files"
ok "the native socket answers again" eventually /usr/bin/python3 -B "$(dirname "$0")/raw_bus.py" hello "$socket"
finish
