#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Lists as long as a message may be, in each call that takes one: to read them, or to look for each name in what there
# was before it, takes the square of their length, and nobody else is served meanwhile.
# The checks call functions by name.
# shellcheck disable=SC2317
# shellcheck source=tests/hostile/hostile-lib.sh
. "$(dirname "$0")/hostile-lib.sh"

calls() { "${attacker_as[@]}" timeout 110 /usr/bin/python3 -B "$tmp/caller/long-lists.py" "$socket" "$@"; }
calls_in_one_line() { calls "$@" | tr '\n' ' '; }

attacked_service
innocent_records
cp "$(dirname "$0")/long-lists.py" "$tmp/caller"
for what in sources events categories; do
        gives "StartSession() with very many $what is refused" \
                "option \"$what\" has more than 1024 names.*OPTION_NAMES_MAX" calls $what
done
gives "so is ActivateTriggers()" 'one call may send 64 triggers.*TRIGGER_NAMES_MAX' calls triggers
gives "and RegisterProducer() with very many categories" 'LimitExceeded.*SOURCE_CATEGORIES_MAX' calls register
gives "so is an option that nobody reads, of very many values" 'LimitExceeded.*BUS_VALUES_MAX' calls values
gives "AddNotes() of a program is answered, and keeps few" '^answered answered answered $' \
        calls_in_one_line producer notes notes
ok "a list of a reasonable length is read" start 4 sources as 1 org.example.innocent \
        categories as 2 one two detach b true duration-ms u 1000
# Nor are there long ones in signals, which each listener is sent.
cp "$(dirname "$0")/left-out.py" "$tmp/caller"
"${attacker_as[@]}" timeout 110 /usr/bin/python3 -B "$tmp/caller/left-out.py" "$socket" >"$tmp/left-out" 2>>"$tmp/log"
for limit in categories:SOURCE_SIGNAL_CATEGORIES_BYTES_MAX instances:SIGNAL_INSTANCES_MAX notes:SIGNAL_NOTES_MAX; do
        ok "${limit%:*} past ${limit#*:} are left out of signals" grep -qx "${limit%:*}: in, left out" "$tmp/left-out"
done
attack_is_over "long lists"
finish
