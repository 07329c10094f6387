#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# What programs of Perfetto's said to Perfetto's service, said to ours: it answers in the same order, with the same
# successes and the same fields. The conversations are in tests/fixtures/perfetto-ipc.
# The checks call functions by name.
# shellcheck disable=SC2317
# shellcheck source=tests/integration/bus-lib.sh
. "$(dirname "$0")/bus-lib.sh"

here=$(dirname "$0")
binds() { timeout 20 /usr/bin/python3 "$here/perfetto_ipc.py" bind "$@" >/dev/null 2>&1; }
replay() {
        timeout 60 /usr/bin/python3 "$here/perfetto_replay.py" run "$tmp/consumer.sock" \
                "$here/../fixtures/perfetto-ipc/$1.txt" "${@:2}"
}

PERFETTO_PRODUCER_SOCK_NAME=$tmp/producer.sock PERFETTO_CONSUMER_SOCK_NAME=$tmp/consumer.sock \
        started "$DESKTRACED" --standalone
daemon=$started
eventually binds "$tmp/consumer.sock" ConsumerPort
eventually binds "$tmp/producer.sock" ProducerPort

# "perfetto --query" with a producer that is there.
/usr/bin/python3 - "$here" "$tmp/producer.sock" <<'PYTHON' &
import sys, time
sys.path.insert(0, sys.argv[1])
import perfetto_ipc as ipc
client = ipc.Client(sys.argv[2], "ProducerPort")
client.ask("InitializeConnection", ipc.message((3, "app"), (4, 1), (8, "v58.2")))
client.ask("RegisterDataSource", ipc.message((1, ipc.message((1, "com.example.app")))))
time.sleep(60)
PYTHON
producer=$!
pids+=("$producer")
queried() { replay query-raw >/dev/null; }
eventually queried
ok "perfetto --query-raw" replay query-raw
kill "$producer"
ok "perfetto --txt -c CONFIG -o FILE, read over the socket" replay record-ipc
ok "perfetto -c CONFIG --detach=KEY" replay detach
ok "perfetto --is_detached=KEY" replay is-detached
ok "perfetto --clone-by-name=NAME" replay clone-by-name
ok "perfetto --attach=KEY --stop" replay attach-stop
ok "a session that writes into a file" replay write-into-file
ok "a session that a trigger stops" replay trigger-stop \
        timeout 20 /usr/bin/python3 "$here/perfetto_ipc.py" trigger "$tmp/producer.sock" jank
ok "a config that is refused" replay bad-config
ok "the service is still there" kill -0 "$daemon"
kill "$daemon"
finish
