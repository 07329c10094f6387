#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# "desktrace list events": the service asks the probes for users who may record the system, and keeps what they say.

# shellcheck source=tests/integration/probes-lib.sh
. "$(dirname "$0")/probes-lib.sh"

[ -e /sys/kernel/tracing/available_events ] || mount -t tracefs tracefs /sys/kernel/tracing 2>/dev/null ||
        skip_all 'no tracefs, so no kernel events to list'

# The probes are started only for those who may record the system.
printf 'org.desktrace.tracing1.trace-system no\n' >"$tmp/answers"
started "$FAKE_POLKIT" "$tmp/answers" "$tmp/questions"
eventually has_owner --system org.freedesktop.PolicyKit1
exits 0 "who may not record the system is told why the kernel's events are not known" \
        'starting them needs the right to record the system.*trace-system' nobody list events
ok "polkit was asked without a prompt" grep -qE 'check .*trace-system flags=0 ' "$tmp/questions"
ok "and nothing was started for it" no_probes

# The probes have never said what there is, and would be asked only after the password.
printf 'org.desktrace.tracing1.trace-system ask\n' >"$tmp/answers"
: >"$tmp/questions"
if grep -q ' __traceiter_sched_process_hang$' /proc/kallsyms; then
        exits 2 "a misspelt event is refused" "'sched/sched_process_han'. Did you mean 'sched/sched_process_hang'" \
                nobody record sched/sched_process_han -t 100ms -o /dev/null
        ok "before anybody was asked for a password" test "$(grep -c 'flags=1' "$tmp/questions")" = 0
        cat >"$tmp/slip.cfg" <<'CONFIG'
buffers { size_kb: 1024 }
duration_ms: 100
data_sources { config { name: "linux.ftrace" ftrace_config {
        ftrace_events: "sched/sched_process_han" ftrace_events: "sched_switch" ftrace_events: "sched_wakin"
        ftrace_events: "android/of_another_kernel" ftrace_events: "sched/*" } } }
CONFIG
        said=$(nobody record --no-ask-password -c "$tmp/slip.cfg" -o /dev/null 2>&1)
        ok "so is one in a config noted" \
                grep -q "^desktrace: note: .* 'sched/sched_process_han'. Did you mean '.*_process_hang'" <<<"$said"
        ok "and one without its group" grep -q "'sched_wakin'. Did you mean 'sched_waking'" <<<"$said"
        ok "and no other" test "$(grep -c 'Did you mean' <<<"$said")" = 2
        ok "before it is asked whether it may" \
                bash -c '[[ $1 == *"Did you mean"* && ${1##*"Did you mean"} == *"would have to ask"* ]]' bash "$said"
else
        skip_check "a misspelt event is refused" "this kernel's symbols do not tell its events"
fi
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
        "$DESKTRACE" list events --no-legend | awk '{ print $1 }' >"$tmp/listed"
        [ "$(wc -l <"$tmp/listed")" -gt 100 ]
}
ok "all of this kernel's are there" all_are_listed
no_listed_one_is_missing() {
        ! sed 's,/,:,' "$tmp/listed" | grep -vxFf /sys/kernel/tracing/available_events
}
ok "each of them exists" no_listed_one_is_missing
switch='^sched/sched_switch +[0-9]+ +prev_comm, prev_pid, prev_prio, prev_state, next_comm, next_pid, next_prio *$'
json='"id":[1-9][0-9]*,"fields":\["char prev_comm\[16\]",'
exits 0 "root, who can read tracefs, sees their numbers and fields" "$switch" \
        "$DESKTRACE" list events -l sched/sched_switch
exits 0 "with their types as JSON" "$json" "$DESKTRACE" list events -l --json=short sched/sched_switch
exits 0 "so does a user, for whom the probes read them" "$switch" nobody list events -l sched/sched_switch
exits 0 "of all events" "$json" nobody list events --long --json=short
gives "what is no event has no format" '^a\(ss\) 0$' manager_of_system GetEventFormats as 5 \
        sched/nothing sched ../../tracing_on sched/.. /etc/passwd
gives "others have" '^a\(ss\) 1 "sched/sched_switch" "name: sched_switch.nID: ' manager_of_system GetEventFormats as 2 \
        sched/sched_switch sched/../sched/sched_waking
mapfile -t too_many < <(yes sched/sched_switch | head -n 257)
fails "but not without end" 'one call may ask for 256 events' manager_of_system GetEventFormats \
        as 257 "${too_many[@]}"
ok "the probes go" eventually no_probes
exits 0 "and are started to read what events are made of" "$switch" nobody list events -l sched/sched_switch
ok "the probes go again" eventually no_probes
printf 'org.desktrace.tracing1.trace-system no\n' >"$tmp/answers"
exits 3 "but not for who may not record the system" 'starting them needs the right to record the system' \
        nobody list events -l sched/sched_switch
ok "they do not run" no_probes
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
exits 0 "and is told that it is not of now" 'as of the last recording' nobody list events sched_switch
kill "$daemon" && wait "$daemon"
service "$DESKTRACED" --system
exits 0 "also from the next service" '^sched/sched_switch *$' nobody list events --no-start --no-legend 'sched/*'
ok "and nothing was started for it" no_probes
fails "an unknown option is refused" 'unknown option "glob"' manager_of_system ListEvents 'a{sv}' 1 glob s x
finish
