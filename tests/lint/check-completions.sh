#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The completions of the three shells know every verb and every long option of the command line, and complete none
# that it does not have. Each shell runs its own file; one that is not installed is passed over.
# Usage: check-completions.sh SOURCE-ROOT DESKTRACE
set -u
export LC_ALL=C.UTF-8
directory=$1/data/completions
desktrace=$2
n=0 failed=0

list_verbs() {
        "$desktrace" help | awk '/^Verbs:/ { inside = 1; next } !NF { inside = 0 } inside { print $1 }'
}

# list_options [VERB]: as the command line itself says them. Synonyms of arguments are none of ours.
list_options() {
        "$desktrace" help "$1" | grep -oE '^  (-[a-zA-Z], )?--[a-z-]+' | grep -oE -- '--[a-z-]+' | sort -u
}

# Of each shell: what it offers for "desktrace VERB --". It gets its file and the verb.

# shellcheck disable=SC2016 # for the shell inside
ask_bash() {
        bash -c 'compopt() { :; }
                . "$1"
                COMP_WORDS=(desktrace "$2" --) COMP_CWORD=2
                _desktrace
                printf "%s\n" "${COMPREPLY[@]}"' bash "$directory/desktrace.bash" "$2"
}

# shellcheck disable=SC2016
ask_fish() {
        fish --no-config -c 'source $argv[1]; complete -C "desktrace $argv[2] --"' "$directory/desktrace.fish" "$2"
}

# What _arguments is told for the verb, instead of a terminal.
# shellcheck disable=SC2016
ask_zsh() {
        zsh -f -c '_describe() { }
                _arguments() {
                        if [[ $1 == -C ]]; then
                                state=argument line=($verb)
                                return 1
                        fi
                        print -rl -- "$@"
                }
                verb=$2
                source $1' zsh "$directory/_desktrace" "$2"
}

# check SHELL VERB
check() {
        local shell=$1 verb=$2 missing unknown
        n=$((n + 1))
        if ! command -v "$shell" >/dev/null; then
                echo "ok $n - $shell: $verb # SKIP $shell is not installed"
                return
        fi
        list_options "$verb" >"$tmp/wanted"
        # zsh: what an option excludes stands in parentheses before it.
        "ask_$shell" "$shell" "$verb" 2>/dev/null | sed -E 's/^\([^)]*\)//; s/^\*//' | grep -oE '^--[a-z-]+' |
                sort -u >"$tmp/offered"
        missing=$(comm -23 "$tmp/wanted" "$tmp/offered" | paste -sd ' ')
        unknown=$(comm -13 "$tmp/wanted" "$tmp/offered" | paste -sd ' ')
        if [ -z "$missing$unknown" ]; then
                echo "ok $n - $shell: $verb"
        else
                echo "# missing: $missing"
                echo "# the verb does not have: $unknown"
                echo "not ok $n - $shell: $verb"
                failed=1
        fi
}

# knows SHELL FILE: each verb is a word of it
knows() {
        local verb missing=''
        n=$((n + 1))
        for verb in $(list_verbs); do
                grep -qw -- "$verb" "$directory/$2" || missing+=" $verb"
        done
        [ -z "$missing" ] && echo "ok $n - $1: knows all verbs" && return
        echo "# missing:$missing"
        echo "not ok $n - $1: knows all verbs"
        failed=1
}

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
[ -n "$(list_verbs)" ] || { echo 'Bail out! the command line names no verbs'; exit 1; }
knows bash desktrace.bash
knows zsh _desktrace
knows fish desktrace.fish
for shell in bash zsh fish; do
        for verb in $(list_verbs); do
                check "$shell" "$verb"
        done
done
echo "1..$n"
exit $failed
