#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Call stacks: of a program whose functions and their shares are known.
# The checks call functions by name.
# shellcheck disable=SC2317
# shellcheck source=tests/integration/kernel-lib.sh
. "$(dirname "$0")/kernel-lib.sh"

may_sample

# config FIELDS: of linux.perf alone
config() {
        echo 'buffers { size_kb: 65536 }'
        echo "data_sources { config { name: \"linux.perf\" perf_event_config { $1 } } }"
}

# record FILE FIELDS COMMAND...: into FILE, while the command runs
record() {
        local file=$1
        config "$2" >"$file.pbtxt"
        shift 2
        recorded "$file" -c "$file.pbtxt" -- "$@"
}

stacks() {
        "$(dirname "$0")/stacks-check.py" "$1" "$STACKS_TREE" "$2"
}

RATE='timebase { frequency: 997 }'

# A sanitizer looks for leaks in a process of its own.
ok 'a program is sampled' record tree.pftrace \
        "$RATE callstack_sampling { kernel_frames: true scope { target_cmdline: \"stacks-tree\" } }" \
        env ASAN_OPTIONS=detect_leaks=0 "$STACKS_TREE" 2
ok 'its functions have their shares' stacks tree.pftrace shares
ok 'and 99 of 100 of its stacks are exact' stacks tree.pftrace exact
ok 'no other program is in the trace' stacks tree.pftrace only
ok 'the trace breaks no rule of its readers' rules tree.pftrace 'packets[66] > 500'

# By SQL: the same count that the check above has, each with a stack that ends in main()'s caller.
as_many_by_sql() {
        local n
        n=$(reads query --csv --no-legend tree.pftrace \
                'SELECT count(*), sum(callsite_id IS NULL) FROM perf_sample')
        [ "$n" = "$(stacks tree.pftrace count),0" ] || { echo "$n"; return 1; }
}
ok 'by SQL there are as many samples, each with a stack' as_many_by_sql
by_sql='SELECT count(*) FROM stack_profile_callsite c LEFT JOIN stack_profile_callsite p ON p.id = c.parent_id
        WHERE c.depth <> coalesce(p.depth + 1, 0)'
gives 'and each frame is one deeper than what called it' '^0$' \
        reads query --csv --no-legend tree.pftrace "$by_sql"

# The same by `why`: each function with its file, and how often it was the innermost.
as_many_by_why() {
        reads why functions tree.pftrace --top 0 --json=short >functions.json || return
        reads query --json=short tree.pftrace "SELECT y.name AS function, m.name AS file, count(*) AS samples
                FROM perf_sample p JOIN stack_profile_callsite c ON c.id = p.callsite_id
                JOIN stack_profile_frame f ON f.id = c.frame_id LEFT JOIN stack_profile_mapping m ON m.id = f.mapping
                LEFT JOIN stack_profile_symbol y ON y.symbol_set_id = f.symbol_set_id
                GROUP BY coalesce(y.name, f.name), m.id" >by-sql.json || return
        python3 -c 'import json
by_why, by_sql = json.load(open("functions.json")), json.load(open("by-sql.json"))
key = lambda row: (row["file"] or "", row["samples"])
assert by_why["rows"] and by_why["samples"] == sum(row["samples"] for row in by_sql)
assert sorted(map(key, by_why["rows"])) == sorted(map(key, by_sql))
assert all(row["samples"] <= row["with_callees"] for row in by_why["rows"])'
}
ok 'and by why, function by function' as_many_by_why

ok 'a page of them' reads report -q -f -o tree.html tree.pftrace
ok 'has each, function by function' python3 "$(dirname "$0")/report_page.py" "$DESKTRACE" tree.pftrace tree.html

# Names: of the program, which has all; of one that has none, from elsewhere.
# names FILE PROGRAM: those of its frames
names() {
        reads query --csv --no-legend "$1" "SELECT DISTINCT s.name FROM stack_profile_frame f
                JOIN stack_profile_mapping m ON m.id = f.mapping JOIN stack_profile_symbol s ON s.id = f.symbol_set_id
                WHERE m.name = '$2' ORDER BY 1" | tr '\n' ' '
}
has_names() {
        local got
        got=$(names "$1" "$2")
        shift 2
        for name; do
                [[ " $got" == *" $name "* ]] || { echo "$name is not among: $got"; return 1; }
        done
}
json_of_stacks() {
        reads inspect --json=short "$1" | python3 -c 'import json, sys
stacks = json.load(sys.stdin)["stacks"]
functions = {f["name"]: f for f in stacks["functions"]}
leaf, main = functions["leaf_70"], functions["main"]
assert stacks["functions"][0] == leaf and leaf["total"] >= leaf["self"] > 0.6 * stacks["samples"], leaf
assert main["total"] >= 0.98 * stacks["samples"] and main["self"] < 0.05 * stacks["samples"], main
assert stacks["processes"][0]["hottest"] == "leaf_70", stacks["processes"]
assert sum(p["samples"] for p in stacks["processes"]) == stacks["samples"] == sum(
    t["samples"] for t in stacks["threads"])
assert stacks["complete"] + sum(gap["samples"] for gap in stacks["incomplete"]) == stacks["samples"]'
}
has_no_names() {
        [ -z "$(names "$1" "$2")" ] || names "$1" "$2"
        [ -z "$(names "$1" "$2")" ]
}
ok 'the names of functions are looked up at the end' \
        has_names tree.pftrace "$(realpath "$STACKS_TREE")" main leaf_10 leaf_20 leaf_70 parent_one parent_two
gives 'and said to be' 'at [0-9]+ of [0-9]+ addresses' cat tree.pftrace.out

gives 'inspect shows the hottest function' '% .*stacks-tree +leaf_70' reads inspect tree.pftrace
gives 'the hottest stack' 'leaf_70 < parent_one < main < ' reads inspect tree.pftrace
gives 'how much can be believed' 'samples of call stacks, (100|99)\.[0-9] % of them complete' \
        reads inspect tree.pftrace
ok 'and programs get the same' json_of_stacks tree.pftrace

export HOME=$PWD/home
mkdir -p home
strip_tree() {
        objcopy --strip-all "$STACKS_TREE" stripped && record stripped.pftrace \
                "$RATE callstack_sampling { scope { target_cmdline: \"stripped\" } }" \
                env ASAN_OPTIONS=detect_leaks=0 ./stripped 1
}
ok 'a program without names is sampled' strip_tree
# Never the nearest that it exports.
ok 'and its functions have none' has_no_names stripped.pftrace "$PWD/stripped"
id=$(readelf -n "$STACKS_TREE" | sed -n 's/.*Build ID: //p')
mkdir -p "home/.debug/.build-id/${id:0:2}"
debug=home/.debug/.build-id/${id:0:2}/${id:2}.debug
ok 'a file of another build' cp /bin/true "$debug"
ok 'is not taken' reads symbolize -o other.pftrace stripped.pftrace
ok 'for its names' has_no_names other.pftrace "$PWD/stripped"
ok 'the right one' objcopy --only-keep-debug "$STACKS_TREE" "$debug"
ok 'is' reads symbolize -o named.pftrace stripped.pftrace
ok 'and has the names' has_names named.pftrace "$PWD/stripped" main leaf_10 leaf_20 leaf_70
ok 'the file itself did not change' has_no_names stripped.pftrace "$PWD/stripped"
rm -r "$debug"
pack_names() {
        objcopy --only-keep-debug "$STACKS_TREE" names.elf && xz -f names.elf &&
                objcopy --add-section .gnu_debugdata=names.elf.xz stripped
}
if command -v xz >/dev/null; then
        ok 'names are packed into the program, as on Fedora' pack_names
        ok 'and are added to the file itself' reads symbolize stripped.pftrace
        ok 'where they are then' has_names stripped.pftrace "$PWD/stripped" main leaf_10 leaf_20 leaf_70
fi
# A server of debug information, which here is a directory.
asks_debuginfod() {
        mkdir -p "server/buildid/$id"
        objcopy --only-keep-debug "$STACKS_TREE" "server/buildid/$id/debuginfo"
        DEBUGINFOD_URLS=file://$PWD/server reads symbolize "$@"
}
rm -f stripped
if ldconfig -p | grep -q 'libdebuginfod\.so\.1'; then
        ok 'nobody is asked for names' asks_debuginfod -o unasked.pftrace other.pftrace
        ok 'unless it is wanted' has_no_names unasked.pftrace "$PWD/stripped"
        ok 'servers are asked when it is' asks_debuginfod --debuginfod -o asked.pftrace other.pftrace
        ok 'and have the names' has_names asked.pftrace "$PWD/stripped" main leaf_10 leaf_20 leaf_70
fi
# Lines of the source code, and the functions that are inlined there: from what the program itself has.
inlined_record() {
        record inlined.pftrace "$RATE callstack_sampling { scope { target_cmdline: \"stacks-inlined\" } }" \
                env ASAN_OPTIONS=detect_leaks=0 "$STACKS_INLINED" 300000
}
# What one address is, innermost first: "inner:N middle:N outer:N"
lines_of() {
        reads query --csv --no-legend "$1" "SELECT group_concat(name || ':' || line_number, ' ') FROM (
                SELECT s.* FROM stack_profile_symbol s JOIN stack_profile_frame f USING (symbol_set_id)
                JOIN stack_profile_mapping m ON m.id = f.mapping WHERE m.name LIKE '%/stacks-inlined' AND
                s.source_file LIKE '%stacks-inlined.c' ORDER BY s.id) GROUP BY symbol_set_id" 2>/dev/null
}
line() {
        grep -n "$1" "$STACKS_INLINED_SOURCE" | cut -d: -f1
}
# A file in place of the tool, which is first in $PATH.
tool() {
        mkdir -p tool && printf '#!/bin/sh\n%s\n' "$1" >tool/addr2line && chmod +x tool/addr2line
}
with_tool() {
        PATH=$PWD/tool:$PATH reads symbolize --lines -f -o "$1" inlined.pftrace
}
if command -v addr2line >/dev/null; then
        ok 'a program with inlined functions is sampled' inlined_record
        gives 'which have no lines' '^$' lines_of inlined.pftrace
        ok 'unless they are wanted' reads symbolize --lines -o lines.pftrace inlined.pftrace
        gives 'then they have, each within the other' \
                "^inner:[0-9]+ middle:$(line 'in middle') outer:$(line 'in outer')\$" lines_of lines.pftrace
        gives 'what is seen as one function is the innermost' 'stacks-inlined +inner' reads inspect lines.pftrace
        gives 'its stack has all of them' 'inner < middle < outer < ' reads inspect lines.pftrace
        gives 'and so have other formats' ';outer;middle;inner [0-9]+$' reads export folded lines.pftrace
        ok 'they break no rule of readers' rules lines.pftrace 'packets[61] >= 2'
        tool 'head -c 100000 /dev/urandom'
        ok 'a tool that says anything' with_tool odd.pftrace
        gives 'is not believed' '^$' lines_of odd.pftrace
        # shellcheck disable=SC2016 # for the tool's shell
        tool 'while read -r a; do echo "$a"; i=0; while [ $i -lt 99 ]; do echo f; echo stacks-inlined.c:1; i=$((i+1))
                done; done'
        ok 'one that says too much' with_tool much.pftrace
        gives 'is believed up to a limit' '^(f:1 ){23}f:1$' lines_of much.pftrace
        tool 'exit 127'
        gives 'one that is missing is named' 'addr2line \(binutils\)' with_tool missing.pftrace
        rm -r tool
fi
# What it names may be anything by now.
mkfifo stripped
fails 'a pipe is no trace' 'cannot read' "$DESKTRACE" symbolize stripped
ok 'a module that has become a pipe is not opened' \
        is_done_or_lossy timeout 20 "$DESKTRACE" symbolize -o pipe.pftrace other.pftrace
make_directory() {
        rm stripped && mkdir stripped && reads symbolize -f -o pipe.pftrace other.pftrace
}
ok 'a module that has become a directory is not, either' make_directory
n_cut=$(($(stat -c %s other.pftrace) - 1)) # within the last packet
head -c $n_cut other.pftrace >cut.pftrace
fails 'nothing is written behind a file that is cut' 'damaged' "$DESKTRACE" symbolize cut.pftrace
ok 'so it is as long as before' test "$(stat -c %s cut.pftrace)" = $n_cut
ok 'names break no rule of readers' rules named.pftrace 'packets[61] >= 1'

two_at_once() {
        local one
        record one.pftrace "$RATE callstack_sampling { scope { target_cmdline: \"stacks-tree\" } }" sleep 2 &
        one=$!
        record two.pftrace "timebase { frequency: 499 } callstack_sampling { }" \
                env ASAN_OPTIONS=detect_leaks=0 "$STACKS_TREE" 3 && wait "$one"
}
ok 'two sessions sample at once' two_at_once
ok 'the one has what it asked for' stacks one.pftrace only
ok 'the other has its own rate' stacks two.pftrace shares

ok 'the whole machine is sampled' record machine.pftrace \
        "$RATE callstack_sampling { kernel_frames: true }" \
        sh -c "'$STACKS_TREE' 1 & dd if=/dev/zero of=/dev/null bs=4k count=500000"
ok 'frames of the kernel are names' stacks machine.pftrace kernel_names

ok 'a tracepoint gives the beat' record tracepoint.pftrace \
        'timebase { period: 1 tracepoint { name: "sched:sched_process_exec" } } callstack_sampling { }' \
        sh -c 'for i in 1 2 3 4 5; do /bin/true; done; sleep 0.1'
ok 'and has samples without frames of the kernel' stacks tracepoint.pftrace no_kernel

ok 'page faults are sampled' record faults.pftrace \
        'timebase { period: 1 counter: SW_PAGE_FAULTS } callstack_sampling { }' sh -c '/bin/true; sleep 0.1'
ok 'and have stacks' stacks faults.pftrace some

ok 'what has no counters of its own takes the clock, and says so' record hardware.pftrace \
        'timebase { frequency: 200 counter: HW_CPU_CYCLES } callstack_sampling { }' "$STACKS_TREE" 1
ok 'and has samples' stacks hardware.pftrace some

# Code that a program makes while it runs, and what the program calls it.
JIT='callstack_sampling { scope { target_cmdline: "stacks-jit" } }'
# jit FILE NAME: how many samples are in code of this name, called by the program
jit() {
        reads query --csv --no-legend "$1" "SELECT count(*) FROM perf_sample s
                JOIN stack_profile_callsite c ON c.id = s.callsite_id JOIN stack_profile_frame f ON f.id = c.frame_id
                JOIN stack_profile_callsite d ON d.id = c.parent_id JOIN stack_profile_frame g ON g.id = d.frame_id
                JOIN stack_profile_mapping m ON m.id = g.mapping
                WHERE f.name = '$2' AND m.name LIKE '%/stacks-jit'"
}
jit_record() {
        record "$1" "$RATE $JIT" env ASAN_OPTIONS=detect_leaks=0 "$STACKS_JIT" "${@:2}"
}
ok 'a program that makes code is sampled' jit_record jit.pftrace 1 'LazyCompile:*hot /srv/app.js:7'
gives 'the code has the name that the program tells' '^[0-9]{3,}$' jit jit.pftrace 'LazyCompile:*hot /srv/app.js:7'
gives 'not an older one' '^0$' jit jit.pftrace old
ok 'one that tells none is sampled' jit_record nameless.pftrace 1
gives 'as code without a name' '^[0-9]{3,}$' jit nameless.pftrace '[jit]'
# Such code has no tables and here no frame pointer either: its instructions are read from the program's memory.
may_read_memory() {
        local status=0
        sleep 60 &
        (: <"/proc/$!/mem") 2>/dev/null || status=$?
        kill $!
        return $status
}
if may_read_memory; then
        ok 'code that keeps no frame pointer is sampled' jit_record frameless.pftrace 1 frameless frameless
        gives 'and was called by the program' '^[0-9]{3,}$' jit frameless.pftrace frameless
        gives 'which is complete' '^(9[5-9]|100)$' reads query --csv --no-legend frameless.pftrace \
                "SELECT 100 * sum(unwind_error IS NULL) / count(*) FROM perf_sample
                WHERE unwind_error IS NOT 'invalid_elf'"
fi
# In a directory of everybody's others may have been first: their file, or a link to somebody's secrets.
cat >others.sh <<'SH'
case $1 in
        link) ln -s "$PWD/names" /tmp/perf-$$.map ;;
        file) cp names /tmp/perf-$$.map && chown 65534 /tmp/perf-$$.map ;;
        pipe) mkfifo /tmp/perf-$$.map ;;
esac
exec "$STACKS_JIT" 1
SH
export STACKS_JIT
echo '0 ffffffffffffffff stolen' >names
for trap in link file pipe; do
        ok "names behind a $trap" record $trap.pftrace "$RATE $JIT" env ASAN_OPTIONS=detect_leaks=0 sh ./others.sh $trap
        gives 'are not taken' '^0$' jit $trap.pftrace stolen
        gives 'and the code is without a name' '^[0-9]{3,}$' jit $trap.pftrace '[jit]'
done

# Beside what else is recorded: --stacks is an option, and never takes the next word.
with_stacks() {
        local tree=(env ASAN_OPTIONS=detect_leaks=0 "$STACKS_TREE" 1)
        recorded "$@" -- "${tree[@]}"
}
ok 'call stacks are recorded beside an event' with_stacks beside.pftrace --stacks sched/sched_switch
ok 'and have shares' stacks beside.pftrace shares
ok 'the event is there as well' rules beside.pftrace 'packets[66] > 100 and packets[1] > 0'
ok 'a rate is taken' with_stacks beside.pftrace --stacks=100
gives 'and asked for' 'frequency: 100$' reads inspect --config beside.pftrace
fails 'a rate of nothing is refused' 'samples a second' \
        "$DESKTRACE" record --standalone --stacks=0 -o refused.pftrace -t 1s
fails 'two rates are refused' 'call stacks already' \
        "$DESKTRACE" record --standalone --stacks=100 -c tree.pftrace.pbtxt -o refused.pftrace -t 1s

# Clearing makes each part of a ring readable alone.
config "$RATE callstack_sampling { }" >clear.pbtxt
echo 'incremental_state_config { clear_period_ms: 100 } flush_period_ms: 200' >>clear.pbtxt
ok 'a state that is cleared often' \
        recorded clear.pftrace -c clear.pbtxt -- env ASAN_OPTIONS=detect_leaks=0 "$STACKS_TREE" 1
ok 'has all that its samples need' stacks clear.pftrace some
finish
