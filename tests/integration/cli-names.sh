#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# What is asked for by name on the command line: a name that nobody offers is told, with what was perhaps meant, before
# anything is recorded, unless it may still come.

# shellcheck source=tests/integration/cli-lib.sh
. "$(dirname "$0")/cli-lib.sh"

desktrace() {
        "$DESKTRACE" "$@"
}
record() {
        timeout 30 "$DESKTRACE" record --user "$@"
}

# The bus can start the service, as it does on every desktop.
mkdir "$tmp/session.d" "$tmp/services"
cat >"$tmp/services/desktraced.service" <<SERVICE
[D-BUS Service]
Name=$BUS
Exec=$DESKTRACED --user
SERVICE
echo "<busconfig><servicedir>$tmp/services</servicedir></busconfig>" >"$tmp/session.d/services.conf"
session_bus
service "$DESKTRACED" --user

# ------------------------------------------------------------------------------------------------------------------
# Events of the kernel, which anybody may misspell: the presets' are known without tracefs, too

exits 2 "an event of the kernel without its group is told how it is written" "did you mean 'sched/sched_switch'" \
        record sched_switch -t 1s -o none.pftrace
exits 2 "so is a group" "did you mean 'sched/\*'" record sched -t 1s -o none.pftrace
exits 2 "however long the recording is" "did you mean 'sched/sched_switch'" record sched_switch -o none.pftrace
exits 2 "and when it runs a command" "did you mean 'sched/sched_switch'" record sched_switch -o none.pftrace -- true
exits 5 "a misspelt one without its group is told, too" "Did you mean 'sched/sched_switch'" \
        record sched_swich -t 1s -o none.pftrace

# ------------------------------------------------------------------------------------------------------------------
# Categories and data sources, which come with programs

exits 5 "without any program a category is told in words" "nothing that runs uses Desktrace or Perfetto's SDK" \
        record cat:b -t 1s -o none.pftrace
exits 5 "and so is a data source" "nothing that runs offers the data source 'org.example.demo'" \
        record org.example.demo -t 1s -o none.pftrace
ok "and nothing is written" nothing_is_there '*.pftrace'
exits 5 "a longer recording waits for it, says so, and fails when it never came" \
        'note: nothing that runs .* It is recorded once a program' \
        interrupted ' started ' "$DESKTRACE" record --user cat:b -t 100s -o waited.pftrace
exits 5 "in words, too" "Nothing that ran uses Desktrace" record org.example.later cat:b -o never.pftrace -- true
exits 5 "also of a data source" "Nothing that ran offers the data source 'org.example.later'" \
        record org.example.later -o never.pftrace -f -- true
exits 3 "the command's own status is more" 'Nothing that ran offers' record org.example.later -o never.pftrace -f -- \
        sh -c 'exit 3'
exits 0 "a preset asks for what may be there" 'Nothing that ran uses' record -p apps -t 100ms -o preset.pftrace

started "$EXAMPLE" --seconds 60 --quiet
has_category() {
        desktrace list sources --user | grep -q mandelbrot.frames
}
eventually has_category
exits 5 "a misspelt category is told with the nearest one" "Did you mean 'mandelbrot.frames'" \
        record cat:mandelbrot.frame -t 1s -o none.pftrace
exits 5 "so is one among others" "'mandelbrot.frame'. Did you mean 'mandelbrot.frames'" \
        record cat:mandelbrot.rows cat:mandelbrot.frame -t 1s -o none.pftrace
exits 5 "and one that begins like none" "nothing that runs has the category 'nothing\*'" \
        record 'cat:nothing*' -t 1s -o none.pftrace
ok "and nothing is written" test ! -e none.pftrace
exits 0 "one that is there is recorded" 'No losses' record cat:mandelbrot.frames -t 500ms -o there.pftrace
ok "and nothing else" holds there.pftrace '{s["category"] for s in t["slices"]} == {"mandelbrot.frames"}'
exits 0 "so is one by its beginning" 'No losses' record 'cat:mandel*' -t 500ms -o begins.pftrace
exits 0 "and any" 'No losses' record 'cat:*' -t 500ms -o any.pftrace
exits 0 "a command may bring its own" '^$' record -q cat:mandelbrot.frame -o own.pftrace -- true
exits 0 "a longer recording notes what is not there yet, with the nearest" \
        "note: nothing that runs has the category 'mandelbrot.frame'.*Did you mean 'mandelbrot.frames'" \
        interrupted ' started ' "$DESKTRACE" record --user cat:mandelbrot.frame -o long.pftrace

# ------------------------------------------------------------------------------------------------------------------
# What is there and refuses

producer prim org.example.prim refuse
exits 1 "a recording in which everything is refused ends at once" 'did not record:.*the test wants it so' \
        timeout 20 "$DESKTRACE" record --user -t 1h org.example.prim -o refused.pftrace
ok "without a file" test ! -e refused.pftrace
exits 1 "before its command runs" 'Nothing could be recorded' record org.example.prim -o refused.pftrace -- touch ran
ok "so it has not run" test ! -e ran
exits 1 "it is not left running, either" 'did not record' record --detach -t 1h org.example.prim
exits 1 "nor as a flight recorder" 'did not record' record --flight-recorder org.example.prim
ok "no session is left" test -z "$(desktrace list sessions --user --no-legend)"
producer demo org.example.demo
exits 1 "with another that records it goes on, and fails at the end" 'did not record' \
        record -t 300ms org.example.prim org.example.demo -o half.pftrace
ok "with the other's packets" counts 'demo-[0-9]+\.' half.pftrace 3

# ------------------------------------------------------------------------------------------------------------------
# What a stranger types: the thing is named, and what there is instead

exits 2 "for an unknown verb, those that there are are told" "unknown verb 'frobnicate'" desktrace frobnicate
exits 2 "namely these" "^Choose one of: record, inspect, query, .*status, list," desktrace frobnicate
exits 2 "an option in place of a verb is named" "unknown option '--frob'" desktrace --frob
exits 2 "an option that is near is suggested" "unknown option '--jsn'. Did you mean '--json'" record --jsn
exits 2 "and one that is near by its dashes only is not" "unknown option '--frob'$" record --frob
exits 2 "lists are named" "^Choose one of: sources, .*presets, probes\." desktrace list frob
exits 2 "so are the modes of JSON" "^Choose one of: pretty, short, off\." desktrace status --json=xml
exits 2 "an empty name of a file is told, of an option" '^desktrace: --output: .* must not be empty' \
        record -p apps -o '' -- true
exits 2 "of the config" '--config: .* must not be empty' record -c '' -- true
exits 2 "of another verb" '--output: .* must not be empty' desktrace snapshot --user -o '' x
exits 2 "and of an argument" 'file must not be empty' desktrace inspect ''
exits 2 "so is one of a program" 'file must not be empty' desktrace list probes ''
exits 2 "a category needs a name" "'cat:' names no category" record cat: -- true
exits 2 "a preset, too" "unknown preset ''" record -p '' -- true
exits 2 "and a command" "no command after --" record -p apps -- ''
ok "and nothing is written" nothing_is_there '*-2*.pftrace'
exits 2 "a list that needs a file says so" "desktrace list probes FILE" desktrace list probes
ok "a list of which nothing matches has no header" test -z "$(desktrace list presets zzz 2>/dev/null)"

# ------------------------------------------------------------------------------------------------------------------
# A service that has just started: programs that run need a moment to come back

kill -TERM "$daemon"
wait "$daemon"
exits 0 "programs that run are listed by a service that starts for it" 'mandelbrot' desktrace list producers --user
# It has the bus's lifetime, and not ours.
owner=$(busctl --user call org.freedesktop.DBus / org.freedesktop.DBus GetConnectionUnixProcessID s $BUS)
kill "${owner#u }"
finish
