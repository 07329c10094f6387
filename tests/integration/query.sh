#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# desktrace query: recordings of this machine and of the examples, held against a reader that was written independently
# (trace_tables.py), and what SQL of others may not do.

# shellcheck source=tests/integration/cli-lib.sh
. "$(dirname "$0")/cli-lib.sh"

tables=$(dirname "$0")/trace_tables.py

# records FILE PRESET COMMAND...
records() {
        timeout 60 "$DESKTRACE" record --standalone -p "$2" -f -o "$1" -- "${@:3}" || [ $? = 6 ]
}

# asks FILE SQL: prints the answer
asks() {
        "$DESKTRACE" query --csv --no-legend "$@"
}

answers() {
        asks "$@" >"$tmp/answer"
}

# says WANTED FILE SQL
says() {
        local output
        output=$(asks "${@:2}")
        [ "$output" = "$1" ] || {
                echo "$output"
                return 1
        }
}

ok 'a program is recorded' records_with "SELECT count(*) >= 10 AND (SELECT count(*) FROM args) > 0 FROM thread_slice
        WHERE thread_name = 'event loop'" app.pftrace apps "$EXAMPLE_PROGRAMS/daemon-desktrace"
ok 'its slices and counters are those that another reader finds' python3 "$tables" "$DESKTRACE" app.pftrace
if [ "$(id -u)" = 0 ] && [ -x "$DESKTRACE_PROBES" ] &&
        records all.pftrace default "$EXAMPLE_PROGRAMS/daemon-desktrace" --seconds 1 >/dev/null 2>&1 &&
        ! says 0 all.pftrace 'SELECT count(*) FROM sched' >"$tmp/answer"; then
        ok 'scheduling and states are, too' python3 "$tables" "$DESKTRACE" all.pftrace
        ok 'each thread that ran has a state' says 0 all.pftrace \
                "SELECT count(*) FROM sched WHERE utid <> 0 AND utid NOT IN (SELECT utid FROM thread_state)"
else
        echo '# the kernel cannot be recorded here: only programs'
fi

# A thread that the kernel gives free while it is kept from the CPU at its very end, one whose process it gives free
# then, and one that is on the CPU, which no load brings about for sure
PYTHONPATH=${tables%/*} python3 -B - freed.pftrace with-process.pftrace running.pftrace <<'END'
import sys

from perfetto_wire import field, message, packet, varint


def packed(*numbers):
    return b"".join(map(varint, numbers))


switches = message(
    (1, packed(1000, 10, 20, 10)),  # at
    (2, packed(1, 1, 256, 16)),  # the state of who leaves: sleeps, sleeps, may go on, is dead
    (3, packed(5, 7, 5, 7)),  # who comes
    (4, packed(120, 120, 120, 120)),
    (5, b"five"), (5, b"seven"),
    (6, packed(0, 1, 0, 1)),
)
kernel = message((1, message((1, "Linux"), (3, "6.12.0"))))  # by which the numbers of states go
tree = message((1, message((1, 9), (2, 1), (3, "nine"))), (2, message((1, 7), (3, 9))))
for path, tid in zip(sys.argv[1:], (7, 9, 5)):
    free = message((1, 1035), (2, 5), (240, message((2, tid))))
    with open(path, "wb") as file:
        file.write(packet(field(45, kernel)))
        file.write(packet(field(8, 900), field(2, tree)))
        file.write(packet(field(8, 1000), field(1, message((1, 0), (4, switches), (2, free)))))
END
ok 'what a thread does after its end is of nobody else' python3 "$tables" "$DESKTRACE" freed.pftrace
ok 'and it stays as it was' says 1030 freed.pftrace \
        "SELECT ts FROM thread_state WHERE state = 'R+' AND dur = -1"
ok 'nor what a thread does after the end of its process' python3 "$tables" "$DESKTRACE" with-process.pftrace
ok 'nor what it does after its end, except to leave its CPU' python3 "$tables" "$DESKTRACE" running.pftrace
ok 'and that stays as it was, too' says 1030 with-process.pftrace \
        "SELECT ts FROM thread_state WHERE state = 'R+' AND dur = -1"

# What a statement reads beside what it shows: everything.
all_parts="(SELECT count(*) FROM slice) + (SELECT count(*) FROM thread_state) + (SELECT count(*) FROM ftrace_event) +
        (SELECT count(*) FROM perf_sample) + (SELECT count(*) FROM logs) + (SELECT count(*) FROM args) + count(*)"

# is_stable FILE COLUMNS TABLES: these are the same, whatever else is read
is_stable() {
        asks "$1" "SELECT $2 FROM $3" | sort >"$tmp/alone" &&
                asks "$1" "SELECT $2 FROM (SELECT $all_parts AS n FROM sched) CROSS JOIN $3" | sort >"$tmp/with-all" &&
                cmp "$tmp/alone" "$tmp/with-all"
}
for file in app.pftrace all.pftrace; do
        [ -s $file ] || continue
        ok "stable ids of who ran are those of any statement: $file" is_stable $file \
                's.ts, s.cpu, t.stable_id, p.stable_id' \
                'sched s JOIN thread t USING (utid) LEFT JOIN process p USING (upid)'
        ok "likewise of wakers: $file" is_stable $file 's.ts, t.stable_id, w.stable_id' \
                'thread_state s JOIN thread t USING (utid) LEFT JOIN thread w ON w.utid = s.waker_utid'
        ok "and of those that slices are of, whose own ids stay: $file" is_stable $file \
                's.id, s.ts, s.track_id, t.stable_id' \
                'slice s LEFT JOIN thread_track k ON k.id = s.track_id LEFT JOIN thread t USING (utid)'
        ok "tracks have the same ids: $file" is_stable $file 'k.id, k.name, k.type' 'track k'
        ok "no two threads or processes have the same stable id: $file" says 1,1 $file \
                "SELECT (SELECT count(*) = count(DISTINCT stable_id) FROM thread),
                        (SELECT count(*) = count(DISTINCT stable_id) FROM process)"
done

ok 'a join by name finds the slices of a thread' python3 -c 'import sys; sys.exit(int(sys.argv[1]) < 10)' \
        "$(asks app.pftrace "SELECT count(*) FROM thread_slice WHERE thread_name = 'event loop'")"
ok 'percentiles are between the least and the most' says 1 app.pftrace \
        "SELECT min(dur) <= percentile(dur, 50) AND percentile(dur, 50) <= percentile(dur, 99) AND
         percentile(dur, 99) <= max(dur) FROM slice"
ok 'self time adds up to what the outermost slices took' says 1 app.pftrace \
        "SELECT (SELECT sum(self_dur) FROM slice_self_dur) = (SELECT sum(dur) FROM slice WHERE depth = 0)"
ok 'times of the wall are there' says 1 app.pftrace \
        "SELECT abs_time_str(trace_start()) LIKE '20__-__-__T__:__:__.%Z'"
ok 'an interval is found by its bounds' says 1 app.pftrace \
        "WITH middle AS (SELECT ts FROM slice WHERE id = (SELECT count(*) / 2 FROM slice))
         SELECT (SELECT count(*) FROM slice WHERE ts >= (SELECT ts FROM middle)) =
         (SELECT count(*) FROM slice WHERE +ts >= (SELECT ts FROM middle))"
ok 'arguments are found' says 1 app.pftrace \
        "SELECT count(*) > 0 FROM slice s JOIN args a USING (arg_set_id)
         WHERE extract_arg(s.arg_set_id, a.key) IS NOT NULL"
ok 'several statements are one after the other' says $'1\n2' app.pftrace 'SELECT 1; SELECT 2'
ok 'modules that are there may be included' says 1 app.pftrace \
        "INCLUDE PERFETTO MODULE slices.with_context; SELECT count(*) > 0 FROM thread_slice"
exits 2 'other modules are named as missing' 'not provided' "$DESKTRACE" query app.pftrace \
        'INCLUDE PERFETTO MODULE android.startup.startups; SELECT 1'
exits 2 'CREATE PERFETTO is refused with a way out' 'use CREATE TABLE' "$DESKTRACE" query app.pftrace \
        'CREATE PERFETTO TABLE x AS SELECT 1'
exits 2 'an error in the SQL is told' 'no such column' "$DESKTRACE" query app.pftrace 'SELECT x FROM slice'
ok 'JSON is what it says' bash -c '"$DESKTRACE" query --json=short app.pftrace "SELECT id, name FROM slice LIMIT 3" |
        python3 -c "import json, sys; assert len(json.load(sys.stdin)) == 3"'
echo 'SELECT 7' >q.sql
ok 'SQL comes from a file' says 7 app.pftrace --file=q.sql
from_stdin() {
        asks app.pftrace <q.sql | grep -qx 7
}
ok 'SQL comes from stdin' from_stdin
from_pipe() {
        cat app.pftrace | asks - 'SELECT 7' | grep -qx 7
}
ok 'a trace comes through a pipe' from_pipe

# The questions of the page, with a name and an id for those that need one.
n_questions=0
while IFS= read -r sql; do
        n_questions=$((n_questions + 1))
        sql=${sql//NAME/event loop}
        ok "the page asks: ${sql:0:60}" answers app.pftrace "${sql//ID/1}"
done < <(sed -n 's/^| [^|]* | `\(SELECT .*\)` | .*/\1/p' "$ASKING")
ok 'the page has questions' test "$n_questions" -ge 15

# SQL of others
for sql in "ATTACH 'x.db' AS x" "PRAGMA journal_mode = DELETE" "SELECT load_extension('x')" "VACUUM INTO 'x.db'" \
        "SELECT writefile('x.db', 'x')" "CREATE VIRTUAL TABLE x USING fts5(y)"; do
        exits 2 "refused: $sql" . "$DESKTRACE" query app.pftrace "$sql"
done
ok 'no file was made' test ! -e x.db
exits 9 'a statement without end is stopped' 'too long' "$DESKTRACE" query --timeout 1s app.pftrace \
        'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n'
exits 7 'a value that is too large is refused' 'memory' "$DESKTRACE" query app.pftrace \
        'SELECT hex(zeroblob(60000000))'
exits 7 'a trace that is larger than it may be is refused' '--memory' "$DESKTRACE" query --memory 4K app.pftrace \
        'SELECT count(*) FROM slice'

# Files that are not whole
head -c -1 app.pftrace >cut.pftrace
# What a reader that has seen enough leaves behind: nothing is said, and the status is no success.
seen_enough() {
        bash -c 'status=0
                { "$DESKTRACE" query --csv --no-legend app.pftrace "WITH RECURSIVE n(i) AS (
                        SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 200000) SELECT i FROM n" || status=$?
                        echo "status $status" >&2; } | head -n 1'
}
gives 'a reader that leaves is no error to tell' '^1 status 1$' eval 'seen_enough 2>&1 | tr "\n" " " | sed "s/ \$//"'
exits 6 'a cut file answers as far as it goes, and says so' 'not complete' "$DESKTRACE" query cut.pftrace \
        'SELECT count(*) FROM slice'
exits 1 'what is no trace is no trace' 'not a Perfetto trace' "$DESKTRACE" query q.sql 'SELECT 1'
exits 1 'a file that is not there' 'cannot open' "$DESKTRACE" query gone.pftrace 'SELECT 1'
finish
