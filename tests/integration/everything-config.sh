#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Prints a config with every data source at once.
set -u

TRACEFS=/sys/kernel/tracing

# groups NAME...: as events of the config, those that this kernel has
groups() {
        local group
        for group; do
                [ ! -d "$TRACEFS/events/$group" ] || echo "ftrace_events: \"$group/*\""
        done
}

# events GROUP/NAME...: the same of single ones
events() {
        local event
        for event; do
                [ ! -d "$TRACEFS/events/$event" ] || echo "ftrace_events: \"$event\""
        done
}

# What is told of memory, blocks, files and system calls would be most of the trace, so there is only a choice of it.
libc=$(awk '/libc\.so/ { print $6; exit }' /proc/self/maps)
cat <<CONFIG
buffers { name: "events" size_kb: 131072 fill_policy: RING_BUFFER }
buffers { name: "names" size_kb: 32768 fill_policy: RING_BUFFER }
data_sources { config { name: "linux.ftrace" target_buffer_name: "events" ftrace_config {
  $(groups sched task irq irq_vectors timer workqueue power signal net sock skb tcp udp \
          oom vmscan cgroup rcu ipi io_uring dma_fence drm gpu_scheduler thermal cpuhp filelock module regulator)
  $(events ftrace/print oom/mark_victim block/block_rq_insert block/block_rq_issue block/block_rq_complete \
          block/block_io_start block/block_io_done block/block_bio_queue ext4/ext4_sync_file_enter \
          ext4/ext4_da_write_begin ext4/ext4_da_write_end writeback/writeback_start kmem/mm_page_alloc_zone_locked)
  syscall_events: "openat" syscall_events: "execve" syscall_events: "exit_group" syscall_events: "sendto"
  kprobe_events { probe: "do_filp_open" type: KPROBE_TYPE_BOTH }
  uprobe_events { path: "$libc" symbol: "getenv" type: KPROBE_TYPE_BOTH }
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
data_sources { config { name: "linux.drm" target_buffer_name: "names" } }
data_sources { config { name: "linux.input_latency" target_buffer_name: "names" } }
data_sources { config { name: "linux.program_points" target_buffer_name: "events" program_points_config {
  stall_ms: 50 } } }
data_sources { config { name: "org.freedesktop.systemd" target_buffer_name: "names" } }
data_sources { config { name: "org.freedesktop.login1" target_buffer_name: "names" } }
data_sources { config { name: "track_event" target_buffer_name: "events" } }
file_write_period_ms: 300 flush_period_ms: 500
incremental_state_config { clear_period_ms: 400 }
CONFIG
