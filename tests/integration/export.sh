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

ok 'a program is recorded' records_with "SELECT count(*) > 0 AND count(*) < (SELECT count(*) FROM slice) AND
        trace_dur() > 400000000 AND (SELECT count(*) FROM thread_slice s JOIN args USING (arg_set_id)) > 0
        FROM slice WHERE ts BETWEEN trace_start() + 200000000 AND trace_start() + 300000000" \
        app.pftrace apps "$EXAMPLE_PROGRAMS/daemon-desktrace"
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

# checked KIND FILE [TRACE]: against what the trace has
checked() {
        python3 "$(dirname "$0")/export_check.py" "$1" "$2" "$DESKTRACE" "${3-app.pftrace}"
}

# same_parquet NAME OPTION...: rows, as JSON lines have them
same_parquet() {
        writes parquet -q app.pftrace -f -o "$1.parquet" "${@:2}" &&
                writes jsonl -q app.pftrace -f -o "$1.jsonl" "${@:2}" &&
                python3 "$(dirname "$0")/export_check.py" parquet "$1.parquet" "$1.jsonl"
}
ok 'a table is written as Parquet, which another reader understands' same_parquet slice
ok 'one with texts and numbers in part of the rows' same_parquet args --table args
ok 'one of a time range' same_parquet part --from 0.2 --to 0.3
ok 'one without rows' same_parquet none --table perf_sample
# More rows than a group has, a column that begins late, and one that has nothing.
ok 'many rows are written in groups' same_parquet many --sql "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL
        SELECT i + 1 FROM n WHERE i < 139999) SELECT i, CASE WHEN i % 7 THEN i / 4.0 END AS real,
        CASE WHEN i > 135000 THEN 'zażółć ' || i % 1000 END AS late, NULL AS never FROM n"
ok 'the largest and the least numbers' same_parquet edges --sql "SELECT 9223372036854775807 AS a, '' AS b UNION ALL
        SELECT -9223372036854775807 - 1, 'x'"
# Two that become the same text, one of them twice, and an empty one.
ok 'texts that are no UTF-8' same_parquet broken --sql "SELECT 'plain' AS a UNION ALL
        SELECT CAST(x'ff41' AS TEXT) UNION ALL SELECT CAST(x'fe41' AS TEXT) UNION ALL
        SELECT CAST(x'ff41' AS TEXT) UNION ALL SELECT '' UNION ALL SELECT 'plain'"
exits 2 'what is of two types is refused' "column 'a' has values of different types" "$DESKTRACE" export parquet \
        app.pftrace -o mixed.parquet --sql "SELECT 1 AS a UNION ALL SELECT 'x'"
ok 'and leaves no file' test ! -e mixed.parquet

ok 'spans are written for OpenTelemetry' writes otlp app.pftrace -o app.otlp
ok 'with the times, threads, arguments and links of slices' checked otlp app.otlp
ok "and in protobuf's form" writes otlp-protobuf app.pftrace -o app.otlp-protobuf
ok 'which says the same, as one request' python3 -B "$(dirname "$0")/otlp_protobuf.py" app.otlp-protobuf app.otlp
ok "a profile is written for Firefox's profiler" writes firefox app.pftrace -o app.firefox
ok 'with the slices of each thread' checked firefox app.firefox

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
        ok "samples are written for Firefox's profiler" writes firefox stacks.pftrace -o stacks.firefox
        ok 'with stacks that there are' checked firefox stacks.firefox stacks.pftrace
else
        echo '# call stacks cannot be recorded here'
fi

if [ "$(id -u)" = 0 ] && [ -x "$DESKTRACE_PROBES" ] &&
        records sched.pftrace scheduling "$EXAMPLE_PROGRAMS/daemon-desktrace" --seconds 1 >/dev/null 2>&1 &&
        writes off-cpu sched.pftrace -o sched.folded 2>/dev/null; then
        ok 'the time off the CPU adds up' checked off-cpu sched.folded sched.pftrace
else
        echo '# scheduling cannot be recorded here'
fi
exits 5 'time off the CPU that there is not' '^Record with: desktrace record -p io$' \
        "$DESKTRACE" export off-cpu app.pftrace -o none.folded

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
exits 1 'in Parquet, too' 'cannot write' "$DESKTRACE" export parquet app.pftrace -o /dev/full
head -c -1 app.pftrace >cut.pftrace
exits 6 'a cut file goes as far as it does' 'not complete' "$DESKTRACE" export csv cut.pftrace -o cut.csv
echo nothing >text
exits 1 'what is no trace is no trace' 'not a Perfetto trace' "$DESKTRACE" export chrome text -o text.json
ok 'and makes no file' test ! -e text.json
finish
