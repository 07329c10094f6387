#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A program's life with the service, and its own: what both may do without asking the other.
# The checks call functions by name.
# shellcheck disable=SC2317
# shellcheck source=tests/integration/life-lib.sh
. "$(dirname "$0")/life-lib.sh"

# recorded_again PROMISE: the program goes on in the next session
recorded_again() {
        record DROP
        tell go steady 5000 2
        tell join
        ok "$1" ends_even "$answer"
}

# Nobody knows how far the last event of each of its threads had come.
ends_even_but_for() {
        local emitted received n_lost
        emitted=$(od -An -tu8 "$tmp/killed" | tr -d ' ')
        session "$path" Stop >/dev/null
        n_lost=$(lost "$path")
        received=$(recorded_in "$path")
        echo "emitted $emitted, received $received, lost $n_lost"
        session "$path" Free >/dev/null
        [ "$received" -gt 0 ] && [ $((received + n_lost - emitted)) -ge 0 ] &&
                [ $((received + n_lost - emitted)) -le "$1" ]
}

is_gone() { ! kill -0 "$1"; }
not_there() { ! has_producer life-app; }
standard_fds_are_free() { ! compgen -G "/proc/$1/fd/[012]"; }
instants() { # NAME: of the last trace that was read
        json_holds "$tmp/summary" "any(s['name'] == '$1' and s['instants'] > 0 for s in t['slices'])"
}
only_standard_fds() { ! compgen -G "/proc/$1/fd/[3-9]*"; }
serve() {
        service "$DESKTRACED" --user --idle-timeout=infinity
        eventually has_producer life-app
}

session_bus
bus=$started
app "$tmp/count" 512
serve
recorded_again "a program that was there before the service is recorded"

cp "$DESKTRACED" "$tmp/desktraced"
kill -TERM "$daemon"
wait "$daemon"
service "$tmp/desktraced" --user --idle-timeout=infinity
eventually has_producer life-app
recorded_again "it goes on with another version of the service"

kill -KILL "$daemon"
wait "$daemon"
serve
recorded_again "and with one that comes after a crash"

record DROP
kill -KILL "$bus"
ok "a bus that dies takes the session along" tell off
rm -f "$tmp/session.sock"
session_bus
serve
recorded_again "and on a bus that has been started again"

tell plugin "$LIFE_PLUGIN" 10
record DROP
tell plugin "$LIFE_PLUGIN" 700
ok "a plugin's events are recorded however often it is loaded" ends_even "$answer"

record DROP
tell spawn
gives "what the program executes has none of the library's descriptors" '^4 4$' echo "$answer"
ok "and what a child of vfork() emits is its parent's" ends_even 1

prlimit --pid "$app" --nofile=6:
start 2 detach b true config-text s 'buffers { size_kb: 256 } data_sources { config { name: "track_event" } }'
session "$path" Free >/dev/null
prlimit --pid "$app" --nofile=64:
eventually has_producer life-app
recorded_again "a program that had no descriptors left is recorded when it has some"

record DROP
app_ends
eventually is_gone "$app"
session "$path" Stop >/dev/null
recorded_in "$path" >/dev/null
ok "events of functions of atexit() are recorded" instants "at exit"
ok "and of destructors" instants destructor

app "$tmp/killed"
eventually has_producer life-app
record DROP
tell endless 3
sleep 0.05
kill -KILL "$app"
eventually not_there
ok "a program that is killed in its events leaves all that had returned" ends_even_but_for 3

"$LIFE_APP" "$tmp/count" 512 closed 2>/dev/null &
closed=$!
pids+=("$closed")
eventually has_producer life-app
start 3 sources as 1 track_event duration-ms u 60000 detach b true
sleep 0.3
ok "the numbers of a closed stdin, stdout and stderr stay free" standard_fds_are_free "$closed"
kill -KILL "$closed"
session "$path" Stop >/dev/null
recorded_in "$path" >/dev/null
ok "and the program is recorded" instants beat

app "$tmp/count"
eventually has_producer life-app
tell chroot
[ "$answer" = cannot ] || recorded_again "a program in a chroot of its own is recorded"
app_ends
eventually not_there

app "$tmp/count"
eventually has_producer life-app
tell daemonise
daemonised=$answer
pids+=("$daemonised")
ok "a program that has forked is no longer there" eventually not_there
tell go steady 5000 2
tell join
ok "it goes on as a daemon without the library" test "$answer" = 10000
ok "which has opened nothing" only_standard_fds "$daemonised"
tell init
ok "nor does when it is asked to" test "$answer" = -125

# Other people's programs, with a malloc() that emits events.
if [ -n "$LIFE_PRELOAD" ]; then
        for command in 'ls -l /usr/share' 'sh -c "echo one | cat; exit 3"' 'python3 -c "print(list(range(999)))"'; do
                bash -c "$command" >"$tmp/expected" 2>&1
                expected=$? ended=0
                "$DESKTRACE" record --standalone -p apps -q -f -o preload.pftrace -- \
                        bash -c "export LD_PRELOAD=$LIFE_PRELOAD; $command" >"$tmp/output" 2>&1 || ended=$?
                ok "${command%% *} ends as without the library" test $ended = $expected
                ok "and says the same" cmp "$tmp/expected" "$tmp/output"
                ok "its malloc() is recorded" holds preload.pftrace '(t["undecodable_events"] == 0 and
                        any(s["name"] == "malloc" and s["instants"] > 0 for s in t["slices"]))'
        done
fi
finish
