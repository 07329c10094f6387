#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Programs of other languages, toolkits and frameworks, as far as they are installed: what they allocate is known in
# part, and that part is in the recording. tests/machines has systems where all of them are.
# The checks call functions by name.
# shellcheck disable=SC2016,SC2317
# shellcheck source=tests/integration/heap-lib.sh
. "$(dirname "$0")/heap-lib.sh"

# has_tool COMMAND...: it is installed, and works here
has_tool() {
        command -v "$1" >/dev/null && timeout 60 "$@" >/dev/null 2>&1 </dev/null
}

# is_recorded FILE COMMAND...: a sample for every 4 KiB
is_recorded() {
        record "$1" --heap=4K -- timeout 120 "${@:2}"
}

# between FILE LEAST MOST EXPRESSION [CONDITION]: over the sites of malloc()
between() {
        sql "$1" "SELECT $4 BETWEEN $2 AND $3, $4 FROM heap_site WHERE heap_name = 'libc.malloc' AND ${5:-1}"
}

# complete FILE: 99 of 100 bytes have complete call stacks
complete() {
        sql "$1" "WITH RECURSIVE up(site, callsite) AS (SELECT id, callsite_id FROM heap_site
                UNION ALL SELECT up.site, c.parent_id FROM up JOIN stack_profile_callsite c ON c.id = up.callsite
                WHERE c.parent_id IS NOT NULL),
                cut AS (SELECT DISTINCT up.site FROM up JOIN stack_profile_callsite c ON c.id = up.callsite
                JOIN stack_profile_frame f ON f.id = c.frame_id WHERE f.name = '[truncated]')
                SELECT sum(CASE WHEN id IN (SELECT site FROM cut) THEN allocated ELSE 0 END) * 100 <= sum(allocated),
                sum(allocated) FROM heap_site WHERE heap_name = 'libc.malloc'"
}

# Python: 1,000 objects of 5,000 bytes each, and its small ones in pools unless malloc() is asked for them.
if has_tool python3 -c 'import sys; sys.exit(sys.implementation.name != "cpython")'; then
        cat >keeps.py <<'END'
import os
kept = [bytes(5000) for _ in range(1000)]
small = [object() for _ in range(200000)]
os._exit(0)
END
        ok 'Python is recorded' is_recorded python.pftrace env PYTHONMALLOC=malloc python3 keeps.py
        gives 'with what it has kept' '^1,' between python.pftrace 7000000 40000000 'sum(allocated - freed)'
        gives 'and complete stacks' '^1,' complete python.pftrace
else
        skip_check 'Python is recorded' 'python3 is not installed'
fi

if has_tool gjs --version; then
        ok 'GJS is recorded' is_recorded gjs.pftrace gjs -c 'const GLib = imports.gi.GLib; const kept = [];
                for (let i = 0; i < 2000; i++) kept.push(GLib.Bytes.new(new Uint8Array(5000))); 0'
        gives 'with what it has allocated' '^1,' between gjs.pftrace 9000000 100000000 'sum(allocated)'
else
        skip_check 'GJS is recorded' 'gjs is not installed'
fi

# A program that runs until it is stopped: what it has then is in the recording.
if command -v gtk4-demo >/dev/null && command -v xvfb-run >/dev/null && command -v xauth >/dev/null; then
        in_window() {
                xvfb-run -a -s '-screen 0 1024x768x24' env GDK_BACKEND=x11 GSK_RENDERER=cairo LIBGL_ALWAYS_SOFTWARE=1 \
                        "$DESKTRACE" record --standalone -p apps -f -o gtk.pftrace --heap=4K -- \
                        timeout -k 5 6 gtk4-demo --run=spinner >gtk.out 2>&1
                [ -s gtk.pftrace ] || { cat gtk.out; return 1; }
        }
        ok 'a GTK 4 app is recorded' in_window
        gives 'with what it has allocated' '^1,' between gtk.pftrace 500000 2000000000 'sum(allocated)' \
                "upid IN (SELECT upid FROM process WHERE name LIKE 'gtk4-demo%')"
        gives 'and complete stacks' '^1,' complete gtk.pftrace
else
        skip_check 'a GTK 4 app is recorded' 'gtk4-demo or Xvfb is not installed'
fi

# 100 buffers of a second of sound each, 352,800 bytes, one after the other.
if has_tool gst-launch-1.0 fakesrc num-buffers=1 ! fakesink; then
        ok 'GStreamer is recorded' is_recorded gst.pftrace gst-launch-1.0 -q \
                fakesrc num-buffers=100 sizetype=fixed sizemax=352800 filltype=zero ! queue ! fakesink
        gives 'with what it has allocated' '^1,' between gst.pftrace 30000000 200000000 'sum(allocated)'
        gives 'by thread' '^"?[a-z]' sql gst.pftrace \
                "SELECT thread_name FROM heap_site GROUP BY 1 ORDER BY sum(allocated) DESC LIMIT 1"
else
        skip_check 'GStreamer is recorded' 'gst-launch-1.0 is not installed'
fi

# Rust's default allocator is malloc().
cat >keeps.rs <<'END'
#[inline(never)]
fn rust_site() -> Vec<Vec<u8>> {
    (0..1000).map(|i| vec![i as u8; 8000]).collect()
}
fn main() {
    let kept = rust_site();
    println!("{}", kept.iter().map(|v| v[0] as usize).sum::<usize>());
    std::mem::forget(kept);
}
END
if has_tool rustc -O -C debuginfo=1 -o ./keeps-rust keeps.rs; then
        ok 'a Rust program is recorded' is_recorded rust.pftrace ./keeps-rust
        gives 'with what it has kept' '^1,' between rust.pftrace 7200000 9000000 'sum(allocated - freed)'
else
        skip_check 'a Rust program is recorded' 'rustc is not installed'
fi

# Go has an allocator of its own. One that is static is refused; in one that calls C that part is seen.
mkdir -p keeps-go
cat >keeps-go/main.go <<'END'
package main

/*
#include <stdlib.h>
#include <unistd.h>
static void *volatile kept[1000]; // or the compiler sees that nobody reads it
static void keep(int i) { kept[i] = malloc(8000); }
*/
import "C"

func main() {
        for i := 0; i < 1000; i++ {
                C.keep(C.int(i))
        }
        C.sleep(5) // for a dump: Go ends without the C library
}
END
printf 'package main\n\nfunc main() {}\n' >plain.go
export GOCACHE=$PWD/go-cache GOFLAGS=-mod=mod GO111MODULE=off
if has_tool go version && CGO_ENABLED=0 go build -o ./plain-go plain.go >/dev/null 2>&1; then
        exits 1 'a static Go program is refused' 'plain-go is linked statically' \
                "$DESKTRACE" record --standalone -p apps -f -o refused.pftrace --heap -- ./plain-go
        if (cd keeps-go && CGO_ENABLED=1 go build -o ../keeps-cgo main.go) >/dev/null 2>&1; then
                ok 'one that calls C is recorded' is_recorded go.pftrace ./keeps-cgo
                gives 'with what C has kept' '^1,' between go.pftrace 7200000 9000000 'sum(allocated - freed)'
        else
                skip_check 'one that calls C is recorded' 'this Go has no cgo'
        fi
else
        skip_check 'a static Go program is refused' 'go is not installed'
fi

# A browser runs, and says what cannot be seen of it.
for name in chromium chromium-browser google-chrome; do
        chromium=$(command -v $name) && break
done
if [ "$chromium" ]; then
        browse() {
                "$DESKTRACE" record --standalone -p apps -f -o chromium.pftrace --heap=32K -- timeout -k 5 30 \
                        "$chromium" --headless --no-sandbox --disable-gpu --no-first-run \
                        --disable-background-networking --user-data-dir="$PWD/profile" \
                        --dump-dom 'data:text/html,<p>it is shown</p>' >chromium.out 2>&1 || true
                grep -q 'it is shown' chromium.out || { cat chromium.out; return 1; }
        }
        ok 'Chromium shows a page' browse
        inspect() {
                "$DESKTRACE" inspect chromium.pftrace || [ $? = 6 ]
        }
        gives 'and the recording tells what is not in it' 'PartitionAlloc seems to be a part of ' inspect
else
        skip_check 'Chromium shows a page' 'Chromium is not installed'
fi

# Any program of which an allocator is a part says so.
cat >pools.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char text[] = "<jemalloc>: Error\n";

int main(int argc, char **argv) {
        (void)argv;
        free(malloc(100000));
        usleep(500000); /* what it tells when it is recorded is for its life */
        return argc > 9 ? puts(text) : 0;
}
END
if has_tool cc -O0 -o ./pools pools.c; then
        ok 'a program with an allocator of its own' is_recorded pools.pftrace ./pools
        gives 'which is not seen, as the recording tells' 'jemalloc seems to be a part of ' \
                sh -c '"$0" inspect pools.pftrace || [ $? = 6 ]' "$DESKTRACE"
else
        skip_check 'a program with an allocator of its own' 'there is no compiler'
fi
finish
