# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Pages of docs that are true to the letter: their files are saved, their commands run. Needs PAGE, UNINSTALLED and
# BINDINGS_PYTHON.

# shellcheck source=tests/integration/cli-lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/cli-lib.sh"

# As if all were installed: public headers only.
mkdir pkgconfig
# shellcheck disable=SC2016 # pkg-config's variable
sed 's|^Cflags:.*|Cflags: -I${srcdir}/src/lib/include|' "$UNINSTALLED/desktrace-uninstalled.pc" >pkgconfig/desktrace.pc
PATH=$(dirname "$DESKTRACE"):$PATH
export PATH PKG_CONFIG_PATH=$PWD/pkgconfig PYTHONPATH=$BINDINGS_PYTHON

# Each "Save as `FILE`:" with the block behind it.
awk '/Save as `/ { sub(/.*Save as `/, ""); sub(/`.*/, ""); file = $0; next }
        /^```/ { inside = !inside && file != ""; if (!inside) file = ""; next }
        inside { print > file }' "$PAGE"
awk '/^```sh$/ { inside = 1; next } /^```/ { inside = 0 } inside' "$PAGE" >commands

follow_page() {
        gives "its commands succeed" 'No losses' timeout 60 bash -eu -o pipefail commands
}

# is_recorded FILE SLICE COUNT
is_recorded() {
        ok "$1 has $3 times \"$2\"" \
                holds "$1" "any(s['name'] == '$2' and s['count'] == $3 for s in t['slices'])"
        ok "and has lost nothing" holds "$1" 't["losses"]["verdict"] == "none"'
}
