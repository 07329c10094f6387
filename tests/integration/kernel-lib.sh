# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# For tests of the probes on this kernel, on top of the verbs of the command line's tests: skips where they cannot run.

# shellcheck source=tests/integration/cli-lib.sh
. "$(dirname "$0")/cli-lib.sh"

TRACEFS=/sys/kernel/tracing
[ "$(id -u)" = 0 ] || skip_all 'kernel events need root'
[ -x "$DESKTRACE_PROBES" ] || skip_all 'built without the probes'
[ -e $TRACEFS/available_events ] || mount -t tracefs tracefs $TRACEFS 2>/dev/null
[ -d $TRACEFS/instances ] || skip_all 'no tracefs'

# Points files count only if they are root's, and the tree may be somebody else's.
mkdir "$tmp/points.d"
cp "$(dirname "$PRESETS")"/points.d/*.conf "$tmp/points.d"
export DESKTRACE_POINTS_PATH=$tmp/points.d

# rules FILE [EXPRESSION]: the trace breaks no rule of its readers, and the expression holds (trace_rules.py)
rules() {
        "$TRACE_RULES" "$@"
}

# A busy machine may lose samples, and then the command ends with 6: when it records, and when it reads the recording.
is_done_or_lossy() {
        local status=0
        "$@" || status=$?
        [ "$status" = 0 ] || [ "$status" = 6 ]
}

# recorded FILE ARGUMENTS...: what there is, although some may be lost
recorded() {
        is_done_or_lossy "$DESKTRACE" record --standalone -f -o "$@" >"$1.out" 2>&1 || {
                cat "$1.out"
                return 1
        }
}

# reads ARGUMENTS...: of the command line
reads() {
        is_done_or_lossy "$DESKTRACE" "$@"
}

# may_sample: or the test is left out
may_sample() {
        "$DESKTRACE_PROBES" --list-sources=json 2>/dev/null | python3 -c 'import json, sys
known = {s["name"]: s["unavailable"] for s in json.load(sys.stdin)}
sys.exit(1 if known["linux.perf"] else 0)' || skip_all 'this machine lets nobody sample'
}
