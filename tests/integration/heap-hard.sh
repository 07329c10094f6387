#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Programs that are hard to watch end as they would without a recording, and what can be known of them is in it.
# The checks call functions by name.
# shellcheck disable=SC2016,SC2317
# shellcheck source=tests/integration/heap-lib.sh
. "$(dirname "$0")/heap-lib.sh"

# with_library INTERVAL COMMAND...: counts as for a recording, without one
with_library() {
        env LD_PRELOAD="$HEAP_LIBRARY" DESKTRACE_HEAP="$1" "${@:2}"
}
# ends_as_ever FILE MODE...: every allocation is a sample, and the program says and does what it does without us
ends_as_ever() {
        local file=$1 plain=0 watched=0
        shift
        { "$HEAP_HARD" "$@"; } >plain.out 2>/dev/null || plain=$?
        "$DESKTRACE" record --standalone -p apps -f -o "$file" --heap=1 -- "$HEAP_HARD" "$@" >watched.out 2>&1 ||
                watched=$?
        [ "$watched" != 6 ] || watched=0 # data was lost, on a busy machine
        [ "$plain" = "$watched" ] || { cat watched.out; echo "ended with $watched, and not with $plain"; return 1; }
        [ ! -s plain.out ] || grep -qF "$(cat plain.out)" watched.out
}
# The core that a program leaves is nobody's here.
ulimit -c 0

# Another program in the same process: what the first one had at its last dump is of it, and not of the second.
ok 'a program that runs another one' ends_as_ever exec.pftrace exec
ok 'which is recorded from its start' about 1 8000000 of_site exec.pftrace after_exec 'sum(allocated)'
gives 'as recording of its own' '^0$' sql exec.pftrace "SELECT DISTINCT recording FROM heap_site WHERE at_exit"

ok 'libraries that come and go' ends_as_ever plugins.pftrace plugins "$HEAP_PLUGIN_A" "$HEAP_PLUGIN_B"
ok 'what the first one has allocated' about 1 8000000 of_site plugins.pftrace first_plugin 'sum(allocated)'
ok 'and the second, which may be where the first was' about 1 8000000 \
        of_site plugins.pftrace second_plugin 'sum(allocated)'

ok 'a library that prefers its own symbols' ends_as_ever deep.pftrace deep "$HEAP_PLUGIN_A"
gives "it is not seen, as it calls the C library's malloc()" '^0$' \
        of_site deep.pftrace first_plugin 'sum(allocated)'

ok 'memory that runs out' ends_as_ever low.pftrace low-memory
gives 'what failed is not counted' '^1$' sql low.pftrace \
        "SELECT coalesce(sum(allocated), 0) <= 268435456 FROM heap_site WHERE heap_name = 'libc.malloc'"
# So little that the library's own tables find no room, or just.
starved() {
        local kib
        for kib in 20000 40000 60000 100000 200000; do
                (ulimit -v "$kib"; with_library 1 "$HEAP_HARD" who) >starved.out 2>&1 || { cat starved.out; return 1; }
                grep -q "^$(id -u) $(id -u)\$" starved.out || { cat starved.out; return 1; }
        done
}
ok 'a program in which the library itself finds no memory runs' starved

ok 'a program that forks and forks' ends_as_ever bomb.pftrace fork-bomb
gives 'of which only the first process is recorded' '^1$' sql bomb.pftrace 'SELECT count(DISTINCT upid) FROM heap_site'
if "$HEAP_HARD" many-threads >/dev/null; then
        ok 'a thousand threads with small stacks' ends_as_ever many.pftrace many-threads
        ok 'and all they allocate' about 1 21000000 of_site many.pftrace allocate 'sum(allocated)'
        gives 'of which nothing is left' '^0$' of_site many.pftrace allocate 'sum(allocated - freed)'
else
        skip_check 'a thousand threads with small stacks' 'this system allows fewer'
fi
ok 'a program that closes all descriptors and uses their numbers' ends_as_ever descriptors.pftrace descriptors ./own
gives 'its files have what it wrote' "^this file is the program's own\$" cat own
ok 'handlers that allocate at any time' ends_as_ever async.pftrace async
ok 'coroutines with stacks of their own' ends_as_ever coroutines.pftrace coroutines
ok 'and all they allocate' about 1 8000000 of_site coroutines.pftrace coroutine_site 'sum(allocated)'
ok 'threads that allocate when they are over' ends_as_ever last.pftrace last-calls
ok 'which is seen' about 1 4800000 of_site last.pftrace last_call 'sum(allocated)'
gives 'to the last' '^0$' of_site last.pftrace last_call 'sum(allocated - freed)'
ok "a program with a profiler of its own" ends_as_ever profiled.pftrace profiled

# In a pid namespace it is its first process, and has the number that others outside know it by.
if unshare --pid --fork true 2>/dev/null; then
        ok 'a program in a pid namespace' record namespace.pftrace --heap=4K -- unshare --pid --fork "$HEAP_SITES" sites
        gives 'is who it is outside' '^1$' sql namespace.pftrace "SELECT min(p.pid) > 1 FROM heap_site
                JOIN process p USING (upid) WHERE p.name = 'heap-sites'"
else
        skip_check 'a program in a pid namespace' 'there can be none here'
fi

# A unit's or a container's limit of memory: what comes near to it runs, with our memory beside its own, and what
# exceeds it is killed.
MIB=$((1 << 20))
within_limit() {
        local top
        top=$(findmnt -nrt cgroup -o TARGET,OPTIONS | awk '$2 ~ /(^|,)memory(,|$)/ { print $1; exit }')
        if [ "$top" ]; then
                limit=$top$(sed -nE 's/^[0-9]+:([^:]*,)?memory(,[^:]*)?://p' /proc/self/cgroup)/desktrace-$$
                set -- memory.limit_in_bytes memory.memsw.limit_in_bytes
        else
                limit=$(findmnt -nrt cgroup2 -o TARGET | head -n 1)$(sed -n 's/^0:://p' /proc/self/cgroup)/desktrace-$$
                set -- memory.max memory.swap.max
        fi
        mkdir "$limit" || return
        trap 'rmdir "$limit"; cleanup' EXIT
        echo $((88 * MIB)) >"$limit/$1" || return
        [ ! -e "$limit/$2" ] || echo $((88 * MIB)) >"$limit/$2"
        printf '#!/bin/sh\necho $$ >"%s/cgroup.procs" && exec "%s" "$@"\n' "$limit" "$HEAP_HARD" >within
        chmod +x within
        ./within who
}
limited() {
        HEAP_HARD=./within "$@"
}
if within_limit >/dev/null 2>&1; then
        ok 'a program near to its limit of memory' limited ends_as_ever near.pftrace takes 72
        ok 'and all it has' about 1 $((72 * MIB)) of_site near.pftrace run_takes 'sum(allocated - freed)'
        ok 'one that exceeds it' limited ends_as_ever beyond.pftrace takes 120
        rmdir "$limit"
        trap cleanup EXIT
else
        skip_check 'a program near to its limit of memory' 'no limits of memory can be set here'
fi

# Some addresses in it look like functions of its own.
ok 'a program with a fixed place in memory' record fixed.pftrace --heap=4K -- "$HEAP_FIXED"
ok 'and what it allocates' about 1 8000000 of_site fixed.pftrace main 'sum(allocated)'

# With a malloc() of its own before ours, which has no reallocarray(): that is ours, and takes the program's realloc().
gives 'a program with a part of malloc() of its own' 'all is well' with_library 1 "$HEAP_OWN_MALLOC"

# What is wrong with a heap is found by the C library, as ever.
for mode in frees-twice frees-foreign overflows; do
        ok "a program that ends with its heap: $mode" ends_as_ever broken.pftrace $mode
done
ends_by_abort() {
        local status=0
        { with_library 1 "$HEAP_HARD" "$1"; } >abort.out 2>&1 || status=$?
        [ "$status" = 134 ] || { cat abort.out; echo "$status"; return 1; }
}
ok 'it is ended by a signal' ends_by_abort frees-twice
gives 'with the words of the C library' 'double free' cat abort.out

# Programs into which nothing is loaded.
if [ "$HEAP_STATIC" ]; then
        gives 'a static program runs' "^$(id -u)\$" with_library 1 "$HEAP_STATIC"
        ok 'so does one that a recorded command starts' \
                record static.pftrace --heap=1 -- /bin/sh -c "\"$HEAP_STATIC\"; exit 0"
        gives 'it is not in the recording' '^0$' sql static.pftrace \
                "SELECT count(*) FROM heap_site JOIN process p USING (upid) WHERE p.name = 'heap-static'"
else
        skip_check 'a static program runs' 'there is no static C library'
fi
alice=$(id -u games)
if [ "$(id -u)" != 0 ] || grep -q 'NoNewPrivs:[[:space:]]*1' /proc/self/status ||
        findmnt -nT . -o OPTIONS | grep -qw nosuid || ! as "$alice" "$DESKTRACE" --version >/dev/null; then
        skip_check 'a setuid program runs' 'needs root, and a file system with setuid'
else
        chmod 755 .
        cp "$HEAP_HARD" ./setuid
        chmod 4755 ./setuid
        gives 'a setuid program runs, with its rights' "^$alice 0\$" \
                as "$alice" env LD_PRELOAD="$HEAP_LIBRARY" DESKTRACE_HEAP=1 ./setuid who
fi

# An allocator of a sanitizer's own has to be the first, and the program says so, as it does with any other library.
if [ "$HEAP_SANITIZED" ]; then
        sanitized() {
                env ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0 LD_PRELOAD="$HEAP_LIBRARY" \
                        "$HEAP_SANITIZED" "$@"
        }
        gives 'a program with a sanitizer runs' 'all is well' sanitized many-threads
        gives 'and cannot be recorded, which doctor knows' 'its heap cannot be recorded' \
                sh -c '"$0" doctor --json=short "$1" || [ $? = 10 ]' "$DESKTRACE" "$HEAP_SANITIZED"
else
        skip_check 'a program with a sanitizer runs' 'the compiler has none'
fi

finish
