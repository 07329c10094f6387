#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Locks of the kernel's for what the service shares with a peer, which the peer holds for as long as it likes.
# The checks call functions by name.
# shellcheck disable=SC2317
# shellcheck source=tests/hostile/hostile-lib.sh
. "$(dirname "$0")/hostile-lib.sh"

[ "$(id -u)" = 0 ] || skip_all "needs root, to mount a file system of its own"
[ -w /dev/fuse ] || skip_all "there is no /dev/fuse"
unshare -m true 2>/dev/null || skip_all "may not mount"

# held_lock WAY ARGUMENTS...: its pid is in $attacker; it is told a line when "$tmp/go" is there
held_lock() {
        : >"$tmp/attacker"
        ATTACKER_UID=$(id -u $bob) unshare -m --propagation private \
                /usr/bin/python3 -B "$(dirname "$0")/held-lock.py" "$@" >"$tmp/attacker" 2>>"$tmp/log" \
                < <(eventually test -e "$tmp/go" && echo) &
        attacker=$!
        pids+=("$attacker")
}

PERFETTO_PRODUCER_SOCK_NAME=$tmp/sockets/perfetto.sock attacked_service
innocent_records

held_lock memory "$tmp/sockets/perfetto.sock" org.example.held
ok "a producer brings memory" eventually grep -q ready "$tmp/attacker"
start_as $bob config-text s 'buffers { size_kb: 64 } data_sources { config { name: "org.example.held" } }'
held=$path
touch "$tmp/go"
eventually grep -q attacked "$tmp/attacker"
ok "it holds the lock of its memory" grep -q attacked "$tmp/attacker"
call_as $bob "$held" $SESSION Flush u 1000 >/dev/null 2>&1
innocent_is_unharmed "the lock of shared memory"
call_as $bob "$held" $SESSION Stop >/dev/null 2>&1
innocent_is_unharmed "the lock of shared memory, at the end of its session"
kill -KILL "$attacker"

held_lock proof "$tmp/system.sock"
eventually grep -q attacked "$tmp/attacker"
ok "a producer holds the lock of what is to prove who it is" grep -q attacked "$tmp/attacker"
innocent_is_unharmed "the lock of a proof"
kill -KILL "$attacker"
attack_is_over "held locks"
finish
