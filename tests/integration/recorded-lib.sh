# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Verbs of tests that record a program with a private service, and count what is in the trace by its names.

# shellcheck source=tests/integration/cli-lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/cli-lib.sh"

# records FILE COMMAND...
records() {
        local file=$1
        shift
        if ! G_DEBUG=fatal-warnings timeout -k 10 60 "$DESKTRACE" record --standalone -p apps -o "$file" -- "$@" \
                >"$tmp/output" 2>&1; then
                cat "$tmp/output"
                return 1
        fi
        "$DESKTRACE" inspect --json=short "$file" >"$file.json"
}

# has TABLE FIELD FILE NAME EXPRESSION: of how many slices, instants or values of this name, n, this is true
has() {
        json_holds "$3.json" "(lambda n: $5)(sum(s['$2'] for s in t['$1'] if s['name'] == '$4'))"
}
slices() { has slices count "$@"; }
instants() { has slices instants "$@"; }
counters() { has counters count "$@"; }

lossless() {
        json_holds "$1.json" 't["losses"]["verdict"] == "none"'
}

skip() {
        n_checks=$((n_checks + 1))
        echo "ok $n_checks - $1 # SKIP $2"
}
