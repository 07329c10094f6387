#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The command line with a service of its own: no bus, no systemd.

# shellcheck source=tests/integration/cli-lib.sh
. "$(dirname "$0")/cli-lib.sh"

record() {
        "$DESKTRACE" record --standalone "$@"
}

# ------------------------------------------------------------------------------------------------------------------
# Wrong arguments: what is wrong is named, with the nearest right thing.

echo old >existing
head -c 100000 /dev/urandom >garbage
printf 'buffers {\n  size_kb: 64\n  fil_policy: RING_BUFFER\n}\n' >bad.pbtxt

exits 2 "no verb is a usage error" 'no verb given' "$DESKTRACE"
exits 2 "a misspelt verb is named with the nearest one" "unknown verb 'recordd'.*'record'" "$DESKTRACE" recordd
exits 2 "so is an option" "unknown option '--outptu'.*'--output'" "$DESKTRACE" record --outptu=x
exits 2 "so is a preset" "unknown preset 'schedulng'. Did you mean 'scheduling'" record -p schedulng
exits 2 "a name that is not near to any is told with those that there are" '^Choose one of: .*scheduling' record -p nope
exits 2 "where no preset is installed, it is told where they would be" '^There are no presets in /nowhere ' \
        env DESKTRACE_PRESET_PATH=/nowhere "$DESKTRACE" record -p scheduling
exits 2 "so is a list" "unknown list 'surces'.*'sources'" "$DESKTRACE" list surces
exits 2 "so is a JSON mode" "'prety'.*'pretty'" "$DESKTRACE" list presets --json=prety
exits 2 "so is a verb to help with" "unknown verb 'recordd'" "$DESKTRACE" help recordd
exits 2 "a preset as an event is told" 'use -p scheduling' record scheduling
exits 2 "so is an event as others write it" "'sched:sched_switch'.*'sched/sched_switch'" record sched:sched_switch
exits 2 "a duration must be one" "'5parsecs' is not a duration" record -t 5parsecs
exits 2 "a size must be one" "'1' is not a buffer size" record -b 1
exits 2 "one that no buffer can have is told" '64T exceeds' record -b 64T
exits 2 "a misspelt data source is named with the nearest one" "unknown data source 'linx.ftrace'.*'linux.ftrace'" \
        record linx.ftrace
exits 2 "so is one without its prefix" "unknown data source 'sys_stats'.*'linux.sys_stats'" record sys_stats
printf 'buffers { size_kb: 64 } data_sources { config { name: "track_evnt" } }\n' >misspelt.pbtxt
exits 2 "so is one in a config" "unknown data source 'track_evnt'.*'track_event'" record -c misspelt.pbtxt
ok "and nothing is recorded" nothing_is_there '*.pftrace'
exits 2 "a config and a preset are not possible together" 'mutually exclusive' record -c a -p b
exits 2 "nor are two buses" 'mutually exclusive' "$DESKTRACE" record --user --standalone
exits 2 "two dashes need a command" 'no command' record -p apps --
exits 2 "other verbs take no command" 'takes no command' "$DESKTRACE" status -- true
exits 2 "a missing argument is told" 'requires an argument' "$DESKTRACE" inspect
exits 2 "so is one too many" "does not take the argument 'b'" "$DESKTRACE" inspect a b
exits 2 "an error in a config has file, line and column" '^desktrace: bad.pbtxt:3:3: .*fil_policy.*fill_policy' \
        record -c bad.pbtxt
exits 2 "also from stdin" 'stdin:3:3:' bash -c "\"$DESKTRACE\" record --standalone -c - <bad.pbtxt"
exits 2 "a config that is not there is told" 'cannot read /nowhere: No such file' record -c /nowhere
exits 2 "a config that is no text is told" 'not text|:1:' record -c garbage
exits 2 "an existing file is not clobbered" 'File exists' record -p apps -o existing
gives "it is as it was" '^old$' cat existing
exits 1 "a directory is no file" 'Is a directory' record -p apps -o .
exits 1 "a file that cannot be made is told" 'No such file' record -p apps -o /nowhere/x
exits 1 "what is not a trace is told" 'not a Perfetto trace' "$DESKTRACE" inspect garbage
exits 1 "what is not there is told" 'No such file' "$DESKTRACE" inspect /nowhere
exits 0 "the overview has the exit statuses" 'data was lost' "$DESKTRACE" --help
exits 0 "each verb has help" '--standalone' "$DESKTRACE" record --help
# shellcheck disable=SC2016 # expanded by the command's shell
exits 1 "help that cannot be written is an error" 'cannot write the output: No space' \
        bash -c '"$0" record --help >/dev/full' "$DESKTRACE"
exits 0 "in our own words, like the rest" '-h, --help +print this help and exit' "$DESKTRACE" record --help
ok "and in one section" bash -c '! "$0" record --help | grep -q "Help Options"' "$DESKTRACE"
exits 2 "an option that is misspelt is said as a sentence" "unknown option '--tme'. Did you mean '--time'\\?" \
        "$DESKTRACE" record --tme 5s
exits 0 "the version is told" '^desktrace [0-9]' "$DESKTRACE" --version
exits 0 "in short, too" '^desktrace [0-9]' "$DESKTRACE" -V
exits 2 "JSON and a trace cannot both go to stdout" 'both write to stdout' record --json -p apps -o -
rm existing garbage bad.pbtxt misspelt.pbtxt

# ------------------------------------------------------------------------------------------------------------------
# Recording

exits 0 "an example program is recorded" 'No losses' record -p apps -o app.pftrace -- "$EXAMPLE" --seconds 1 --quiet
ok "its slices are in the file" holds app.pftrace 'any(s["name"] == "row" and s["count"] > 10 for s in t["slices"])'
ok "on its named threads" holds app.pftrace \
        '{"worker 1", "worker 2", "worker 3"} <= {x["name"] for x in t["threads"] if x["slices"] > 0}'
ok "its counter too" holds app.pftrace 'any(c["name"] == "frame rate" and c["count"] > 0 for c in t["counters"])'
ok "without losses" holds app.pftrace 't["losses"]["verdict"] == "none" and not t["losses"]["found"]'
ok "with its config" holds app.pftrace '"write_into_file: true" in t["config"]'
exits 0 "inspect shows it" 'mandelbrot.rows' "$DESKTRACE" inspect app.pftrace
exits 0 "inspect shows the config" 'name: "track_event"' "$DESKTRACE" inspect --config app.pftrace
head -c "$(($(stat -c %s app.pftrace) - 3))" app.pftrace >half.pftrace
exits 6 "a file that is cut short is shown up to the cut" 'ends inside a packet' "$DESKTRACE" inspect half.pftrace

# first_are N: the file has each event of N runs, and once
first_are() {
        local all='("before main", "before init", "first")'

        holds first.pftrace "{s['name']: s['count'] + s['instants'] for s in t['slices']} == dict.fromkeys($all, $1)"
}
first_event_is_recorded() {
        exits 0 "a program is recorded from its start ($*)" 'No losses' record "$@" -f -o first.pftrace -- \
                "$FIRST_EVENT"
        ok "its very first slice is in the file, and what comes before dt_init() and main()" first_are 1
}
first_event_is_recorded -p apps
first_event_is_recorded cat:start
first_event_is_recorded -p apps --ring
exits 0 "so is what a command of the command does" 'No losses' record -p apps -f -o first.pftrace -- \
        sh -c '"$0" && "$0"' "$FIRST_EVENT"
ok "each time" first_are 2
exits 5 "a program does not wait when its events are not wanted, and keeps none" '^0none$' \
        record -q org.example.nobody -f -o first.pftrace -- sh -c 'echo "${DESKTRACE_WAIT-0}${DESKTRACE_STARTUP-none}"'
exits 5 "it keeps what is wanted of it" '^a\*,b$' \
        record -q 'cat:a*' cat:b -f -o first.pftrace -- sh -c 'echo "$DESKTRACE_STARTUP"'

exits 0 "a time ends a recording" 'Recorded' record -p apps -t 300ms -o time.pftrace
exits 0 "an existing file is replaced when asked to" 'Recorded' record -p apps -t 300ms -f -o time.pftrace
exits 0 "a command that outlives the time is ended" 'Recorded' record -p apps -t 300ms -o end.pftrace -- sleep 100
exits 7 "the command's status is ours" '^$' record -q -p apps -o status.pftrace -- sh -c 'exit 7'
exits 143 "also when a signal ended it" '^$' record -q -p apps -o signal.pftrace -- sh -c 'kill -TERM $$'
exits 127 "a command that is not there is told" 'cannot run nosuch' record -p apps -o none.pftrace -- nosuch
ok "and nothing is recorded" test ! -e none.pftrace
exits 0 "a ring is written at the end" 'No losses' record -p apps --ring -o ring.pftrace -- \
        "$EXAMPLE" --seconds 1 --quiet
ok "and has the program's slices" holds ring.pftrace 'any(s["name"] == "frame" for s in t["slices"])'
exits 0 "what a ring forgets is no loss" 'No losses' record 'cat:*' --ring -b 256K \
        -o small.pftrace -- "$EXAMPLE" --seconds 4 --quiet
ok "and all threads still have names" holds small.pftrace \
        '{"worker 1", "worker 2", "worker 3"} <= {x["name"] for x in t["threads"] if x["slices"] > 0}'
exits 0 "only events may be asked for" 'Recorded' record cat:mandelbrot.frames -o cat.pftrace -- \
        "$EXAMPLE" --seconds 0.5 --quiet
ok "and no others are recorded" holds cat.pftrace '{s["category"] for s in t["slices"]} == {"mandelbrot.frames"}'
ok "a summary is printed as JSON" is_json \
        "$DESKTRACE" record -q --standalone --json=pretty -p apps -t 300ms -o j.pftrace
mkdir presets
printf 'buffers { name: "a" size_kb: 64 } data_sources { config { name: "track_event" } }\n' >presets/one.pbtxt
printf 'buffers { name: "b" size_kb: 32 } data_sources { config { name: "org.example.two" } }\n' >presets/two.pbtxt
for presets in '-p one -p two' '-p two,one' '-p one,two -p one'; do
        # shellcheck disable=SC2086 # several words
        exits 0 "presets combine ($presets)" '.' env DESKTRACE_PRESET_PATH=presets "$DESKTRACE" record --standalone \
                $presets -t 100ms -f -o both.pftrace
        ok "to one recording of both" holds both.pftrace \
                't["config"].count("data_sources {") == t["config"].count("  size_kb: ") == 2'
done
exits 2 "one of several may be misspelt" "preset 'tow'.*two" env DESKTRACE_PRESET_PATH=presets \
        "$DESKTRACE" record --standalone -p one,tow
rm -r presets
ok "JSON needs no mode" is_json "$DESKTRACE" list --json presets
gives "it is one line for programs" '^1$' bash -c '"$0" list --json presets | wc -l' "$DESKTRACE"
gives "and many on a terminal" '^  \{' "$CLI_PTY" "$DESKTRACE" list --json presets
ok "a mode may follow as a word" is_json "$DESKTRACE" list presets --json pretty
ok "what a command writes does not mix with it" is_json \
        "$DESKTRACE" record -q --standalone --json -p apps -o mixed.pftrace -- echo "not JSON"
exits 0 "it is on stderr" '^not JSON' bash -c '"$0" record -q --standalone --json -p apps -f -o mixed.pftrace -- \
        echo "not JSON" 2>&1 >/dev/null' "$DESKTRACE"
exits 0 "without JSON it stays where it is" '^not JSON$' bash -c '"$0" record -q --standalone -p apps -f \
        -o mixed.pftrace -- echo "not JSON" 2>/dev/null' "$DESKTRACE"
mkdir names
for _ in 1 2 3; do
        (cd names && exec "$DESKTRACE" record -q --standalone -p apps -- true) &
        pids+=($!)
done
has_names() {
        [ "$(find names -name 'desktrace-*.pftrace' -size +0 | wc -l)" = "$1" ]
}
ok "recordings that begin within a second have names of their own" eventually has_names 3
ok "a trace goes through a pipe" bash -c "\"$DESKTRACE\" record -q --standalone -p apps -o - -- \
        \"$EXAMPLE\" --seconds 0.5 --quiet | \"$DESKTRACE\" inspect --json=short - >pipe.json"
ok "and is whole" json_holds pipe.json 't["end"] == "complete" and t["track_events_total"] > 10'

# ------------------------------------------------------------------------------------------------------------------
# Ctrl-C, and what goes wrong

exits 0 "on a terminal there is a progress line, and Ctrl-C keeps the data" 'Recording:.*Ctrl-C' \
        "$CLI_PTY" --interrupt 'Recording:' "$DESKTRACE" record --standalone -p apps -o ctrl-c.pftrace
ok "the file is whole" holds ctrl-c.pftrace 't["end"] == "complete" and t["losses"]["verdict"] == "none"'
exits 2 "a terminal gets no trace" 'a trace to a terminal' "$CLI_PTY" "$DESKTRACE" record --standalone -p apps -o -

exits 1 "a full device ends the recording in order" 'No space left' record -p apps -t 1s -o /dev/full

# The service writes to files and pipes only; the program copies for it.
to_socket() {
        python3 -c '
import socket, subprocess, sys
ours, theirs = socket.socketpair()
program = subprocess.Popen(sys.argv[2:], stdout=theirs.fileno())
theirs.close()
with open(sys.argv[1], "wb") as file:
        while piece := ours.recv(65536):
                file.write(piece)
sys.exit(program.wait())' socket.pftrace "$DESKTRACE" record --standalone -p apps -o - -- "$EXAMPLE" --seconds 1 --quiet
}
exits 0 "stdout may be a socket" '' to_socket
ok "which gets all of the recording" holds socket.pftrace 't["end"] == "complete" and t["losses"]["verdict"] == "none"'
exits 0 "and the output a device" '' record -p apps -t 1s -o /dev/null

closed_pipe() {
        # shellcheck disable=SC2016 # for the inner shell
        timeout 20 bash -c '"$0" record --standalone -p apps -o - -- "$1" --seconds 15 --quiet | head -c 10 >/dev/null
                exit "${PIPESTATUS[0]}"' "$DESKTRACE" "$EXAMPLE"
}
exits 1 "a closed pipe ends the recording" 'Broken pipe' closed_pipe

if [ "$(id -u)" = 0 ] && mkdir full && mount -t tmpfs -o size=128k tmpfs full 2>/dev/null; then
        exits 1 "a full disk ends the recording in order" 'No space left' \
                record -p apps -o full/x.pftrace -- "$EXAMPLE" --seconds 5 --quiet
        ok "what was written is valid" holds full/x.pftrace 't["end"] != "garbage" and t["track_events_total"] > 10'
        umount full
fi

# Stopped while its service starts, which here takes longer than the test may: nothing is left, and it says so.
cat >"$tmp/slow-daemon" <<SLOW
#!/bin/sh
touch "$tmp/starts"
exec sleep 600
SLOW
chmod +x "$tmp/slow-daemon"
stopped_while_starting() { # SIGNAL
        local client status=0
        rm -f "$tmp/starts"
        DESKTRACE_DAEMON=$tmp/slow-daemon "$DESKTRACE" record --standalone -p apps -o starting.pftrace 2>&1 &
        client=$!
        eventually test -e "$tmp/starts"
        kill "-$1" "$client"
        wait "$client" || status=$?
        return "$status"
}
exits 1 "a recording that is stopped while it starts says so" 'cancelled' stopped_while_starting TERM
ok "and leaves no file" test ! -e starting.pftrace
ok "nor a socket" nothing_is_left_in "$TMPDIR"
exits 1 "so does one that is interrupted" 'cancelled' stopped_while_starting INT

crashed_client() {
        local client daemon
        "$DESKTRACE" record --standalone -p apps -o crash.pftrace &
        client=$!
        eventually pgrep -P "$client" -x desktraced >/dev/null
        daemon=$(pgrep -P "$client" -x desktraced)
        kill -KILL "$client"
        eventually not_running "$daemon"
        rm -rf "$TMPDIR"/desktrace-*
}
not_running() {
        ! kill -0 "$1" 2>/dev/null
}
ok "a client that is killed leaves no service behind" crashed_client

# ------------------------------------------------------------------------------------------------------------------
# The kernel

if [ "$(id -u)" = 0 ]; then
        chmod 755 "$tmp"
        cd "$tmp/work" || exit 1
        exits 3 "kernel events need root" 'requires root' \
                as 65534 "$DESKTRACE" record --standalone sched/sched_switch -o x
        exits 0 "without root programs are recorded" 'Not root' as 65534 "$DESKTRACE" record --standalone -t 300ms \
                -o user.pftrace
        [ -e /sys/kernel/tracing/available_events ] || mount -t tracefs tracefs /sys/kernel/tracing 2>/dev/null
fi
if [ "$(id -u)" = 0 ] && [ -x "$DESKTRACE_PROBES" ] && [ -r /sys/kernel/tracing/available_events ]; then
        exits 2 "a misspelt kernel event is named with the nearest one" \
                "'sched/sched_swich'.*'sched/sched_switch'" record sched/sched_swich
        exits 2 "so is a group" "unknown kernel event 'scehd/\*'.*'sched/\*'" record 'scehd/*'
        cat >slips.pbtxt <<'CONFIG'
buffers { size_kb: 1024 }
duration_ms: 100
data_sources { config { name: "linux.ftrace" ftrace_config {
        ftrace_events: "sched/sched_swich" ftrace_events: "sched_waking"
        ftrace_events: "android/of_another_kernel" } } }
CONFIG
        exits 0 "a misspelt one of a config is noted, as that may be for several kernels" \
                'note: .*no kernel event is called "sched/sched_swich"; did you mean "sched/sched_switch"' \
                record -c slips.pbtxt -o slips.pftrace
        exits 0 "and so is one of another kernel" 'note: .*no event "android/of_another_kernel"' \
                record -c slips.pbtxt -o slips-2.pftrace
        ok "the others are recorded" holds slips.pftrace "t['kernel_events_total'] > 0"
        sed -i 's,ftrace_events: "sched_waking",,' slips.pbtxt
        exits 1 "a config of which this kernel has no event is an error" 'did you mean "sched/sched_switch"' \
                record -c slips.pbtxt -o none.pftrace
        ok "that leaves no file" test ! -e none.pftrace
        exits 5 "so is a source of the probes" "no data source 'linux.sys_stat'.*'linux.sys_stats'" \
                record linux.sys_stat
        exits 5 "of one that is like no other it is told how to see which there are" \
                "no data source 'linux.zyxwvutsrq'.*list sources --standalone" record linux.zyxwvutsrq
        exits 0 "kernel and program are in one file" 'No losses' record -o all.pftrace -- "$EXAMPLE" --seconds 1 --quiet
        ok "with switches" holds all.pftrace \
                'any(e["name"] == "sched_switch" and e["count"] > 100 for e in t["kernel_events"])'
        # in a pid namespace of its own the kernel's pids are others
        [ "$(readlink /proc/self/ns/pid)" != 'pid:[4026531836]' ] ||
                ok "with CPU time of the program's threads" holds all.pftrace \
                'all(x["cpu_ns"] > 1e7 for x in t["threads"] if x["slices"] and "worker" in (x["name"] or ""))'
        ok "with names of processes" holds all.pftrace \
                'sum(1 for p in t["processes"] if p["name"]) > 0.9 * len(t["processes"])'
        ok "with memory counters" holds all.pftrace 'any(c["name"] == "meminfo.mem_free" for c in t["counters"])'
        killed_probes() { # SIGNAL
                local status=0
                "$DESKTRACE" record --standalone sched/sched_switch -o "cut-$1.pftrace" -- \
                        sh -c 'sleep 1; kill -'"$1"' "$(pgrep -P "$PPID" desktrace-probe)"; sleep 1' || status=$?
                return "$status"
        }
        exits 6 "probes that end too early are told" 'linux.ftrace is cut short' killed_probes TERM
        # As the kernel kills for want of memory.
        verdict() {
                local said status=0
                said=$(killed_probes KILL 2>&1) || status=$?
                echo "$said"
                ! grep -q 'No losses' <<<"$said" && return "$status"
        }
        exits 6 "probes that are killed are in the verdict, too" '[0-9]+ × data sources whose producer ended' verdict
        # A source that this machine lacks is no fault of the preset: the rest of it records. Nor are losses on a
        # machine that is too busy.
        presets_record() {
                local preset name said
                for preset in "$DESKTRACE_PRESET_PATH"/*.pbtxt; do
                        name=$(basename "$preset" .pbtxt)
                        said=$(record -q -p "$name" -t 200ms -o "preset-$name.pftrace" 2>&1) ||
                                { [ $? = 6 ] && [ -z "$said" ]; } ||
                                ! grep -qv ' did not record: ' <<<"$said" || { echo "$name: $said" && return 1; }
                        [ -s "preset-$name.pftrace" ] || return
                done
        }
        exits 0 "what the probes count is no event of a program" ' 0 events of programs' \
                record -p memory -t 300ms -o counters.pftrace
        ok "each preset records what this machine has" presets_record
fi

# shellcheck disable=SC2016 # expanded by the command's shell
bind_producer='/usr/bin/python3 "$0" bind "$PERFETTO_PRODUCER_SOCK_NAME" ProducerPort'
# shellcheck disable=SC2016
bind_consumer='/usr/bin/python3 "$0" bind "${PERFETTO_PRODUCER_SOCK_NAME%/*}/traced-consumer.sock" ConsumerPort'
ipc=$(realpath "$(dirname "$0")/perfetto_ipc.py")
exits 0 "a program with Perfetto's SDK is told where the private service is" 'CommitData' \
        record -p apps -o sdk.pftrace -- sh -c "$bind_producer" "$ipc"
exits 0 "which serves Perfetto's own programs as well" 'EnableTracing' \
        record -p apps -o more.pftrace -- sh -c "$bind_consumer" "$ipc"
# shellcheck disable=SC2016
exits 0 "unless the user has said where it is" 'here: /mine' env PERFETTO_PRODUCER_SOCK_NAME=/mine \
        "$DESKTRACE" record --standalone -p apps -o other.pftrace -- sh -c 'echo "here: $PERFETTO_PRODUCER_SOCK_NAME"'

rm -rf "$tmp/work"/*
ok "nothing of ours is left in the temporary directory" nothing_is_left_in "$TMPDIR"
finish
