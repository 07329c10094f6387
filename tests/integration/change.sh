#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The config of a session that runs: who may be added to it, and what may not be changed.
# The checks call functions by name.
# shellcheck disable=SC2317
# shellcheck source=tests/integration/bus-lib.sh
. "$(dirname "$0")/bus-lib.sh"

says() { property "$1" "$2" | grep -qE -- "$3"; }
config() { # FILTER...: of one data source
        local filter
        echo 'buffers { size_kb: 1024 } data_sources { config { name: "org.example.app" }'
        for filter; do
                echo "producer_name_filter: \"$filter\""
        done
        echo '} duration_ms: 60000'
}
change() { # CONFIG
        session "$path" ChangeConfig 'a{sv}' 1 config-text s "$1"
}

session_bus
service "$DESKTRACED" --user --idle-timeout=infinity
producer one org.example.app
producer two org.example.app
start 2 detach b true config-text s "$(config one)"
one='\(ssuus\) 1 "org.example.app" "one" [0-9]+ [0-9]+ "started"'
gives "only who is named records" "$one" property "$path" Sources
ok "another name may be added" change "$(config one two)"
ok "and its producer records from then on" eventually says "$path" Sources '"two" [0-9]+ [0-9]+ "started"'
gives "as does the first" '"one" [0-9]+ [0-9]+ "started"' property "$path" Sources
fails "no name may be taken away" 'the filter "one" is missing' change "$(config two)"
fails "nothing else may be changed" 'duration_ms cannot be changed' change "$(config one two | sed s/60000/5/)"
fails "a change is a whole config" 'ChangeConfig\(\) needs "config" or "config-text"' \
        session "$path" ChangeConfig 'a{sv}' 0
fails "and no other option" 'preset' session "$path" ChangeConfig 'a{sv}' 1 preset s default
gives "nobody was stopped by that" '2 .*"started".*"started"' property "$path" Sources
ok "without any filter all producers are in" change "$(config)"
producer three org.example.app
ok "also those that come later" eventually says "$path" Sources '"three" [0-9]+ [0-9]+ "started"'
sleep 0.3
ok "the session stops" session "$path" Stop
session "$path" Read u 16777216 | bytes >"$tmp/trace.pftrace"
ok "both have recorded" counts 'two-[0-9]+\.' "$tmp/trace.pftrace" 1
ok "and the trace has both configs" test "$(grep -aoE 'org.example.app' "$tmp/trace.pftrace" | wc -l)" -ge 2
fails "a session that has stopped cannot be changed" 'the session is stopped' change "$(config one two three)"
finish
