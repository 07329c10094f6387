#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# What of the library runs in other people's programs is compiled against musl as well, which has nothing but what
# POSIX and Linux say. Skipped without musl-gcc. Usage: check-musl.sh SOURCE-ROOT BUILD-ROOT
set -u
cd "$1" || exit 1

command -v musl-gcc >/dev/null || { echo '1..0 # SKIP there is no musl-gcc'; exit 0; }
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# The kernel's headers and sd-bus's, without glibc's beside them.
headers='#include <systemd/sd-bus.h>
#include <linux/futex.h>
#include <asm/errno.h>'
directories=$(cc -E -x c - <<<"$headers" | grep -oE '"/[^"]*/(systemd|linux|asm|asm-generic)/' | tr -d '"' | sort -u)
for directory in $directories; do
        ln -sfn "$directory" "$tmp/$(basename "$directory")"
done

n=0 n_failed=0
for file in src/lib/*.c src/smb/*.c src/wire/*.c src/shared/*.c; do
        n=$((n + 1))
        if output=$(musl-gcc -std=gnu11 -D_GNU_SOURCE -Werror=implicit-function-declaration -fsyntax-only \
                -Isrc -Isrc/lib/include -I"$2" -isystem "$tmp" "$file" 2>&1); then
                echo "ok $n - $file"
        else
                head -n 10 <<<"$output" | sed 's/^/# /'
                echo "not ok $n - $file"
                n_failed=$((n_failed + 1))
        fi
done
echo "1..$n"
exit $((n_failed > 0))
