#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Call stacks of one's own programs, without any privilege: as two users, none of whom sees the other.
# The checks call functions by name.
# shellcheck disable=SC2317
# shellcheck source=tests/integration/cli-lib.sh
. "$(dirname "$0")/cli-lib.sh"

[ "$(id -u)" = 0 ] || skip_all 'two users need root'
alice=$(id -u games) bob=$(id -u nobody)
paranoid=$(cat /proc/sys/kernel/perf_event_paranoid 2>/dev/null) || skip_all 'this kernel samples nothing'
export ASAN_OPTIONS=detect_leaks=0 # a sanitizer looks for leaks in a process of its own
export HOME=$tmp/work
as "$alice" "$DESKTRACE" --version >/dev/null || skip_all "other users cannot run $DESKTRACE"
cp "$STACKS_TREE" alices-tree
cp "$STACKS_TREE" bobs-tree
chmod a+rx alices-tree bobs-tree

# A busy machine may lose samples, and the recording says so.
record_as() {
        local user=$1 file=$2 status=0
        shift 2
        as "$user" "$DESKTRACE" record --standalone -f -o "$file" "$@" >"$file.out" 2>&1 || status=$?
        [ "$status" = 0 ] || [ "$status" = 6 ] || { cat "$file.out"; return 1; }
}

sql() {
        "$DESKTRACE" query --csv --no-legend "$@"
}

if [ "$paranoid" -gt 2 ]; then
        exits 1 'where the kernel forbids it, the knob is named' 'sysctl kernel.perf_event_paranoid=2' \
                as "$alice" "$DESKTRACE" record --standalone cpu.stacks -t 100ms -f -o refused.pftrace
        finish
        exit
fi

# until-worked PID...: each has worked for two tenths of a second more
cat >until-worked <<'SH'
#!/bin/bash
for pid; do
        read -r -a stat </proc/$pid/stat || exit
        begun=${stat[13]}
        until [ "$((stat[13] - begun))" -ge 20 ]; do
                sleep 0.05
                read -r -a stat </proc/$pid/stat || exit
        done
done
SH
chmod a+rx until-worked

stacks() {
        "$(dirname "$0")/stacks-check.py" "$@"
}
samples='FROM perf_sample s JOIN thread t USING (utid) JOIN process p USING (upid)'
# samples_of FILE PID: how many samples are of it
samples_of() {
        sql "$1" "SELECT count(*) $samples WHERE p.pid = $2"
}

ok 'an ordinary user samples a program' record_as "$alice" own.pftrace --stacks -- ./alices-tree 2
ok 'its functions have their shares' stacks own.pftrace alices-tree shares
ok 'and 99 of 100 of its stacks are exact' stacks own.pftrace alices-tree exact
ok 'there are no frames of the kernel' stacks own.pftrace alices-tree no_kernel
sources() {
        "$DESKTRACE" inspect --json=short "$1" | python3 -c 'import json, sys
print(sorted({s["data_source"] for s in json.load(sys.stdin)["sources"]
              if s["kind"] in ("perf_sample", "process_tree") and s["packets"]}))'
}
gives 'its packets are of its data source' "^\\['cpu.stacks'\\]$" sources own.pftrace
gives 'functions have names at the end' 'leaf_70' sql own.pftrace \
        "SELECT DISTINCT s.name FROM stack_profile_frame f JOIN stack_profile_symbol s ON s.id = f.symbol_set_id"

# What a program starts, and what is chosen.
cat >one.pbtxt <<END
buffers { size_kb: 65536 }
data_sources { config { name: "cpu.stacks" perf_event_config {
        timebase { frequency: 997 }
        callstack_sampling { scope { target_cmdline: "child-tree" } kernel_frames: true } } } }
END
cp alices-tree child-tree
ok 'a program that a shell starts later is sampled' \
        record_as "$alice" chosen.pftrace -c one.pbtxt -- sh -c './alices-tree 1 & ./child-tree 2; wait'
ok 'it alone, if it was asked for' stacks chosen.pftrace child-tree only
ok 'with its stacks' stacks chosen.pftrace child-tree shares

# What runs already, of both.
started setpriv --reuid="$bob" --clear-groups -- ./bobs-tree 100000
bobs=$started
started setpriv --reuid="$alice" --clear-groups -- ./alices-tree 100000
alices=$started
# Not for anybody to read, as after a change of users.
hide='import ctypes, os; ctypes.CDLL(None).prctl(4, 0, 0, 0, 0); open("hidden", "w").write(str(os.getpid()))
while True: pass'
started setpriv --reuid="$alice" --clear-groups -- /usr/bin/python3 -c "$hide"
eventually test -s hidden
hidden=$(cat hidden)

ok 'of what works already' record_as "$alice" all.pftrace --stacks -- ./until-worked "$alices" "$bobs" "$hidden"
gives 'her programs are sampled' '^[1-9]' samples_of all.pftrace "$alices"
gives "those of another user are not" '^0$' samples_of all.pftrace "$bobs"
gives "nor is one that hides from its own user" '^0$' samples_of all.pftrace "$hidden"
gives 'all that are sampled are hers' "^$alice\$" sql all.pftrace \
        "SELECT group_concat(DISTINCT p.uid) $samples WHERE p.uid IS NOT NULL"
gives 'and have names' '^alices-tree$' sql all.pftrace "SELECT DISTINCT p.name $samples WHERE p.pid = $alices"

ok 'the other user samples his' record_as "$bob" other.pftrace --stacks -- ./until-worked "$alices" "$bobs"
gives 'which are in it' '^[1-9]' samples_of other.pftrace "$bobs"
gives 'and nobody else is' '^0$' samples_of other.pftrace "$alices"

sed "s/scope .*kernel_frames: true/scope { target_pid: $alices }/" one.pbtxt >pid.pbtxt
ok 'one that runs is sampled by its number' record_as "$alice" pid.pftrace -c pid.pbtxt -- ./until-worked "$alices"
gives 'and no other' "^$alices\$" sql pid.pftrace "SELECT group_concat(DISTINCT p.pid) $samples"
sed "s/scope .*kernel_frames: true/scope { target_pid: $bobs }/" one.pbtxt >stolen.pbtxt
ok "one of another user's" record_as "$alice" stolen.pftrace -c stolen.pbtxt -- ./until-worked "$bobs"
gives 'is not' '^0$' sql stolen.pftrace 'SELECT count(*) FROM perf_sample'

# What an ordinary user may not have.
sed 's/timebase { .* }$/timebase { period: 1 tracepoint { name: "sched:sched_switch" } }/' one.pbtxt >tracepoint.pbtxt
exits 1 'a tracepoint is refused' 'tracepoint' \
        as "$alice" "$DESKTRACE" record --standalone -f -o refused.pftrace -c tracepoint.pbtxt -t 100ms
exits 3 'so is the machine' 'requires root' \
        as "$alice" "$DESKTRACE" record --standalone -f -o refused.pftrace -p cpu -t 100ms
finish
