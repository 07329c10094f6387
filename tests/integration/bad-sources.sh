#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# One bad source never takes the others along: beside each that cannot record there are good ones, which do, and what
# was wrong is said.
# The checks call functions by name.
# shellcheck disable=SC2317
# shellcheck source=tests/integration/kernel-lib.sh
. "$(dirname "$0")/kernel-lib.sh"

GOOD='buffers { size_kb: 8192 }
data_sources { config { name: "linux.ftrace" ftrace_config { ftrace_events: "sched/sched_switch" } } }
data_sources { config { name: "linux.process_stats" process_stats_config { scan_all_processes_on_start: true } } }
data_sources { config { name: "linux.sys_stats" sys_stats_config { meminfo_period_ms: 50 } } }
data_sources { config { name: "linux.system_info" } }'

# beside STATUS SAID NAME FIELDS: the good ones record beside a source of that config
beside() {
        local status=$1 said=$2 name=$3 fields=$4
        printf '%s\ndata_sources { config { name: "%s" %s } }\n' "$GOOD" "$name" "$fields" >bad.pbtxt
        exits "$status" "$name with '$fields'" "$said" \
                "$DESKTRACE" record --standalone -f -o bad.pftrace -c bad.pbtxt -- sleep 0.2
        ok "and the others record" rules bad.pftrace 'packets[1] and packets[2] and packets[7] > 1 and packets[67]'
}

beside 1 '"sched/sched_swich"; did you mean "sched/sched_switch"' linux.ftrace \
        'ftrace_config { ftrace_events: "sched/sched_swich" }'
beside 1 'passwd' linux.ftrace 'ftrace_config { ftrace_events: "../../../etc/passwd" }'
beside 1 'no ftrace_events' linux.ftrace ''
beside 1 '"opnat"; did you mean "openat"' linux.ftrace 'ftrace_config { syscall_events: "opnat" }'
beside 1 'buffer_size_kb asks for .* at most .* is allowed' linux.ftrace \
        'ftrace_config { ftrace_events: "irq/irq_handler_entry" buffer_size_kb: 4294967295 }'
beside 0 'No losses' linux.ftrace 'ftrace_config { ftrace_events: "irq/irq_handler_entry" drain_period_ms: 4294967295 }'
beside 0 'No losses' linux.ftrace 'ftrace_config { ftrace_events: "irq/irq_handler_entry" buffer_size_kb: 1 }'
beside 1 'nothing to record' linux.sys_stats 'sys_stats_config { }'
beside 0 'No losses' linux.sys_stats 'sys_stats_config { meminfo_period_ms: 1 stat_period_ms: 4294967295 }'
beside 0 'No losses' linux.process_stats 'process_stats_config { proc_stats_poll_ms: 1 }'
beside 0 'No losses' linux.process_stats 'process_stats_config { proc_stats_poll_ms: 4294967295 }'
if [ -d /sys/class/drm ] || [ -d /sys/kernel/tracing/events/drm ]; then
        beside 1 'period_ms: 1 is not within 50 and 60000' linux.drm 'drm_config { period_ms: 1 }'
        beside 1 'nothing to record' linux.drm 'drm_config { events: false clients: false memory: false }'
else
        beside 1 'no card in /sys/class/drm' linux.drm ''
fi
[ -e /sys/kernel/tracing/kprobe_events ] || beside 1 'no kprobes' linux.input_latency ''
[ -d /sys/class/power_supply ] && [ -n "$(ls /sys/class/power_supply /sys/class/powercap 2>/dev/null)" ] ||
        beside 1 'no battery' linux.sysfs_power ''
[ -d /run/log/journal ] || [ -d /var/log/journal ] || beside 1 'no journal' linux.systemd_journald ''
finish
