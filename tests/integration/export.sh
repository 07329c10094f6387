#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# desktrace export: a recording of an example in each format, read back by programs that are not ours.

# shellcheck source=tests/integration/cli-lib.sh
. "$(dirname "$0")/cli-lib.sh"

records() {
        timeout 60 "$DESKTRACE" record --standalone -p "$2" -f -o "$1" -- "${@:3}" || [ $? = 6 ]
}

writes() {
        "$DESKTRACE" export "$@" || [ $? = 6 ]
}

# count SQL: of the recording
count() {
        "$DESKTRACE" query --csv --no-legend app.pftrace "$1"
}

# reads FILE EXPRESSION: a Python expression over its lines (t) holds
reads() {
        python3 -c 'import csv, json, sys
t = open(sys.argv[1], newline="").read()
sys.exit(0 if eval(sys.argv[2]) else "not so: " + sys.argv[2])' "$@"
}

ok 'a program is recorded' records app.pftrace apps "$EXAMPLE_PROGRAMS/daemon-desktrace" --seconds 1
n_slices=$(count 'SELECT count(*) FROM slice')

ok 'a table is written as CSV' writes csv app.pftrace -o slice.csv
ok 'with all its rows and a head' reads slice.csv "len(list(csv.DictReader(t.splitlines()))) == $n_slices"
ok 'another table as JSON lines' writes jsonl app.pftrace --table thread -o thread.jsonl
ok 'one object on each line' reads thread.jsonl \
        "[json.loads(l)['id'] for l in t.splitlines()] == list(range($(count 'SELECT count(*) FROM thread')))"
ok 'a statement is written' writes jsonl app.pftrace --sql 'SELECT 7 AS seven' -o seven.jsonl
ok 'as what it answers' reads seven.jsonl "json.loads(t) == {'seven': 7}"
to_stdout() {
        "$DESKTRACE" export csv app.pftrace --table thread 2>/dev/null | head -1 | grep -q '^id,utid,tid,name,'
}
ok 'without a file it goes to stdout' to_stdout
ok 'a time range is kept to' writes csv app.pftrace --from 0.2 --to 0.3 -o part.csv
ok 'with fewer rows' reads part.csv "0 < len(t.splitlines()) - 1 < $n_slices"

ok 'a database is written' writes sqlite app.pftrace -o app.db
database() {
        python3 -c 'import sqlite3, sys
d = sqlite3.connect(sys.argv[1])
n, = d.execute("SELECT count(*) FROM slice").fetchone()
m, = d.execute("SELECT count(*) FROM slice s JOIN thread_track k ON k.id = s.track_id").fetchone()
assert d.execute("PRAGMA integrity_check").fetchone() == ("ok",)
sys.exit(not (n == int(sys.argv[2]) and 0 < m <= n))' app.db "$n_slices"
}
ok 'which SQLite reads, with the rows and joins of the trace' database
ok 'one with two tables' writes sqlite app.pftrace --table slice --table ftrace_event -f -o app.db

ok "Chrome's JSON is written" writes chrome app.pftrace -o app.json
ok 'each slice of a thread is in it' reads app.json \
        "sum(e['ph'] in 'XBi' for e in json.loads(t)['traceEvents']) == $(count 'SELECT count(*) FROM thread_slice')"
ok 'with times, threads and names' reads app.json \
        "all(e['ts'] >= 0 and e['dur'] > 0 and e['tid'] and e['name']
                for e in json.loads(t)['traceEvents'] if e['ph'] == 'X')"
ok 'with arguments' reads app.json "any(e.get('args') for e in json.loads(t)['traceEvents'] if e['ph'] == 'X')"
exits 0 'what it cannot have is said' "Not in Chrome's format" "$DESKTRACE" export chrome app.pftrace -f -o app.json
exits 5 'samples that there are not' 'Record with: desktrace record --stacks' "$DESKTRACE" export folded app.pftrace \
        -o app.folded
ok 'leave no file' test ! -e app.folded

if [ "$(id -u)" = 0 ] && [ -x "$DESKTRACE_PROBES" ] &&
        timeout 60 "$DESKTRACE" record --standalone --stacks -f -o stacks.pftrace -- \
                "$EXAMPLE_PROGRAMS/daemon-desktrace" --seconds 1 >/dev/null 2>&1 &&
        writes folded stacks.pftrace -o stacks.folded 2>/dev/null; then
        ok 'folded stacks end in a count' reads stacks.folded \
                "all(l.rpartition(' ')[2].isdigit() and l.count(';') > 1 for l in t.splitlines())"
        ok 'speedscope is written' writes speedscope stacks.pftrace -o stacks.json
        ok 'with frames that there are, and a weight each' reads stacks.json \
                "(lambda d: all(len(p['samples']) == len(p['weights']) == p['endValue'] > 0 and
                        max(i for s in p['samples'] for i in s) < len(d['shared']['frames'])
                        for p in d['profiles']))(json.loads(t))"
else
        echo '# call stacks cannot be recorded here'
fi

exits 2 'an unknown format gets the nearest one' "Did you mean 'jsonl'" "$DESKTRACE" export json app.pftrace
exits 2 'a database needs a file' 'needs a file' "$DESKTRACE" export sqlite app.pftrace
exits 2 'a table that there is not' "no table 'x; DROP" "$DESKTRACE" export csv app.pftrace --table 'x; DROP TABLE y'
exits 2 'one table in a CSV' 'one table only' "$DESKTRACE" export csv app.pftrace --table slice --table thread
exits 2 'a format without tables' 'does not take --table' "$DESKTRACE" export chrome app.pftrace --table slice
exits 2 'SQL and a range' 'no time range' "$DESKTRACE" export csv app.pftrace --sql 'SELECT 1' --from 1
exits 2 'a file that is there is left alone' 'File exists' "$DESKTRACE" export csv app.pftrace -o slice.csv
ok 'and still what it was' reads slice.csv "len(list(csv.DictReader(t.splitlines()))) == $n_slices"
exits 2 'SQL that is wrong leaves no file' 'no such table' "$DESKTRACE" export csv app.pftrace -o x.csv \
        --sql 'SELECT * FROM x'
ok 'nothing' test ! -e x.csv
exits 1 'a full disk is told' 'cannot write' "$DESKTRACE" export csv app.pftrace -o /dev/full
head -c -1 app.pftrace >cut.pftrace
exits 6 'a cut file goes as far as it does' 'not complete' "$DESKTRACE" export csv cut.pftrace -o cut.csv
echo nothing >text
exits 1 'what is no trace is no trace' 'not a Perfetto trace' "$DESKTRACE" export chrome text -o text.json
ok 'and makes no file' test ! -e text.json
finish
