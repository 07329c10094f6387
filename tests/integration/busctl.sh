#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A recording with nothing but busctl and gdbus. The commands below the line are those of the README: they use the user
# instance; on the system instance say --system instead of --user (and gdbus --system).
# The checks call functions by name.
# shellcheck disable=SC2317
# shellcheck source=tests/integration/bus-lib.sh
. "$(dirname "$0")/bus-lib.sh"

session_bus
service "$DESKTRACED" --user --idle-timeout=60s
producer demo org.example.demo
cat >"$tmp/presets/demo.pbtxt" <<'PRESET'
# The demo's events.
buffers { size_kb: 4096 }
data_sources { config { name: "org.example.demo" } }
PRESET
cd "$tmp" || exit 1

# ------------------------------------------------------------------------------------------------------------------

# What could be recorded, by whom?
list_sources() {
        busctl --user call org.desktrace.Tracing1 /org/desktrace/Tracing1 org.desktrace.Tracing1.Manager ListSources
}
list_presets() {
        busctl --user call org.desktrace.Tracing1 /org/desktrace/Tracing1 org.desktrace.Tracing1.Manager ListPresets
}

# Record with a ready config, for a minute. busctl leaves the bus at once, so the session must be detached.
start_preset() {
        busctl --user call org.desktrace.Tracing1 /org/desktrace/Tracing1 org.desktrace.Tracing1.Manager \
                StartSession 'a{sv}' 4 preset s demo name s mine duration-ms u 60000 detach b true
}

# Record with typed options.
start_typed() {
        busctl --user call org.desktrace.Tracing1 /org/desktrace/Tracing1 org.desktrace.Tracing1.Manager \
                StartSession 'a{sv}' 4 sources as 1 org.example.demo buffer-size-kb u 8192 \
                duration-ms u 60000 detach b true
}

# Record with a trace config in Perfetto's text format.
start_text() {
        busctl --user call org.desktrace.Tracing1 /org/desktrace/Tracing1 org.desktrace.Tracing1.Manager \
                StartSession 'a{sv}' 2 detach b true config-text s '
                        buffers { size_kb: 4096 }
                        data_sources { config { name: "org.example.demo" } }
                        duration_ms: 60000'
}

# The same with gdbus.
start_gdbus() {
        gdbus call --session --dest org.desktrace.Tracing1 --object-path /org/desktrace/Tracing1 \
                --method org.desktrace.Tracing1.Manager.StartSession \
                "{'sources': <['org.example.demo']>, 'duration-ms': <uint32 60000>, 'detach': <true>}"
}

# How is it going?
show_state() {
        busctl --user get-property org.desktrace.Tracing1 /org/desktrace/Tracing1/session/1 \
                org.desktrace.Tracing1.Session State Sources BytesWritten ChunksLost PacketsLost
}
watch_signals() {
        timeout 3 gdbus monitor --session --dest org.desktrace.Tracing1 --object-path /org/desktrace/Tracing1/session/1
}

# Stop, get the data, and free the buffers.
stop() {
        busctl --user call org.desktrace.Tracing1 /org/desktrace/Tracing1/session/1 org.desktrace.Tracing1.Session Stop
}
read_data() {
        busctl --user call org.desktrace.Tracing1 /org/desktrace/Tracing1/session/1 org.desktrace.Tracing1.Session \
                Read u 16777216 | perl -ane 'print pack "C*", @F[2 .. $#F - 1]' >read.pftrace
}
free_session() {
        busctl --user call org.desktrace.Tracing1 /org/desktrace/Tracing1/session/1 org.desktrace.Tracing1.Session Free
}

# ------------------------------------------------------------------------------------------------------------------

gives "sources are listed with their producers" \
        '"org.example.demo" 1 "/org/desktrace/Tracing1/producer/[0-9]+"' list_sources
gives "presets are listed with a description" '"demo" "The demo' list_presets
gives "a session is started from a preset" 'o "/org/desktrace/Tracing1/session/1"' start_preset
watch_signals >signals.txt &
watcher=$!
gives "a session is started from typed options" 'o "/org/desktrace/Tracing1/session/2"' start_typed
gives "a session is started from a text config" 'o "/org/desktrace/Tracing1/session/3"' start_text
gives "a session is started with gdbus" "objectpath '/org/desktrace/Tracing1/session/4'" start_gdbus
gives "its state is a property" 's "started"' show_state
gives "its instances are a property" '1 "org.example.demo" "demo" [0-9]+ [0-9]+ "started"' show_state
sleep 1.2
gives "what was written is counted" '^t [1-9][0-9]{3}' property /org/desktrace/Tracing1/session/1 BytesWritten
ok "a session is stopped" stop
gives "a stopped session says so" '"stopped"' show_state
gives "and why" '"requested"' property /org/desktrace/Tracing1/session/1 StopReason
ok "data is read into a file with busctl" read_data
ok "the file has all packets of the start" counts 'demo-[0-9]+\.' read.pftrace 110
wait "$watcher"
gives "the state is signalled" "'State': <'stopped'>" cat signals.txt
gives "counters are signalled" "'BytesWritten': <uint64 [0-9]+>" cat signals.txt
gives "the end is signalled" "Session.Stopped \('requested',\)" cat signals.txt
ok "not more than twice a second" test "$(grep -c "'BytesWritten'" signals.txt)" -le 8
ok "buffers are freed" free_session
fails "a freed session is gone" 'Unknown object' show_state
gives "sessions are listed" '^a\(otsus\) 3 ' manager ListSessions
finish
