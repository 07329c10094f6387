#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Call stacks of programs in places where they are hard to follow: in signal handlers, behind exec(), in libraries that
# come and go, in files that are deleted or in other root directories, of other compilers, C libraries and languages.
# The checks call functions by name.
# shellcheck disable=SC2317
# shellcheck source=tests/integration/stacks-lib.sh
. "$(dirname "$0")/stacks-lib.sh"

here=$(cd "$(dirname "$0")" && pwd)
export HOME=$PWD/home

# Names are found by the build ID, wherever the program was and whether it still is.
id=$(readelf -n "$STACKS_WORLD" | sed -n 's/.*Build ID: //p')
mkdir -p "home/.debug/.build-id/${id:0:2}"
objcopy --only-keep-debug "$STACKS_WORLD" "home/.debug/.build-id/${id:0:2}/${id:2}.debug"

# share FILE STACK: percent of its samples in spin() that have this below it, up to main()
share() {
        under "$1" spin "$2<main"
}

ok 'a signal handler is sampled' record handler.pftrace stacks-world "$STACKS_WORLD" handler
gives 'below it is what the signal interrupted' "$MOST" share handler.pftrace 'on_signal<%<interrupted'
gives 'to the end' "$MOST" complete handler.pftrace

# The kernel copies a stack up to the first page that was never touched.
ok 'a program with a large array is sampled' record hole.pftrace stacks-world "$STACKS_WORLD" hole
# All that is known of it is right: it is below the array.
hole() {
        reads query --csv --no-legend hole.pftrace "SELECT CASE WHEN sum(n) >= 50 THEN
                100 * sum(n * (names LIKE '%<spin<above_hole%')) / sum(n) ELSE 'only ' || sum(n) END
                FROM (${stacks/count(\*)/count(*) AS n}) WHERE names LIKE '%<spin<%'" 2>/dev/null
}
gives 'with what is below' "$MOST" hole
gives 'and it is said that the rest was not copied, if it was not' '^(memory_invalid)?$' \
        reads query --csv --no-legend hole.pftrace \
        "SELECT DISTINCT unwind_error FROM perf_sample WHERE unwind_error IN ('memory_invalid', 'unwind_info')"

cp "$STACKS_WORLD" after-world
ok 'a program that becomes another one is sampled' record exec.pftrace '*-world' "$STACKS_WORLD" exec ./after-world
halves() {
        local before after
        before=$(share exec.pftrace before_exec) after=$(share exec.pftrace plainly)
        echo "$before % before, $after % after"
        [ "$before" -ge 25 ] && [ "$after" -ge 25 ] && [ $((before + after)) -ge 95 ]
}
ok 'and has the functions of the one and then those of the other' halves

ok 'libraries that are loaded and dropped are sampled' record load.pftrace stacks-world \
        "$STACKS_WORLD" load "$STACKS_PLUGIN_ONE" "$STACKS_PLUGIN_OTHER"
plugins() {
        local one other
        one=$(share load.pftrace 'called_back<one<plugin<load')
        other=$(share load.pftrace 'called_back<other<plugin<load')
        echo "$one % in one, $other % in the other"
        [ "$one" -ge 25 ] && [ "$other" -ge 25 ] && [ $((one + other)) -ge 95 ]
}
ok 'each with its functions' plugins

# Each mapping is a record in the rings, and a process has room for 4096 of them. Others have theirs.
started "$STACKS_WORLD" maps
ok 'a program is sampled beside one that maps and unmaps without end' record beside.pftrace after-world ./after-world
gives 'and has its functions' "$MOST" share beside.pftrace plainly
gives 'to the end' "$MOST" complete beside.pftrace
ok 'while the other has not come to its end' kill -0 "$started"
kill "$started"

# Its name is another file's by then.
cat >deleted.sh <<'SH'
cp "$STACKS_WORLD" deleted-world
./deleted-world plain &
until [ "$(readlink "/proc/$!/exe")" = "$PWD/deleted-world" ] || ! kill -0 $!; do sleep 0.02; done
sleep 0.1
rm deleted-world
cp /bin/true deleted-world
wait
SH
export STACKS_WORLD
ok 'a program whose file is deleted is sampled' record deleted.pftrace deleted-world sh ./deleted.sh
gives 'with its functions' "$MOST" share deleted.pftrace plainly
enter_root() {
        local file
        mkdir -p root
        for file in $(ldd "$STACKS_WORLD" | grep -oE '/[^ ]+'); do
                cp --parents -L "$file" root || return
        done
        cp "$STACKS_WORLD" root/rooted-world
        chroot root /rooted-world plain >/dev/null
}
if enter_root 2>/dev/null; then
        ok 'a program in another root directory is sampled' record root.pftrace rooted-world \
                chroot root /rooted-world plain
        gives 'with its functions' "$MOST" share root.pftrace plainly
        gives 'to the end, in the C library of that directory' "$MOST" complete root.pftrace
fi
mkdir -p box
cp "$STACKS_WORLD" box/boxed-world
box=(bwrap --ro-bind / / --bind "$PWD/box" /srv --unshare-pid --proc /proc --dev /dev)
if command -v bwrap >/dev/null && "${box[@]}" true 2>/dev/null; then
        ok 'a program in a container is sampled' record box.pftrace boxed-world "${box[@]}" /srv/boxed-world plain
        gives 'with its functions' "$MOST" share box.pftrace plainly
fi

# A user's file system that has stopped answering: to open the program's file is to wait for ever.
if [ -w /dev/fuse ] && unshare -m true 2>/dev/null; then
        cp "$STACKS_TREE" stuck-world
        mkdir stuck
        started unshare -m --propagation private /usr/bin/python3 -B "$here/stuck-program.py" "$PWD/stuck" \
                ./stuck-world 100000 >stuck.out
        ok 'a program runs whose file can no longer be read' eventually grep -qE 'stuck|refused' stuck.out
fi
if grep -q stuck stuck.out 2>/dev/null; then
        ok 'it is sampled beside another one, and nothing waits for its file' record stuck.pftrace '*-world' \
                "$STACKS_WORLD" plain
        gives 'the other has its functions' "$MOST" share stuck.pftrace plainly
        read -r _ pid <stuck.out
        gives 'and it has samples' '^[1-9]' reads query --csv --no-legend stuck.pftrace \
                "SELECT count(*) FROM perf_sample JOIN thread USING (utid) WHERE tid = ${pid:-0}"
        kill "$started"
fi

# built COMPILER NAME OPTIONS...: with another compiler, if it is here
built() {
        command -v "$1" >/dev/null && "$1" -O2 -fomit-frame-pointer -Wl,--build-id -o "$2" "${@:3}" \
                "$here/stacks-world.c" -ldl 2>/dev/null
}
other_compiler() { # COMPILER NAME PROMISE OPTIONS...
        built "$1" "$2" "${@:4}" && ./"$2" plain || return 0
        ok "$3 is sampled" record "$2.pftrace" "$2" ./"$2" handler
        gives 'below its signal handler is what was interrupted' "$MOST" share "$2.pftrace" 'on_signal<%<interrupted'
        gives 'to the end' "$MOST" complete "$2.pftrace"
}
# musl has no rows itself, not even for the end of a signal handler: what runs under main() can be followed up to it.
other_library() { # NAME PROMISE OPTIONS...
        built musl-gcc "$1" "${@:3}" && ./"$1" plain || return 0
        ok "$2 is sampled" record "$1.pftrace" "$1" ./"$1" plain
        gives 'with its functions' "$MOST" share "$1.pftrace" plainly
}
other_compiler clang clang-world 'what Clang compiles'
other_compiler clang lld-world 'what LLD links' -fuse-ld=lld
other_compiler gcc frames-world 'a program with frame pointers' -fno-omit-frame-pointer
other_compiler gcc static-world 'a static program' -static
other_library musl-world 'a program of another C library'
other_library musl-static-world 'a static one of it' -static

if command -v rustc >/dev/null; then
        cat >rust-world.rs <<'RS'
#[inline(never)]
fn spin() -> u64 {
    let begun = std::time::Instant::now();
    let mut sum = 1u64;
    while begun.elapsed().as_millis() < 600 {
        for i in 0..100000u64 {
            sum = std::hint::black_box(sum.wrapping_mul(3) + i);
        }
    }
    sum
}
#[inline(never)]
fn plainly() -> u64 {
    std::hint::black_box(spin()) + 1
}
fn main() {
    std::thread::spawn(|| std::hint::black_box(plainly())).join().unwrap();
}
RS
        if rustc -O -o rust-world rust-world.rs 2>/dev/null; then
                ok 'what Rust compiles is sampled' record rust.pftrace rust-world ./rust-world
                gives 'with readable names' 'rust_world::spin' reads inspect rust.pftrace
                gives 'to the end' "$MOST" complete rust.pftrace
        fi
fi

recursion='import json
def f(n):
    return f(n - 1) if n else len(json.dumps(list(range(20000))))
for i in range(150): f(20)'
if [ -x /usr/bin/python3 ]; then
        ok 'an interpreter is sampled' record python.pftrace 'python3*' /usr/bin/python3 -c "$recursion"
        gives 'to the end of what it calls itself' "$MOST" complete python.pftrace
fi
if command -v gjs >/dev/null; then
        ok 'one that compiles while it runs is sampled' record gjs.pftrace 'gjs*' gjs -c \
                'function f(n) { return n < 2 ? n : f(n - 1) + f(n - 2); } f(31); f(31); 0;'
        gives 'to the end' "$MOST" complete gjs.pftrace
fi
finish
