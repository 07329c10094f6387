#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Call stacks of programs in places where they are hard to follow: in signal handlers, behind exec(), in libraries that
# come and go, in files that are deleted or in other root directories, of other compilers, C libraries and languages.
# The checks call functions by name.
# shellcheck disable=SC2317
# shellcheck source=tests/integration/kernel-lib.sh
. "$(dirname "$0")/kernel-lib.sh"

may_sample
here=$(cd "$(dirname "$0")" && pwd)
export ASAN_OPTIONS=detect_leaks=0 # a sanitizer looks for leaks in a process of its own
export HOME=$PWD/home

# Names are found by the build ID, wherever the program was and whether it still is.
id=$(readelf -n "$STACKS_WORLD" | sed -n 's/.*Build ID: //p')
mkdir -p "home/.debug/.build-id/${id:0:2}"
objcopy --only-keep-debug "$STACKS_WORLD" "home/.debug/.build-id/${id:0:2}/${id:2}.debug"

# record FILE NAME COMMAND...: what runs in programs of this name
record() {
        echo "buffers { size_kb: 65536 }
                data_sources { config { name: \"linux.perf\" perf_event_config { timebase { frequency: 997 }
                callstack_sampling { scope { target_cmdline: \"$2\" } } } } }" >"$1.pbtxt"
        recorded "$1" -c "$1.pbtxt" -- "${@:3}"
}

# Each sample's functions, innermost first. Where a machine is so busy that a file was not read in time, nothing is to
# be learned of it.
stacks="WITH RECURSIVE up(sample, id, names) AS (
        SELECT id, callsite_id, '' FROM perf_sample WHERE unwind_error IS NOT 'invalid_elf'
        UNION ALL
        SELECT sample, c.parent_id, names || '<' || coalesce(
                (SELECT y.name FROM stack_profile_symbol y WHERE y.symbol_set_id = f.symbol_set_id LIMIT 1), '?')
        FROM up JOIN stack_profile_callsite c ON c.id = up.id JOIN stack_profile_frame f ON f.id = c.frame_id)
        SELECT names, count(*) FROM up WHERE id IS NULL GROUP BY 1"
# share FILE STACK: percent of its samples that are in spin() have this below it, up to main(). There must be some.
share() {
        reads query --csv --no-legend "$1" "SELECT CASE WHEN sum(n) >= 50 THEN 100 * sum(n * (names LIKE
                '%<spin<$2<main%')) / sum(n) ELSE 'only ' || ifnull(sum(n), 0) END
                FROM (SELECT names, n FROM (${stacks/count(\*)/count(*) AS n}) WHERE names LIKE '%<spin<%')" 2>/dev/null
}
# How many of all are complete, in percent.
complete() {
        reads query --csv --no-legend "$1" "SELECT CASE WHEN count(*) >= 50 THEN
                100 * sum(unwind_error IS NULL) / count(*) ELSE 'only ' || count(*) END FROM perf_sample
                WHERE unwind_error IS NOT 'invalid_elf'" 2>/dev/null
}
MOST='^(9[5-9]|100)$'

# A user's file system that has stopped answering: whoever opens the program's file may wait for ever.
if [ -w /dev/fuse ] && unshare -m true 2>/dev/null; then
        cp "$STACKS_TREE" stuck-world
        mkdir stuck
        started unshare -m --propagation private /usr/bin/python3 -B "$here/stuck-program.py" "$PWD/stuck" \
                ./stuck-world 100000 >stuck.out
        ok 'a program runs whose file nobody can read any more' eventually grep -q stuck stuck.out
        ok 'it is sampled beside another one, and nothing waits for its file' record stuck.pftrace '*-world' \
                "$STACKS_WORLD" plain
        gives 'the other has its functions' "$MOST" share stuck.pftrace plainly
        read -r _ pid <stuck.out
        gives 'and it has samples' '^[1-9]' reads query --csv --no-legend stuck.pftrace \
                "SELECT count(*) FROM perf_sample JOIN thread USING (utid) WHERE tid = ${pid:-0}"
        kill "$started"
fi

finish
