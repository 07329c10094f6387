#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# desktrace top: this machine with a load that is known, a program with a service, recordings, and a terminal.

# shellcheck source=tests/integration/cli-lib.sh
. "$(dirname "$0")/cli-lib.sh"

# has_line EXPRESSION COMMAND...: one of the JSON objects that the command prints is so (t)
has_line() {
        "${@:2}" >"$tmp/lines" || [ $? = 6 ] || return
        python3 -c 'import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
sys.exit(0 if any(eval(sys.argv[2]) for t in lines) else "not so: " + sys.argv[2])' "$tmp/lines" "$1"
}

# all_lines EXPRESSION COMMAND...: all of them together (lines)
all_lines() {
        "${@:2}" >"$tmp/lines" || [ $? = 6 ] || return
        python3 -c 'import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
sys.exit(0 if lines and eval("(" + sys.argv[2] + ")") else "not so: " + sys.argv[2])' "$tmp/lines" "$1"
}

live() {
        "$DESKTRACE" top --json=short -i 200ms "$@"
}

# The machine, without a service
cat >burner <<'END_OF_BURNER'
#!/bin/bash
while :; do :; done
END_OF_BURNER
chmod +x burner
started ./burner
burner=$started
ok 'a program that uses the CPU has a row' eventually has_line \
        "any(r['who'] == 'burner' and r['cpu_ns'] > 0 and r['threads'] == 1 for r in t['rows'])" live --count 1 --top 0
ok 'so has its thread' eventually has_line \
        "any(r['who'] == 'burner $burner' and r['cpu_ns'] > 0 for r in t['rows'])" live --count 1 --top 0 --by thread
ok 'and by units nothing is missing' eventually has_line "sum(r['cpu_ns'] for r in t['rows']) > 0" \
        live --count 1 --top 0 --by unit
ok 'the rows and the rest are what was used' all_lines \
        "all(sum(r['cpu_ns'] for r in t['rows']) + t['others_ns'] == t['busy_ns'] and t['share'] <= 1 for t in lines)" \
        live --count 3 --top 0
ok 'one interval follows the other' all_lines \
        "len(lines) == 3 and all(a['to_ns'] == b['from_ns'] for a, b in zip(lines, lines[1:]))" live --count 3
ok 'rows that are not shown are counted' eventually has_line "len(t['rows']) == 1 and t['rows_left_out'] > 0" \
        live --count 1 --top 1
ok 'without a service there are no slices, and nobody is asked' all_lines "all(t['slices'] is None for t in lines)" \
        live --count 1
exits 0 'people are told why' '^No slices of programs: cannot connect' "$DESKTRACE" top --count 1 -i 100ms
exits 0 'and who uses the machine' '^ +[0-9.]+ % .* burner$' "$DESKTRACE" top --count 1 -i 1s --top 0

# A terminal
on_terminal() {
        "$TOP_PTY" "$@"
}
ok 'a key ends it, and the terminal is as it was' on_terminal --wait WHO --press q "$DESKTRACE" top -i 100ms
ok 'so does Ctrl-C' on_terminal --wait WHO --press ^C "$DESKTRACE" top -i 100ms
ok 'keys choose what is summed up' on_terminal --wait WHO --press "t=burner $burner" --press q "$DESKTRACE" top -i 100ms
ok 'a terminal that is closed ends it' on_terminal --wait WHO --close "$DESKTRACE" top -i 100ms
ok 'a screen is never larger than the terminal' on_terminal --wait WHO --resize 8x30 --press q "$DESKTRACE" top -i 100ms
ends_with_its_reader() {
        timeout 30 "$DESKTRACE" top -i 100ms --json 2>"$tmp/reader" | head -n 1 >/dev/null
        [ "${PIPESTATUS[0]}" != 124 ]
}
ok 'it ends when nobody reads it' ends_with_its_reader
kill "$burner"

# A program, with the user's service
session_bus
service "$DESKTRACED" --user
started "$EXAMPLE_PROGRAMS/daemon-desktrace" --seconds 120
program=$started
ok 'slices of programs come with their number and the longest' eventually has_line \
        "any(s['name'] == 'request' and s['n'] > 0 and 0 < s['max_ns'] <= s['total_ns'] for s in t['slices'] or [])" \
        live --user --count 5 --top 0
ok 'people see them below' on_terminal --wait request --press q "$DESKTRACE" top --user -i 200ms
has_no_session() {
        [ -z "$("$DESKTRACE" list sessions --user --no-legend)" ]
}
ok 'no session is left' eventually has_no_session
kill "$daemon"
kill "$program"

# Recordings
records() {
        timeout 60 "$DESKTRACE" record --standalone -p "$2" -f -o "$1" -- "${@:3}" || [ $? = 6 ]
}
sql() {
        "$DESKTRACE" query --csv --no-legend "$@" 2>"$tmp/sql" || [ $? = 6 ]
}
ok 'a program is recorded' records_with 'SELECT count(*) >= 10 FROM slice WHERE dur > 0' app.pftrace apps \
        "$EXAMPLE_PROGRAMS/daemon-desktrace"
ok 'each slice ends in one interval' all_lines \
        "sum(s['n'] for t in lines for s in t['slices']) ==
                $(sql app.pftrace 'SELECT count(*) FROM slice WHERE dur > 0')" \
        "$DESKTRACE" top --json=short --top 0 -i 100ms app.pftrace
ok 'and the longest is the longest' all_lines \
        "max(s['max_ns'] for t in lines for s in t['slices']) == $(sql app.pftrace 'SELECT max(dur) FROM slice')" \
        "$DESKTRACE" top --json=short --top 0 -i 300ms app.pftrace
ok 'it is played on a terminal, until a key or its end' on_terminal --wait 'PER SECOND' --press q \
        "$DESKTRACE" top -i 100ms app.pftrace
if [ "$(id -u)" = 0 ] && [ -x "$DESKTRACE_PROBES" ] &&
        records all.pftrace default "$EXAMPLE_PROGRAMS/daemon-desktrace" --seconds 1 >/dev/null 2>&1 &&
        [ "$(sql all.pftrace 'SELECT count(*) > 0 FROM sched')" = 1 ]; then
        used=$(sql all.pftrace 'SELECT sum(dur) FROM sched WHERE utid <> 0 AND dur > 0')
        # A recording begins with its first switch; who waited then had been waiting before.
        start=$("$DESKTRACE" top --json=short -n 1 all.pftrace 2>/dev/null |
                sed 's/.*"trace_start_ns":\([0-9]*\).*/\1/')
        waited=$(sql all.pftrace "SELECT sum(ts + dur - max(ts, $start)) FROM thread_state
                WHERE state IN ('R', 'R+') AND dur > 0 AND ts + dur > $start")
        for by in program unit thread; do
                ok "what each $by used is all that was used" all_lines \
                        "sum(r['cpu_ns'] for t in lines for r in t['rows']) == $used ==
                                sum(t['busy_ns'] for t in lines)" \
                        "$DESKTRACE" top --json=short --top 0 -i 130ms --by "$by" all.pftrace
        done
        ok 'and what they waited is all that was waited' all_lines \
                "sum(r['waited_ns'] for t in lines for r in t['rows']) == $waited" \
                "$DESKTRACE" top --json=short --top 0 -i 130ms all.pftrace
else
        echo '# the kernel cannot be recorded here: only programs'
fi

# Wrong arguments
exits 2 'an interval that is none' 'not a' "$DESKTRACE" top -i soon
exits 2 'one that is too short' 'at least 100ms' "$DESKTRACE" top -i 1ms
exits 2 'an unknown group' 'program, unit, thread' "$DESKTRACE" top --by colour
exits 2 'fewer than no rows' 'negative' "$DESKTRACE" top --top=-1
exits 2 'fewer than no screens' 'negative' "$DESKTRACE" top --count=-1
exits 2 'a range of what is live' 'about a trace file' "$DESKTRACE" top --from 1
exits 1 'a file that there is not' 'gone.pftrace' "$DESKTRACE" top gone.pftrace
head -c -1 app.pftrace >cut.pftrace
exits 6 'a cut file is shown as far as it goes' 'not complete' "$DESKTRACE" top cut.pftrace
finish
