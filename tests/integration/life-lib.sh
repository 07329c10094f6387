# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Verbs of the tests of a program's life with the service, on top of those of the command line. Needs LIFE_APP as
# well.

# shellcheck source=tests/integration/cli-lib.sh
. "$(dirname "$0")/cli-lib.sh"

# app NAME ARGUMENTS...: a life-app that takes commands; its pid is in $app
app() {
        coproc APP { exec "$LIFE_APP" "$@" 2>>"$tmp/log"; }
        # shellcheck disable=SC2153 # bash sets it
        app=$APP_PID
        pids+=("$app")
        # Of our own: bash closes its when the process ends, though a child of it may go on.
        exec {commands}>&"${APP[1]}" {answers}<&"${APP[0]}"
        eval "exec ${APP[1]}>&- ${APP[0]}<&-"
}

# app_ends: it reads the end of its stdin
app_ends() {
        exec {commands}>&-
}

# tell COMMAND...: its answer is in $answer
tell() {
        echo "$*" >&"$commands"
        # shellcheck disable=SC2034 # for the tests
        read -r -t 20 answer <&"$answers"
}

# record POLICY: a session of the user's service that records it; the path is in $path
record() {
        local config="buffers { size_kb: 65536 } data_sources { config { name: \"track_event\"
                buffer_exhausted_policy: BUFFER_EXHAUSTED_$1 } } duration_ms: 120000"
        start 2 detach b true config-text s "$config" || { cat "$tmp/start-error" >&2; return 1; }
        tell on
}

lost() {
        property "$1" PacketsLost | cut -d' ' -f2
}

# recorded_in PATH: how many events the trace of a session has that has stopped
recorded_in() {
        "$DESKTRACE" read --user -q -f -o "$tmp/read.pftrace" "${1##*/}" || [ $? = 6 ] || return
        "$DESKTRACE" inspect --json=short "$tmp/read.pftrace" >"$tmp/summary" || [ $? = 6 ] || return
        python3 -c 'import json, sys
t = json.load(open(sys.argv[1]))
assert t["undecodable_events"] == 0 and t["end"] == "complete", t
print(sum(s["instants"] for s in t["slices"] if s["name"] == "beat"))' "$tmp/summary"
}

# ends_even EMITTED: the session stops, and has all of them or counts what it lost
ends_even() {
        local received n_lost
        session "$path" Stop >/dev/null || return
        n_lost=$(lost "$path")
        received=$(recorded_in "$path") || received=-1
        echo "emitted $1, received $received, lost $n_lost"
        property "$path" ChunksLost
        session "$path" Free >/dev/null
        [ "$received" -gt 0 ] && [ $((received + n_lost)) = "$1" ]
}
