#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Every data source at once, while the machine forks, writes, sends and waits: one trace that breaks no rule of its
# readers (trace_rules.py).
# The checks call functions by name.
# shellcheck disable=SC2317
# shellcheck source=tests/integration/kernel-lib.sh
. "$(dirname "$0")/kernel-lib.sh"

# groups NAME...: as events of the config, those that this kernel has
groups() {
        local group
        for group; do
                [ ! -d "$TRACEFS/events/$group" ] || echo "ftrace_events: \"$group/*\""
        done
}

# What kmem and syscalls tell would be most of the trace, so of these there is only a choice.
cat >all.pbtxt <<CONFIG
buffers { name: "events" size_kb: 131072 fill_policy: RING_BUFFER }
buffers { name: "names" size_kb: 32768 fill_policy: RING_BUFFER }
data_sources { config { name: "linux.ftrace" target_buffer_name: "events" ftrace_config {
  $(groups sched task irq irq_vectors timer workqueue block power signal ext4 xfs btrfs writeback net sock skb tcp udp \
          oom vmscan cgroup rcu ipi io_uring dma_fence drm gpu_scheduler thermal cpuhp filelock module regulator)
  ftrace_events: "ftrace/print" ftrace_events: "kmem/rss_stat"
  syscall_events: "openat" syscall_events: "execve" syscall_events: "exit_group" syscall_events: "sendto"
  compact_sched { enabled: true } symbolize_ksyms: true buffer_size_kb: 32768 drain_period_ms: 50 } } }
data_sources { config { name: "linux.process_stats" target_buffer_name: "names" process_stats_config {
  scan_all_processes_on_start: true record_thread_names: true proc_stats_poll_ms: 100
  scan_smaps_rollup: true record_process_age: true record_process_runtime: true } } }
data_sources { config { name: "linux.sys_stats" target_buffer_name: "names" sys_stats_config {
  meminfo_period_ms: 70 vmstat_period_ms: 110 stat_period_ms: 50 devfreq_period_ms: 120 cpufreq_period_ms: 130
  buddyinfo_period_ms: 140 diskstat_period_ms: 170 psi_period_ms: 190 thermal_period_ms: 230 cpuidle_period_ms: 150
  gpufreq_period_ms: 160 slab_period_ms: 180 netdev_period_ms: 90 block_queue_period_ms: 80 } } }
data_sources { config { name: "linux.system_info" target_buffer_name: "names" system_info_config { irq_names: true } } }
data_sources { config { name: "linux.systemd_journald" target_buffer_name: "names" } }
data_sources { config { name: "linux.sysfs_power" target_buffer_name: "names" } }
data_sources { config { name: "linux.cgroup" target_buffer_name: "names" cgroup_config { period_ms: 100 } } }
data_sources { config { name: "track_event" target_buffer_name: "events" } }
file_write_period_ms: 300 flush_period_ms: 500
incremental_state_config { clear_period_ms: 400 }
CONFIG

# Other tests may record at the same time: theirs are of living processes.
instances_have_owners() {
        local name pid
        for name in "$TRACEFS"/instances/desktrace-*; do
                pid=${name##*desktrace-}
                [ ! -d "$name" ] || [ -d "/proc/${pid%-*}" ] || return
        done
}

cat >load.sh <<'LOAD'
#!/bin/bash
"$EXAMPLE" --seconds 1.5 --quiet &
for _ in {1..40}; do /bin/true; (:); done
dd if=/dev/zero of="$1/io" bs=64k count=64 conv=fsync 2>/dev/null
rm -f "$1/io"
python3 - <<'LOOPBACK'
import socket, threading, time
def echo():
    peer, _ = server.accept()
    while peer.recv(1000):
        pass
server = socket.create_server(("127.0.0.1", 0))
thread = threading.Thread(target=echo)
thread.start()
with socket.create_connection(server.getsockname()) as client:
    for _ in range(100):
        client.sendall(b"x" * 500)
        time.sleep(0.001)
thread.join()
LOOPBACK
printf 'B|%d|text of a program' $$ >/sys/kernel/tracing/trace_marker
printf 'E|%d' $$ >/sys/kernel/tracing/trace_marker
wait
LOAD

# 1: a source that this machine does not have was asked for.
together() {
        "$DESKTRACE" record --standalone -c all.pbtxt -o all.pftrace -- bash load.sh "$tmp" 2>&1 || [ $? = 1 ]
}

rules_to_json() {
        rules --json "$1" >rules.json
}

has() {
        json_holds rules.json "$1"
}

gives "all sources record together, without a loss" 'No losses' together
ok "the trace breaks no rule of its readers" rules_to_json all.pftrace
ok "and has every event that the kernel's rings gave" has 'sum(t["events"].values()) == t["read"] > 1000'
ok "known events are in messages of their own" has '{"4", "20", "24", "25", "235", "239", "329"} <= set(t["events"])'
ok "others describe themselves" has '{"sched_stat_runtime", "rcu_utilization"} & set(t["generic"])'
# Since 6.16 instances can have a copy of what programs write.
[ ! -e $TRACEFS/options/copy_trace_marker ] || ok "text of programs is there" has 't["events"]["3"] >= 2'
[ ! -r /proc/kallsyms ] || ok "functions of the kernel have names" has 't["symbols"]'
ok "processes have names" has 'any("mandelbrot" in name for name in t["processes"].values())'
ok "so have their threads" has '"mandelbrot-desk" in t["threads"].values()'
ok "processes are measured" has 't["packets"]["9"] > 5'
ok "so is the machine" has 't["packets"]["7"] > 5 and t["packets"]["67"] == 1'
ok "programs' own events are among them" has 't["packets"]["11"] > 100 and "frame rate" in t["counters"]'
ok "nothing of ours is left in the kernel" instances_have_owners
finish
