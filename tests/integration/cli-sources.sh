#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# "desktrace list sources" on a bus that starts the probes: they are asked when somebody wants to know,
# whoever it is, and not otherwise.

# shellcheck source=tests/integration/cli-lib.sh
. "$(dirname "$0")/cli-lib.sh"

[ "$(id -u)" = 0 ] || skip_all "not root: the probes' names are root's"
[ -e /sys/kernel/tracing/available_events ] || mount -t tracefs tracefs /sys/kernel/tracing 2>/dev/null ||
        skip_all 'no tracefs, so no kernel events to list'

mkdir -p "$tmp/services" "$tmp/system.d"
cat >"$tmp/services/probes.service" <<SERVICE
[D-BUS Service]
Name=org.desktrace.Probes1
Exec=$DESKTRACE_PROBES --system
User=root
SERVICE
cat >"$tmp/system.d/probes.conf" <<CONF
<busconfig><servicedir>$tmp/services</servicedir>
<policy user="root"><allow own="org.desktrace.Probes1"/></policy></busconfig>
CONF
cat >"$tmp/producers.d/kernel.conf" <<'CONF'
[Producer]
Name=kernel
DataSources=linux.ftrace;linux.sys_stats;linux.sysfs_power;
BusName=org.desktrace.Probes1
CONF
cat >"$tmp/producers.d/nobody.conf" <<'CONF'
[Producer]
Name=nobody
DataSources=linux.nobody;
BusName=org.example.Nobody
CONF
system_bus root
chmod 755 "$tmp" "$tmp/work"
export RUNTIME_DIRECTORY=$tmp/kept
mkdir "$RUNTIME_DIRECTORY"
service "$DESKTRACED" --system

manager_of_system() {
        BUSCTL=--system manager "$@"
}

nobody() {
        as nobody "$DESKTRACE" "$@"
}
probes_run() {
        busctl --system call org.freedesktop.DBus / org.freedesktop.DBus NameHasOwner s org.desktrace.Probes1 |
                grep -q true
}

no_probes() {
        ! probes_run
}

# Events, to whoever asks: the probes are started for those only who may record the system.
printf 'org.desktrace.tracing1.trace-system no\n' >"$tmp/answers"
started "$FAKE_POLKIT" "$tmp/answers" "$tmp/questions"
eventually has_owner --system org.freedesktop.PolicyKit1
exits 0 "who may not record the system is told why the kernel's events are not known" \
        'starting them needs the right to record the system.*trace-system' nobody list events
ok "polkit was asked without a prompt" grep -qE 'check .*trace-system flags=0 ' "$tmp/questions"
ok "and nothing was started for it" no_probes
printf 'org.desktrace.tracing1.trace-system yes\n' >"$tmp/answers"
exits 0 "who may has the probes started, and sees the events" '^sched/sched_switch *$' \
        nobody list events --no-legend 'sched/*'
ok "which run" eventually probes_run
exits 0 "they are known by their names alone" '^sched/sched_waking *$' nobody list events --no-legend 'sched_wak*'
exits 5 "a name that no event has is told" 'nothing in the list of events matches "sched/nothing"' \
        nobody list events sched/nothing
exits 0 "programs get objects" '^\[\{"name":"sched/sched_switch"\}\]$' \
        nobody list events --json=short sched/sched_switch
gives "the list is current" '"current" b true' manager_of_system ListEvents 'a{sv}' 0
gives "and not among the data source's details" '^as 0$' busctl --system get-property \
        $BUS $ROOT/source/linux_2eftrace $BUS.SourceInfo Categories
all_are_listed() {
        "$DESKTRACE" list events --no-legend | sed 's/ *$//' >"$tmp/listed"
        [ "$(wc -l <"$tmp/listed")" -gt 100 ]
}
ok "all of this kernel's are there" all_are_listed
no_listed_one_is_missing() {
        ! sed 's,/,:,' "$tmp/listed" | grep -vxFf /sys/kernel/tracing/available_events
}
ok "each of them exists" no_listed_one_is_missing
ok "the probes go" eventually no_probes
printf 'org.desktrace.tracing1.trace-system no\n' >"$tmp/answers"
exits 0 "then everybody sees what they said" '^sched/sched_switch *$' nobody list events --no-legend 'sched/*'
completes() { # bash, after "desktrace record", the words of $1
        PATH=$(dirname "$DESKTRACE"):$PATH bash -c '. "$1"; COMP_WORDS=(desktrace record "$2"); COMP_CWORD=2
                _desktrace; printf "%s\n" "${COMPREPLY[@]}"' bash "$COMPLETIONS/desktrace.bash" "$1" 2>/dev/null
}
COMPLETIONS=$(dirname "$BUS_XML")/../completions
: >"$tmp/questions"
gives "bash completes the events of a group" '^sched/sched_switch$' completes sched/sched_s
gives "and the groups" '^sched/$' completes sch
ok "without asking polkit" test ! -s "$tmp/questions"
ok "or starting anything" no_probes
exits 0 "and is told that it is not of now" 'when it was recorded last' nobody list events sched_switch
kill "$daemon" && wait "$daemon"
service "$DESKTRACED" --system
exits 0 "also from the next service" '^sched/sched_switch *$' nobody list events --no-start --no-legend 'sched/*'
ok "and nothing was started for it" no_probes
fails "an option that is none is refused" 'unknown option "glob"' manager_of_system ListEvents 'a{sv}' 1 glob s x

exits 0 "sources are listed without starting anybody when that is wanted" \
        '^linux.ftrace +0 +on demand +trace-system +- ' nobody list sources --no-start --no-legend
ok "and nobody is started" no_probes
exits 0 "else the probes are started to be asked" '^linux.ftrace +1 +on demand +trace-system +(yes|no) ' \
        nobody list sources --no-legend
ok "by any user" probes_run
exits 0 "all sources of theirs say whether they can record" '^3$' \
        bash -c '"$0" list sources --no-legend | grep -cE "^linux\.(ftrace|sys_stats|sysfs_power) +1 .* (yes|no) "' \
        "$DESKTRACE"
exits 0 "a producer that cannot be started is named with the reason" \
        '^linux.nobody +0 +on demand +trace-system +no +.*org.example.Nobody' nobody list sources --no-legend
exits 0 "programs are told the same" '"name":"linux.nobody".*"available":false,"unavailable":".*org.example.Nobody' \
        nobody list sources --json=short
gives "so are those who ask on the bus" 's ".*org.example.Nobody' busctl --system get-property $BUS \
        $ROOT/source/linux_2enobody $BUS.SourceInfo Unavailable
# Of those that this machine lacks, if it does: a recording of it is refused with the words of the list.
read -r lacking reason < <("$DESKTRACE" list sources --json=short | python3 -c '
import json, sys
for source in json.load(sys.stdin):
    if source["producers"] and source["unavailable"]:
        print(source["name"], source["unavailable"])
        break')
refused_alike() {
        [ -n "$lacking" ] || return 0
        ! "$DESKTRACE" record -q "$lacking" -t 100ms -o lacking.pftrace 2>"$tmp/refusal" &&
                grep -qF "$lacking did not record: $reason" "$tmp/refusal"
}
ok "a recording of a source is refused with the reason that the list has${lacking:+ ($lacking)}" refused_alike

ok "the probes go again by themselves" eventually no_probes
# Those of a program's file: no service is asked.
marked=$(dirname "$TRACE_CHECK")/../fuzz/corpus/static-probes
exits 0 "a program's static probes are listed with their arguments" '^app:frame arg1:s32 arg2:u64 arg3:\? arg4:u8$' \
        "$DESKTRACE" list probes "$marked/one"
exits 0 "one without any is told to have none" 'nameless has no static probes' \
        "$DESKTRACE" list probes "$marked/nameless"
gives "and is an empty list for programs" '^0$' bash -c '"$0" list probes "$1" 2>/dev/null | wc -c' \
        "$DESKTRACE" "$marked/nameless"
exits 1 "what is no program is told" 'is no program or library' "$DESKTRACE" list probes "$marked/text"
exits 2 "a program is to be named" "'list' requires an argument" "$DESKTRACE" list probes
finish
