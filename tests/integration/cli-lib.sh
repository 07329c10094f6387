# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Verbs of the tests of the command line, on top of those of the bus tests. Needs DESKTRACE, EXAMPLE, PRESETS
# and CLI_PTY as well.

# shellcheck source=tests/integration/bus-lib.sh
. "$(dirname "$0")/bus-lib.sh"

export DESKTRACE_PRESET_PATH=$PRESETS DESKTRACE_DAEMON=$DESKTRACED TMPDIR=$tmp/t NO_COLOR='' LC_ALL=C.UTF-8
mkdir "$TMPDIR" "$tmp/work"
chmod 1777 "$TMPDIR" "$tmp/work"
cd "$tmp/work" || exit 1

# exits STATUS PROMISE PATTERN COMMAND...: the command ends with that status, and its output matches
exits() {
        local wanted=$1 promise=$2 pattern=$3 output status=0
        shift 3
        n_checks=$((n_checks + 1))
        output=$("$@" 2>&1 </dev/null) || status=$?
        if [ "$status" = "$wanted" ] && grep -qE -- "$pattern" <<<"$output"; then
                echo "ok $n_checks - $promise"
        else
                failed "$promise" "$* ($status): $output" "wanted $wanted: $pattern"
        fi
}

# A trace's summary, and a Python expression over it (t) that must hold. It is kept for the checks that follow, until
# the file changes: these run in subshells, so files say what there is.
holds() {
        local summary
        [ -e "$1" ] || return
        summary=$tmp/summary-$(realpath "$1" | tr / _)
        if [ ! "$summary" -nt "$1" ]; then
                rm -f "$summary"
                "$DESKTRACE" inspect --json=short "$1" >"$summary.part" || [ $? = 6 ] || return
                mv "$summary.part" "$summary"
        fi
        json_holds "$summary" "$2"
}

json_holds() {
        python3 -c 'import json, sys
t = json.load(open(sys.argv[1]))
sys.exit(0 if eval(sys.argv[2]) else "not so: " + sys.argv[2])' "$@"
}

# has_session PATTERN: of the user's service, a line of `list sessions`
has_session() {
        "$DESKTRACE" list sessions --user --no-legend | grep -qE -- "$1"
}

# interrupted PATTERN COMMAND...: Ctrl-C comes as soon as there is such a session
interrupted() {
        local client status=0
        "${@:2}" &
        client=$!
        pids+=("$client")
        eventually has_session "$1"
        kill -INT "$client"
        wait "$client" || status=$?
        return "$status"
}

is_json() {
        "$@" >"$tmp/json" && python3 -m json.tool "$tmp/json" >/dev/null
}

nothing_is_left_in() {
        [ -z "$(ls -A "$1")" ]
}

# nothing_is_there PATTERN: no file here matches it
nothing_is_there() {
        ! compgen -G "$1"
}

# records_with SQL FILE PRESET COMMAND...: a recording of an example that has what the statement asks for (it answers
# 1). A slow machine needs a longer one: the command is told how many seconds it lasts.
records_with() {
        local seconds
        for seconds in 1 2 4 8 16; do
                timeout 90 "$DESKTRACE" record --standalone -p "$3" -f -o "$2" -- "${@:4}" --seconds $seconds ||
                        [ $? = 6 ] || return
                [ "$("$DESKTRACE" query --csv --no-legend "$2" "$1" 2>/dev/null)" != 1 ] || return 0
        done
        echo "what was recorded in $seconds s does not have this: $1"
        return 1
}
