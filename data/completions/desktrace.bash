# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
#
# bash completion of desktrace(1)

# Words of the first column of a list, or nothing when the service is not there.
_desktrace_list() {
        timeout 3 desktrace list --no-legend "$@" 2>/dev/null </dev/null | awk '{ print $1 }'
}

_desktrace_reply() {
        mapfile -t COMPREPLY < <(compgen -W "$1" -- "$2")
}

_desktrace_verb() {
        local i
        for ((i = 1; i < COMP_CWORD; i++)); do
                case ${COMP_WORDS[i]} in
                record | inspect | query | why | top | report | diff | export | symbolize | view | status | list | doctor | snapshot | trigger | attach | stop | read | flush | help)
                        echo "$i"
                        return
                        ;;
                esac
        done
        echo 0
}

_desktrace_options() {
        local bus='--system --user --no-ask-password' data='--json --json= --no-legend' both='--help --quiet'
        case $1 in
        record) echo "$both $bus $data --standalone --config= --preset= --stacks --stacks= --stacks-at= --heap --heap= --time= --buffer-size= --output= \
--force --report --ring --name= --detach --flight-recorder --before= --trigger= --after=" ;;
        inspect) echo "$both $data --top= --config" ;;
        why) echo "$both $data --from= --to= --around= --margin= --slice= --by= --top= --memory=" ;;
        top) echo "$both $bus $data --interval= --count= --by= --top= --from= --to= --around= --margin= --memory=" ;;
        report) echo "$both --output= --force --svg --from= --to= --around= --margin=" ;;
        diff) echo "$both $data --from= --to= --around= --margin= --metric= --slice= --fail-if= --top= --memory=" ;;
        export) echo "$both --output= --force --machine= --samples= --table= --sql= --from= --to= --around= --margin= --memory=" ;;
        view) echo "$both --perfetto --print --timeout=" ;;
        query) echo "$both $data --file= --csv --timeout= --memory=" ;;
        symbolize) echo "$both --output= --force --debuginfod --lines" ;;
        status | doctor) echo "$both $bus $data" ;;
        list) echo "$both $bus $data --standalone --sources --no-start -l --long" ;;
        snapshot) echo "$both $bus $data --output= --force --before= --after=" ;;
        trigger) echo "$both $bus $data" ;;
        attach) echo "$both $bus $data --output= --force" ;;
        stop) echo "$both $bus $data --output= --force --discard" ;;
        read) echo "$both $bus --output= --force" ;;
        flush) echo "$both $bus --timeout=" ;;
        help) echo "$both" ;;
        *) echo '--help --version -V' ;;
        esac
}

# Data sources and groups of kernel events, then the events of a group, or categories. ":" separates words, so "cat:"
# may be a word before this one. Nobody is asked for a password, and no probes are started.
_desktrace_events() {
        local current=$1 bus=$2
        if [[ $current == : || ${COMP_WORDS[COMP_CWORD - 1]} == : ]]; then
                _desktrace_reply "$(_desktrace_list ${bus:+"$bus"} categories)" "${current#:}"
        elif [[ $current == cat:* ]]; then
                _desktrace_reply "$(_desktrace_list ${bus:+"$bus"} categories | sed 's/^/cat:/')" "$current"
        elif [[ $current == */* ]]; then
                _desktrace_reply "$(_desktrace_list ${bus:+"$bus"} --no-start events "${current%%/*}/*")" "$current"
        else
                _desktrace_reply "$(_desktrace_list ${bus:+"$bus"} --no-start sources) cat: \
$(_desktrace_list ${bus:+"$bus"} --no-start events | sed 's,/.*,/,' | uniq)" "$current"
                [[ ${COMPREPLY[0]-} != */ && ${COMPREPLY[0]-} != cat: ]] || compopt -o nospace 2>/dev/null
        fi
}

_desktrace_arguments() {
        local verb=$1 current=$2 bus=$3
        case $verb in
        record) _desktrace_events "$current" "$bus" ;;
        inspect | query | top | report | diff | symbolize | view) mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
        export)
                if [[ ${COMP_WORDS[COMP_CWORD - 1]} == export ]]; then
                        _desktrace_reply 'sqlite csv jsonl parquet chrome folded off-cpu speedscope firefox fleet otlp otlp-protobuf' "$current"
                else
                        mapfile -t COMPREPLY < <(compgen -f -- "$current")
                fi
                ;;
        why)
                if [[ ${COMP_WORDS[COMP_CWORD - 1]} == why ]]; then
                        _desktrace_reply 'cpu functions sleeps slice wakers slowest times repeats waits wakeups disk interrupts memory grows journal bus losses' "$current"
                else
                        mapfile -t COMPREPLY < <(compgen -f -- "$current")
                fi
                ;;
        list) _desktrace_reply 'sources events categories producers sessions presets probes' "$current" ;;
        doctor) _desktrace_reply "$(compgen -c -- "$current")" "$current" ;;
        snapshot | attach | stop | read | flush) _desktrace_reply "$(_desktrace_list ${bus:+"$bus"} sessions)" "$current" ;;
        help) _desktrace_reply 'record inspect query why top report diff export symbolize view status list doctor snapshot trigger attach stop read flush' "$current" ;;
        esac
}

_desktrace() {
        local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} at verb='' bus='' i
        COMPREPLY=()
        at=$(_desktrace_verb)
        [ "$at" = 0 ] || verb=${COMP_WORDS[at]}
        for ((i = 1; i < COMP_CWORD; i++)); do
                case ${COMP_WORDS[i]} in
                --) # a command: what it takes is its own business
                        compopt -o default
                        return
                        ;;
                --user) bus=--user ;;
                esac
        done
        # "--option=" is a word of its own, because "=" separates words.
        if [ "$current" = '=' ]; then
                current=''
        elif [ "$previous" = '=' ]; then
                previous=${COMP_WORDS[COMP_CWORD - 2]}
        fi
        case $verb:$previous in
        record:-p | record:--preset) _desktrace_reply "$(_desktrace_list presets)" "$current" ;;
        record:-c | record:--config | query:--file | *:-o | *:--output) compopt -o default ;;
        diff:--metric) _desktrace_reply 'p50 p99 total cpu heap' "$current" ;;
        why:--by | top:--by) _desktrace_reply 'program unit thread' "$current" ;;
        *:--json) _desktrace_reply 'pretty short off' "$current" ;;
        *:-i | *:--interval | *:--count) ;;
        *:-t | *:--time | *:-b | *:--buffer-size | *:-n | *:--name | *:--timeout | *:--top | *:--before | *:--after) ;;
        *:--samples) _desktrace_reply 'cpu linux.offcpu linux.faults' "$current" ;;
        *:--stacks-at) _desktrace_reply 'sleep page-fault' "$current" ;;
        *:--trigger | *:--memory | *:--stacks | *:--heap) ;;
        *:--from | *:--to | *:--around | *:--margin | *:--slice | *:--table | *:--sql | *:--fail-if) ;;
        *)
                if [[ $current == -* ]]; then
                        _desktrace_reply "$(_desktrace_options "$verb")" "$current"
                        [[ ${COMPREPLY[0]-} != *= ]] || compopt -o nospace
                elif [ -z "$verb" ]; then
                        _desktrace_reply 'record inspect query why top report diff export symbolize view status list doctor snapshot trigger attach stop read flush help' "$current"
                else
                        _desktrace_arguments "$verb" "$current" "$bus"
                fi
                ;;
        esac
}

complete -F _desktrace desktrace
