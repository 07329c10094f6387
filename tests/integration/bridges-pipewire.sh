#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# org.pipewire.profiler: a real PipeWire with a sink that is no device, and a program that plays into it. Also daemons
# that are none: one that says nothing, and one that says anything.

# shellcheck source=tests/integration/bridges-lib.sh
. "$(dirname "$0")/bridges-lib.sh"

source=org.pipewire.profiler
trace=$tmp/audio.pftrace
export XDG_RUNTIME_DIR=$tmp/run HOME=$tmp XDG_CONFIG_HOME=$tmp/config XDG_STATE_HOME=$tmp/state
# Programs that play must not look for other buses, nor for privileges.
export PIPEWIRE_RUNTIME_DIR=$tmp/run PIPEWIRE_LATENCY=1024/48000
count='select count(*) from slice s join track t on s.track_id = t.id where'
daemon=0

"$BRIDGES" --list-sources | grep -q 'without libpipewire' && skip_all 'built without libpipewire'
mkdir -p "$tmp/run" "$tmp/config/pipewire/pipewire.conf.d"
chmod 700 "$tmp/run"

# fake_daemon ANSWER: what listens where PipeWire would, and answers so
fake_daemon() {
        started python3 "$(dirname "$0")/fake-server.py" "$tmp/run/pipewire-0" "$1"
        eventually test -S "$tmp/run/pipewire-0"
}

end_daemon() {
        ended "$1"
        rm -f "$tmp"/run/pipewire-0*
}

bridged_session
fails 'that there is no PipeWire is said' 'no PipeWire runs in this session' \
        "$DESKTRACE" --user record -f -t 1s -o "$trace" $source

fake_daemon silence
fake=$started
ok 'a PipeWire that says nothing stops nobody' "$DESKTRACE" --user record -q -f -t 1s -o "$trace" $source
gives 'but is told of' '^PipeWirehasnotanswered$' asked "$trace" "select string_value from args a
        join slice s using (arg_set_id) where s.name = 'not recorded'"
end_daemon "$fake"
fake_daemon noise
fake=$started
ok 'nor does one that talks nonsense' "$DESKTRACE" --user record -q -f -t 1s -o "$trace" $source
end_daemon "$fake"

if ! command -v pipewire wireplumber pw-play >/dev/null; then
        skip_check 'a player is recorded' 'pipewire, wireplumber or pw-play is not installed'
        finish
fi

# A sink that needs no card: it takes what is played at the rate of a clock.
cat >"$tmp/config/pipewire/pipewire.conf.d/sink.conf" <<'CONF'
context.objects = [ { factory = adapter args = { factory.name = support.null-audio-sink
        node.name = test-sink media.class = Audio/Sink audio.position = "FL,FR" } } ]
CONF
python3 - "$tmp/tone.wav" <<'PYTHON'
import sys, wave
with wave.open(sys.argv[1], "wb") as file:
    file.setnchannels(2)
    file.setsampwidth(2)
    file.setframerate(48000)
    file.writeframes(bytes(48000 * 4 * 120))
PYTHON

has_object() { pw-cli ls Node | grep -q "node.name = \"$1\""; }
is_playing() { pw-cli ls Link | grep -q 'type PipeWire:Interface:Link'; }

has_tried() { is_playing || ! kill -0 "$player"; }

# A player that is linked to the sink. It gives up where WirePlumber does not know the sink yet.
play() {
        local n
        started pipewire
        daemon=$started
        eventually has_object test-sink
        started wireplumber
        for ((n = 0; n < 100; n++)); do
                started pw-play --target test-sink "$tmp/tone.wav"
                player=$started
                eventually has_tried
                ! is_playing || return 0
                sleep 0.1
        done
        return 1
}

play
gives 'the source is there' 'org\.pipewire\.profiler' "$DESKTRACE" --user list sources
recording "$trace" 3 $source
wait "$recording"
ok 'it is recorded' test $? = 0
cycles=$(asked "$trace" "$count s.name = 'cycle' and t.name = 'cycles'")
ok "each cycle is a slice ($cycles)" test "$cycles" -gt 0
gives 'the driver is below PipeWire' '^1$' asked "$trace" "select count(*) from track c
        join track n on c.parent_id = n.id join track p on n.parent_id = p.id
        where c.name = 'cycles' and n.name like 'test-sink (%' and p.name = 'PipeWire'"
gives 'a program that plays waits and is busy below its own process' "^$player,[1-9]" asked "$trace" \
        "select p.pid || ',' || count(*) from slice s join process_track t on s.track_id = t.id
        join process p using (upid) where t.name like 'PipeWire pw-play (%' and s.name = 'busy'"
gives 'arrows lead to it from the cycles' '^[1-9]' asked "$trace" "select count(*) from flow f
        join slice a on f.slice_out = a.id join slice b on f.slice_in = b.id
        where a.name = 'cycle' and b.name = 'waiting'"
gives 'no slice is without an end' '^0$' asked "$trace" "select count(*) from slice where dur < 0"
gives 'cycles say how long they may take' '^48000$' asked "$trace" "select distinct int_value from args a
        join slice s using (arg_set_id) where s.name = 'cycle' and a.key like '%rate'"
gives 'nodes are busy in cycles' '^0$' asked "$trace" "select count(*) from slice b where b.name = 'busy'
        and not exists (select 1 from slice c where c.name = 'cycle' and c.ts <= b.ts + b.dur and c.ts + c.dur >= b.ts)"

# A program that does not run is not in time, and PipeWire goes on.
kill -STOP "$player"
recording "$trace" 2 $source
wait "$recording"
gives 'a player that is stopped is not in time' '^[1-9]' asked "$trace" \
        "$count s.name = 'not in time' and t.name like 'PipeWire pw-play (%'"
kill -CONT "$player"

# Nothing is left when the bridges are killed, and others are started.
recording "$trace" 2 $source
bridges=$(busctl --user call org.freedesktop.DBus /org/freedesktop/DBus org.freedesktop.DBus \
        GetConnectionUnixProcessID s org.desktrace.Bridges1 | cut -d' ' -f2)
kill -KILL "$bridges"
wait "$recording"
ok 'a recording outlives its bridge' test $? = 0
ok 'PipeWire plays on' is_playing
is_client() { pw-cli ls Client | grep -q 'desktrace-bridges'; }
is_no_client() { ! is_client; }
ok 'and has no client of ours' eventually is_no_client

# PipeWire itself may end, and come again. Nothing tells when the next one has first spoken, as it does once a second.
next_cycles() { asked "$trace" "select count(*) from slice where name = 'cycle'
        and ts > (select ts from slice where name = 'PipeWire has ended')"; }
for seconds in 2 5 20; do
        recording "$trace" 600 $source
        eventually is_client
        ended "$daemon"
        play
        eventually is_client
        sleep $seconds
        kill -INT "$recording"
        wait "$recording"
        [[ $(next_cycles) != [1-9]* ]] || break
done
gives 'that PipeWire has ended is told' '^1$' asked "$trace" \
        "select count(*) from slice where name = 'PipeWire has ended'"
gives 'and the next one is recorded' '^[1-9]' next_cycles
finish
