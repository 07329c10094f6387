#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# docs/INSTRUMENT.md to the letter: its files are saved, its commands run, and what they record is looked at.

# shellcheck source=tests/integration/cli-lib.sh
. "$(dirname "$0")/cli-lib.sh"

# As if all were installed.
PATH=$(dirname "$DESKTRACE"):$PATH
export PATH PKG_CONFIG_PATH=$UNINSTALLED PYTHONPATH=$BINDINGS_PYTHON

# Each "Save as `FILE`:" with the block behind it.
awk '/^Save as `/ { split($0, part, "`"); file = part[2]; next }
        /^```/ { inside = !inside && file != ""; if (!inside) file = ""; next }
        inside { print > file }' "$PAGE"
awk '/^```sh$/ { inside = 1; next } /^```/ { inside = 0 } inside' "$PAGE" >commands

ok "the page has four programs" test -s app.c -a -s requests.c -a -s app.cpp -a -s app.py
ok "and commands" test "$(wc -l <commands)" -gt 8
gives "which all succeed" 'No losses' timeout 60 bash -eu -o pipefail commands

# is_recorded FILE SLICE COUNT
is_recorded() {
        ok "$1 has $3 times \"$2\"" \
                holds "$1" "any(s['name'] == '$2' and s['count'] == $3 for s in t['slices'])"
        ok "and has lost nothing" holds "$1" 't["losses"]["verdict"] == "none"'
}
is_recorded app.pftrace frame 100
is_recorded requests.pftrace request 20
is_recorded cpp.pftrace read 100
is_recorded python.pftrace read 100
finish
