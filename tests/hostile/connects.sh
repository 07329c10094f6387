#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Point 11: one user connects as fast as several processes can. Others still get their connections and answers,
# also those that do not wait for a connection (GDBus, sd-bus): these may find the queue full now and then, when other
# programs keep the thread that accepts from running. How long it took at worst, and how often that was, is printed.
# The checks call functions by name.
# shellcheck disable=SC2317
# shellcheck source=tests/hostile/hostile-lib.sh
. "$(dirname "$0")/hostile-lib.sh"

[ "$(id -u)" = 0 ] || skip_all "needs root, to be several users"
# Without its priority the thread that accepts does not outrun a flood.
[ "$(nice -n -10 nice 2>/dev/null)" = -10 ] || skip_all "may not raise a priority (CAP_SYS_NICE)"

bystander=30001 attacker_uid=30002
n_processes=4 n_calls=8

by_gdbus() {
        as "$bystander" timeout 25 \
                gdbus call --timeout 20 --address "unix:path=$socket" --dest "$BUS" --object-path "$ROOT" --method \
                org.freedesktop.DBus.Properties.Get "$MANAGER" Version
}
by_sd_bus() {
        as "$bystander" timeout 25 \
                busctl --timeout=20 --address="unix:path=$socket" get-property "$BUS" "$ROOT" "$MANAGER" Version
}
by_perfetto() { # SOCKET SERVICE
        as "$bystander" timeout 25 /usr/bin/python3 -B "$tmp/perfetto_ipc.py" bind "$1" "$2"
}

# all_answered COMMAND...: each of some calls; the time of the one that took longest is in $worst_ms, and $n_full says
# for how many the queue was full. More than half of them is no service.
all_answered() {
        local i begin took_ms
        worst_ms=0 n_full=0
        for ((i = 1; i <= n_calls; i++)); do
                begin=$(date +%s%N)
                until "$@" >"$tmp/answer" 2>&1; do
                        if ! grep -q 'Resource temporarily unavailable' "$tmp/answer" ||
                                ((++n_full > n_calls / 2)); then
                                echo "call $i: $(cat "$tmp/answer")"
                                return 1
                        fi
                done
                took_ms=$((($(date +%s%N) - begin) / 1000000))
                [ $took_ms -le $worst_ms ] || worst_ms=$took_ms
        done
        echo "$worst_ms ms at worst, and the queue was full $n_full times" >"$tmp/worst"
}
answered() { # USER COMMAND...
        rm -f "$tmp/worst"
        ok "$attack: all calls $1 are answered" all_answered "${@:2}"
        [ ! -e "$tmp/worst" ] || echo "# $attack: $1, with the time to start a program, $(cat "$tmp/worst")"
}
# Of the socket; others have queues of their own.
innocents_are_answered() {
        case $1 in
        "$socket")
                answered "by GDBus" by_gdbus
                answered "by sd-bus" by_sd_bus
                ;;
        "$producer_socket") answered "by a producer of Perfetto's" by_perfetto "$1" ProducerPort ;;
        *) answered "by a consumer of Perfetto's" by_perfetto "$1" ConsumerPort ;;
        esac
}

# floods SOCKET close|hold: by one user; its pid is in $attacker
floods() {
        started setpriv --reuid=$attacker_uid --clear-groups --inh-caps=-all -- "$CONNECT_FLOOD" "$1" "$2" $n_processes
        attacker=$started
        sleep 0.5 # it runs ahead
}

cp "$(dirname "$0")"/../integration/perfetto_*.py "$tmp"
producer_socket=$tmp/sockets/producer.sock consumer_socket=$tmp/sockets/consumer.sock
three_users # the innocent one and the attacker have accounts of their own, and neither is root
service_as=(setpriv --reuid=daemon --clear-groups '--inh-caps=-all,+sys_nice' '--ambient-caps=-all,+sys_nice' --)
PERFETTO_PRODUCER_SOCK_NAME=$producer_socket PERFETTO_CONSUMER_SOCK_NAME=$consumer_socket native_service
eventually test -S "$consumer_socket"
chmod 666 "$socket" "$producer_socket" "$consumer_socket"
innocent_records
for flooded in "$socket" "$producer_socket" "$consumer_socket"; do
        attack="before a flood"
        innocents_are_answered "$flooded"
        for how in close hold; do
                attack="connect and $how, $(basename "$flooded")"
                floods "$flooded" $how
                innocents_are_answered "$flooded"
                innocent_is_unharmed "$attack"
                ok "$attack: it went on until here" kill -0 "$attacker"
                kill -KILL "$attacker"
        done
        attack="after the floods"
        innocents_are_answered "$flooded"
done
finish
