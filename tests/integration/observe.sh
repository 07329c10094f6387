#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# What the service shows of itself: objects, signals, writers, its log level, its status; and each command of
# docs/OBSERVING.md, by its place there.
# The checks call functions by name.
# shellcheck disable=SC2317
# shellcheck source=tests/integration/bus-lib.sh
. "$(dirname "$0")/bus-lib.sh"

# What systemd would be told.
notify=$tmp/notify.sock
started /usr/bin/python3 -c '
import socket, sys
peer = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
peer.bind(sys.argv[1])
with open(sys.argv[2], "w", buffering=1) as log:
    while True:
        log.write(peer.recv(4096).decode() + "\n")
' "$notify" "$tmp/notified"
eventually test -S "$notify"

# What programs add to TrackEvent: one file that is, one that is not.
export DESKTRACE_DESCRIPTORS_PATH=$tmp/nowhere:$tmp/descriptors.d
mkdir "$tmp/descriptors.d"
printf '\x0a\x0b\x0a\x09added.one' >"$tmp/descriptors.d/added.desc"
echo text >"$tmp/descriptors.d/broken.desc"

session_bus
NOTIFY_SOCKET=$notify service "$DESKTRACED" --user --idle-timeout=60s
started gdbus monitor --session --dest "$BUS" >"$tmp/signals"
monitor=$started
eventually grep -q 'Monitoring signals' "$tmp/signals"
heard() { # PATTERN
        eventually grep -qE -- "$1" "$tmp/signals"
}

# The nth block of commands.
block() {
        awk -v wanted="$1" '/^```sh$/ { inside = ++n == wanted; next } /^```/ { inside = 0 } inside' "$OBSERVING"
}
shown() { bash -c "$(block "$1")"; }
n_blocks=$(grep -c '^```sh$' "$OBSERVING")

producer demo org.example.demo
demo=$started
start 5 sources as 1 org.example.demo name s watched buffer-size-kb u 1024 duration-ms u 60000 detach b true
# shellcheck disable=SC2154 # set by start
watched=$path

gives "the tree has an object for each thing" 'session/1/buffer/0' shown 1
gives "and all of them are managed objects" \
        'session/1/buffer/0" 1? ?.*Tracing1.Buffer"' shown 2
gives "data sources are among them" 'source/org_2eexample_2edemo' shown 2
gives "who records is listed" '"watched" [0-9]+ "started"' shown 3
gives "and what" '"org.example.demo" "demo" [0-9]+ [0-9]+ "started"' shown 4
gives "and what they leave out: here nothing" '^a\(ssuus\) 0$' shown 5
gives "a source says who offers it" 'Producers +property +ao +1 "/org/desktrace/Tracing1/producer/' shown 6
gives "a program that is recorded has memory for it" '^t [1-9]' shown 7
gives "a buffer says what it has seen" "'BytesWritten': <uint64 [0-9]+>.*'WriterPacketLoss': <uint64 0>" shown 8
ok "a flush brings in what was written" busctl --user call "$BUS" "$watched" "$SESSION" Flush u 0
gives "writers say how much they wrote" "'buffer': <uint64 0>.*'chunk-sizes': <\[uint64 .*" shown 9
gives "the log can be told to say more" '^$' shown 11
gives "and says so" 's "debug"' busctl --user get-property "$BUS" /org/freedesktop/LogControl1 \
        org.freedesktop.LogControl1 LogLevel
fails "but not to say nonsense" 'loud.* is not a log level' busctl --user set-property "$BUS" \
        /org/freedesktop/LogControl1 org.freedesktop.LogControl1 LogLevel s loud
gives "it has a name there" 's "desktraced"' busctl --user get-property "$BUS" /org/freedesktop/LogControl1 \
        org.freedesktop.LogControl1 SyslogIdentifier
ok "each command of the document was run" test "$n_blocks" = 11
gives "and the one that watches is the one that runs here" \
        '^gdbus monitor --session --dest org.desktrace.Tracing1$' block 10

ok "a source that starts is told" heard \
        "session/1: .*SourceStateChanged \('org.example.demo', 'demo', uint32 [0-9]+, uint32 [0-9]+, 'started'\)"
ok "and that all have" heard 'session/1: .*AllSourcesStarted'
ok "a new source is an object that was added" heard \
        "InterfacesAdded .*source/org_2eexample_2edemo'.*SourceInfo.*'Producers': <\[objectpath"
ok "a new buffer, too" heard "InterfacesAdded .*session/1/buffer/0'.*Tracing1.Buffer"
ok "what is written is told" heard "session/1/buffer/0: .*PropertiesChanged .*'BytesWritten': <uint64 [1-9]"

# What would be long for each listener is left out, and can be read.
started /usr/bin/python3 -B "$(dirname "$0")/../hostile/raw_bus.py" register "$tmp/session.sock"
long=$started
ok "a source with very many categories is told" heard "InterfacesAdded .*source/org_2eexample_2elong0'.*'Producers'"
ok "but not they" test -z "$(grep -o "InterfacesAdded .*long[0-9]'.*'Categories'" "$tmp/signals")"
gives "which can be read" '^as 1500 ' busctl --user get-property "$BUS" \
        /org/desktrace/Tracing1/source/org_2eexample_2elong0 "$BUS".SourceInfo Categories
kill "$long"

many=$(seq -f "data_sources { config { name: 'qqq.wwwwww.%g' } }" 1000 1129)
kept_path=$path
start 3 detach b true duration-ms u 60000 config-text s "buffers { size_kb: 4 } $many"
ok "a session of 130 sources is told" heard "InterfacesAdded .*objectpath '$path'.*'State'"
ok "but not its sources" test -z "$(grep -o "InterfacesAdded .*qqq.wwwwww.1000" "$tmp/signals")"
gives "which can be read" '^a\(ssuus\) 130 ' property "$path" Sources
producer late qqq.wwwwww.1000
ok "and that they have to be read again is told" heard "$path: .*PropertiesChanged .*\['Sources'\]"
kill "$started"
session "$path" Free
path=$kept_path

# A second producer changes the source; the last one that leaves takes it away.
producer other org.example.demo
other=$started
ok "another producer changes a source" heard \
        "source/org_2eexample_2edemo: .*PropertiesChanged .*'Producers': <\[.*producer/[0-9]+', '/org"
kill "$other" "$demo"
ok "a source that ends is told" heard "SourceStateChanged .*'gone'"
ok "a source that nobody offers is removed" heard "InterfacesRemoved .*source/org_2eexample_2edemo'"
ok "but not one of the service's own" test -z "$(grep InterfacesRemoved "$tmp/signals" | grep desktrace_2eself)"
gives "which is always listed" '"desktrace.self" 0 2 "activatable" b true "system" b true' manager ListSources

busctl --user call "$BUS" "$watched" "$SESSION" Free >/dev/null
ok "a buffer goes with its session" heard "InterfacesRemoved .*session/1/buffer/0'"
fails "and is no longer an object" 'Unknown object' busctl --user introspect "$BUS" "$watched"/buffer/0 "$BUS".Buffer
kill "$monitor"

# The service's own source needs no bus, and no probes.
ok "the service can be recorded alone" \
        timeout 60 "$DESKTRACE" record --standalone -t 1 -o "$tmp/self.pftrace" desktrace.self
gives "and shows what it did" 'flush +desktrace +1 ' "$DESKTRACE" inspect "$tmp/self.pftrace"
gives "under its name" '[0-9]+ +[0-9]+ +desktraced ' "$DESKTRACE" inspect "$tmp/self.pftrace"

ok "installed descriptors are in the trace" grep -qa 'added.one' "$tmp/self.pftrace"
ok "with their file's name" grep -qa 'added.desc' "$tmp/self.pftrace"
ok "but not a file that is no descriptor" grep -q 'broken.desc: it is no FileDescriptorSet' "$tmp/log"

ok "systemd is told how many there are" grep -q '^STATUS=1 session, 1 producer\.$' "$tmp/notified"
ok "and when they are gone" eventually grep -q '^STATUS=0 sessions, 0 producers\.$' "$tmp/notified"
finish
