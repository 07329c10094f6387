#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A bridge speaks for another process, which knows nothing of Desktrace: its marks are on the other's threads, at the
# times that it says.
# The checks call functions by name.
# shellcheck disable=SC2317
# shellcheck source=tests/integration/cli-lib.sh
. "$(dirname "$0")/cli-lib.sh"

# numbers_of_processes FILE N: of tracks that are processes
numbers_of_processes() {
        python3 - "$1" "$2" "$(dirname "$TRACE_RULES")" <<'PYTHON'
import sys
sys.path.insert(0, sys.argv[3])
import trace_file

numbers = set()
for packet in trace_file.packets(open(sys.argv[1], "rb").read()):
    for descriptor in trace_file.message(packet).get(60, []):
        track = trace_file.message(descriptor)
        if 3 in track:
            numbers.update(track[1])
sys.exit(0 if len(numbers) == int(sys.argv[2]) else f"{numbers}")
PYTHON
}

session_bus
service "$DESKTRACED" --user
sleep 60 &
other=$!
pids+=("$other")
# shellcheck disable=SC2153 # of the environment
started "$BRIDGE" "$other" "$other"
bridge=$started
ok "a bridge registers" eventually has_producer bridge

cat >"$tmp/marks.pbtxt" <<'CONFIG'
buffers { size_kb: 1024 }
data_sources { config { name: "org.example.marks" } }
CONFIG
ok "it is recorded" "$DESKTRACE" record -q --user -c "$tmp/marks.pbtxt" -t 300ms -o marks.pftrace
ok "the marks are the other's" holds marks.pftrace \
        "[(p['pid'], p['name']) for p in t['processes']] == [($other, 'spoken for')]"
ok "on its thread" holds marks.pftrace "[(x['tid'], x['slices']) for x in t['threads']] == [($other, 60)]"
ok "each with its duration, inner ones too" holds marks.pftrace "(
        {s['name']: (s['count'], s['max_ns'], s['total_ns'], s['open']) for s in t['slices']} ==
        {'frame': (20, 900000, 18000000, 0), 'layout': (20, 200000, 4000000, 0),
                'paint': (20, 300000, 6000000, 0)})"
ok "its counter too" holds marks.pftrace "[(c['name'], c['count']) for c in t['counters']] == [('its frames', 20)]"
ok "nothing is lost, and no end without a begin" holds marks.pftrace \
        "t['losses']['verdict'] == 'none' and t['unmatched_slice_ends'] == 0"
ok "who wrote it is still told" holds marks.pftrace \
        "[p['pid'] for p in t['producers'] if p['pid']] == [$bridge]"
kill "$bridge"

# One that has events of its own, too.
started "$BOXED_APP"
other=$started
eventually has_producer "$(basename "$BOXED_APP")"
started "$BRIDGE" "$other"
eventually has_producer bridge
echo 'data_sources { config { name: "track_event" } }' >>"$tmp/marks.pbtxt"
ok "a traced program is spoken for" "$DESKTRACE" record -q --user -c "$tmp/marks.pbtxt" -t 300ms -o both.pftrace
ok "it is one process in the trace, with one number for its track" numbers_of_processes both.pftrace 1
ok "with the marks and its own slices" holds both.pftrace "(
        {s['name'] for s in t['slices']} == {'frame', 'layout', 'paint', 'work'} and
        [p['pid'] for p in t['processes']] == [$other] and
        sorted(x['name'] for x in t['threads']) == ['box main', 'box worker'])"
finish
