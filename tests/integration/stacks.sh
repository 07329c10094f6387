#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Call stacks: of a program whose functions and their shares are known.
# The checks call functions by name.
# shellcheck disable=SC2317
# shellcheck source=tests/integration/kernel-lib.sh
. "$(dirname "$0")/kernel-lib.sh"

"$DESKTRACE_PROBES" --list-sources=json >sources.json 2>/dev/null
python3 -c 'import json, sys
known = {s["name"]: s["unavailable"] for s in json.load(open("sources.json"))}
sys.exit(1 if known["linux.perf"] else 0)' ||
        skip_all 'this machine lets nobody sample'

# config FIELDS: of linux.perf alone
config() {
        echo 'buffers { size_kb: 65536 }'
        echo "data_sources { config { name: \"linux.perf\" perf_event_config { $1 } } }"
}

# record FILE FIELDS COMMAND...: into FILE, while the command runs
record() {
        local file=$1
        config "$2" >"$file.pbtxt"
        shift 2
        "$DESKTRACE" record --standalone -f -o "$file" -c "$file.pbtxt" -- "$@" >"$file.out" 2>&1 || {
                cat "$file.out"
                return 1
        }
}

stacks() {
        "$(dirname "$0")/stacks-check.py" "$1" "$STACKS_TREE" "$2"
}

RATE='timebase { frequency: 997 }'

# A sanitizer looks for leaks in a process of its own.
ok 'a program is sampled' record tree.pftrace \
        "$RATE callstack_sampling { kernel_frames: true scope { target_cmdline: \"stacks-tree\" } }" \
        env ASAN_OPTIONS=detect_leaks=0 "$STACKS_TREE" 2
ok 'its functions have their shares' stacks tree.pftrace shares
ok 'and 99 of 100 of its stacks are exact' stacks tree.pftrace exact
ok 'no other program is in the trace' stacks tree.pftrace only
ok 'the trace breaks no rule of its readers' rules tree.pftrace 'packets[66] > 500'

# By SQL: the same count that the check above has, each with a stack that ends in main()'s caller.
as_many_by_sql() {
        local n
        n=$("$DESKTRACE" query --csv --no-legend tree.pftrace \
                'SELECT count(*), sum(callsite_id IS NULL) FROM perf_sample')
        [ "$n" = "$(stacks tree.pftrace count),0" ] || { echo "$n"; return 1; }
}
ok 'by SQL there are as many samples, each with a stack' as_many_by_sql
by_sql='SELECT count(*) FROM stack_profile_callsite c LEFT JOIN stack_profile_callsite p ON p.id = c.parent_id
        WHERE c.depth <> coalesce(p.depth + 1, 0)'
gives 'and each frame is one deeper than what called it' '^0$' \
        "$DESKTRACE" query --csv --no-legend tree.pftrace "$by_sql"

ok 'the whole machine is sampled' record machine.pftrace \
        "$RATE callstack_sampling { kernel_frames: true }" \
        sh -c "'$STACKS_TREE' 1 & dd if=/dev/zero of=/dev/null bs=4k count=500000"
ok 'frames of the kernel are names' stacks machine.pftrace kernel_names

ok 'a tracepoint gives the beat' record tracepoint.pftrace \
        'timebase { period: 1 tracepoint { name: "sched:sched_process_exec" } } callstack_sampling { }' \
        sh -c 'for i in 1 2 3 4 5; do /bin/true; done; sleep 0.1'
ok 'and has samples without frames of the kernel' stacks tracepoint.pftrace no_kernel

ok 'page faults are sampled' record faults.pftrace \
        'timebase { period: 1 counter: SW_PAGE_FAULTS } callstack_sampling { }' sh -c '/bin/true; sleep 0.1'
ok 'and have stacks' stacks faults.pftrace some

ok 'what has no counters of its own takes the clock, and says so' record hardware.pftrace \
        'timebase { frequency: 200 counter: HW_CPU_CYCLES } callstack_sampling { }' "$STACKS_TREE" 1
ok 'and has samples' stacks hardware.pftrace some

# Beside what else is recorded: --stacks is an option, and never takes the next word.
with_stacks() {
        local tree=(env ASAN_OPTIONS=detect_leaks=0 "$STACKS_TREE" 1)
        "$DESKTRACE" record --standalone -f -o "$@" -- "${tree[@]}" >beside.out 2>&1 || {
                cat beside.out
                return 1
        }
}
ok 'call stacks are recorded beside an event' with_stacks beside.pftrace --stacks sched/sched_switch
ok 'and have shares' stacks beside.pftrace shares
ok 'the event is there as well' rules beside.pftrace 'packets[66] > 100 and packets[1] > 0'
ok 'a rate is taken' with_stacks beside.pftrace --stacks=100
ok 'and halves what there is' rules beside.pftrace '20 < packets[66] < 400'
fails 'a rate of nothing is refused' 'samples a second' \
        "$DESKTRACE" record --standalone --stacks=0 -o refused.pftrace -t 1s
fails 'two rates are refused' 'call stacks already' \
        "$DESKTRACE" record --standalone --stacks=100 -c tree.pftrace.pbtxt -o refused.pftrace -t 1s

# Clearing makes each part of a ring readable alone.
config "$RATE callstack_sampling { }" >clear.pbtxt
echo 'incremental_state_config { clear_period_ms: 100 } flush_period_ms: 200' >>clear.pbtxt
ok 'a state that is cleared often' \
        "$DESKTRACE" record --standalone -f -o clear.pftrace -c clear.pbtxt -- "$STACKS_TREE" 1
ok 'has all that its samples need' stacks clear.pftrace some
finish
