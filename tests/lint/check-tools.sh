#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# What other people's linters say. Usage: check-tools.sh SOURCE-ROOT
set -u
cd "$1" || exit 1
n=0 failed=0

# files GLOB...: of the tree, without build directories and the inputs of tests
files() {
        local patterns=(-name "$1")
        shift
        for pattern; do patterns+=(-o -name "$pattern"); done
        find . \( -name .git -o -name 'build*' -o -path ./tests/fixtures -o -path ./tests/fuzz/corpus \
                -o -path ./tests/abi/0.1 \) -prune -o -type f \( "${patterns[@]}" \) -print | sort
}

scripts() {
        files '*' | xargs -d '\n' awk 'FNR == 1 && /^#!.*[/ ](ba)?sh( |$)/ { print FILENAME } { nextfile }'
}

# check PROMISE TOOL COMMAND...
check() {
        local promise=$1 tool=$2 output
        shift 2
        n=$((n + 1))
        if ! command -v "$tool" >/dev/null; then
                echo "ok $n - $promise # SKIP $tool is not installed"
        elif output=$("$@" 2>&1); then
                echo "ok $n - $promise"
        else
                head -n 100 <<<"$output" | sed 's/^/# /'
                echo "not ok $n - $promise"
                failed=1
        fi
}

# Newer tools warn that there is no home page, which is so; older ones have no name for it.
metainfo_is_valid() {
        local said
        said=$(appstreamcli validate --no-net data/metainfo/*.xml) ||
                ! grep -E '^ *[EW]:' <<<"$said" | grep -v url-homepage-missing || return
        echo "$said"
        [ -n "$said" ]
}

mapfile -t sources < <(files '*.c' '*.h')
mapfile -t shell < <(scripts)
check 'sources are formatted' clang-format-14 clang-format-14 --dry-run -Werror "${sources[@]}"
check 'scripts pass shellcheck' shellcheck shellcheck -x -P SCRIPTDIR -S warning "${shell[@]}"
check 'words are spelled right' codespell codespell \
        --skip '.git,build*,*.po,./desktrace-try.html,./tests/fuzz/corpus,./tests/fixtures' \
        --ignore-words-list "$(grep -v '^#' tests/lint/words | paste -sd,)"
# Without a repository it would also judge what was built.
if [ -e .git ]; then
        check 'every file says its license, as REUSE wants' reuse reuse lint
fi
check 'software centres accept the metainfo' appstreamcli metainfo_is_valid
echo "1..$n"
exit $failed
