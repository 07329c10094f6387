#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Programs that were built with the headers of 0.1 run with the library of now, and all that they say is recorded. Needs
# USE_C, and USE_CXX if there is a C++ compiler.

# shellcheck source=tests/integration/cli-lib.sh
. "$(dirname "$0")/cli-lib.sh"

cat >old.pbtxt <<'CONFIG'
buffers { size_kb: 4096 fill_policy: RING_BUFFER }
data_sources { config { name: "track_event" track_event_config { enabled_categories: "*" enabled_tags: "debug"
  enabled_tags: "slow" } } }
data_sources { config { name: "org.example.old" } }
flush_period_ms: 200
incremental_state_config { clear_period_ms: 200 }
CONFIG

# records FILE PROGRAM
records() {
        timeout 60 "$DESKTRACE" record --standalone -c old.pbtxt -o "$1" -- "$2"
}

# has_text FILE TEXT...: each is there
has_text() {
        local file=$1 text
        shift
        for text; do
                grep -qaF -- "$text" "$file" || { echo "no '$text' in $file"; return 1; }
        done
}

# has_the_events PROGRAM FILE SLICE COUNT...: so many of each, and the counters, on the named thread
has_the_events() {
        local program=$1 file=$2
        shift 2
        ok "$program: nothing is lost" holds "$file" 't["losses"]["verdict"] == "none"'
        while [ $# -gt 0 ]; do
                ok "$program: \"$1\" is there $2 times" \
                        holds "$file" "sum(s['count'] for s in t['slices'] if s['name'] == '$1') == $2"
                shift 2
        done
        ok "$program: its thread has its name" holds "$file" '"old thread" in [x["name"] for x in t["threads"]]'
        ok "$program: its counters have their values" \
                holds "$file" '{"old counter", "old share"} <= {c["name"] for c in t["counters"] if c["count"] > 0}'
        ok "$program: readers find nothing wrong" python3 "$TRACE_RULES" "$file"
}

ok "a program of 0.1 runs, and all its calls do as promised" records c.pftrace "$USE_C"
has_the_events C c.pftrace "old slice" 1 "old nested" 1 "old begin" 2 "old called" 1 "old on a child" 1 \
        "old row begin" 2 "old tagged" 1
ok "C: all counters are there" holds c.pftrace \
        '{("old memory", 2), ("old load", 2)} <= {(c["name"], c["count"]) for c in t["counters"]}'
ok "C: so are its instants, arguments, states, logs and texts" has_text c.pftrace "old instant" \
        "old instant on a row" "old nest" "old correlated" "old request" "old by hand" "old text" \
        "old interned" "old state text" "old at end" use-0.1.c old.by-hand "old parent" "old child" old.tagged \
        "old busy" "old verbose line" \
        "old debug line" "old info line" "old warning line" "old error line" "old fatal line"
ok "C: and the packets and notes of its data source" has_text c.pftrace "an old packet" "an old note"

if [ -n "${USE_CXX-}" ]; then
        ok "a C++ program of 0.1 runs" records cpp.pftrace "$USE_CXX"
        has_the_events C++ cpp.pftrace "old slice" 1 "old row begin" 1 "old macro" 1
        ok "C++: its instants and arguments are there" has_text cpp.pftrace "old instant" "old instant on a row" \
                "old text" "old chars" "old at end" use-0.1.cpp
fi
finish
