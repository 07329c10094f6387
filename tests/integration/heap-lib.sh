# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
#
# What tests of heaps have in common: recordings of commands, and what they say of a function's allocations.
# shellcheck source=tests/integration/cli-lib.sh
. "$(dirname "$0")/cli-lib.sh"

[ "$HEAP_STACKS" ] || skip_all 'this build records no call stacks'
export ASAN_OPTIONS=detect_leaks=0

# record FILE ARGUMENT...: a busy machine may lose data, and the recording says so
record() {
        local file=$1 status=0
        shift
        "$DESKTRACE" record --standalone -p apps -f -o "$file" "$@" >"$file.out" 2>&1 || status=$?
        [ "$status" = 0 ] || [ "$status" = 6 ] || { cat "$file.out"; return 1; }
}

record_config() {
        local file=$1 status=0
        "$DESKTRACE" record --standalone -c "$2" -f -o "$file" "${@:3}" >"$file.out" 2>&1 || status=$?
        [ "$status" = 0 ] || [ "$status" = 6 ] || { cat "$file.out"; return 1; }
}

sql() {
        "$DESKTRACE" query --csv --no-legend "$@"
}

# of_site FILE FUNCTION EXPRESSION: over the sites in whose stack the function is
of_site() {
        sql "$1" "WITH RECURSIVE up(site, callsite) AS (SELECT id, callsite_id FROM heap_site
                UNION ALL SELECT up.site, c.parent_id FROM up JOIN stack_profile_callsite c ON c.id = up.callsite
                WHERE c.parent_id IS NOT NULL),
                found AS (SELECT DISTINCT up.site FROM up JOIN stack_profile_callsite c ON c.id = up.callsite
                JOIN stack_profile_frame f ON f.id = c.frame_id
                LEFT JOIN stack_profile_symbol s ON s.symbol_set_id = f.symbol_set_id
                WHERE s.name = '$2' OR f.name = '$2')
                SELECT coalesce($3, 0) FROM heap_site WHERE id IN (SELECT site FROM found)"
}

# about PERCENT WANTED COMMAND...: what it prints is at most so far from it
about() {
        local got
        got=$("${@:3}") || return
        awk -v got="$got" -v wanted="$2" -v percent="$1" 'BEGIN {
                off = (got - wanted) / wanted * 100
                if (off < 0) off = -off
                if (off > percent) { print "got " got ", wanted " wanted; exit 1 }
        }' </dev/null
}
