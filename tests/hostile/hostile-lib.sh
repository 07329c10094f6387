# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Verbs of the hostile tests: an innocent user records while somebody else attacks, and must not notice.
# Needs HOSTILE_PRODUCER besides what bus-lib.sh needs.

# shellcheck source=tests/integration/bus-lib.sh
. "$(dirname "$0")/../integration/bus-lib.sh"

# innocent_records: a program that writes a packet every 10 ms, and a session that streams it into a file
innocent_records() {
        producer innocent org.example.innocent
        innocent_program=$started
        consumer user start org.example.innocent output 3>"$tmp/innocent.pftrace"
        innocent_session=$path innocent_consumer=$started
        recorded "$innocent_session"
}

# What the service says of itself must come, however long it takes: bus-lib's "eventually" is no measure of time.
answers() {
        timeout 20 busctl "${BUSCTL:---user}" --timeout=20 get-property $BUS $ROOT $MANAGER Version >/dev/null
}

bytes_written() {
        property "$innocent_session" BytesWritten | cut -d' ' -f2
}

has_written_more_than() {
        session "$innocent_session" Flush u 1000 && [ "$(bytes_written)" -gt "$1" ]
}

# innocent_is_unharmed ATTACK: the service is the process that it was and answers; nothing is lost in the recording
innocent_is_unharmed() {
        local before
        ok "$1: the service answers" answers
        ok "$1: it is the same process" kill -0 "$daemon"
        before=$(bytes_written)
        ok "$1: the innocent recording goes on" eventually has_written_more_than "${before:-0}"
        gives "$1: nothing of it is lost" '^t 0$' property "$innocent_session" PacketsLost
        gives "$1: and no chunk" '^t 0$' property "$innocent_session" ChunksLost
}

# attacker ATTACK SOURCE: a hostile producer that is registered; its pid is in $attacker
attacker() {
        : >"$tmp/attacker"
        "$HOSTILE_PRODUCER" "$@" >"$tmp/attacker" 2>>"$tmp/log" &
        attacker=$!
        pids+=("$attacker")
        eventually grep -q ready "$tmp/attacker"
}
