#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Whatever happens to a program and the service: what was written is received, or counted as lost, exactly.
# The checks call functions by name.
# shellcheck disable=SC2317
# shellcheck source=tests/integration/life-lib.sh
. "$(dirname "$0")/life-lib.sh"

# stress PROMISE POLICY KIND N M [COMMAND...]: the command is run while it emits
stress() {
        local promise=$1 policy=$2
        record "$policy"
        tell go "${@:3:3}"
        "${@:6}"
        tell join
        ok "$promise" ends_even "$answer"
}

# stopped PID: for a while
stopped() {
        kill -STOP "$1"
        sleep 0.3
        kill -CONT "$1"
}

# A flush that comes while the program cannot answer.
stopped_and_flushed() {
        kill -STOP "$app"
        session "$path" Flush u 100 >/dev/null
        sleep 0.2
        kill -CONT "$app"
}

flushed() {
        local n
        for n in 1 2 3 4 5; do session "$path" Flush u 0 >/dev/null; done
}

session_bus
service "$DESKTRACED" --user --idle-timeout=infinity
app "$tmp/count" 128
stress "three busy threads and little room" DROP steady 40000 3
stress "the same, where they wait for room" STALL_THEN_DROP steady 20000 3
stress "while it is flushed" DROP steady 30000 3 flushed
stress "while the service is stopped" DROP steady 30000 3 stopped "$daemon"
stress "while they wait for a service that is stopped" STALL_THEN_DROP steady 10000 3 stopped "$daemon"
stress "while the program is stopped" STALL_THEN_DROP steady 20000 3 stopped "$app"
stress "and is flushed then" DROP steady 30000 3 stopped_and_flushed
stress "a thousand threads that come and go" DROP churn 125 8
stress "a thousand threads that come and go and wait for room" STALL_THEN_DROP churn 125 8
stress "a thousand threads at once" DROP crowd 20 1000
stress "children that are forked meanwhile" DROP forks 30000 2

# What it keeps from before anybody records it. The session starts while it emits.
# keeping KIB POLICY PROMISE KIND N M
keeping() {
        app_ends
        wait "$app"
        DESKTRACE_STARTUP='*' DESKTRACE_STARTUP_KIB=$1 app "$tmp/count" 128
        eventually has_producer life-app
        tell go "${@:4}"
        record "$2"
        tell join
        ok "$3" ends_even "$answer"
}
keeping 65536 STALL_THEN_DROP "kept, with room for nearly all" steady 100000 3
keeping 64 DROP "kept, and soon full" steady 100000 3
keeping 65536 DROP "kept, of a thousand threads" churn 125 8
keeping 65536 DROP "kept, of children's parents" forks 100000 2

# Two sessions have one count of what was lost: neither is the program's favourite.
record DROP
first=$path
record DROP
tell go steady 30000 3
tell join
emitted=$answer
session "$first" Stop >/dev/null
session "$path" Stop >/dev/null
n_lost=$(lost "$path")
both=$(($(recorded_in "$first") + $(recorded_in "$path")))
ok "two sessions at once" test $((both + n_lost)) = $((2 * emitted))
session "$first" Free >/dev/null
session "$path" Free >/dev/null

# Through the end of one service to the next one's session.
for signal in TERM KILL; do
        record DROP
        tell go steady 30000 3
        kill -$signal "$daemon"
        tell join
        tell off
        # The name is free once the bus has seen it go.
        eventually eval '! has_owner --user org.desktrace.Tracing1'
        service "$DESKTRACED" --user --idle-timeout=infinity
        eventually has_producer life-app
        stress "after a service that was ended by SIG$signal" DROP steady 20000 3
done
finish
