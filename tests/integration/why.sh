#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# desktrace why: a recording of this machine with a load that is known, one of the examples, and files that are hostile.

# shellcheck source=tests/integration/cli-lib.sh
here=$(realpath "$(dirname "$0")")
. "$here/cli-lib.sh"

# records FILE PRESET COMMAND...
records() {
        timeout 60 "$DESKTRACE" record --standalone -p "$2" -f -o "$1" -- "${@:3}" || [ $? = 6 ]
}

# asks QUESTION FILE [OPTION...]: the answer is in $tmp/answer, as JSON
asks() {
        "$DESKTRACE" why --json=short "$@" >"$tmp/answer" || [ $? = 6 ]
}

# finds EXPRESSION QUESTION FILE [OPTION...]: and a Python expression over it (t) holds
finds() {
        asks "${@:2}" && json_holds "$tmp/answer" "$1"
}

# from_data QUESTION FILE [THREAD...]: the answer follows from the file's rows, and the threads are in them
from_data() {
        python3 -B "$here/why_data.py" "$DESKTRACE" "$@"
}

# One thread that uses the CPU for as long as it can, and one that does something every quarter of a second.
cat >burner <<'END'
#!/bin/bash
end=$((SECONDS + 2))
while ((SECONDS < end)); do :; done
END
cat >ticker <<'END'
#!/bin/bash
mkfifo never
exec 3<>never
for _ in 1 2 3 4 5 6 7 8; do read -rt 0.25 -u 3; done
rm never
END
cat >load <<'END'
#!/bin/bash
./burner &
./ticker
wait
END
chmod +x burner ticker load

# Recordings that no machine has made
PYTHONPATH=$here python3 -B - hostile.pftrace ticks.pftrace <<'END'
import sys

from perfetto_wire import field, packet, track_event as event

descriptor = field(1, 5) + field(4, field(1, 7) + field(2, 7) + field(5, b"\033[31mred\033]0;title\007\n"))
name = b"\033[2J\xff\xfe\r\nname"
with open(sys.argv[1], "wb") as file:
    file.write(packet(field(60, descriptor)))
    for at in (1, 1000, (1 << 63) - 2):
        file.write(event(at, 1, name) + event(at + 1, 2))
    file.write(event((1 << 64) - 1, 1, b"late"))

# Every 250 ms a tick of 3 ms, and in between what has no rhythm.
descriptor = field(1, 5) + field(4, field(1, 7) + field(2, 7) + field(5, b"ticker"))
with open(sys.argv[2], "wb") as file:
    file.write(packet(field(60, descriptor)))
    for i in range(9):
        at = 1_000_000_000 + i * 250_000_000
        file.write(event(at, 1, b"tick") + event(at + 3_000_000, 2))
        at += 200_000_000 if i % 2 else 10_000_000
        file.write(event(at, 1, b"tock") + event(at + 1_000_000, 2))
END

requests="SELECT count(*) >= 10 AND min(dur) < max(dur) AND (SELECT count(*) FROM slice WHERE name = 'wait for answer'
        AND dur > 0) >= 10 FROM slice WHERE name = 'request' AND dur > 0"
ok 'a program is recorded' records_with "$requests" app.pftrace apps "$EXAMPLE_PROGRAMS/daemon-desktrace"
kernel=app.pftrace
if [ "$(id -u)" = 0 ] && [ -x "$DESKTRACE_PROBES" ] &&
        records load.pftrace default ./load >/dev/null 2>&1 && asks cpu load.pftrace >/dev/null 2>&1 &&
        records_with "$requests" all.pftrace default "$EXAMPLE_PROGRAMS/daemon-desktrace" >/dev/null 2>&1; then
        kernel=all.pftrace
        ok 'who used the CPU is named, for as long as the data say' from_data cpu load.pftrace burner ticker
        ok 'what all used is what there was, or less' finds "0 < t['busy_ns'] <= t['available_ns']" cpu load.pftrace
        ok 'the rows are all of it' finds "abs(sum(r['cpu_ns'] for r in t['rows']) - t['busy_ns']) <= 1" \
                cpu load.pftrace --top 0
        ok 'a range has no more than its length' finds "t['busy_ns'] <= t['cpus'] * 500000000" \
                cpu load.pftrace --from 0.5 --to 1s
        ok 'threads have the rhythms that the data have' from_data repeats load.pftrace
        ok 'idle CPUs are woken as the data say, and by whom' from_data wakeups load.pftrace
        ok 'parts of a slice are no more than it' \
                finds "(t['ran_ns'] + t['runnable_ns'] + t['io_ns'] + t['blocked_ns'] + t['slept_ns'] <= t['dur_ns'] and
                        t['ran_ns'] > 0)" slice all.pftrace --slice 'wait for answer'
        # A thread may sleep in any slice for reasons of the machine's, so it is one in which the worker did wake it.
        awaited=$("$DESKTRACE" query --csv --no-legend all.pftrace "$(cat "$here/why_awaited.sql")")
        ok 'a client waits for its worker' finds "t['rows'][0]['thread'].startswith('worker ')" \
                wakers all.pftrace --slice "$awaited"
        ok 'a slow slice has a reason' finds "t['more_than_usual_ns'] > 0 and t['p50_ns'] < t['max_ns']" \
                slowest all.pftrace --slice request
else
        echo '# the kernel cannot be recorded here: only programs'
fi

exits 0 'people read sentences' "^The most time, .* went to '" "$DESKTRACE" why times app.pftrace
exits 0 'without a legend there are rows only' '^[a-z ]+ +[0-9]+ ' \
        "$DESKTRACE" why times app.pftrace --no-legend --top 1
ok 'percentiles are in order' \
        finds "all(r['p50_ns'] <= (r['p99_ns'] or r['max_ns']) <= r['max_ns'] for r in t['rows'])" \
        times app.pftrace
ok 'there are as many slices as SQL finds' finds "t['n'] == $("$DESKTRACE" query --csv --no-legend app.pftrace \
        'SELECT count(*) FROM slice WHERE dur > 0')" times app.pftrace
ok 'the rest of the rows is counted' finds "len(t['rows']) == 1 and t['rows_left_out'] == t['names'] - 1" \
        times app.pftrace --top 1
# Of the day on which the recording begins: in its first hour, an hour ago is not.
an_hour_ago=$(date -d '-1 hour' +%H:%M)
[ "$(date +%H)" != 00 ] || an_hour_ago=00:00
ok 'times of the day are understood' finds "t['n'] > 0" times app.pftrace --from "$an_hour_ago" \
        --to "$(date -d '+1 hour' +%H:%M:%S)"
ok 'a margin makes a range longer' \
        finds "t['to_ns'] - t['from_ns'] >= 1000000" losses app.pftrace --around 3 --margin 1ms

ok 'what ticks is found with its period' finds "[(r['what'], r['name'], r['period_ns'], r['n'], r['regular'],
        r['each_ns']) for r in t['rows']] == [('slice', 'tick', 250000000, 9, 1, 3000000)]" \
        repeats ticks.pftrace --top 0

# The questions of the page
n_questions=0
while IFS= read -r command; do
        n_questions=$((n_questions + 1))
        read -ra words <<<"$command"
        words=("${words[@]/FILE/$kernel}")
        words=("${words[@]/NAME/request}")
        status=0
        "$DESKTRACE" "${words[@]:1}" >"$tmp/answer" 2>&1 || status=$?
        # What this machine cannot record is said, with what would.
        ok "the page asks: $command" eval "[ $status = 0 ] || [ $status = 6 ] ||
                { [ $status = 5 ] && grep -q '^Record with: desktrace record ' '$tmp/answer'; }"
done < <(sed -n 's/^| [^|]* | `\(desktrace \(why\|diff\|export\) .*\)` | .*/\1/p' "$ASKING")
ok 'the page has questions' test "$n_questions" -ge 25

# Wrong arguments
exits 2 'an unknown question gets the nearest one' "Did you mean 'times'" "$DESKTRACE" why time app.pftrace
exits 2 'a question without a file' 'requires an argument' "$DESKTRACE" why cpu
exits 2 'a slice is asked for' '--slice' "$DESKTRACE" why slice app.pftrace
exits 2 'one that takes no slice' "'cpu' does not take --slice" "$DESKTRACE" why cpu app.pftrace --slice x
exits 2 'one that takes no groups' "'times' does not take --by" "$DESKTRACE" why times app.pftrace --by unit
exits 2 'an unknown group' 'program, unit, thread' "$DESKTRACE" why cpu app.pftrace --by colour
exits 2 'a time that is none' 'is no time' "$DESKTRACE" why times app.pftrace --from soon
exits 2 'a time that is negative' 'is no time' "$DESKTRACE" why times app.pftrace --from -1
exits 2 'a range that ends before it begins' 'ends before' "$DESKTRACE" why times app.pftrace --from 2 --to 1
exits 2 'two ranges' 'mutually exclusive' "$DESKTRACE" why times app.pftrace --from 2 --around 1
exits 2 'fewer than no rows' 'negative' "$DESKTRACE" why times app.pftrace --top=-1
exits 5 'a slice that there is not' "no slice 'gone'" "$DESKTRACE" why slice app.pftrace --slice gone
exits 5 'its name is harmless' "no slice '[^[:cntrl:]]*'" "$DESKTRACE" why slice app.pftrace --slice $'\033[31mx'
exits 5 'a time range around none' 'no slice' "$DESKTRACE" why losses app.pftrace --around $'\033]0;x\a'
exits 5 'what is not recorded is said' 'Record with: desktrace record -p interrupts' \
        "$DESKTRACE" why interrupts app.pftrace
for time in 1e300 99999999999999999999 9223372036.854775808; do
        exits 5 "a time far behind the end: $time" 'nothing about' "$DESKTRACE" why times app.pftrace --from "$time"
done

# Files that are not whole, or hostile
head -c -1 app.pftrace >cut.pftrace
exits 6 'a cut file is answered as far as it goes' 'not complete' "$DESKTRACE" why times cut.pftrace
echo nothing >text
exits 1 'what is no trace is no trace' 'not a Perfetto trace' "$DESKTRACE" why times text
exits 7 'a trace that is larger than it may be is refused' '--memory' "$DESKTRACE" why times --memory 4K app.pftrace
is_clean() {
        "$DESKTRACE" why "$@" hostile.pftrace >"$tmp/clean" 2>&1 || [ $? -le 6 ] || return
        ! tr -d '\n' <"$tmp/clean" | grep -q '[[:cntrl:]]'
}
ok 'names are printed without what drives a terminal' is_clean times
ok 'so is a slice' is_clean slice --slice 0
ok 'so are rhythms' is_clean repeats
ok 'as JSON it is valid' is_json "$DESKTRACE" why times --json=short hostile.pftrace
finish
