# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# What tests of the call stacks of programs have in common: recordings of a program by name, and how many of its stacks
# are what they should be.
# shellcheck source=tests/integration/kernel-lib.sh
. "$(dirname "$0")/kernel-lib.sh"

may_sample
export ASAN_OPTIONS=detect_leaks=0 # a sanitizer looks for leaks in a process of its own

# record FILE NAME COMMAND...: what runs in programs of this name. A machine that hardly lets it run is tried again.
SAMPLES_MIN=50
record() {
        local n try
        echo "buffers { size_kb: 65536 }
                data_sources { config { name: \"linux.perf\" perf_event_config { timebase { frequency: 997 }
                callstack_sampling { scope { target_cmdline: \"$2\" } } } } }" >"$1.pbtxt"
        for try in 1 2 3; do
                recorded "$1" -c "$1.pbtxt" -- "${@:3}" || return
                n=$(reads query --csv --no-legend "$1" 'SELECT count(*) FROM perf_sample' 2>/dev/null)
                [ "${n:-0}" -ge "$SAMPLES_MIN" ] && return
                echo "only ${n:-no} samples in recording $try"
        done
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
# under FILE FUNCTION STACK: percent of its samples with this function that have this right below it. There must be
# some.
under() {
        reads query --csv --no-legend "$1" "SELECT CASE WHEN sum(n) >= 50 THEN 100 * sum(n * (names LIKE
                '%<$2<$3%')) / sum(n) ELSE 'only ' || ifnull(sum(n), 0) END
                FROM (SELECT names, n FROM (${stacks/count(\*)/count(*) AS n}) WHERE names LIKE '%<$2<%')" 2>/dev/null
}
# How many of all are complete, in percent.
complete() {
        reads query --csv --no-legend "$1" "SELECT CASE WHEN count(*) >= 50 THEN
                100 * sum(unwind_error IS NULL) / count(*) ELSE 'only ' || count(*) END FROM perf_sample
                WHERE unwind_error IS NOT 'invalid_elf'" 2>/dev/null
}
# shellcheck disable=SC2034 # for the tests
MOST='^(9[5-9]|100)$' NEARLY_ALL='^(99|100)$'
