#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A user who watches and asks all the time learns nothing of another user's sessions and programs.
# The checks call functions by name.
# shellcheck disable=SC2317
# shellcheck source=tests/hostile/hostile-lib.sh
. "$(dirname "$0")/hostile-lib.sh"

[ "$(id -u)" = 0 ] || skip_all "needs root, to be several users"

two_users
started setpriv --reuid=$bob --clear-groups -- "$TEST_PRODUCER" bobs org.example.bobs
eventually has_producer bobs
started setpriv --reuid=$bob --clear-groups -- "$TEST_CONSUMER" system watch - >"$tmp/heard"
sleep 0.5

shown_to_bob() {
        get_as $bob $ROOT $MANAGER NumSessions
        get_as $bob $ROOT $MANAGER NumProducers
        call_as $bob $ROOT org.freedesktop.DBus.ObjectManager GetManagedObjects
        call_as $bob $ROOT $MANAGER ListSessions
        call_as $bob $ROOT $MANAGER ListSources
        as $bob busctl --system tree $BUS
}
questions() { # COMMAND...
        : >"$questions"
        "$@" >/dev/null 2>&1
        cat "$questions"
}
ok "polkit is asked about a list when there is nothing to hide, too" \
        test -n "$(questions call_as $bob $ROOT $MANAGER ListSessions)"
shown_to_bob >"$tmp/before"
innocent_records
config="buffers { size_kb: 64 } data_sources { config { name: 'org.example.innocent' } }"
start_as $alice config-text s "$config unique_session_name: 'hers'"
hers=$path
shown_to_bob >"$tmp/after"
ok "everything that is shown is as it was" cmp "$tmp/before" "$tmp/after"
call_as $alice "$hers" $SESSION Free >/dev/null
sleep 1
gives "and nothing is heard" '^watching$' tail -n 1 "$tmp/heard"

# The same work and the same words for what is another user's and what is not there.
alike() { # THERE ABSENT COMMAND...
        local there absent
        there=$(questions "${@:3}" "$1") absent=$(questions "${@:3}" "$2")
        [ -n "$there" ] && [ "$there" = "$absent" ] &&
                [ "$("${@:3}" "$1" 2>&1 | sed "s,\\b$1\\b,X,g")" = "$("${@:3}" "$2" 2>&1 | sed "s,\\b$2\\b,X,g")" ]
}
innocent=${innocent_session##*/}
stop() { call_as $bob "$ROOT/session/$1" $SESSION Stop; }
show() { get_as $bob "$ROOT/session/$1" $SESSION State; }
find() { named_as $bob GetSession "$1"; }
ok "polkit is asked the same for another user's session and for none" alike "$innocent" 999 stop
ok "as for a property" alike "$innocent" 999 show
ok "as for a number" alike "$innocent" 999 find

# A name that is nearly that of another user's source: one of one's own is suggested instead.
nearly() { call_as $bob $ROOT $MANAGER StartSession 'a{sv}' 1 sources as 1 org.example.inocent 2>&1; }
suggests_own() { nearly | tee "$tmp/suggested" | grep -q 'did you mean "org.example.bobs"'; }
ok "what another user's programs offer is not suggested" suggests_own
fails "nor named" '^$' grep -q innocent "$tmp/suggested"

# A trigger of another user neither stops a recording nor counts what would have taken it.
all="buffers { size_kb: 64 } data_sources { config { name: 'org.example.innocent' } }
        trigger_config { trigger_mode: STOP_TRACING trigger_timeout_ms: 60000 triggers { name: 'stop' } }"
roots=$(call_as root $ROOT $MANAGER StartSession 'a{sv}' 3 scope s system detach b true config-text s "$all" |
        cut -d'"' -f2)
gives "a trigger does not tell whether others wait for it" '^u 0$' \
        call_as $bob $ROOT $MANAGER ActivateTriggers 'asa{sv}' 1 stop 0
gives "nor does it stop them" '"started"' get_as root "$roots" $SESSION State
call_as root "$roots" $SESSION Free >/dev/null

# Numbers do not count: bob has three in a row, and nobody another between them.
numbers=()
for _ in 1 2 3; do
        start_as $bob config-text s "${config//innocent/bobs}"
        numbers+=("${path##*/}")
done
consecutive() { [ $((numbers[1] - numbers[0])) = 1 ] && [ $((numbers[2] - numbers[1])) = 1 ]; }
fails "the numbers of sessions do not tell how many there are" '^$' consecutive
attack_is_over others
finish
