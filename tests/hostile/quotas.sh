#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Point 7: limits are per account. A user with subordinate uids, as Debian gives them to everybody, takes what one user
# may have and no more, and nobody else is refused for it.
# The checks call functions by name.
# shellcheck disable=SC2317
# shellcheck source=tests/hostile/hostile-lib.sh
. "$(dirname "$0")/hostile-lib.sh"

[ "$(id -u)" = 0 ] || skip_all "needs root, to be several users"
[ -e /etc/subuid ] || skip_all "there is no /etc/subuid to put another one in the place of"
unshare -m true 2>/dev/null || skip_all "may not mount"

# start_as UID: a session that nobody has to wait for, which lasts longer than the test
start_as() {
        as "$1" gdbus call --address "unix:path=$socket" --dest "$BUS" --object-path "$ROOT" --method \
                "$MANAGER.StartSession" \
                "{'sources': <['org.example.innocent']>, 'duration-ms': <uint32 600000>, 'detach': <true>}"
}
starts_as() {
        start_as "$1" 2>&1 | grep -q /session/
}

# take_all UID...: all that each may have; how many sessions these were is in $n_taken
take_all() {
        local uid
        n_taken=0
        for uid in "$@"; do
                while [ $n_taken -lt 100 ] && starts_as "$uid"; do n_taken=$((n_taken + 1)); done
        done
}

three_users # the innocent one and the attacker have accounts of their own, and neither is root
account_uid=$(id -u "$bob")
echo "$bob:100000:65536" >"$tmp/subuid"
# shellcheck disable=SC2016
service_as=(unshare -m --propagation private sh -c 'mount --bind "$1" /etc/subuid && shift && exec "$@"' sh
        "$tmp/subuid" "${service_as[@]}")
consumer_socket=$tmp/sockets/consumer.sock
PERFETTO_CONSUMER_SOCK_NAME=$consumer_socket native_service
eventually test -S "$consumer_socket"
chmod 666 "$consumer_socket"
innocent_records

take_all 100000 100001 100002 100003 100004 100005 100006 100007
ok "eight subordinate uids have what one user has" test $n_taken -eq 8
fails "their account is told its limit, and what to do" \
        "user $account_uid has 8 sessions.*SERVICE_SESSIONS_PER_USER_MAX, 8: free one first" start_as "$account_uid"

# Each uid could hold all of it, were they users of their own.
cp "$(dirname "$0")/raw_bus.py" "$tmp"
before=$(memory_mib)
for uid in 100000 100001 100002 100003 100004 100005 100006 100007; do
        : >"$tmp/attacker-$uid"
        as $uid /usr/bin/python3 -B "$tmp/raw_bus.py" unfinished "$socket" 3 3 >"$tmp/attacker-$uid" 2>>"$tmp/log" &
        pids+=("$!")
done
all_attacked() {
        ! grep -L attacked "$tmp"/attacker-* | grep -q .
}
ok "they send messages without end" eventually eventually all_attacked
memory_is "which wait in what one user may have (GATE_BYTES_PER_USER_MAX, 32 MiB)" has_at_most $((before + 44))
innocent_is_unharmed "messages without end of eight subordinate uids"
ok "root is not refused" starts_as 0
ok "nor another user" starts_as 30001
innocent_is_unharmed "eight subordinate uids"

# What was recorded and left behind stays for a while, until there is no room for it.
stops_as() {
        as "$1" gdbus call --address "unix:path=$socket" --dest "$BUS" --object-path "$2" --method "$SESSION.Stop"
}
left=$(start_as 30051 | grep -o "/[^']*session/[0-9a-z_]*")
ok "a user records, and leaves it behind" stops_as 30051 "$left"
for _ in 1 2 3 4 5 6 7; do starts_as 30051; done
ok "it is there while there is room" stops_as 30051 "$left"
ok "another session of the user takes its place" starts_as 30051
fails "and it is gone" 'UnknownObject|UnknownMethod|Unknown object|No such' stops_as 30051 "$left"
fails "one that still records is not dropped" 'SERVICE_SESSIONS_PER_USER_MAX' start_as 30051

# So it is with sessions over Perfetto's socket, whichever way the next one is started.
cp "$(dirname "$0")"/../integration/perfetto_*.py "$tmp"
consume_as() { # USER VERB ARGUMENT...
        as "$1" timeout 30 /usr/bin/python3 -B "$tmp/perfetto_consumer.py" "$consumer_socket" "${@:2}"
}
for key in 1 2 3 4 5 6 7 8; do consume_as 30052 leave org.example.innocent "key $key" 50 >/dev/null; done
sleep 0.5
gives "Perfetto's socket: a session that was left behind gives way" '^left' \
        consume_as 30052 leave org.example.innocent later 600000
gives "Perfetto's socket: it was the oldest" '^not attached' consume_as 30052 attach "key 1"
ok "Perfetto's socket: another one gives way to a session on the native socket" starts_as 30052
gives "Perfetto's socket: it was the next" '^not attached' consume_as 30052 attach "key 2"
gives "Perfetto's socket: the others are there" '^attached' consume_as 30052 attach "key 3"

# Many accounts: a share is kept for those who have none yet, and one for root.
# shellcheck disable=SC2046 # one word each
take_all $(seq 30002 30040)
ok "many users take a lot" test $n_taken -gt 50
innocent_is_unharmed "many users"
ok "a user who has nothing gets a session" starts_as 40001
ok "and root gets another one" starts_as 0
finish
