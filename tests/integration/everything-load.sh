#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# What a recording of everything should see: a program's own events, forks, files, sockets, timers and text.
#
# Usage: everything-load.sh PROGRAM DIRECTORY     the program with track events; a directory for a file
set -u

"$1" --seconds 1.5 --quiet &
for _ in {1..40}; do /bin/true; (:); done
dd if=/dev/zero of="$2/io" bs=64k count=64 conv=fsync 2>/dev/null
rm -f "$2/io"
python3 - <<'LOOPBACK'
import socket, threading, time
def echo():
    peer, _ = server.accept()
    while peer.recv(1000):
        pass
server = socket.create_server(("127.0.0.1", 0))
thread = threading.Thread(target=echo)
thread.start()
with socket.create_connection(server.getsockname()) as client:
    for _ in range(100):
        client.sendall(b"x" * 500)
        time.sleep(0.001)
thread.join()
LOOPBACK
printf 'B|%d|text of a program' $$ >/sys/kernel/tracing/trace_marker
printf 'E|%d' $$ >/sys/kernel/tracing/trace_marker
wait
