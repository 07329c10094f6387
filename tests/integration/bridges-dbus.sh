#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# org.freedesktop.dbus: a real bus is recorded by the bridges, which the session bus starts for the user's service.

# shellcheck source=tests/integration/bridges-lib.sh
. "$(dirname "$0")/bridges-lib.sh"

trace=$tmp/bus.pftrace
command -v gdbus >/dev/null || skip_all 'gdbus is not installed'

# talk: what the test looks for. The service is called by its name and its answers are errors, too.
talk() {
        local bus=org.freedesktop.DBus
        busctl --user get-property "$BUS" "$ROOT" "$MANAGER" Version
        gdbus call --session -d "$BUS" -o "$ROOT" -m org.freedesktop.DBus.Peer.Nonsense
        gdbus emit --session -o /org/example -s org.example.Test.Sang 'a secret melody'
        gdbus call --session -d $bus -o /org/freedesktop/secrets/collection/bank -m $bus.GetId
        return 0
}

# listens N: the bus has said N times that somebody has become its monitor
listens() { [ "$(grep -ac 'became a monitor' "$tmp/log")" -ge "$1" ]; }

# recorded_talk N: of a recording that goes on until then, with what the N-th listener hears
recorded_talk() {
        eventually listens "$1"
        talk >/dev/null 2>&1
        sleep 1 # until it is heard
        kill -INT "$recording"
        wait "$recording"
}

mkdir "$tmp/wrong.d"
sed 's/^Instance=.*/Instance=mine/' "$BRIDGES_CONF" >"$tmp/wrong.d/wrong.conf"
fails 'an instance that is none is told of' 'Instance= must be user or system' \
        env DESKTRACE_PRODUCERS_PATH="$tmp/wrong.d" "$DESKTRACED" --check-config

bridged_session
gives 'the source is there before the bridges run' 'org\.freedesktop\.dbus' "$DESKTRACE" --user list sources
gives 'with the programs that it would show' 'org\.freedesktop\.dbus would show ([^ ]+, )*desktraced' \
        bash -c '"$0" --user list sources 2>&1' "$DESKTRACE"
gives 'which doctor says, too' 'org\.freedesktop\.dbus would show ([^ ]+, )*desktraced' \
        bash -c '"$0" --user doctor || [ $? = 10 ]' "$DESKTRACE"
recording "$trace" 600 org.freedesktop.dbus
ok 'the bridges were started' has_owner --user org.desktrace.Bridges1
recorded_talk 1
ok 'it is recorded' test $? = 0

calls="select count(*) from slice s join track t on s.track_id = t.id where s.name ="
gives 'a call is a slice of its caller' '^1$' \
        asked "$trace" "$calls 'org.freedesktop.DBus.Properties.Get' and t.name = 'calls'"
gives 'and one of who was called' '^1$' \
        asked "$trace" "$calls 'org.freedesktop.DBus.Properties.Get' and t.name = 'served'"
gives 'an arrow leads from one to the other' '^[1-9]' \
        asked "$trace" "select count(*) from flow f join slice a on f.slice_out = a.id join slice b on f.slice_in = b.id
                where a.name = b.name and a.name = 'org.freedesktop.DBus.Properties.Get'"
gives 'a call that fails has ended' '^[1-9]' \
        asked "$trace" "$calls 'org.freedesktop.DBus.Peer.Nonsense' and s.dur > 0"
gives 'a signal is an instant' '^1$' \
        asked "$trace" "$calls 'org.example.Test.Sang' and t.name = 'signals' and s.dur = 0"
n_calls=$(asked "$trace" "select count(*) from slice s join track t on s.track_id = t.id
        where s.category = 'dbus' and (t.name = 'calls' or t.name glob 'calls [0-9]*')")
gives 'a question about the bus is answered with all calls' "\"calls\":$n_calls," \
        "$DESKTRACE" why bus --json=short "$trace"
gives 'and in a sentence' "^Calls over a message bus: $n_calls," "$DESKTRACE" why bus "$trace"
gives 'who was called is below its process' 'desktraced' "$DESKTRACE" inspect "$trace"
gives 'nothing was lost' 'No losses' "$DESKTRACE" inspect "$trace"
fails 'nothing of what is in messages is in the trace' '^$' grep -a 'secret melody' "$trace"
fails 'no path of a secret is in the trace' '^$' grep -a 'collection/bank' "$trace"

# The bus must get rid of what it has for a bridge that does not run.
recording "$trace" 3 org.freedesktop.dbus
bridges=$(busctl --user call org.freedesktop.DBus /org/freedesktop/DBus org.freedesktop.DBus \
        GetConnectionUnixProcessID s org.desktrace.Bridges1 | cut -d' ' -f2)
kill -KILL "$bridges"
wait "$recording"
ok 'a recording outlives its bridge' test $? = 0
ok 'the bus works on' talk
n_listeners=$(grep -ac 'became a monitor' "$tmp/log")
recording "$trace" 600 org.freedesktop.dbus
recorded_talk $((n_listeners + 1))
ok 'the bridges are started again' test $? = 0
gives 'and record' '^1$' asked "$trace" "$calls 'org.example.Test.Sang'"
finish
