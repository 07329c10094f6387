#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The recipes of packages follow the sources: they have the same version, name every node of the libraries' symbols, and
# are accepted by what reads them. Usage: check-packaging.sh SOURCE-ROOT
set -u
cd "$1" || exit 1
n=0 failed=0

# check PROMISE COMMAND...: the command succeeds and says nothing
check() {
        local promise=$1 output status=0
        shift
        n=$((n + 1))
        output=$("$@" 2>&1) || status=$?
        if [ -z "$output" ] && [ "$status" = 0 ]; then
                echo "ok $n - $promise"
        else
                sed 's/^/# /' <<<"$output"
                echo "not ok $n - $promise"
                failed=1
        fi
}

# with TOOL PROMISE COMMAND...
with() {
        if command -v "$1" >/dev/null; then
                check "${@:2}"
        else
                n=$((n + 1))
                echo "ok $n - $2 # SKIP $1 is not installed"
        fi
}

project=$(sed -n "s/^  version: '\(.*\)',/\1/p" meson.build)

# same_version FILE PATTERN
same_version() {
        local got
        got=$(sed -nE "s/$2/\1/p" "$1" | head -n 1)
        [ "$got" = "$project" ] || echo "$1 has version $got, meson.build has $project"
}

# lacks_nodes VERSION-SCRIPT SYMBOLS: those that the file of the package lacks
lacks_nodes() {
        local node
        for node in $(sed -nE 's/^([A-Z_]+[0-9.]*) \{.*/\1/p' "$1"); do
                grep -qF " (symver)$node " "$2" || echo "$2 lacks $node"
        done
}

is_a_spec() {
        rpmspec -P "$1" >/dev/null
}

is_a_pkgbuild() {
        # shellcheck disable=SC2016 # for the shell inside
        bash -euc '. "$1"
                for name in build check package; do declare -F $name >/dev/null || echo "no $name()"; done
                [ -n "$pkgname" ] && [ -n "$pkgrel" ] && [ ${#source[@]} = ${#sha256sums[@]} ]' bash "$1"
}

check 'debian/changelog has the version' same_version debian/changelog '^desktrace \(([^)~-]*).*'
check 'the spec has the version' same_version packaging/rpm/desktrace.spec '^Version: *(.*)'
check 'PKGBUILD has the version' same_version packaging/arch/PKGBUILD '^pkgver=(.*)'
check "libdesktrace's symbols" lacks_nodes src/lib/libdesktrace.sym debian/libdesktrace0.symbols
check "libdesktrace-glib's symbols" lacks_nodes bindings/glib/libdesktrace-glib.sym debian/libdesktrace-glib0.symbols
check 'PKGBUILD has what makepkg calls' is_a_pkgbuild packaging/arch/PKGBUILD
with shellcheck 'PKGBUILD passes shellcheck' shellcheck -S warning packaging/arch/PKGBUILD
with rpmspec 'rpm reads the spec' is_a_spec packaging/rpm/desktrace.spec
echo "1..$n"
exit $failed
