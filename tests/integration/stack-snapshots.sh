#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Snapshots of a flight recorder with call stacks: each has what happened until it was taken, although the probes look
# into their rings once a second only, and can be read alone.
# The checks call functions by name.
# shellcheck disable=SC2317
# shellcheck source=tests/integration/kernel-lib.sh
. "$(dirname "$0")/kernel-lib.sh"

may_sample
here=$(cd "$(dirname "$0")" && pwd)
export ASAN_OPTIONS=detect_leaks=0 # a sanitizer looks for leaks in a process of its own
mkdir "$tmp/system.d"
echo '<busconfig><policy user="root"><allow own="org.desktrace.Probes1"/></policy></busconfig>' \
        >"$tmp/system.d/probes.conf"
system_bus root
service "$DESKTRACED" --system
started "$DESKTRACE_PROBES" --system --trust-service
BUSCTL=--system
ok 'the probes serve' eventually has_producer desktrace-probes

started "$STACKS_TREE" 100000

# Of each program that starts there is a sample, which waits in the ring: nobody looks into it for a second.
cat >recorder.pbtxt <<'END'
buffers { size_kb: 16384 fill_policy: RING_BUFFER }
data_sources { config { name: "linux.perf" perf_event_config {
        timebase { frequency: 200 } ring_buffer_read_period_ms: 1000 callstack_sampling { kernel_frames: true } } } }
data_sources { config { name: "linux.perf" perf_event_config {
        timebase { period: 1 tracepoint { name: "sched:sched_process_exec" } }
        ring_buffer_read_period_ms: 1000 callstack_sampling { kernel_frames: true } } } }
incremental_state_config { clear_period_ms: 500 }
END
ok 'a flight recorder with call stacks is left running' \
        "$DESKTRACE" record --flight-recorder -n stacks -c recorder.pbtxt

# take FILE: at once after a program has started, whose pid is in FILE.pid
take() {
        sh -c 'echo $$; exec true' >"$1.pid" && is_done_or_lossy "$DESKTRACE" snapshot -q -f -o "$1" stacks
}
has_samples() {
        take first.pftrace && "$here/stacks-check.py" first.pftrace "$STACKS_TREE" some
}
ok 'in time it has some' eventually has_samples

# Unless something was lost.
has_the_start() {
        reads query --csv --no-legend "$1" "SELECT count(*) > 0 OR
                (SELECT sum(value) FROM stats WHERE name LIKE 'perf_%') > 0
                FROM perf_sample JOIN thread USING (utid) WHERE tid = $(cat "$1.pid")" 2>/dev/null
}
for n in 1 2 3; do
        ok "snapshot $n is taken" take "$n.pftrace"
        gives 'and has what was sampled before it was asked for' '^1$' has_the_start "$n.pftrace"
        gives 'each of its samples has its stack' '^0$' reads query --csv --no-legend "$n.pftrace" \
                'SELECT count(*) FROM perf_sample WHERE callsite_id IS NULL AND unwind_error IS NULL'
        ok 'and it breaks no rule of its readers' rules "$n.pftrace" 'packets[66] > 0'
done
ok 'its functions have names when they are looked up' reads symbolize 3.pftrace
gives 'as in any recording' 'leaf_70' reads inspect 3.pftrace
ok 'the recorder goes on, and is stopped' "$DESKTRACE" stop -q stacks
finish
