#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# What bash, zsh and fish make of a Tab behind "cat:" and other words, with a service and a program that has categories.

# shellcheck source=tests/integration/cli-lib.sh
. "$(dirname "$0")/cli-lib.sh"

COMPLETIONS=$(dirname "$BUS_XML")/../completions
PATH=$(dirname "$DESKTRACE"):$PATH
export COMPLETIONS

session_bus
service "$DESKTRACED" --user --idle-timeout=60s
started "$EXAMPLE" --seconds 60 --quiet
has_category() {
        "$DESKTRACE" list categories --user --no-legend | grep -q '^mandelbrot.frames '
}
eventually has_category

exits 0 "a category is listed with its program and what it is for" \
        '^mandelbrot.frames +mandelbrot-desktrace \([0-9]+\) +- +Frames and their rate' \
        "$DESKTRACE" list categories --user
exits 0 "or as JSON" '^\[\{"name":"mandelbrot.frames","description":"Frames .*","tags":\[\],"programs":\["mandelbrot-' \
        "$DESKTRACE" list categories --user --json=short mandelbrot.frames
exits 5 "one that there is not is not found" 'nothing in the list of categories matches "render"' \
        "$DESKTRACE" list categories --user render

# Each: SHELL WORD..., the last of which is being typed. Prints what is offered.

# Bash itself divides words at ":".
# shellcheck disable=SC2016 # for the shell inside
ask_bash() {
        timeout 30 bash -c 'compopt() { :; }
                . "$COMPLETIONS/desktrace.bash"
                COMP_WORDS=(desktrace "$@") COMP_CWORD=$#
                _desktrace
                printf "%s\n" "${COMPREPLY[@]}"' bash "$@"
}

# shellcheck disable=SC2016
ask_fish() {
        timeout 30 fish --no-config -c 'source $COMPLETIONS/desktrace.fish; complete -C "desktrace $argv"' "$@"
}

# On a terminal: what is there to see after Tab.
# shellcheck disable=SC2016
ask_zsh() {
        timeout 30 zsh -f -c 'zmodload zsh/zpty
                zpty -b shell zsh -f -i
                zpty -w shell "PS1=; fpath=(\$COMPLETIONS \$fpath); autoload -Uz compinit"
                zpty -w shell "compinit -u -D; compdef _desktrace desktrace"
                zpty -w shell "print rea""dy"
                zpty -r -m shell line "*ready*"
                zpty -w -n shell "desktrace $*"$'\''\t'\''
                repeat 30; do
                        sleep 0.1
                        while zpty -rt shell line; do print -r -- "$line"; done
                done' zsh "$@" | tr -d '\r\n'
}

# offers SHELL PROMISE PATTERN WORD...
offers() {
        local shell=$1 promise=$2 pattern=$3
        shift 3
        if command -v "$shell" >/dev/null; then
                gives "$shell $promise" "$pattern" "ask_$shell" "$@"
        else
                skip_check "$shell $promise" "$shell is not installed"
        fi
}

offers bash "completes a category" '^mandelbrot\.frames$' record --user cat : mandelbrot.fr
offers bash "offers all behind the colon" '^mandelbrot\.rows$' record --user cat :
offers bash "takes it as one word, too" '^cat:mandelbrot\.frames$' record --user cat:mandelbrot.f
offers bash "offers categories" '^cat:$' record --user ca
offers bash "knows the lists" '^categories$' list cat
offers fish "completes a category" '^cat:mandelbrot\.frames' record --user cat:mandelbrot.fr
offers fish "knows the lists" '^categories' list cat
offers zsh "completes a category" 'cat:mandelbrot\.frames' record --user cat:mandelbrot.fr
offers zsh "completes what all of them begin with" 'cat:mandelbrot\.' record --user cat:m
offers zsh "completes a preset" 'record -p apps' record -p app
finish
