#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Heaps in pages, and compared: each is held against what SQL says of the same recording.
# The checks call functions by name.
# shellcheck disable=SC2317
# shellcheck source=tests/integration/heap-lib.sh
. "$(dirname "$0")/heap-lib.sh"

cat >grows.pbtxt <<'END'
buffers { size_kb: 16384 }
data_sources { config { name: "heap.malloc" heapprofd_config { sampling_interval_bytes: 2048
        continuous_dump_config { dump_interval_ms: 100 } } } }
END
ok 'a program that frees what it has' record sites.pftrace --heap=4K -- "$HEAP_SITES" sites
ok 'a program that grows' record_config grows.pftrace grows.pbtxt -- env LD_PRELOAD="$HEAP_LIBRARY" \
        DESKTRACE_HEAP=2048 DESKTRACE_WAIT=5000 "$HEAP_SITES" grows

# Pages.
page() {
        "$DESKTRACE" report -f "$@" || [ $? = 6 ]
}
check() {
        python3 "$(dirname "$0")/report_page.py" "$DESKTRACE" "$@"
}
for file in sites grows; do
        ok "a page of the one that is called $file" page "$file.pftrace"
        ok 'has all changes and sums of its heaps' check "$file.pftrace" "$file.html"
done
tells() {
        grep -F "$1" "$2"
}
gives 'it begins with what heaps have' 'What programs have on their heaps' tells 'What programs have' grows.html
gives 'it says what was not freed' 'heap-sites did not free .* leak_site' tells 'did not free' sites.html
gives 'and what was freed at once' 'heap-sites freed .* within 10 ms .* churn_site' tells 'within 10 ms' sites.html

# Comparisons.
diff_of() {
        "$DESKTRACE" diff --metric=heap --top=0 --json=short "$@" >difference || [ $? = 6 ]
}
in_use() {
        sql "$1" "SELECT coalesce(sum(size), 0) FROM heap_profile_allocation WHERE $2"
}
a=$(in_use sites.pftrace 1)
b=$(in_use grows.pftrace 1)
ok 'two recordings are compared by call stack' diff_of sites.pftrace -- grows.pftrace
ok 'all that they have in use is there' json_holds difference \
        "(sum(r['a_bytes'] for r in t['rows']), sum(r['b_bytes'] for r in t['rows'])) == ($a, $b)"
ok 'with what the second has more' json_holds difference \
        "all(r['growth_bytes'] == r['b_bytes'] - r['a_bytes'] for r in t['rows'])"
ok 'what grew most comes first' json_holds difference \
        "(lambda g: g == sorted(g, reverse=True))([r['growth_bytes'] for r in t['rows']])"
ok 'what only one of them has is called that' json_holds difference "[r['verdict'] for r in t['rows']
        if 'grow_site < ' in r['stack']] == ['only in B']"
ok 'two moments of one recording are compared' diff_of --to 0.000001 grows.pftrace -- --to 3600
a=$(in_use grows.pftrace 'ts <= (SELECT start_ts + 1000 FROM trace_bounds)')
ok 'each has what was in use then' json_holds difference \
        "(sum(r['a_bytes'] for r in t['rows']), sum(r['b_bytes'] for r in t['rows'])) == ($a, $b)"
in_words() {
        "$DESKTRACE" diff --metric=heap "$@" || [ $? = 6 ]
}
gives 'people read it in a table' '^malloc < grow_site < .* only in B ' in_words sites.pftrace -- grows.pftrace
ok 'a page of two recordings' page -o both.html sites.pftrace -- grows.pftrace
gives 'has a table of it' 'What heaps hold at the end, by call stack' tells 'What heaps hold' both.html
gives 'with what only one has' 'only in B' tells 'grow_site' both.html

finish
