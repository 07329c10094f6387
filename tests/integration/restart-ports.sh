#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Sessions of Perfetto's consumer port that were detached under a key are there in the next process of the service, for
# their user and under that key, with what was recorded before; so is one that somebody was attached to.
# The checks call functions by name.
# shellcheck disable=SC2317
# shellcheck source=tests/integration/restart-lib.sh
. "$(dirname "$0")/restart-lib.sh"

socket=$tmp/consumer.sock
program=$(dirname "$0")/perfetto_consumer.py
consume() { timeout 30 /usr/bin/python3 -B "$program" "$socket" "$@"; }
is_listed() { manager ListSessions | grep -q "\"$1\""; }
says() { # ANSWER VERB...
        [ "$(consume "${@:2}")" = "$1" ]
}

session_bus
service "$SERVICE_MANAGER" --listen="perfetto-consumer:$socket" "$tmp/manager" "$DESKTRACED" --user
producer count org.example.count counting

file=$outputs/file.pftrace
: >"$file"
ok 'one that streams into a file is left under a key' says left leave-into org.example.count streams 3>"$file"
ok 'it is kept' eventually is_stored '-o0'
ok 'one is left whose data waits to be read' says left leave org.example.count ring 60000
n_kept() { [ "$(grep -c -- '-c0' "$tmp/manager/stored")" = "$1" ]; }
ok 'it is kept, too' eventually n_kept 2
ok 'the file is written' grows "$file"
before=$(manager ListSessions)
for end in KILL TERM; do
        ok "the service ends by SIG$end, and is there again" ends $end
        ok 'the sessions are what they were' test "$(manager ListSessions)" = "$before"
        ok 'the file is written on' grows "$file"
done

# As "perfetto --attach" does: it has the session now, until either ends.
started /usr/bin/python3 -B "$program" "$socket" stay ring >staying
stays=$started
ok 'somebody attaches' eventually grep -qx attached staying
started /usr/bin/python3 -B "$program" "$socket" hold org.example.count unnamed >holding
ok 'another one records without a key' eventually grep -qx recording holding
ok 'it is listed' is_listed unnamed
ok 'so nobody else may' says 'not attached' attach ring
ok 'a clone of that is left under a key' says left leave-clone unnamed clone
ok 'which is kept' eventually n_kept 3
ok 'the service is killed' ends KILL
ok 'who was attached has lost the connection' eventually not kill -0 "$stays"
ok 'what had no key is gone' not is_listed unnamed
ok 'the clone of it can be fetched' says attached fetch clone 3>clone.pftrace
ok 'with what there was when it was made' check clone.pftrace 'increasing and n_texts > 0'
ok 'what had one can be attached to again, to fetch all of it' says attached fetch ring 3>ring.pftrace
ok 'what was recorded before is there, and what came since' check ring.pftrace 'increasing and n_texts > 100'
ok 'the file is written on' grows "$file"
ok 'its session can be ended by its key' says attached fetch streams 3>nothing.pftrace
ok 'the file is whole' eventually check "$file" 'torn == 0 and increasing and n_texts > 100 and stats >= 1'
ok 'nothing is kept any longer' eventually not is_stored .

finish
