#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Every data source at once on a whole system, with units and a journal: one trace that breaks no rule of its readers
# (tests/integration/trace_rules.py).
. ./lib.sh

# All that was lost is what a busy machine did not read before the kernel's rings were full.
overran() {
        grep -q ' kernel events overwritten before they were read$' /tmp/verdict &&
                ! grep ' × ' /tmp/verdict |
                        grep -vE " × (gaps in the kernel's events|kernel events overwritten before .*)$"
}

# 1: a source that this machine does not have was asked for.
together() {
        local status=0

        desktrace record -c /tmp/all.pbtxt -o /tmp/all.pftrace \
                -- ./everything-load.sh ./hello-desktrace /tmp >/tmp/verdict 2>&1 || status=$?
        { [ $status -le 1 ] && grep -q 'No losses' /tmp/verdict; } || { [ $status = 6 ] && overran; } ||
                { cat /tmp/verdict; echo "($status)"; return 1; }
}

logs_meanwhile() {
        local i

        for i in {1..30}; do
                systemd-run --quiet --unit="logs-$i" logger -p "user.$((i % 8))" "everything $i"
                sleep 0.1
        done
}

has() {
        python3 -c 'import json, sys
t = json.load(open("/tmp/rules.json"))
sys.exit(0 if eval(sys.argv[1]) else "not so: " + sys.argv[1])' "$1"
}

rules_to_json() {
        local overrun=''

        ! overran || overrun=--overrun
        ./trace_rules.py --json ${overrun:+"$overrun"} /tmp/all.pftrace >/tmp/rules.json
}

./everything-config.sh >/tmp/all.pbtxt
logs_meanwhile &
ok 'all sources record together, without a loss but what the machine is too busy for' together
wait
[ ! -d /run/boot ] || cp /tmp/all.pftrace /run/boot/
ok 'the trace breaks no rule of its readers' rules_to_json
ok 'it has events of the kernel' has 't["packets"]["1"] > 10 and sum(t["events"].values()) > 1000'
ok 'and processes' has 't["packets"]["2"] > 0 and t["packets"]["9"] > 0'
ok 'with the services that they belong to' has '"desktraced.service" in t["labels"]'
ok 'and counters of the machine' has 't["packets"]["7"] > 5 and t["packets"]["67"] == 1'
ok 'and what was logged' has 'sum("everything" in text for text in t["logged"]) > 3'
ok "and a program's own events" has 't["packets"]["11"] > 0'
finish
