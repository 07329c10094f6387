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
attack_is_over forged
finish
