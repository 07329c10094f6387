#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Access over Perfetto's sockets: the rules of the bus, for peers that polkit knows by their processes.
# The checks call functions by name.
# shellcheck disable=SC2317
# shellcheck source=tests/integration/bus-lib.sh
. "$(dirname "$0")/bus-lib.sh"

[ "$(id -u)" = 0 ] || skip_all "needs root, to be several users"

service_user=daemon alice=games bob=nobody
export BUSCTL=--system
answers=$tmp/answers questions=$tmp/questions
: >"$answers"
: >"$questions"
mkdir -m 777 "$tmp/sockets"
socket=$tmp/sockets/consumer.sock
cp "$(dirname "$0")"/perfetto_*.py "$tmp/sockets"
program=$tmp/sockets/perfetto_consumer.py

consume() { # USER VERB ARGUMENTS...
        as "$1" timeout 30 /usr/bin/python3 -B "$program" "$socket" "${@:2}"
}
answer() { echo "org.desktrace.tracing1.$1 $2" >>"$answers"; }
asked() { grep -qE -- "$1" "$questions"; }
sees() { consume "$1" "$2" | grep -q "$3"; }

system_bus $service_user
PERFETTO_CONSUMER_SOCK_NAME=$socket service \
        setpriv --reuid=$service_user --clear-groups -- "$DESKTRACED" --system
started setpriv --reuid=$alice --clear-groups -- "$TEST_PRODUCER" alices org.example.app
started setpriv --reuid=$bob --clear-groups -- "$TEST_PRODUCER" bobs org.example.app

gives "everybody may connect to the system's service" 666 stat -c %a "$socket"
ok "a user sees the own programs" eventually sees $alice producers alices
ok "another one the other's" eventually sees $bob producers bobs
fails "and not each other's" '' sees $bob producers alices
gives "a user records the own programs without being asked" '^recorded$' consume $alice record org.example.app
fails "nobody was asked" '' asked .
gives "the machine's data needs a permission, and without polkit there is none" 'no polkit|does not answer|polkit' \
        consume $alice record linux.sys_stats

started "$FAKE_POLKIT" "$answers" "$questions"
eventually has_owner --system org.freedesktop.PolicyKit1
gives "polkit may deny it" 'needs org.desktrace.tracing1.trace-system, which polkit denied' \
        consume $alice record linux.sys_stats
ok "it was asked about the process, for a person to answer" \
        asked 'check unix-process .*trace-system flags=1 sources=linux.sys_stats'
answer trace-system yes
gives "or grant it" '^recorded$' consume $alice record linux.sys_stats

started setpriv --reuid=$alice --clear-groups -- /usr/bin/python3 -B "$program" "$socket" hold org.example.app hers \
        >/dev/null
holder=$started
ok "a user sees the own sessions" eventually sees $alice sessions hers
fails "others do not see them" '' sees $bob sessions hers
listed_as() { as "$1" busctl --system call "$BUS" "$ROOT" "$MANAGER" ListSessions; }
gives "on the bus the session is listed for its user" '"hers" [0-9]+ "started"' listed_as $alice
gives "and for root" '"hers" [0-9]+ "started"' listed_as 0
fails "not for others" '' eval "listed_as $bob | grep -q hers"
hers=$(manager GetSession s hers | cut -d'"' -f2)
fails "who cannot guess it either" 'Unknown object|No such' \
        as $bob busctl --system get-property "$BUS" "$hers" "$SESSION" State
gives "nor clone them" 'Tracing session not found' consume $bob clone hers
gives "their owner may" '^cloned$' consume $alice clone hers
gives "and root" '^cloned$' timeout 30 /usr/bin/python3 -B "$program" "$socket" clone hers
kill "$holder"

gives "a session without a deadline is not left behind without a permission" '^not left$' \
        consume $alice leave org.example.app key
ok "which was asked for" asked 'check unix-process .*detach'
answer detach yes
gives "with one it is, also by who does not wait for the recording" '^left$' \
        consume $alice leave org.example.app key
gives "it is its user's" '^not attached$' consume $bob attach key
gives "who may attach to it" '^attached$' consume $alice attach key

answer trace-system hang
started setpriv --reuid=$alice --clear-groups -- /usr/bin/python3 -B "$program" "$socket" record linux.sys_stats \
        >/dev/null
ok "a question waits for its answer" eventually asked 'linux.sys_stats'
sleep 0.5
gives "and nobody waits for it" '^recorded$' consume $bob record org.example.app
kill "$started"
ok "it is cancelled when the asker leaves" eventually asked cancel
ok "the service is still there" kill -0 "$daemon"
finish
