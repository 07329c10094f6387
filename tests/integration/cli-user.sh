#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The command line with the user's service, on a session bus.

# shellcheck source=tests/integration/cli-lib.sh
. "$(dirname "$0")/cli-lib.sh"

desktrace() {
        "$DESKTRACE" "$@"
}

exits 8 "no bus is told" 'no bus available' desktrace status
exits 8 "what to do without one is told" 'record with --standalone' desktrace list sources --user
session_bus
exits 8 "a bus without the service is told" 'user: not installed' desktrace status --user
exits 8 "and so when it is called" 'desktrace status' desktrace list sources --user

service "$DESKTRACED" --user
producer demo org.example.demo
exits 0 "a running service is told with its sources" 'org.example.demo +off +1 +none of your' desktrace status --user
exits 0 "the service's own source is told as such" 'desktrace.self +off +0 +part of the service' desktrace status --user
demo=$started
started "$TEST_PRODUCER" lacking org.example.lacking lack
eventually has_producer lacking
exits 0 "a source that cannot record says why, on one line" \
        '^org.example.lacking +1 +- +- +no +no device here; plug one in$' \
        desktrace list --sources --user --no-legend
exits 0 "the others are available" '^org.example.demo +1 +- +- +yes' desktrace list sources --user --no-legend
exits 0 "programs get the reason, too" '"available":false,"unavailable":"no device here; plug one in"' \
        desktrace list sources --user --json=short
exits 0 "on a narrow terminal the reason goes below, in lines that fit" '^    no device here; plug one in' \
        script -qec "stty cols 60; '$DESKTRACE' list sources --user" /dev/null
exits 1 "a recording that wants it is told what it says" 'did not record: the test wants it so' \
        desktrace record --user -q org.example.lacking -o lacking.pftrace -t 100ms
exits 0 "and the status says what the list says" 'org.example.lacking +off +1 +no device here; plug one in' \
        desktrace status --user
kill "$started"
started "$TEST_PRODUCER" noting org.example.noting note
eventually has_producer noting
exits 0 "what a source does not record is told, and nothing of it reaches the terminal" \
        'note: org.example.noting: the left channel is \[2J missing; plug it in' \
        desktrace record --user org.example.noting -o noting.pftrace -t 300ms
ok "and is in the trace, but not more than a source may say" holds noting.pftrace \
        't["notes"] == [f"org.example.noting: {x}" for x in
        ["the left channel is [2J missing; plug it in"] + ["and ? more"] * 31]'
exits 0 "inspect shows it" 'Not recorded: org.example.noting: the left channel' desktrace inspect noting.pftrace
exits 0 "a quiet recording says nothing of it" '^$' \
        desktrace record -q --user org.example.noting -o quiet.pftrace -t 300ms
kill "$started"
exits 0 "sources are listed" '^org.example.demo +1' desktrace list sources --user --no-legend
exits 0 "producers are listed" "^ *$demo .*demo .*org.example.demo" desktrace list producers --user --no-legend
exits 0 "presets are listed" '^scheduling ' desktrace list presets
for list in sources producers sessions presets; do
        ok "$list are printed as JSON" is_json desktrace list "$list" --user --json=short
done
ok "the status is printed as JSON" is_json desktrace status --user --json=pretty

exits 0 "a session is recorded" 'No losses' desktrace record --user -t 500ms org.example.demo -o one.pftrace
ok "its packets are in the file" counts 'demo-[0-9]+\.' one.pftrace 10
exits 5 "a source that nobody offers is named with the nearest one" 'org.example.dmeo.*org.example.demo' \
        desktrace record --user org.example.dmeo -o two.pftrace
ok "and no file is left" test ! -e two.pftrace
exits 5 "an unknown session is told" '"nothing"' desktrace stop --user nothing
exits 5 "with the command that shows the known ones of the same service" 'list sessions --user"' \
        desktrace stop --user nothing
exits 7 "a limit is named" 'GiB|limit|bytes' desktrace record --user -b 60G org.example.demo -o three.pftrace

exits 0 "a program is recorded from its start" 'No losses' desktrace record --user -p apps -o first.pftrace -- \
        "$FIRST_EVENT"
ok "its very first slice is in the file, and what comes before dt_init() and main()" holds first.pftrace \
        '[s["count"] + s["instants"] for s in t["slices"]] == [1, 1, 1]'

# Sessions that stay.
exits 0 "a session is left running" '^1$|^[0-9]+$' desktrace record -q --user --detach -t 1m -n box org.example.demo
exits 0 "it is listed" ' box .*started' desktrace list sessions --user
exits 0 "its source is on" 'org.example.demo +on +1 +in session' desktrace status --user
exits 1 "its name is taken" 'box' desktrace record --user -n box -t 1s org.example.demo -o four.pftrace
sleep 0.5
exits 0 "it is flushed" '^$' desktrace flush --user box
exits 0 "it is read while it runs" 'box.pftrace' desktrace read --user box -o box.pftrace
ok "the data is there" counts 'demo-[0-9]+\.' box.pftrace 10
exits 0 "it is stopped" '^$' desktrace stop --user box
exits 0 "and is still there" ' box .*stopped' desktrace list sessions --user
exits 2 "reading does not clobber" 'File exists' desktrace read --user box -o box.pftrace
exits 0 "the rest is read" 'rest.pftrace' desktrace read --user box -o rest.pftrace
exits 0 "it is discarded" '^$' desktrace stop --user --discard box
exits 5 "and gone" 'box' desktrace stop --user box

# Somebody who does not answer.
producer mute org.example.mute silent
exits 9 "a flush that is not answered is told" 'in time|flush' bash -c '
        "$0" record -q --user --detach -t 1m -n mute org.example.mute >/dev/null
        "$0" flush --user --timeout 200ms mute' "$DESKTRACE"
exits 0 "a session with it still ends" '^$' desktrace stop --user --discard mute
exits 1 "a second Ctrl-C gives up" 'Discarded' "$CLI_PTY" --interrupt 'Recording:' --interrupt 'press Ctrl-C again' \
        "$DESKTRACE" record --user org.example.mute -o given-up.pftrace
ok "and discards" test ! -e given-up.pftrace

producer prim org.example.prim refuse
exits 1 "a source that refuses is told, with its reason" 'org.example.prim did not record:.*the test wants it so' \
        desktrace record --user -t 300ms org.example.prim -o refused.pftrace

# The service dies: on a bus, our connection does not.
killed_service() {
        local client status=0
        timeout 100 "$DESKTRACE" record --user org.example.demo "$@" &
        client=$!
        eventually has_session ' started '
        sleep 1.5
        kill -KILL "$daemon"
        wait "$client" || status=$?
        return "$status"
}
exits 8 "a service that dies under a ring is told, and that nothing is left" 'no file was written' \
        killed_service --ring -o dead-ring.pftrace
service "$DESKTRACED" --user
eventually has_producer demo
ok "so there is no file" test ! -e dead-ring.pftrace
exits 8 "a service that dies under a recording is told" 'closed the connection' killed_service -o dead.pftrace
service "$DESKTRACED" --user
eventually has_producer demo
ok "what it had written is kept" counts 'demo-[0-9]+\.' dead.pftrace 10
ok "without being called whole" holds dead.pftrace 't["losses"]["verdict"] == "unknown"'

exits 0 "a session that another client stops is reported" 'Recorded' bash -c '
        (until sleep 0.7; "$0" stop --user mine 2>/dev/null; do :; done) & # on a busy machine it may begin late
        "$0" record --user -n mine org.example.demo -o stopped.pftrace' "$DESKTRACE"
finish
