#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Every data source at once, while the machine forks, writes, sends and waits: one trace that breaks no rule of its
# readers (trace_rules.py).
# The checks call functions by name.
# shellcheck disable=SC2317
here=$(dirname "$(realpath "$0")")
# shellcheck source=tests/integration/kernel-lib.sh
. "$(dirname "$0")/kernel-lib.sh"

"$here/everything-config.sh" >all.pbtxt

# Other tests may record at the same time: theirs are of living processes.
instances_have_owners() {
        local name pid
        for name in "$TRACEFS"/instances/desktrace-*; do
                pid=${name##*desktrace-}
                [ ! -d "$name" ] || [ -d "/proc/${pid%%-*}" ] || return
        done
}

# All that was lost is what a busy machine did not read before the kernel's rings were full.
overran() {
        grep -q ' kernel events overwritten before they were read$' verdict &&
                ! grep ' × ' verdict | grep -vE " × (gaps in the kernel's events|kernel events overwritten before .*)$"
}

# 1: a source that this machine does not have was asked for.
together() {
        local status=0
        "$DESKTRACE" record --standalone -c all.pbtxt -o all.pftrace -- \
                "$here/everything-load.sh" "$EXAMPLE" "$tmp" >verdict 2>&1 || status=$?
        { [ $status -le 1 ] && grep -q 'No losses' verdict; } || { [ $status = 6 ] && overran; } ||
                { cat verdict; return 1; }
}

rules_to_json() {
        local overrun=''
        ! overran || overrun=--overrun
        rules --json ${overrun:+"$overrun"} "$1" >rules.json
}

has() {
        json_holds rules.json "$1"
}

ok "all sources record together, without a loss but what the machine is too busy for" together
ok "the trace breaks no rule of its readers" rules_to_json all.pftrace
ok "and has every event that the kernel's rings gave" has 'sum(t["events"].values()) == t["read"] > 1000'
ok "known events are in messages of their own" has '{"4", "20", "24", "25", "235", "239", "329"} <= set(t["events"])'
ok "others describe themselves" has '{"sched_stat_runtime", "rcu_utilization"} & set(t["generic"])'
# Since 6.16 instances can have a copy of what programs write.
[ ! -e $TRACEFS/options/copy_trace_marker ] || ok "text of programs is there" has 't["events"]["3"] >= 2'
[ ! -e $TRACEFS/uprobe_events ] || ok "functions of programs are there" has 't["events"]["542"] > 10'
[ ! -r /proc/kallsyms ] || ok "functions of the kernel have names" has 't["symbols"]'
ok "processes have names" has 'any("mandelbrot" in name for name in t["processes"].values())'
ok "so have their threads" has '"mandelbrot-desk" in t["threads"].values()'
ok "processes are measured" has 't["packets"]["9"] > 5'
ok "so is the machine" has 't["packets"]["7"] > 5 and t["packets"]["67"] == 1'
ok "programs' own events are among them" has 't["packets"]["11"] > 100 and "frame rate" in t["counters"]'
ok "nothing of ours is left in the kernel" instances_have_owners
finish
