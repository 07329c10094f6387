#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A 32-bit Debian on a 64-bit kernel, as Steam and Wine have it: all of it builds there, its tests pass, and the
# 64-bit service records its programs.
# Time limit: 25 min

# shellcheck source=tests/machines/lib.sh
. "$(dirname "$0")/lib.sh"

case $(dpkg --print-architecture) in
amd64) ;;
*) skip_all 'runs i386 programs on amd64 only' ;;
esac

THREADS=4
SLICES=20000

# The library, with what it is made of and what reads what it writes.
unit_tests() {
        meson test -C build --list 2>/dev/null | sed -n 's/^.*unit \/ //p' |
                grep -E '^(buffer|core|lib|shared|smb|wire)-'
}

# record PROGRAM ARGUMENTS...: the program of the 32-bit machine, by the service of this one
record() {
        build/src/client/desktrace record --standalone -b 64M -o known.pftrace cat:known -- \
                chroot /srv/narrow "$@"
}

holds() {
        build/src/client/desktrace inspect --json=short known.pftrace | python3 -c '
import json, sys
t = json.load(sys.stdin)
sys.exit(0 if eval(sys.argv[1]) else f"not so: {sys.argv[1]}: {t}")' "$1"
}

# inside FUNCTION ARGUMENTS...: in there
inside() {
        as_root bash -c "$(declare -f "$1"); $*"
}

# All that can be built is, and what was said of the rest comes last.
builds_without_a_warning() {
        local log status=0

        log=$(mktemp)
        in_chroot ninja -k 0 -C build >"$log" || status=$?
        grep -E -A 6 'error:|warning:|^FAILED' "$log"
        rm -f "$log"
        return $status
}

machine bookworm/i386 build test
project
ok 'everything is configured' in_chroot meson setup build -Dprefix=/usr -Dprobes=enabled -Dwerror=true \
        -Dexample-gtk=disabled -Dexample-qt=disabled
ok 'and builds without a warning' builds_without_a_warning
ok 'it is a 32-bit library' in_chroot sh -c 'readelf -h build/src/lib/libdesktrace.so | grep -q ELF32'
ok 'the tests of the library and of the shared memory pass' in_chroot bash -c "$(declare -f unit_tests)
        meson test -C build --no-rebuild --print-errorlogs \$(unit_tests)"
ok 'a program can use it' in_chroot cc -Isrc/lib/include tests/machines/known-events.c -o known-events \
        build/src/lib/libdesktrace.so -lpthread -Wl,-rpath,"$PROJECT/build/src/lib"
narrow=$root

machine bookworm build test
project
ok 'the 64-bit service builds' \
        in_chroot sh -c 'meson setup build -Dprefix=/usr -Dtests=disabled -Dexamples=false && ninja -C build'
mkdir "$root/srv/narrow"
mount --bind "$root/tmp" "$narrow/tmp"          # where the private service has its socket
mount --rbind "$narrow" "$root/srv/narrow"
ok 'a 32-bit program is recorded by the 64-bit service' inside record $PROJECT/known-events $THREADS $SLICES
said 'and nothing is lost' 'No losses'
ok 'each of its slices is there' \
        inside holds "'[s[\"count\"] for s in t[\"slices\"]] == [$((THREADS * SLICES))]'"
ok 'numbers have all of their 64 bits' \
        inside holds "'[c[\"last\"] for c in t[\"counters\"]] == [float(0x7123456789abcdef)]'"
finish
