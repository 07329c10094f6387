#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The command line of two users and of root, on a system bus without polkit: what needs no authorisation, and what is
# nobody else's business.

# shellcheck source=tests/integration/cli-lib.sh
. "$(dirname "$0")/cli-lib.sh"

[ "$(id -u)" = 0 ] || skip_all "not root: there are no other users to be"

# Users that are on every system: the bus daemon wants to know their names.
ALICE=games BOB=nobody
alice() {
        as $ALICE "$DESKTRACE" "$@"
}
bob() {
        as $BOB "$DESKTRACE" "$@"
}
root() {
        "$DESKTRACE" "$@"
}

system_bus root
chmod 755 "$tmp" "$tmp/work"
chmod 1777 "$tmp/work"
cat >"$tmp/producers.d/kernel.conf" <<'CONF'
[Producer]
Name=kernel
DataSources=linux.ftrace;
BusName=org.example.Nobody
CONF
service "$DESKTRACED" --system
started setpriv --reuid=$ALICE --clear-groups -- "$TEST_PRODUCER" demo org.example.demo
BUSCTL=--system
eventually has_producer demo

exits 0 "a user leaves a flight recorder running, and nobody is asked" '"flight-recorder".*stops automatically' \
        alice record --flight-recorder org.example.demo
exits 7 "which has to end within a week" 'at most|exceeds the limit' \
        alice record --flight-recorder -n long -t 8d org.example.demo
exits 3 "for the kernel somebody would be asked, and the way without it is shown" 'use the preset "apps"' \
        alice record --flight-recorder -n kernel sched/sched_switch
exits 3 "so is the same command as root, as it is to be written" \
        "^As root: sudo $DESKTRACE record --flight-recorder -n 'two words' sched/sched_switch$" \
        alice record --flight-recorder -n 'two words' sched/sched_switch
exits 3 "and an example of a rule that would allow it" '/doc/desktrace/examples/desktrace-example.rules' \
        alice record sched/sched_switch -o denied.pftrace
ok "what is denied leaves no file" test ! -e denied.pftrace
exits 2 "what is misspelt is told before anybody is asked" "did you mean 'sched/sched_switch'" \
        alice record sched_switch -o denied.pftrace
sleep 0.5
exits 0 "the user takes a snapshot" 'No losses' alice snapshot -o alice.pftrace
ok "which has the data" counts 'demo-[0-9]+\.' alice.pftrace 10
exits 5 "another user sees no session" 'no running session' bob snapshot -o bob.pftrace
exits 5 "not even by its name" '"flight-recorder"' bob snapshot -o bob.pftrace flight-recorder
exits 5 "or number" '"1"' bob attach -o bob.pftrace 1
exits 5 "and stops none" '"1"' bob stop -o bob.pftrace 1
ok "and has no file" test ! -e bob.pftrace
exits 0 "and may have a flight recorder of the same name" '.' bob record --flight-recorder -q -n bobs org.example.demo
exits 0 "in which the other's programs are not" '"track_events_total":0' \
        bob stop bobs -q -o bob.pftrace --json=short
ok "nor their packets" test "$(grep -ac 'demo-[0-9]' bob.pftrace)" = 0
exits 0 "root sees whose they are" "flight-recorder +$ALICE +started" root list sessions
exits 5 "but does not take another's for the own" 'no running session' root snapshot -o root.pftrace
exits 0 "unless it is named" 'No losses' root snapshot -o root.pftrace flight-recorder
exits 0 "and stops it into a file" 'No losses' root stop -fo root.pftrace flight-recorder

(
        eventually grep -q 'Each trigger writes a file' "$tmp/recorder"
        bob trigger mine && echo "bob reached it" >>"$tmp/recorder"
        alice trigger mine
) >/dev/null 2>&1 &
# Not as(): the signal is for the program itself, not for a shell that waits for it.
setpriv --reuid=$ALICE --clear-groups --inh-caps=-all -- \
        "$DESKTRACE" record --flight-recorder --trigger mine -o triggered org.example.demo 2>"$tmp/recorder" &
client=$!
pids+=("$client")
eventually grep -q 'in triggered-1.pftrace' "$tmp/recorder"
sleep 1 # in which another could come
kill -INT "$client"
wait "$client"
status=$?
ok "a recorder that stays ends in order" test $status = 0
ok "the user's own trigger reaches it" grep -q 'in triggered-1.pftrace' "$tmp/recorder"
ok "another user's does not" test ! -e triggered-2.pftrace
ok "and is told so" test "$(grep -c 'bob reached it' "$tmp/recorder")" = 0
finish
