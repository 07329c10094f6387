#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Outputs: files, pipes, and what goes wrong with them. A full disk ends the session in order, and what was written
# before is valid.
# The checks call functions by name.
# shellcheck disable=SC2317
# shellcheck source=tests/integration/bus-lib.sh
. "$(dirname "$0")/bus-lib.sh"

says() { property "$1" "$2" | grep -qE -- "$3"; }

# A trace file is a row of fields 1 of bytes; anything else, or half a packet, is not valid.
valid() {
        perl -e '
                undef $/;
                my $data = <STDIN>;
                my ($at, $n) = (0, 0);
                sub varint {
                        my ($value, $shift, $byte) = (0, 0);
                        do {
                                die "cut off\n" if $at >= length $data;
                                $byte = ord substr $data, $at++, 1;
                                $value |= ($byte & 127) << $shift;
                                $shift += 7;
                        } while ($byte >= 128);
                        return $value;
                }
                while ($at < length $data) {
                        die "no packet at $at\n" if varint() != 10;
                        my $size = varint();
                        $at += $size;
                        die "half a packet\n" if $at > length $data;
                        $n++;
                }
                die "nothing\n" unless $n;
                print "$n packets\n"' <"$1"
}

session_bus
service "$DESKTRACED" --user --idle-timeout=60s
producer app org.example.app
producer flood org.example.flood flood

consumer user start org.example.app output 3>"$tmp/file.pftrace"
sleep 0.5
ok "a session with a file is stopped" session "$path" Stop
ok "its file is complete with the reply" counts 'app-[0-9]+\.' "$tmp/file.pftrace" 100
ok "and valid" valid "$tmp/file.pftrace"
gives "what went into it is counted" "^t $(stat -c %s "$tmp/file.pftrace")\$" property "$path" BytesOutput
fails "it is not for reading" 'cannot read: the session writes to its output' session "$path" Read u 0
kill "$started"

consumer user start org.example.app output 3>"$tmp/owner.pftrace"
sleep 0.3
kill -KILL "$started"
ok "a consumer that dies leaves a complete file" eventually counts 'app-[0-9]+\.' "$tmp/owner.pftrace" 100
ok "that is valid" valid "$tmp/owner.pftrace"

timeout 5 gdbus monitor --session --dest "$BUS" >"$tmp/signals" &
watcher=$!
pids+=("$watcher")
sleep 0.3
mkfifo "$tmp/closed"
# shellcheck disable=SC2094
exec 4<>"$tmp/closed" 5>"$tmp/closed" 4>&-
consumer user start org.example.flood output 3>&5
ok "a closed pipe ends the session" eventually says "$path" State stopped
gives "and says so" 'output-failed: Broken pipe' property "$path" StopReason
ok "and not the service" kill -0 "$daemon"

mkfifo "$tmp/stuck"
exec 4<>"$tmp/stuck"
consumer user start org.example.flood output 3>"$tmp/stuck"
sleep 0.5
ok "a pipe that nobody reads does not block the service" manager ListSources
kill "$started"
exec 4>&-

mkdir "$tmp/full"
if mount -t tmpfs -o size=4m none "$tmp/full" 2>/dev/null; then
        timeout 5 gdbus monitor --session --dest "$BUS" >"$tmp/signals" &
        watcher=$!
        pids+=("$watcher")
        sleep 0.3
        consumer user start org.example.flood output 3>"$tmp/full/trace.pftrace"
        ok "a file system that gets full ends the session" eventually says "$path" State stopped
        gives "with the reason" 'output-failed: No space left on device' property "$path" StopReason
        ok "which is signalled" eventually grep -q "Session.Stopped ('output-failed: No space left" "$tmp/signals"
        ok "as a property, too" grep -q "'StopReason': <'output-failed: No space left" "$tmp/signals"
        ok "what is there is valid" valid "$tmp/full/trace.pftrace"
        kill "$started"
else
        skip_check "a file system that gets full ends the session" 'no file system may be mounted here'
fi

# What is written is written with the service's credentials, so it goes where those mean nothing.
refuses() {
        "$TEST_CONSUMER" user start org.example.app output 3>&"$1"
}
for type in SOCK_STREAM SOCK_DGRAM; do
        fails "a socket is refused, and a pipe is recommended ($type)" 'OutputFailed: .*pass a pipe' \
                python3 -c '
import os, socket, subprocess, sys
ours, theirs = socket.socketpair(socket.AF_UNIX, getattr(socket, sys.argv[1]))
os.dup2(theirs.fileno(), 3)
sys.exit(subprocess.call(sys.argv[2:], pass_fds=[3]))' $type "$TEST_CONSUMER" user start org.example.app output
done
exec 4>/dev/null
fails "a device is refused" 'OutputFailed: .*pass a pipe' refuses 4
exec 4<>/proc/self/comm
consumer user start org.example.flood output 3>&4
ok "a file of the kernel ends the session" eventually says "$path" State stopped
gives "with the reason" 'output-failed: Operation not permitted' property "$path" StopReason
exec 4>&-

start 3 sources as 1 org.example.app duration-ms u 60000 detach b true
sleep 0.3
read_into() { "$TEST_CONSUMER" user read-into "$path"; }
read_file() { read_into 3>"$tmp/into.pftrace"; }
gives "a running session is read into a descriptor" '^[0-9]+$' read_file
ok "which has the packets" counts 'app-[0-9]+\.' "$tmp/into.pftrace" 100
ok "and is valid" valid "$tmp/into.pftrace"
if mountpoint -q "$tmp/full"; then
        rm "$tmp/full/trace.pftrace"
        head -c 5m /dev/zero >"$tmp/full/filler" 2>/dev/null
        read_full() { read_into 3>"$tmp/full/into.pftrace"; }
        session "$path" Flush u 0 >/dev/null
        fails "a full disk fails the reading" 'OutputFailed: cannot write the trace: No space left' read_full
fi
gives "and not the session" '"started"' property "$path" State
read_only() { read_into 3<"$tmp/into.pftrace"; }
fails "a descriptor for reading is refused" 'OutputFailed: .*reading only' read_only
read_directory() { read_into 3<"$tmp"; }
fails "a directory is refused" 'OutputFailed: cannot write to the output' read_directory
finish
