#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Call stacks of one's own programs: denied, allowed by a rule, and never of anybody else's programs, of programs that
# have other rights than their user, or of the kernel.
. ./lib.sh
shorten_idle_times
OWN='org\.desktrace\.tracing1\.profile-own'

/usr/libexec/desktrace-probes --list-sources | sed -n '/^linux.perf/,/^[^ ]/p' | grep -q 'available *yes' || {
        echo '1..0 # SKIP this kernel samples nothing'
        exit 0
}

action() { pkaction --verbose --action-id org.desktrace.tracing1.profile-own; }
ok 'who sits at the machine needs no permission' sh -c "$(declare -f action); action | grep -q 'implicit active: *yes'"
ok 'others need their own password' sh -c "$(declare -f action); action | grep -q 'implicit any: *auth_self_keep'"

for name in alices bobs rooted hiding later; do
        install -m 755 stacks-tree "/usr/bin/$name-tree"
done
chmod u+s /usr/bin/rooted-tree

# until-worked PID...: each has worked for a twentieth of a second more
cat >/usr/bin/until-worked <<'SH'
#!/bin/bash
for pid; do
        read -r -a stat </proc/$pid/stat || exit
        begun=${stat[13]}
        until [ "$((stat[13] - begun))" -ge 5 ]; do
                sleep 0.05
                read -r -a stat </proc/$pid/stat || exit
        done
done
SH
chmod 755 /usr/bin/until-worked

# A busy machine may lose samples, which the recording says (6).
records() { # USER FILE ARGUMENTS...
        local status=0

        as "$1" desktrace record -f -o "$2" "${@:3}" >/tmp/record.out 2>&1 || status=$?
        [ "$status" = 0 ] || [ "$status" = 6 ] || { cat /tmp/record.out; return 1; }
}
sql() { desktrace query --csv --no-legend "$@"; }
samples='FROM perf_sample s JOIN thread t USING (utid) JOIN process p USING (upid)'
n_of() { sql "$1" "SELECT count(*) $samples WHERE p.pid = $2"; }
shows() { [ "$(n_of "$1" "$2")" -gt 0 ]; }
hides() { [ "$(n_of "$1" "$2")" = 0 ] || { n_of "$1" "$2"; return 1; }; }

fails 'call stacks of her own programs are refused, and the action is named' "$OWN" \
        as alice desktrace record --stacks -o /home/alice/no.pftrace -- true
ok 'no file is left' test ! -e /home/alice/no.pftrace

allow alice org.desktrace.tracing1.profile-own

# runs USER PROGRAM...: in place of the shell
runs() {
        exec env -i PATH="$PATH" setpriv --reuid="$1" --regid="$1" --init-groups --inh-caps=-all -- "${@:2}"
}

# What runs meanwhile. One has the rights of root, and one hides from its own user (PR_SET_DUMPABLE).
runs alice alices-tree 100000 & alices=$!
runs bob bobs-tree 100000 & bobs=$!
runs alice rooted-tree 100000 & rooted=$!
runs alice python3 -c 'import ctypes, sys
ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
print("hidden", flush=True)
while True: pass' >/tmp/hidden & hiding=$!
ok 'one hides' within 10 test -s /tmp/hidden

ok 'a rule allows them' records alice /home/alice/own.pftrace --stacks -- \
        bash -c "systemctl show -P MainPID desktrace-probes.service >~/probes; later-tree 100000 &
                until-worked \$! $alices $bobs $rooted $hiding; kill \$!"
kill $rooted $hiding
own=/home/alice/own.pftrace
ok 'what she started is there' test -n "$(sql $own "SELECT 1 $samples WHERE p.name = 'later-tree' LIMIT 1")"
ok 'what ran already, too' shows $own $alices
ok 'a program of another user is not' hides $own $bobs
ok 'nor one with the setuid bit, which she has started' hides $own $rooted
ok 'nor one that hides from its own user' hides $own $hiding
ok 'nor the probes' hides $own "$(cat /home/alice/probes)"
users() { sql "$1" "SELECT group_concat(DISTINCT p.uid) $samples"; }
ok 'all that is there is hers' test "$(users $own)" = "$(id -u alice)"
ok 'functions have their names' test "$(sql $own "SELECT count(DISTINCT s.name) FROM stack_profile_symbol s
        WHERE s.name IN ('leaf_70', 'main')")" = 2
ok 'no frame is of the kernel' test "$(sql $own "SELECT count(*) FROM stack_profile_frame f
        JOIN stack_profile_mapping m ON m.id = f.mapping WHERE m.name LIKE '%kernel%'")" = 0
ok 'and no address space is told' test "$(sql $own 'SELECT count(*) FROM stack_profile_mapping
        WHERE start != 0 OR "end" != 0')" = 0

fails 'the machine is refused' 'org\.desktrace\.tracing1\.trace-system' \
        as alice desktrace record -p cpu -t 100ms -o /home/alice/no.pftrace
probing() { # FIELDS: a data source of her own stacks
        echo "buffers { size_kb: 64 } duration_ms: 100
                data_sources { config { name: \"cpu.stacks\" perf_event_config { $1 } } }" >/tmp/probing.pbtxt
        as alice desktrace record -c /tmp/probing.pbtxt -o /home/alice/no.pftrace
}
fails 'so are events of the kernel, whose filters tell of its memory' 'of the machine' \
        probing 'timebase { period: 1 tracepoint { name: "sched:sched_switch" filter: "prev_pid != 0" } }'
fails 'and breakpoints' 'of the machine' probing 'timebase { period: 1 raw_event { type: 5 config1: 4096 } }'
fails 'the rule is for one user only' "$OWN" as bob desktrace record --stacks -o /home/bob/no.pftrace -- true

allow bob org.desktrace.tracing1.profile-own
ok 'another user has another rule' records bob /home/bob/own.pftrace --stacks -- until-worked $alices $bobs
ok 'which shows his programs' shows /home/bob/own.pftrace $bobs
ok 'and not hers' hides /home/bob/own.pftrace $alices
kill $alices $bobs

ok 'why she waits is hers to know' records alice /home/alice/sleep.pftrace --stacks-at=sleep -- \
        sh -c 'sleep 1; sleep 1'
slept() { sql "$1" "SELECT $2 FROM stack_sample s JOIN thread t USING (utid) JOIN process p USING (upid)"; }
sleep=/home/alice/sleep.pftrace
ok 'her sleep is there' test "$(slept $sleep "max(s.weight * (p.name = 'sleep')) > 900000000")" = 1
ok 'and no sleep of others' test "$(slept $sleep 'group_concat(DISTINCT p.uid)')" = "$(id -u alice)"
finish
