#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# "desktrace list sources" on a bus that starts the probes: they are asked when somebody wants to know,
# no matter who it is, and not otherwise.

# shellcheck source=tests/integration/probes-lib.sh
. "$(dirname "$0")/probes-lib.sh"

printf 'org.desktrace.tracing1.trace-system no\n' >"$tmp/answers"
started "$FAKE_POLKIT" "$tmp/answers" "$tmp/questions"
eventually has_owner --system org.freedesktop.PolicyKit1
exits 0 "sources are listed without starting anybody when that is wanted" \
        '^linux.ftrace +0 +on demand +trace-system +- ' nobody list sources --no-start --no-legend
ok "and nobody is started" no_probes
exits 0 "nor for who may not record the system" '^linux.ftrace +0 +on demand +trace-system +- ' \
        nobody list sources --no-legend
exits 0 "who is told why it is not known" 'only for users who may record the system' nobody list sources
ok "and nobody was started" no_probes
printf 'org.desktrace.tracing1.trace-system yes\n' >"$tmp/answers"
exits 0 "for others the probes are started to be asked" '^linux.ftrace +1 +on demand +trace-system +(yes|no) ' \
        nobody list sources --no-legend
ok "they run" probes_run
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
exits 2 "a program is to be named" "'list probes' requires an argument" "$DESKTRACE" list probes
finish
