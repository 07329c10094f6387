#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Points 5 and 9 on Perfetto's sockets: names, keys and semaphores of one user do not stand in another's way, and what
# others have does not exist.
# The checks call functions by name.
# shellcheck disable=SC2317,SC2154
# shellcheck source=tests/hostile/hostile-lib.sh
. "$(dirname "$0")/hostile-lib.sh"

[ "$(id -u)" = 0 ] || skip_all "needs root, to be several users"

SOURCE=org.example.innocent
# holds USER NAME: a session of this name, for as long as $holder runs; what it was told is in $tmp/held-USER
holds() {
        : >"$tmp/held-$1"
        setpriv "--reuid=$1" --clear-groups -- /usr/bin/python3 -B "$tmp/attack/integration/perfetto_consumer.py" \
                "$consumer_socket" hold $SOURCE "$2" >"$tmp/held-$1" 2>>"$tmp/log" &
        holder=$!
        pids+=("$holder")
}
is_recording() { grep -q recording "$tmp/held-$1"; }
# told USER VERB ARGUMENTS...: in words in which numbers do not differ
told() { consume_as "$@" 2>&1 | sed 's/[0-9][0-9]*/N/g'; }
seen_by_bob() { consume_as $bob sessions && consume_as $bob producers; }

attacked_ports
innocent_records
holds $bob flight-recorder
ok "names: an attacker takes one, and records" eventually is_recording $bob
bobs=$holder
seen_by_bob >"$tmp/between"
holds $alice flight-recorder
ok "names: the innocent has a session of the same name" eventually is_recording $alice
ok "names: which shows the attacker nothing new" cmp "$tmp/between" <(seen_by_bob)
gives "names: each clones the own one by it" '^cloned$' consume_as $alice clone flight-recorder
kill -KILL "$bobs"
said_before() { grep -q . <(told $bob clone no-such-session); }
ok "others: there is an answer about a session that is not there" said_before
same_answer() { [ "$(told $bob clone flight-recorder | sed 's/flight-recorder/X/g')" = \
        "$(told $bob clone no-such-session | sed 's/no-such-session/X/g')" ]; }
ok "others: it is the same about a session of another user's" eventually same_answer
gives "names: the innocent's is still there" '^cloned$' consume_as $alice clone flight-recorder

gives "keys: an attacker leaves a session under one" '^left' consume_as $bob leave $SOURCE mine 60000
gives "keys: so does the innocent, under the same" '^left' consume_as $alice leave $SOURCE mine 60000
gives "keys: and comes back to it" '^attached' consume_as $alice attach mine
gives "keys: another one of the innocent's" '^left' consume_as $alice leave $SOURCE hers 60000
gives "keys: is not there for the attacker" '^not attached' consume_as $bob attach hers
gives "keys: but for its user" '^attached' consume_as $alice attach hers
long_key=$(printf 'k%.0s' {1..129})
gives "keys: a long one is refused" '^not left' consume_as $alice leave $SOURCE "$long_key" 60000
ok "keys: with its limit" eventually grep -q 'CONSUMER_KEY_MAX' "$tmp/log"
gives "keys: one that is a little shorter is not" '^left' consume_as $alice leave $SOURCE "${long_key#k}" 60000
innocent_is_unharmed "names and keys"
kill -KILL "$holder"
attack_is_over "names on Perfetto's socket"
finish
