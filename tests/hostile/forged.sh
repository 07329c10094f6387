#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A peer sends signals that look like the bus's own: that others have left it, or that the service has.
# The checks call functions by name.
# shellcheck disable=SC2317
# shellcheck source=tests/hostile/hostile-lib.sh
. "$(dirname "$0")/hostile-lib.sh"

[ "$(id -u)" = 0 ] || skip_all "needs root, to be several users"

two_users
innocent_records
echo "buffers { size_kb: 64 } data_sources { config { name: 'org.example.innocent' } }" >"$tmp/config.pbtxt"
chmod 644 "$tmp/config.pbtxt"
started as $alice "$DESKTRACE" record --system -q -c "$tmp/config.pbtxt" -o - >"$tmp/recorded.pftrace"
recorder=$started

not() { ! "$@"; }
unique_names() { busctl --system list --unique --no-legend | cut -d' ' -f1; }
# forge TO NAME OLD NEW: a signal to one connection alone
forge() {
        as $bob busctl --system "--destination=$1" emit /org/freedesktop/DBus \
                org.freedesktop.DBus NameOwnerChanged sss "${@:2}"
}
# tell TO SESSION: that it has stopped
tell() {
        as $bob busctl --system "--destination=$1" emit "$2" $SESSION Stopped s 'by nobody'
}
name_of_bob() { tail -n 1 <(unique_names); }
sessions() {
        call_as root $ROOT org.freedesktop.DBus.ObjectManager GetManagedObjects |
                grep -o "$ROOT/session/[0-9]*" | sort -u
}
are_sessions() { [ "$(sessions | wc -l)" = "$1" ]; }
eventually are_sessions 2
forge_all() {
        local to names about session
        mapfile -t names < <(unique_names)
        for to in "${names[@]}"; do
                for about in "${names[@]}"; do
                        forge "$to" "$about" "$about" '' || return
                done
                forge "$to" $BUS ':1.0' '' || return
                forge "$to" $BUS ':1.0' "$(name_of_bob)" || return
                while read -r session; do
                        tell "$to" "$session" || return
                done < <(sessions)
        done
} 2>>"$tmp/log"

ok "an attacker tells everybody that everybody is gone" forge_all
sleep 1
ok "the innocent program is still known" has_producer innocent
ok "and its recording is still there" recorded "$innocent_session"
ok "as is the one of the command line" kill -0 "$recorder"
ok "which is its session still" are_sessions 2

# A program that says it has heap profiles, and one that says it is the probes: neither is anybody else's.
started "${attacker_as[@]}" "$TEST_PRODUCER" perf linux.perf
started "${attacker_as[@]}" "$TEST_PRODUCER" heap android.heapprofd
ok "an attacker offers heap profiles" eventually has_producer heap
# instances_of USER: what a session of that user has of the source
instances_of() {
        start_as "$1" sources as 1 android.heapprofd && get_as "$1" "$path" $SESSION Sources
}
gives "which its own user may record" '^a.ssuus. 1 "android.heapprofd" "heap"' instances_of $bob
gives "another user's recording does not get them" \
        '^a.ssuus. 1 "android.heapprofd" "" 0 0 "missing"$' instances_of $alice
fails "nor what is said to be the probes'" 'no data source is named "linux.perf"' \
        call_as $alice $ROOT $MANAGER StartSession 'a{sv}' 1 sources as 1 linux.perf
ok "and there is no program that has the probes' sources" not has_producer perf
attack_is_over forged
finish
