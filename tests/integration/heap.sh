#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# What programs allocate, by call stack: sites whose sizes are known, and programs that are hard to watch.
# The checks call functions by name.
# shellcheck disable=SC2317
# shellcheck source=tests/integration/heap-lib.sh
. "$(dirname "$0")/heap-lib.sh"

# A sample for every 4 KiB: the standard deviation of 12 MB is 1.9 %. Beyond five of them is one in a million.
ok 'the allocations of a command are recorded' record sites.pftrace --heap=4K -- "$HEAP_SITES" sites
ok 'what was never freed' about 10 12000000 of_site sites.pftrace leak_site 'sum(allocated - freed)'
ok 'how many that were' about 10 2000 of_site sites.pftrace leak_site 'sum(n_allocated - n_freed)'
ok 'what was freed at once' about 5 60000000 of_site sites.pftrace churn_site 'sum(allocated)'
gives 'nothing of it is left' '^0$' of_site sites.pftrace churn_site 'sum(allocated - freed)'
ok 'it lived shortly' about 5 60000000 of_site sites.pftrace churn_site 'sum(freed_soon)'
gives 'nothing is left of the peak' '^0$' of_site sites.pftrace peak_site 'sum(allocated - freed)'
ok 'which is there nevertheless' about 10 16000000 of_site sites.pftrace peak_site 'sum(at_peak)'
ok 'with what else was there' about 10 12000000 of_site sites.pftrace leak_site 'sum(at_peak)'
gives "nothing is of the library's own thread" '^0$' of_site sites.pftrace connection_run 'sum(allocated)'
gives "Perfetto's table says the same" '^0$' sql sites.pftrace \
        "SELECT (SELECT sum(size) FROM heap_profile_allocation) - (SELECT sum(allocated - freed) FROM heap_site)"
gives 'nothing is wrong with the stacks' '^0$' sql sites.pftrace \
        "SELECT coalesce(sum(value), 0) FROM stats WHERE name IN ('stackprofile_invalid', 'heapprofd_malformed_packet',
        'tokenizer_skipped_packets')"
gives 'and 99 of 100 bytes have complete ones' '^1$' sql sites.pftrace \
        "WITH RECURSIVE up(site, callsite) AS (SELECT id, callsite_id FROM heap_site
        UNION ALL SELECT up.site, c.parent_id FROM up JOIN stack_profile_callsite c ON c.id = up.callsite
        WHERE c.parent_id IS NOT NULL)
        SELECT sum(CASE WHEN id IN (SELECT up.site FROM up JOIN stack_profile_callsite c ON c.id = up.callsite
        JOIN stack_profile_frame f ON f.id = c.frame_id WHERE f.name = '[truncated]') THEN allocated ELSE 0 END) * 100
        < sum(allocated) FROM heap_site"
gives 'the sums are of when the program ended' '^1$' sql sites.pftrace "SELECT DISTINCT at_exit FROM heap_site"
gives 'the program has its name' 'heap-sites' sql sites.pftrace \
        "SELECT DISTINCT p.name FROM heap_site JOIN process p USING (upid)"

# What inspect shows is what the tables have.
in_use=$(sql sites.pftrace 'SELECT sum(allocated - freed) FROM heap_site')
peak=$(sql sites.pftrace 'SELECT sum(at_peak) FROM heap_site')
soon=$(sql sites.pftrace 'SELECT sum(freed_soon) FROM heap_site')
n_sites=$(sql sites.pftrace 'SELECT count(*) FROM heap_site')
ok 'inspect has the sums' holds sites.pftrace "[(h['in_use'], h['at_peak'], h['freed_soon'], h['stacks'], h['at_exit'])
        for h in t['heaps']] == [($in_use, $peak, $soon, $n_sites, True)]"
ok 'what is in use' holds sites.pftrace "'leak_site < ' in t['heaps'][0]['most_in_use'][0]['stack']"
ok 'what was in use at the peak' holds sites.pftrace "'peak_site < ' in t['heaps'][0]['most_at_peak'][0]['stack']"
ok 'what was freed at once' holds sites.pftrace "'churn_site < ' in t['heaps'][0]['most_freed_soon'][0]['stack']"
ok 'and how many stacks are complete' holds sites.pftrace "(0 < t['heaps'][0]['complete_stacks'] <= $n_sites and
        t['heaps'][0]['complete_allocated'] * 100 >= t['heaps'][0]['allocated'] * 99 and
        t['heaps'][0]['others_allocated'] == 0 == t['invalid_heap_sums'])"
shows() {
        "$DESKTRACE" inspect --top=1 "$1" || [ $? = 6 ]
}
gives 'so it does in words' 'When it ended, .* at the peak .* was in use' shows sites.pftrace
gives 'with a table of each' '^ *[0-9.]+ MiB +[0-9]+ +[0-9.]+ % +.*churn_site < ' shows sites.pftrace

# What grows is what the tables say that it does. Of three dumps, one is made while the program grows.
cat >grows.pbtxt <<'END'
buffers { size_kb: 16384 }
data_sources { config { name: "heap.malloc" heapprofd_config { sampling_interval_bytes: 2048
        continuous_dump_config { dump_interval_ms: 100 } } } }
END
n_dumps() {
        sql "$1" 'SELECT count(DISTINCT ts) FROM heap_profile_allocation'
}
grows() {
        local try
        for try in 1 2 3; do
                record_config grows.pftrace grows.pbtxt -- env LD_PRELOAD="$HEAP_LIBRARY" DESKTRACE_HEAP=2048 \
                        DESKTRACE_WAIT=5000 "$HEAP_SITES" grows || return
                [ "$(n_dumps grows.pftrace)" -lt 3 ] || return 0
        done
        echo "no dumps while it grows in any of $try recordings"
        return 1
}
ok 'a program that grows' grows
why() {
        "$DESKTRACE" why grows "$@" >answer || [ $? = 6 ]
}
ok 'is asked about' why --json=short --top=0 grows.pftrace
behind='ts > (SELECT min(ts) FROM heap_profile_allocation)'
growth=$(sql grows.pftrace "SELECT sum(size) FROM heap_profile_allocation WHERE $behind")
left=$(sql grows.pftrace 'SELECT sum(allocated - freed) FROM heap_site WHERE at_exit')
ok 'it grew by what came after the first dump' json_holds answer "0 < t['growth_bytes'] == $growth"
ok 'and left what it had not freed' json_holds answer "(t['not_freed_bytes'], t['heaps_at_exit']) == ($left, 1)"
ok 'each call stack by its own' json_holds answer "sum(r['growth_bytes'] for r in t['rows']) == $growth and any(
        'grow_site < ' in r['stack'] and r['growth_bytes'] > 0 for r in t['rows'])"
ok 'most is of where most was allocated' json_holds answer "'leak_site < ' in t['most_not_freed_stack']"
said() {
        why "$@" && cat answer
}
gives 'people read it in sentences' '^Between their first and their last dump heaps grew by ' said grows.pftrace
gives 'with a table' ' grow_site < ' said --no-legend grows.pftrace
if [ "$(n_dumps sites.pftrace)" = 1 ]; then
        gives 'one dump tells of no growth' '^Heaps with one dump .* is not known: 1\.' said sites.pftrace
else
        skip_check 'one dump tells of no growth' 'it took so long that there are more'
fi
gives 'any tells of what was never freed' '^Most of that, .* leak_site < ' said sites.pftrace

# By thread: each has a name, which is where its stacks begin.
ok 'a program with threads' record threads.pftrace --heap=4K -- "$HEAP_SITES" threads
of_thread() {
        sql threads.pftrace \
                "SELECT coalesce($2, 0) FROM heap_site WHERE thread_name = '$1' AND heap_name = 'libc.malloc'"
}
ok 'what one of them has kept' about 10 12000000 of_thread keeper 'sum(allocated - freed)'
ok 'what the other one has freed at once' about 5 60000000 of_thread freer 'sum(freed_soon)'
kept=$(of_thread keeper 'sum(allocated - freed)')
ok 'inspect has the same' holds threads.pftrace "[(h['in_use'], h['freed_soon']) for h in t['heaps'][0]['threads'] if
        h['thread'] == 'keeper'] == [($kept, 0)]"
gives 'people read it in a table' '^keeper +[0-9.]+ MiB ' shows threads.pftrace
gives 'a flame graph begins with it' '^"?\[thread keeper\]"?$' sql threads.pftrace \
        "SELECT DISTINCT f.name FROM stack_profile_callsite c JOIN stack_profile_frame f ON f.id = c.frame_id
        WHERE c.parent_id IS NULL AND f.name LIKE '%keeper%'"
ok 'a program that grows has grown by thread' why --json=short --top=0 grows.pftrace
ok 'each growth has its thread' json_holds answer "all(r['thread'] == 'heap-sites' for r in t['rows']
        if 'grow_site < ' in r['stack']) and t['most_growing_thread'] == 'heap-sites'"
gives 'which is told' 'By thread, it was heap-sites of heap-sites' said grows.pftrace

# A program that ends without its destructors is written as well.
ends_early() {
        local status=0
        "$DESKTRACE" record --standalone -p apps -f -o early.pftrace --heap=4K -- "$HEAP_SITES" quick >/dev/null 2>&1 ||
                status=$?
        [ "$status" = 3 ]
}
ok 'a program that ends by _exit() has its own status' ends_early
ok 'and is recorded to the end' about 10 12000000 of_site early.pftrace leak_site 'sum(allocated - freed)'

# Small stacks, forks under load, handlers of signals, closed descriptors, failures; and every allocation is a sample.
gives 'a program that is hard to watch works as ever' 'all is well' \
        "$DESKTRACE" record --standalone -p apps -f -o traps.pftrace --heap=1 -- "$HEAP_SITES" traps
gives 'and without any recording' 'all is well' \
        env LD_PRELOAD="$HEAP_LIBRARY" "$HEAP_SITES" traps

# Two recordings of one program, with intervals of their own: each sees what it would see alone.
cat >two.pbtxt <<'END'
buffers { name: "one" size_kb: 16384 }
buffers { name: "two" size_kb: 16384 }
data_sources { config { name: "heap.malloc" target_buffer_name: "one"
        heapprofd_config { sampling_interval_bytes: 2048 } } }
data_sources { config { name: "android.heapprofd" target_buffer_name: "two"
        heapprofd_config { sampling_interval_bytes: 16384 process_cmdline: "heap-*" } } }
END
ok 'two recordings of one program' record_config two.pftrace two.pbtxt -- \
        env LD_PRELOAD="$HEAP_LIBRARY" DESKTRACE_HEAP=2048 DESKTRACE_WAIT=5000 "$HEAP_SITES" sites
in_difference() {
        "$DESKTRACE" diff --metric=heap --top=0 --json=short sites.pftrace -- "$1" >difference || [ $? = 6 ] || return
        python3 -c 'import json; print(sum(r["b_bytes"] or 0 for r in json.load(open("difference"))["rows"]))'
}
both() {
        sql two.pftrace "SELECT count(DISTINCT sampling_interval_bytes) FROM heap_site"
}
gives 'each has an interval of its own' '^2$' both
gives 'and a number' '^0$' sql two.pftrace \
        'SELECT DISTINCT recording FROM heap_site WHERE sampling_interval_bytes = 2048'
ok 'inspect shows both' holds two.pftrace \
        "sorted(h['recording'] for h in t['heaps'] if h['heap'] == 'libc.malloc') == [0, 1]"
left=$(sql two.pftrace 'SELECT sum(allocated - freed) FROM heap_site WHERE recording = 0 AND at_exit')
ok 'so what was not freed is asked for' why --json=short two.pftrace
ok 'and counts once' json_holds answer "t['not_freed_bytes'] == $left"
ok 'so does a difference' about 10 12000000 in_difference two.pftrace
ok 'the one from the start has all' about 10 12000000 \
        of_site two.pftrace leak_site 'sum(CASE sampling_interval_bytes WHEN 2048 THEN allocated - freed END)'

# glibc keeps more blocks for each thread, as there is one more thread, unless the user says otherwise.
tunables() {
        "$DESKTRACE" record --standalone -p apps -f -o tunables.pftrace --heap -- sh -c 'echo "<$GLIBC_TUNABLES>"'
}
unset GLIBC_TUNABLES
gives 'the C library gets a larger cache' '^<glibc.malloc.tcache_count=127>$' tunables
GLIBC_TUNABLES=glibc.malloc.check=0 \
        gives 'beside what the user sets' '^<glibc.malloc.check=0:glibc.malloc.tcache_count=127>$' tunables
GLIBC_TUNABLES=glibc.malloc.tcache_count=3 \
        gives 'but not in place of it' '^<glibc.malloc.tcache_count=3>$' tunables

exits 2 'without a command there is nothing to load' 'requires a command' \
        "$DESKTRACE" record --standalone --heap -f -o refused.pftrace
exits 2 'what is no size is refused' 'try --heap=32K' \
        "$DESKTRACE" record --standalone --heap=much -f -o refused.pftrace -- true
exits 1 'where the library is not installed it is said' 'is not installed' \
        env DESKTRACE_HEAP_LIBRARY=/nowhere "$DESKTRACE" record --standalone --heap -f -o refused.pftrace -- true

# What the library cannot be loaded into is refused before it runs: made of a program that it can be loaded into.
change() {
        python3 - "$@" <<'END'
import struct, sys

what, source, target = sys.argv[1:]
file = bytearray(open(source, "rb").read())
if what == "static":
    offset, = struct.unpack_from("=Q", file, 32)
    size, n = struct.unpack_from("=HH", file, 54)
    for at in range(offset, offset + n * size, size):
        if struct.unpack_from("=I", file, at) == (3,):
            struct.pack_into("=I", file, at, 0)
elif what == "musl":
    for name in (b"/lib64/ld-linux-x86-64.so.2", b"/lib/ld-linux-aarch64.so.1", b"/lib/ld-linux.so.2"):
        file = file.replace(name, b"/lib/ld-musl-x.so".ljust(len(name), bytes(1)))
elif what == "class":
    file[4] = 3 - file[4]
elif what == "processor":
    struct.pack_into("=H", file, 18, 0xbeef)
open(target, "wb").write(file)
END
        chmod +x "$3"
}
for what in static class processor musl; do
        ok "a program is changed: $what" change "$what" "$HEAP_SITES" "./of-$what"
done
printf '#!%s/of-static -x\necho ran\n' "$PWD" >script
cp "$HEAP_SITES" plain
printf '#!%s/plain\n' "$PWD" >plain-script
chmod +x script plain-script
refused() {
        "$DESKTRACE" record --standalone -p apps -f -o refused.pftrace --heap -- "$@"
}
exits 1 'one that is linked statically is refused' 'of-static is linked statically' refused ./of-static
exits 1 'and is looked for where commands are' 'of-static is linked statically' env PATH="$PWD:$PATH" \
        "$DESKTRACE" record --standalone -p apps -f -o refused.pftrace --heap -- of-static
exits 1 'so is a script of such a program' 'of-static is linked statically' refused ./script
exits 1 'one of another class of ELF' 'of-class is for another kind of processor, or of another ELF class' \
        refused ./of-class
exits 1 'one for another processor' 'of-processor is for another kind of processor' refused ./of-processor
exits 1 'one for another C library' 'of-musl has another C library \(musl\)' refused ./of-musl
ok 'nothing is written then' nothing_is_there 'refused.pftrace*'
exits 2 'a script of one that can be seen runs' 'Recorded' refused ./plain-script

# Doctor tells the same of each, and how to begin.
doctor() {
        "$DESKTRACE" doctor --json=short "$@" || [ $? = 10 ]
}
gives 'doctor tells of one that is linked statically' 'heap.*of-static is linked statically' doctor ./of-static
gives 'of another C library' 'heap.*of-musl has another C library' doctor ./of-musl
gives 'and how others are recorded' "desktrace record --heap -- '[^']*/plain'" doctor ./plain
cp "$HEAP_SITES" sanitized
printf '__asan_init mi_malloc' >>sanitized
gives 'which sanitizers' 'its heap cannot be recorded' doctor ./sanitized
cp "$HEAP_SITES" pools
printf 'jemalloc' >>pools
gives 'and allocators of their own hinder' 'jemalloc may be a part of it' doctor ./pools
without_library() {
        DESKTRACE_HEAP_LIBRARY=/nowhere doctor "$@"
}
gives 'without the library that is what is said' 'libdesktrace-heap.so is not installed' without_library ./plain

# An app of Flatpak gets all of it inside of its sandbox, and flatpak itself nothing. This one has no sandbox.
cat >flatpak <<'END'
#!/bin/sh
[ -z "$LD_PRELOAD" ] || exit 9
printf '%s\n' "$@" >flatpak-words
shift 2
while :; do
        case $1 in
        --env=*) export "${1#--env=}" ;;
        --*) ;;
        *) break ;;
        esac
        shift
done
exec "$HEAP_SITES" sites
END
chmod +x flatpak
ok 'an app of Flatpak is recorded' record app.pftrace --heap=4K -- ./flatpak --user run --branch=stable org.example.App
ok 'with what it allocates' about 10 12000000 of_site app.pftrace leak_site 'sum(allocated - freed)'
gives 'it is shown the library' '^--filesystem=.*:ro$' cat flatpak-words
gives 'and the socket of the recording' '^--filesystem=.*/native.sock$' cat flatpak-words
gives 'its own options follow' '^--branch=stable$' cat flatpak-words

# Privileges: the kernel must give them, and not to root, who has them.
alice=$(id -u games)
if [ "$(id -u)" != 0 ] || grep -q 'NoNewPrivs:[[:space:]]*1' /proc/self/status ||
        findmnt -nT . -o OPTIONS | grep -qw nosuid || ! as "$alice" "$DESKTRACE" --version >/dev/null; then
        skip_check 'one with privileges of its own is refused' 'needs root, and a file system with setuid'
else
        for what in setuid setgid capable setuid-of-hers; do
                cp "$HEAP_SITES" "./$what"
                chmod 755 "./$what"
        done
        chmod u+s setuid
        chgrp games setgid
        chmod g+s setgid
        chown "$alice" setuid-of-hers
        chmod u+s setuid-of-hers
        python3 -c 'import os, struct
os.setxattr("capable", "security.capability", struct.pack("<5I", 0x02000001, 1 << 10, 0, 0, 0))' || rm capable
        privileged() {
                as "$alice" "$DESKTRACE" record --standalone -p apps -f -o "$TMPDIR/privileged.pftrace" --heap -- "$@"
        }
        exits 1 'one that runs as another user is refused' 'privileges than yours \(setuid\)' privileged ./setuid quick
        exits 1 'one of another group' 'privileges than yours \(setgid\)' privileged ./setgid quick
        chmod u-r,g-r,o-r setuid
        exits 1 'also if it cannot be read' 'privileges than yours \(setuid\)' privileged ./setuid quick
        if [ -e capable ]; then
                exits 1 'one with capabilities' 'privileges than yours \(file capabilities\)' privileged ./capable quick
                exits 3 'which is nothing to root' 'Recorded' refused ./capable quick
        else
                skip_check 'one with capabilities' 'this file system has none'
        fi
        exits 3 'one that is setuid to its own user runs' 'Recorded' privileged ./setuid-of-hers quick
fi

finish
