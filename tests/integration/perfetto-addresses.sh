#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Where the service listens for Perfetto's programs: at sockets that are passed with their names, and at the names in
# Perfetto's own variables when nobody passes any.
# The checks call functions by name.
# shellcheck disable=SC2317
# shellcheck source=tests/integration/bus-lib.sh
. "$(dirname "$0")/bus-lib.sh"

bind() { timeout 20 /usr/bin/python3 "$(dirname "$0")/perfetto_ipc.py" bind "$@"; }
binds() { bind "$@" >/dev/null 2>&1; }
missing() { ! test -e "$1"; }
gone() { ! kill -0 "$1" 2>/dev/null; }
refused() { ! binds "$@"; }

started systemd-socket-activate --fdname=perfetto-producer:native:perfetto-consumer \
        -l "$tmp/passed-producer" -l "$tmp/passed-native" -l "$tmp/passed-consumer" "$DESKTRACED" --standalone
passed=$started
eventually test -S "$tmp/passed-consumer"
ok "producers find their service on a socket that is passed with its name" binds "$tmp/passed-producer" ProducerPort
ok "consumers find theirs" binds "$tmp/passed-consumer" ConsumerPort
ok "neither finds the other's" refused "$tmp/passed-producer" ConsumerPort
gives "the native protocol is spoken on any other" "'[0-9.]+'" gdbus call --address "unix:path=$tmp/passed-native" \
        --dest "$BUS" --object-path "$ROOT" --method org.freedesktop.DBus.Properties.Get "$MANAGER" Version
ok "a private service leaves with its last client" eventually gone "$passed"

names="$tmp/one.sock,@desktrace-test-$$,,$tmp/two.sock"
PERFETTO_PRODUCER_SOCK_NAME=$names PERFETTO_CONSUMER_SOCK_NAME=$tmp/consumer.sock \
        started "$DESKTRACED" --standalone
daemon=$started
ok "without any, it listens where Perfetto's variables say" eventually binds "$tmp/one.sock" ProducerPort
ok "at each name of a list" binds "$tmp/two.sock" ProducerPort
ok "also at abstract ones" binds "@desktrace-test-$$" ProducerPort
ok "and for consumers" binds "$tmp/consumer.sock" ConsumerPort
gives "only the user may connect to a private one" 600 stat -c %a "$tmp/consumer.sock"
fails "a second service leaves it its address" 'somebody else listens there' \
        env PERFETTO_CONSUMER_SOCK_NAME="$tmp/consumer.sock" "$DESKTRACED" --standalone
fails "other families are refused" 'only paths and @abstract names' \
        env PERFETTO_PRODUCER_SOCK_NAME=127.0.0.1:20001 "$DESKTRACED" --standalone
sleep 2.5
ok "nobody would start it again, so it stays" binds "$tmp/consumer.sock" ConsumerPort
kill "$daemon"
ok "until it is stopped" eventually gone "$daemon"
ok "then its sockets are removed" missing "$tmp/consumer.sock"

PERFETTO_CONSUMER_SOCK_NAME=$tmp/killed.sock started "$DESKTRACED" --standalone
eventually binds "$tmp/killed.sock" ConsumerPort
kill -KILL "$started"; wait "$started" 2>/dev/null
PERFETTO_CONSUMER_SOCK_NAME=$tmp/killed.sock started "$DESKTRACED" --standalone
ok "a socket that a killed service left is replaced" eventually binds "$tmp/killed.sock" ConsumerPort
kill "$started"

PERFETTO_PRODUCER_SOCK_NAME=$tmp/unit.sock started \
        bash -c 'export SYSTEMD_EXEC_PID=$$; exec "$0" --standalone' "$DESKTRACED"
ok "in a unit of systemd the variables are not for it" eventually gone "$started"
ok "and nothing is listened at" missing "$tmp/unit.sock"
finish
