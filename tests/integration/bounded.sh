#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The memory of the probes is bounded whatever the kernel sends. The bound is one for all floods, and far above what
# they take: it finds what grows with the number of events.
# The checks call functions by name.
# shellcheck disable=SC2317
# shellcheck source=tests/integration/kernel-lib.sh
. "$(dirname "$0")/kernel-lib.sh"

GROWTH_MAX_KB=65536
! ldd "$DESKTRACE_PROBES" | grep -qE 'lib(asan|tsan)' || skip_all 'a sanitizer keeps memory of its own'

cat >all.pbtxt <<'CONFIG'
buffers { size_kb: 4096 fill_policy: RING_BUFFER }
data_sources { config { name: "linux.ftrace" ftrace_config {
  ftrace_events: "sched/*" ftrace_events: "task/*" ftrace_events: "ftrace/print" ftrace_events: "kmem/rss_stat"
  ftrace_events: "raw_syscalls/*" ftrace_events: "timer/*" symbolize_ksyms: true
  drain_period_ms: 20 buffer_size_kb: 8192 } } }
data_sources { config { name: "linux.process_stats" process_stats_config {
  scan_all_processes_on_start: true record_thread_names: true } } }
CONFIG

cat >flood.py <<'FLOOD'
import ctypes, os, sys
kind, n = sys.argv[1], int(sys.argv[2])
if kind == "text":
    marker = os.open("/sys/kernel/tracing/trace_marker", os.O_WRONLY)
    for i in range(n):
        os.write(marker, b"B|1|%d-" % i + b"x" * 900)
elif kind == "processes":
    for i in range(n):
        if os.fork() == 0:
            os._exit(0)
        os.wait()
elif kind == "names":
    for i in range(n):
        ctypes.CDLL(None).prctl(15, b"name-%d" % i, 0, 0, 0)
elif kind == "switches":
    there, back = os.pipe(), os.pipe()
    if os.fork() == 0:
        for i in range(n):
            os.read(there[0], 1)
            os.write(back[1], b"x")
        os._exit(0)
    for i in range(n):
        os.write(there[1], b"x")
        os.read(back[0], 1)
probes = int(sys.argv[3])
with open(f"/proc/{probes}/status") as status:
    print([line.split()[1] for line in status if line.startswith("VmHWM:")][0])
FLOOD

# peak KIND N: how much memory the probes ever had, in kB, when that has come
peak() {
        "$DESKTRACE" record --standalone -q -f -o flood.pftrace -c all.pbtxt -- \
                sh -c 'python3 flood.py "$0" "$1" "$(pgrep -P $PPID desktrace-probe)"' "$@"
}

is_bounded() {
        local now
        now=$(peak "$@") || [ $? = 6 ] || return
        echo "$now kB, without a flood $calm kB"
        [ "$now" -lt $((calm + GROWTH_MAX_KB)) ]
}

calm=$(peak none 0)
ok "without a flood there is a measure" test "${calm:-0}" -gt 1000
for flood in 'text 50000' 'processes 2000' 'names 200000' 'switches 50000'; do
        # shellcheck disable=SC2086 # two words
        gives "so much is bounded: $flood" 'kB' is_bounded $flood
done
finish
