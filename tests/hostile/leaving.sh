#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Point 3, at the end: a process of which a thread hangs in a file system that never answers cannot end, and while it
# tries systemd starts no other one. So an idle service stays, serves, and leaves when it can.
# The checks call functions by name.
# shellcheck disable=SC2317
# shellcheck source=tests/hostile/hostile-lib.sh
. "$(dirname "$0")/hostile-lib.sh"

[ "$(id -u)" = 0 ] || skip_all "needs root, to mount a file system of its own"
[ -w /dev/fuse ] || skip_all "there is no /dev/fuse"
unshare -m true 2>/dev/null || skip_all "may not mount"

has_ended() { [ ! -e "/proc/$daemon" ] || grep -q '^State:.Z' "/proc/$daemon/status"; }
has_given_up() { grep -q 'does not answer' "$tmp/log" || has_ended; }

# attack: passes a descriptor that cannot be closed, and leaves; its pid is in $attacker
attack() {
        : >"$tmp/attacker"
        ATTACKER_UID=$(id -u $bob) unshare -m --propagation private /usr/bin/python3 -B \
                "$(dirname "$0")/stuck-file.py" bus "$tmp/system.sock" 1 "$bus_daemon" leave \
                >"$tmp/attacker" 2>>"$tmp/log" &
        attacker=$!
        pids+=("$attacker")
}

two_users --idle-timeout=5s
innocent_records
attack
ok "a descriptor that cannot be closed is passed, and its sender leaves" eventually grep -q attacked "$tmp/attacker"
innocent_is_unharmed "a stuck file"

kill "$innocent_caller" "$innocent_consumer" "$innocent_program"
ok "when nobody uses it, the service wants to leave" eventually has_given_up
ok "it says whose descriptor hangs" grep -q "user $(id -u $bob) has passed does not answer" "$tmp/log"
ok "it stays" kill -0 "$daemon"
fails "and is no process that cannot end" '^$' has_ended
ok "who comes then is answered" answers
kill -KILL "$attacker"
ok "it leaves when the descriptor is closed" eventually has_ended

# A process that was killed, or has crashed, keeps its connection to the bus for as long as the descriptor hangs. One
# that crashed waits for the thread that hangs before it dumps its core, and is no zombie until then.
is_dead() { grep -qE '^State:.Z|^CoreDumping:.*1' "/proc/$daemon/status"; }
n_taken() { grep -c 'its bus name is taken away' "$tmp/log"; }
has_taken() { [ "$(n_taken)" -gt "$1" ]; }
ulimit -c unlimited 2>/dev/null
for signal in KILL SEGV; do
        # Its core is of no use to anybody: it may not write one into that directory.
        service "${service_as[@]}" env -C "$tmp" ASAN_OPTIONS=handle_segv=0 "$DESKTRACED" --system
        attack
        ok "$signal: a descriptor that cannot be closed is passed again" eventually grep -q attacked "$tmp/attacker"
        sleep 1
        n=$(n_taken)
        kill -$signal "$daemon"
        ok "$signal: the process dies, but does not end" eventually is_dead
        ok "$signal: it still has its name" has_owner --system $BUS
        started "${service_as[@]}" "$DESKTRACED" --system --idle-timeout=infinity
        next=$started
        ok "$signal: the next process takes the name away" eventually has_taken "$n"
        ok "$signal: and answers" answers
        fails "$signal: a second one beside it does not" 'cannot own the bus name' \
                "${service_as[@]}" timeout 20 "$DESKTRACED" --system
        ok "$signal: the first one goes on" kill -0 "$next"
        kill -KILL "$attacker" "$next"
        wait "$next" 2>/dev/null
done
finish
