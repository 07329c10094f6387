#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Call stacks where threads go to sleep, where pages fault, and at any event of the kernel. What a sample weighs is held
# against what the scheduler says in the same recording.
# The checks call functions by name.
# shellcheck disable=SC2317
# shellcheck source=tests/integration/kernel-lib.sh
. "$(dirname "$0")/kernel-lib.sh"

may_sample
export ASAN_OPTIONS=detect_leaks=0

sql() {
        reads query --csv --no-legend "$@"
}
# Whether sampling has cost so much that it was done less often. Then weights are those of all events, on average.
is_rarer() {
        grep -q 'from now on one of' "$1.out"
}
# record N FILE ARGUMENTS...: until there are N complete samples of the program, on a machine that hardly lets it run
record() {
        local n=$1 try found
        shift
        for try in 1 2 3 4; do
                recorded "$@" -- "$STACKS_SLEEPER" || return
                found=$(sql "$1" "SELECT count(*) FROM stack_sample JOIN thread t USING (utid)
                        WHERE t.name = 'stacks-sleeper' AND unwind_error IS NULL" 2>/dev/null)
                [ "${found:-0}" -ge "$n" ] && ! is_rarer "$1" && return
                echo "only ${found:-no} samples in recording $try, or not all that there were"
        done
}

ok 'sleep is recorded beside what the scheduler does' \
        record 30 sleep.pftrace --stacks-at=sleep:1000 --stacks-at=page-fault:64 sched/sched_switch
ok 'the trace breaks no rule of its readers' rules sleep.pftrace 'packets[135] > 20'

# Each sleep of the program lies where it had no processor; and unless something was lost, all long ones are there.
agrees_with_the_scheduler() {
        ! is_rarer "$1" || return 0
        sql --json=short "$1" "SELECT s.ts, s.dur, s.end_state FROM sched s JOIN thread t USING (utid)
                WHERE t.name = 'stacks-sleeper' ORDER BY 1" >runs.json || return
        sql --json=short "$1" "SELECT s.ts, s.weight FROM stack_sample s JOIN thread t USING (utid)
                WHERE t.name = 'stacks-sleeper' AND s.source = 'linux.offcpu' ORDER BY 1" >sleeps.json || return
        sql --json=short "$1" "SELECT coalesce(sum(value), 0) AS lost FROM stats
                WHERE name LIKE 'perf_%'" >lost.json || return
        python3 - <<'PYTHON'
import json
runs, sleeps = json.load(open("runs.json")), json.load(open("sleeps.json"))
lost = int(json.load(open("lost.json"))[0]["lost"])
EDGE = 5_000_000  # between the two records of one switch a virtual machine may stand still
spans = [(int(r["ts"]), int(r["ts"]) + int(r["dur"]), r["end_state"]) for r in runs]
wrong = []
for sleep in sleeps:
    start, end = int(sleep["ts"]) + EDGE, int(sleep["ts"]) + int(sleep["weight"]) - EDGE
    wrong += [(sleep, span) for span in spans if max(span[0], start) < min(span[1], end)]
assert len(wrong) <= 1 + len(sleeps) // 50, wrong  # it may stand still for longer, once
gaps = [(a[1], b[0]) for a, b in zip(spans, spans[1:]) if b[0] - a[1] > 12_000_000 and a[2][:1] in "SD"]
found = [any(abs(int(s["ts"]) - gap[0]) < EDGE for s in sleeps) for gap in gaps]
print(len(sleeps), "sleeps,", len(gaps), "long gaps,", sum(found), "of them with a stack,", lost, "lost")
assert lost or (len(sleeps) > 10 and sum(found) >= len(gaps) * 0.9)
PYTHON
}
ok 'it lasts as long as the scheduler says' agrees_with_the_scheduler sleep.pftrace

# Samples that were lost, and those of the program for which a file was not read in time.
n_lost() {
        sql "$1" "SELECT coalesce(sum(value), 0) + (SELECT count(*) FROM stack_sample JOIN thread t USING (utid)
                WHERE t.name = 'stacks-sleeper' AND unwind_error = 'invalid_elf') FROM stats WHERE name LIKE 'perf_%'"
}
# functions FILE SOURCE: in which functions of the program, and what they weigh together
functions() {
        sql "$1" "WITH RECURSIVE up(sample, weight, site) AS (
                SELECT s.id, s.weight, s.callsite_id FROM stack_sample s JOIN thread t USING (utid)
                WHERE t.name = 'stacks-sleeper' AND s.source = '$2' AND s.unwind_error IS NOT 'invalid_elf'
                UNION ALL SELECT sample, weight, c.parent_id FROM up JOIN stack_profile_callsite c ON c.id = site
                WHERE c.parent_id IS NOT NULL)
                SELECT y.name, sum(weight) FROM up JOIN stack_profile_callsite c ON c.id = site
                JOIN stack_profile_frame f ON f.id = c.frame_id JOIN stack_profile_mapping m ON m.id = f.mapping
                JOIN stack_profile_symbol y ON y.symbol_set_id = f.symbol_set_id
                WHERE m.name LIKE '%stacks-sleeper' GROUP BY 1 ORDER BY 1"
}
naps_are_told_apart() {
        local lost
        lost=$(n_lost sleep.pftrace) || return
        functions sleep.pftrace linux.offcpu | tee functions.csv
        awk -F, -v lost="$lost" '{ t[$1] = $2 } END {
                exit !((lost || (t["nap_30"] >= 300000000 && t["poll_10"] >= 100000000)) &&
                t["main"] >= t["nap_30"] + t["poll_10"]) }' functions.csv
}
ok 'by function' naps_are_told_apart
gives 'a question has the same' 'clock_nanosleep' reads why sleeps sleep.pftrace --top 0
as_much_by_why() {
        reads why sleeps sleep.pftrace --top 0 --json=short >why.json || return
        sql --json=short sleep.pftrace "SELECT sum(weight) AS ns FROM stack_sample WHERE source = 'linux.offcpu'" \
                >sum.json || return
        python3 -c 'import json
why, by_sql = json.load(open("why.json")), json.load(open("sum.json"))[0]
assert why["slept_ns"] == int(by_sql["ns"]), (why["slept_ns"], by_sql)
assert sum(row["slept_ns"] for row in why["rows"]) + why["without_stack_ns"] == why["slept_ns"]'
}
ok 'and adds up to the same' as_much_by_why
gives 'inspect has the stacks of them' 'linux.offcpu: [0-9]+ samples' reads inspect sleep.pftrace
as_much_by_inspect() {
        reads inspect --json=short sleep.pftrace >inspect.json || return
        python3 -c 'import json
reports = {r["source"]: r for r in json.load(open("inspect.json"))["stack_samples"]}
report, by_sql = reports["linux.offcpu"], json.load(open("sum.json"))[0]
assert report["unit"] == "ns" and report["weight"] == int(by_sql["ns"]), report["weight"]
assert sum(t["weight"] for t in report["threads"]) == report["weight"]
assert "linux.faults" in reports and "stacks" not in reports'
}
ok 'and as much of it' as_much_by_inspect
# In other formats, and on a page: each sum is the trace's.
exported() {
        reads export folded -q -f --samples="$1" -o "$1.folded" sleep.pftrace || return
        reads export speedscope -q -f --samples="$1" -o "$1.speedscope" sleep.pftrace || return
        reads export firefox -q -f --samples="$1" -o "$1.firefox" sleep.pftrace || return
        sql --json=short sleep.pftrace "SELECT sum(weight) AS weight, count(*) AS n FROM stack_sample
                WHERE source = '$1' AND callsite_id IS NOT NULL" >sum.json || return
        python3 - "$@" <<'PYTHON'
import json, sys
source, unit, weight_type, scale = sys.argv[1:]
row = {name: int(value) for name, value in json.load(open("sum.json"))[0].items()}
folded = sum(int(line.rpartition(" ")[2]) for line in open(source + ".folded"))
profiles = json.load(open(source + ".speedscope"))["profiles"]
threads = [t["samples"] for t in json.load(open(source + ".firefox"))["threads"] if t["samples"]["length"]]
assert folded == row["weight"] == sum(p["endValue"] for p in profiles) == sum(sum(p["weights"]) for p in profiles)
assert sum(len(p["samples"]) for p in profiles) == row["n"]
assert {p["unit"] for p in profiles} == {unit} and {t["weightType"] for t in threads} == {weight_type}
in_firefox = sum(w for t in threads for w, s in zip(t["weight"], t["stack"]) if s is not None)
assert abs(in_firefox * float(scale) - row["weight"]) <= 1e-6 * row["weight"], in_firefox
PYTHON
}
ok 'sleep is exported, in nanoseconds' exported linux.offcpu nanoseconds tracing-ms 1e6
ok 'faults are, by their number' exported linux.faults none samples 1
exits 5 'which of them has to be said' 'call stacks of: linux.faults, linux.offcpu' \
        "$DESKTRACE" export folded sleep.pftrace
exits 5 'and be there' 'call stacks of: linux.faults, linux.offcpu' \
        "$DESKTRACE" export folded --samples=cpu sleep.pftrace
exits 2 'a format without stacks has none' "'chrome' does not take --samples" \
        "$DESKTRACE" export chrome --samples=cpu sleep.pftrace
# A sleep is a sample at its end. On a busy machine the first may be late: the recording is divided where its own are.
within_half() {
        local half
        half=$(sql sleep.pftrace "SELECT printf('%.9f', (avg(ts) - trace_start()) / 1e9) FROM stack_sample
                WHERE source = 'linux.offcpu'") || return
        reads export folded -q --samples=linux.offcpu --to "$half" sleep.pftrace >half.folded || return
        python3 -c 'import collections
sums = collections.Counter()
for line in open("half.folded"):
    stack, _, ns = line.rpartition(" ")
    sums[tuple(stack.split(";")[:2])] += int(ns)
assert sums and all(0 <= ns for ns in sums.values()) and sums.total() < sum(
    int(line.rpartition(" ")[2]) for line in open("linux.offcpu.folded"))'
}
ok 'of a time there is what lies in it' within_half
ok 'a page is made' reads report -q -f -o sleep.html sleep.pftrace
ok 'with each sleep and fault, and their stacks' \
        python3 -B "$(dirname "$0")/report_page.py" "$DESKTRACE" sleep.pftrace sleep.html weighed

gives 'no frame of the scheduler is in the way' '^0$' sql sleep.pftrace \
        "SELECT count(*) FROM stack_sample s JOIN stack_profile_callsite c ON c.id = s.callsite_id
        JOIN stack_profile_frame f ON f.id = c.frame_id
        WHERE s.source = 'linux.offcpu' AND substr(f.name, 1, 10) = '__schedule'"

# 2,048 pages, of whose faults each 64th is a sample that weighs as much, unless it was lost. AddressSanitizer touches
# an eighth of that for itself.
faults_are_touch() {
        local lost
        lost=$(n_lost sleep.pftrace) || return
        functions sleep.pftrace linux.faults | tee faults.csv
        awk -F, -v lost="$lost" '{ t[$1] = $2 }
                END { exit !((lost || t["touch"] >= 1024) && t["touch"] % 64 == 0 && t["touch"] <= 2432) }' faults.csv
}
ok 'page faults are where memory is touched first' faults_are_touch

# What is cut at flushes adds up to the same.
cat >cut.pbtxt <<'END'
buffers { size_kb: 65536 }
data_sources { config { name: "linux.perf" perf_event_config { off_cpu { min_us: 0 } } } }
data_sources { config { name: "linux.process_stats" process_stats_config { scan_all_processes_on_start: true
        record_thread_names: true } } }
data_sources { config { name: "linux.ftrace" ftrace_config { ftrace_events: "sched/sched_switch" } } }
incremental_state_config { clear_period_ms: 100 }
flush_period_ms: 100
END
ok 'with flushes while threads sleep' record 30 cut.pftrace -c cut.pbtxt
ok 'no sleep overlaps what ran' agrees_with_the_scheduler cut.pftrace
# What waits for the program is cut again and again: one piece begins where the one before it ended.
pieces='SELECT count(*) > 0 FROM stack_sample a JOIN stack_sample b ON b.utid = a.utid AND b.ts = a.ts + a.weight'
if [ "$(n_lost cut.pftrace 2>/dev/null)" = 0 ] && ! is_rarer cut.pftrace; then
        gives 'sleep goes on behind a flush' '^1$' sql cut.pftrace "$pieces"
fi
gives 'with its stack' '^0$' sql cut.pftrace \
        "SELECT count(*) FROM stack_sample WHERE callsite_id IS NULL AND unwind_error IS NULL"

ok 'an event of the kernel has stacks' record 1 event.pftrace --stacks-at=sched/sched_process_exit
is_rarer event.pftrace || gives 'of which each weighs one' '^sched/sched_process_exit,count,1$' sql event.pftrace \
        'SELECT source, unit, min(weight) FROM stack_sample GROUP BY 1, 2'
gives 'and which begin where it is' '^do_exit$' sql event.pftrace \
        'SELECT DISTINCT f.name FROM stack_sample s JOIN stack_profile_callsite c ON c.id = s.callsite_id
        JOIN stack_profile_frame f ON f.id = c.frame_id'

exits 2 'what does not happen is refused' 'sleep.*page-fault' \
        "$DESKTRACE" record --standalone --stacks-at=nonsense -t 1s
exits 2 'so is a number that is none' 'sleep.*page-fault' \
        "$DESKTRACE" record --standalone --stacks-at=sleep:x -t 1s
exits 2 'an event that there is not is named' "unknown kernel event 'no/such'" \
        "$DESKTRACE" record --standalone -f -o refused.pftrace --stacks-at=no/such -t 100ms
exits 2 'and what was meant' "unknown kernel event 'sched/sched_swich'.*'sched/sched_switch'" \
        "$DESKTRACE" record --standalone -f -o refused.pftrace --stacks-at=sched/sched_swich:5 -t 100ms
ok 'nothing is written then' test ! -e refused.pftrace
finish
