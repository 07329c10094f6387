#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Heaps besides malloc(): what a program says of its own allocator, and what it maps.
# The checks call functions by name.
# shellcheck disable=SC2317
# shellcheck source=tests/integration/heap-lib.sh
. "$(dirname "$0")/heap-lib.sh"

MIB=1048576
gives 'without a recording a program with a heap of its own runs as ever' '^alone$' "$HEAP_OWN"
gives 'and with the library alone' '^recorded$' env LD_PRELOAD="$HEAP_LIBRARY" "$HEAP_OWN"

ok 'it is recorded' record own.pftrace --heap=4K -- "$HEAP_OWN"
gives 'and runs as before' '^recorded$' cat own.pftrace.out
gives 'its heaps are there by name' '^"libc.malloc,mmap,tiles"$' sql own.pftrace \
        "SELECT group_concat(heap_name) FROM (SELECT DISTINCT heap_name FROM heap_site ORDER BY 1)"

# Its own: a sample for every 4 KiB, so the standard deviation of 10 MB is 2 %. Beyond five of them is one in a million.
in_heap() {
        of_site own.pftrace "$2" "sum(CASE heap_name WHEN '$1' THEN $3 END)"
}
ok 'what its allocator keeps' about 10 10000000 in_heap tiles kept_tiles 'allocated - freed'
ok 'how many pieces that is' about 10 20000 in_heap tiles kept_tiles 'n_allocated - n_freed'
ok 'what lived shortly' about 10 10000000 in_heap tiles short_tiles freed_soon
gives 'none of it is left' '^0$' in_heap tiles short_tiles 'allocated - freed'
ok 'what was given back at once' about 10 10000000 in_heap tiles arena_tiles freed
gives 'of which nothing is left either' '^0$' in_heap tiles arena_tiles 'allocated - freed'
ok 'a heap has a peak of its own' about 10 20000000 sql own.pftrace \
        "SELECT sum(at_peak) FROM heap_site WHERE heap_name = 'tiles'"
gives 'the stack begins where it was told' '^0$' in_heap libc.malloc kept_tiles allocated
gives 'the frames begin with the function that was called' '^1$' sql own.pftrace \
        "SELECT count(DISTINCT s.name) FROM heap_site h JOIN stack_profile_callsite c ON c.id = h.callsite_id
        JOIN stack_profile_frame f ON f.id = c.frame_id
        LEFT JOIN stack_profile_symbol s ON s.symbol_set_id = f.symbol_set_id WHERE h.heap_name = 'tiles'"

# What is mapped is counted to the byte.
gives 'maps that are kept' "^$((10 * MIB))\$" in_heap mmap kept_maps 'allocated - freed'
gives 'each counts once' '^10$' in_heap mmap kept_maps n_allocated
gives 'what was cut out is gone' "^$((2 * MIB))\$" in_heap mmap cut_map 'allocated - freed'
gives 'one that has grown is as large as it is' "^$((3 * MIB))\$" in_heap mmap moved_map 'allocated - freed'
gives 'one that another took the place of is gone' '^0$' in_heap mmap replaced_map 'allocated - freed'
gives 'after it was there' "^$((2 * MIB))\$" in_heap mmap replaced_map allocated
gives 'address space and small maps are not counted' '^0$' in_heap mmap other_maps allocated
gives 'nothing contradicts itself' '^0$' sql own.pftrace \
        "SELECT coalesce(sum(value), 0) FROM stats WHERE name IN ('stackprofile_invalid', 'heapprofd_malformed_packet',
        'tokenizer_skipped_packets')"
ok 'inspect has all heaps' holds own.pftrace "sorted(h['heap'] for h in t['heaps']) == ['libc.malloc', 'mmap', 'tiles']"

# The example: what it says itself is in use is what its heap has; what a frame took is gone with it.
ok 'the example is recorded' record arena.pftrace --heap=1K -- "$EXAMPLE_PROGRAMS/arena-desktrace" --seconds 1
in_use=$(sed -n 's/ bytes of the world are in use//p' arena.pftrace.out)
ok 'what it has not given back' about 10 "${in_use:-0}" sql arena.pftrace \
        "SELECT sum(allocated - freed) FROM heap_site WHERE heap_name = 'world'"
gives 'by the function that leaks' "^\"?world\"?,1\$" sql arena.pftrace \
        "SELECT heap_name, count(*) FROM heap_site WHERE allocated > freed AND heap_name IN ('world', 'frame')
        GROUP BY 1"
gives 'frames take and give back' '^1$' sql arena.pftrace \
        "SELECT sum(allocated) > 100000 AND sum(allocated) = sum(freed) FROM heap_site WHERE heap_name = 'frame'"

# A config says which heaps are wanted, as Perfetto's do.
heaps_of() {
        cat >choice.pbtxt <<END
buffers { size_kb: 16384 }
data_sources { config { name: "heap.malloc" heapprofd_config { sampling_interval_bytes: 4096 $1 } } }
END
        record_config choice.pftrace choice.pbtxt -- env LD_PRELOAD="$HEAP_LIBRARY" DESKTRACE_HEAP=4096 \
                DESKTRACE_WAIT=5000 "$HEAP_OWN" || return
        sql choice.pftrace "SELECT group_concat(heap_name) FROM (SELECT DISTINCT heap_name FROM heap_site ORDER BY 1)"
}
gives "without a choice it is malloc()'s" '^libc.malloc$' heaps_of ''
gives 'one by name' '^tiles$' heaps_of 'heaps: "tiles"'
gives 'all but one' '^"mmap,tiles"$' heaps_of 'all_heaps: true exclude_heaps: "libc.malloc"'
finish
