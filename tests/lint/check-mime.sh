#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Traces are known by their name and by their first bytes, and texts are not taken for traces. Usage: check-mime.sh
# SOURCE-ROOT
set -u
command -v update-mime-database >/dev/null && command -v gio >/dev/null ||
        { echo '1..0 # SKIP shared-mime-info or gio is not installed'; exit 0; }

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
n=0 failed=0
export XDG_DATA_HOME=$tmp/home XDG_DATA_DIRS=/usr/share LC_ALL=C.UTF-8
mkdir -p "$XDG_DATA_HOME/mime/packages"
cp "$1/data/mime/desktrace.xml" "$XDG_DATA_HOME/mime/packages/"

# is WANTED NAME BYTES: as printf has them
is() {
        local got
        n=$((n + 1))
        # shellcheck disable=SC2059 # the bytes
        printf "$3" >"$tmp/$2"
        got=$(gio info -a standard::content-type "$tmp/$2" | sed -n 's/.*content-type: //p')
        rm -f "$tmp/$2"
        if [ "$got" = "$1" ]; then
                echo "ok $n - $2 is $1"
        else
                echo "not ok $n - $2 is $1, and not $got"
                failed=1
        fi
}

if ! output=$(update-mime-database -V "$XDG_DATA_HOME/mime" 2>&1) || grep -qi 'error\|warning' <<<"$output"; then
        sed 's/^/# /' <<<"$output"
        echo 'Bail out! update-mime-database does not accept it'
        exit 1
fi
trace=application/x-perfetto-trace
is $trace of-any-content.pftrace 'x'
is $trace of-any-content.perfetto-trace 'x'
is $trace clocks-with-uid '\x0a\x5a\x18\x00\x50\x01\x40\xab\x8c\xb4\xff\xd3\x57'
is $trace clocks '\x0a\x48\x32\x46\x0a\x09\x08\x06\x10\xab\x8c\xb4\xff\xd3\x57'
is $trace long-packet '\x0a\xde\x02\x18\x00\x50\x01'
is $trace marker '\x0a\x16\xa2\x02\x10\x82\x47\x7a\x76'
is $trace uuid '\x0a\x16\xca\x05\x13\x08\x01\x02\x03'
is $trace compressed '\x0a\x80\x10\x92\x03\xfc\x0f\x78\xda'
is $trace much-compressed '\x0a\x80\x80\x40\x92\x03\xfb\xff\x3f\x28\xb5\x2f\xfd'
is text/plain text 'hello\n'
is text/plain empty-line '\nhello\n'
is text/plain looks-like-clocks '\n52\n\n\n8 lines\n'
is application/octet-stream other '\x0a\x10\x01\x02\x03\x04'
echo "1..$n"
exit $failed
