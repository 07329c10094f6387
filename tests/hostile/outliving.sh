#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# What outlives the service is limited as well: descriptors in systemd's store, outputs that nobody reads, and snapshots
# that wait for a trigger. The next process has them, and an innocent user's recording, and still charges who made them.
# The checks call functions by name.
# shellcheck disable=SC2317
# shellcheck source=tests/hostile/hostile-lib.sh
. "$(dirname "$0")/hostile-lib.sh"

[ "$(id -u)" = 0 ] || skip_all "needs root, to be several users"

# stays_as USER OPTIONS...: a session for longer than all of this takes, in $path
stays_as() {
        path=$(call_as "$1" $ROOT $MANAGER StartSession 'a{sv}' $((($# - 1) / 3 + 2)) "${@:2}" \
                detach b true duration-ms u 900000 | cut -d'"' -f2)
        [ -n "$path" ]
}
# Those of sessions: a program's memory is in there as well.
n_stored() { grep -c -- '-[bcios][0-9]*$' "$tmp/manager/stored"; }
are_stored() { [ "$(n_stored)" = "$1" ]; }
n_unkept() { grep -c 'would not survive the service' "$tmp/log"; }
is_unkept() { [ "$(n_unkept)" -ge "$1" ]; }
is_ready() { [ "$(cat "$tmp/manager/ready")" -gt "$1" ]; }
# buffers_as USER N: a session that takes one descriptor and two for each of its buffers
buffers_as() {
        local buffers
        buffers=$(printf 'buffers { size_kb: 4 } %.0s' $(seq "$2"))
        stays_as "$1" config-text s "$buffers data_sources { config { name: 'org.nobody.has.this' } }"
}
# keeps USER N ALL: it is kept, and ALL descriptors are then; keeps_not USER N
keeps() { buffers_as "$1" "$2" && eventually are_stored "$3"; }
keeps_not() {
        local n=$(($(n_unkept) + 1)) n_before
        n_before=$(n_stored)
        buffers_as "$1" "$2" && eventually is_unkept $n && are_stored "$n_before"
}
# next_process SIGNAL: it has the innocent's session, which goes on
next_process() {
        local n
        n=$(cat "$tmp/manager/ready")
        kill "-$1" "$(cat "$tmp/manager/pid")"
        ok "$1: the next process is ready" eventually is_ready "$n"
        ok "$1: it answers the innocent" eventually named_as $alice ListSources
        ok "$1: the innocent recording goes on" eventually has_written_more_than 0
        gives "$1: nothing of it is lost" '^t 0$' property "$innocent_session" PacketsLost
}

three_users
mkdir "$tmp/manager"
chown daemon "$tmp/manager"
service "${service_as[@]}" "$SERVICE_MANAGER" "$tmp/manager" "$DESKTRACED" --system
producer_as innocent org.example.innocent
stays_as $alice sources as 1 org.example.innocent
innocent_session=$path
ok "an innocent user's recording is kept" eventually are_stored 3

# KEEPER_DESCRIPTORS_PER_USER_MAX, KEEPER_DESCRIPTORS_MAX
ok "a user's sessions are kept" keeps $bob 126 256
ok "up to 256 descriptors" keeps $bob 1 259
ok "and no more" keeps_not $bob 1
ok "another user's are as well" keeps bin 126 512
ok "all of them" keeps bin 1 515
ok "a third one's" keeps sys 126 768
ok "who would take more than are free then has none kept" keeps_not sys 1
ok "likewise a fourth one" keeps_not man 126
ok "but less" keeps man 63 895
ok "and a fifth one has some, of the 1024" keeps lp 31 958
next_process KILL
ok "all of it is there" are_stored 958
ok "and is still charged" keeps_not $bob 1

# Outputs that nobody reads: the pipe is full before anything is written. On the root of a container it would not be
# kept, as that lies on top of another file system.
outputs=$(mktemp -d /dev/shm/desktrace-test.XXXXXX)
trap 'rm -rf "$outputs"; cleanup' EXIT
chmod 755 "$outputs"
pipe=$outputs/pipe
mkfifo -m 666 "$pipe"
started /usr/bin/python3 -c 'import fcntl, os, sys, time
fd = os.open(sys.argv[1], os.O_RDWR | os.O_NONBLOCK)
fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, 4096)
try:
    while os.write(fd, b"x" * 4096):
        pass
except BlockingIOError:
    time.sleep(600)' "$pipe"
into_pipe() { # the session belongs to a connection, which stays
        : >"$tmp/into"
        setpriv --reuid=news --clear-groups -- "$TEST_CONSUMER" system start org.example.innocent output \
                3<>"$pipe" >"$tmp/into" 2>>"$tmp/log" &
        pids+=("$!")
        eventually test -s "$tmp/into"
}
for n in 1 2 3; do ok "output $n goes to a pipe that nobody reads" into_pipe; done
ok "and is kept" eventually are_stored 973

# Snapshots that wait, as many as a user may have sessions.
waits_for_trigger() {
        call_as mail $ROOT $MANAGER StartSession 'a{sv}' 2 detach b true config-text s \
                "buffers { size_kb: 64 } data_sources { config { name: 'org.nobody.has.this' } }
                trigger_config { trigger_mode: CLONE_SNAPSHOT trigger_timeout_ms: 900000
                triggers { name: 'now' } }"
}
triggers() { # USER: many, all at once
        local n all
        for n in $(seq 20); do
                named_as "$1" ActivateTriggers "['now']" '{}' >/dev/null &
                all+=("$!")
        done
        wait "${all[@]}"
}
for n in 1 2 3 4 5 6 7 8; do ok "snapshot $n waits for a trigger" waits_for_trigger; done
refused=SERVICE_SESSIONS_PER_USER_MAX
fails "and no ninth" $refused waits_for_trigger
ok "they are kept" eventually are_stored 997
ok "triggers of somebody else are taken" triggers $bob
n_waiting() { as mail busctl --system call $BUS $ROOT $MANAGER ListSessions | grep -o '"started"' | wc -l; }
next_process KILL
gives "the snapshots wait in the next process" '^8$' n_waiting
fails "where they still count" $refused waits_for_trigger
ok "and take triggers of their user" triggers mail
next_process TERM

# An output whose file system never answers: the process dies, and cannot end. The one who made it waits for it alone.
# A sanitizer stops all threads at the end, and waits for the one that hangs.
makes_files() {
        ! ldd "$DESKTRACED" | grep -qE 'lib(asan|tsan)' &&
                unshare -m true 2>/dev/null && [ -w /dev/fuse ] && head -c 0 /dev/fuse 2>/dev/null
}
into_stuck_file() {
        : >"$tmp/attacker"
        ATTACKER_UID=$(id -u uucp) unshare -m --propagation private /usr/bin/python3 -B \
                "$(dirname "$0")/stuck-file.py" output org.example.innocent 1 "$bus_daemon" \
                >"$tmp/attacker" 2>>"$tmp/log" &
        attackers+=("$!")
        pids+=("$!")
        eventually grep -q /session/ "$tmp/attacker"
}
# It is dead, but for a thread.
still_hangs() {
        grep -q '^State:.Z' "/proc/$1/status" && [ "$(find "/proc/$1/task" -mindepth 1 -maxdepth 1 | wc -l)" -gt 1 ]
}
attackers=()
for signal in $(makes_files && echo TERM KILL); do
        ok "$signal: an output is a file that never answers" into_stuck_file
        before=$(cat "$tmp/manager/pid")
        ok "$signal: somebody waits for it" eventually grep -q 'asked in vain' "$tmp/attacker"
        ok "$signal: the innocent is answered meanwhile" named_as $alice ListSources
        next_process $signal
        ok "$signal: while the old process still hangs" still_hangs "$before"
done
makes_files || skip_check 'an output that hangs while the service is restarted' \
        "no file system of one's own here, or a sanitizer"
[ ${#attackers[@]} = 0 ] || kill -KILL "${attackers[@]}"
finish
