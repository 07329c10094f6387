#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Names of one user's sessions and semaphores do not stand in another user's way.
# The checks call functions by name.
# shellcheck disable=SC2317
# shellcheck source=tests/hostile/hostile-lib.sh
. "$(dirname "$0")/hostile-lib.sh"

[ "$(id -u)" = 0 ] || skip_all "needs root, to be several users"

two_users
innocent_records

config="buffers { size_kb: 64 } data_sources { config { name: 'org.example.innocent' } }"
named() { start_as "$1" config-text s "$config unique_session_name: 'flight-recorder'"; }
guarded() { start_as "$1" config-text s "$config session_semaphores { name: 'gpu' }"; }
found_as() { call_as "$1" $ROOT $MANAGER GetSession s "$2"; }
status_as() { # USER NAME: the exit status of the command line
        as "$1" "$DESKTRACE" stop --system "$2" >/dev/null 2>&1
        echo $?
}

named $bob
bobs=$path
ok "an attacker takes a name" test -n "$bobs"
ok "and a semaphore" guarded $bob
named $alice
hers=$path
ok "the innocent has a session of the same name" test -n "$hers"
ok "and the same semaphore" guarded $alice
fails "which one's own sessions respect" 'NameInUse' named_as $alice StartSession \
        "{'config-text': <\"$config unique_session_name: 'flight-recorder'\">}"
fails "both" 'Busy.*gpu' named_as $alice StartSession \
        "{'config-text': <\"$config session_semaphores { name: 'gpu' }\">}"

gives "each user finds a session of that name" "\"$hers\"" found_as $alice flight-recorder
gives "and only the own one" "\"$bobs\"" found_as $bob flight-recorder
fails "root is told when a name means several" 'AmbiguousName.*ListSessions' named_as root GetSession flight-recorder
gives "root says which by its number" "\"$hers\"" found_as root "${hers##*/}"
gives "the command line says so, too" '^5$' status_as root flight-recorder
call_as $bob "$bobs" $SESSION Stop >/dev/null
gives "root finds the one that runs" "\"$hers\"" found_as root flight-recorder
call_as $alice "$hers" $SESSION Stop >/dev/null
named $bob
call_as $bob "$path" $SESSION Stop >/dev/null
gives "a stopped session of another user hides none" "\"$hers\"" found_as $alice flight-recorder
named root
gives "root finds the own session first" "\"$path\"" found_as root flight-recorder
attack_is_over names
finish
