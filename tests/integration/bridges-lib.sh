# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Verbs of the bridges' tests: a session bus that starts them for the user's service. Needs what bus-lib.sh does, and
# DESKTRACE, BRIDGES and BRIDGES_CONF.

# shellcheck source=tests/integration/bus-lib.sh
. "$(dirname "$0")/bus-lib.sh"

# A session bus with the bridges' service file, and the user's service with theirs.
bridged_session() {
        mkdir -p "$tmp/services" "$tmp/session.d"
        printf '[D-BUS Service]\nName=org.desktrace.Bridges1\nExec=%s --user\n' "$BRIDGES" \
                >"$tmp/services/org.desktrace.Bridges1.service"
        echo "<busconfig><servicedir>$tmp/services</servicedir></busconfig>" >"$tmp/session.d/services.conf"
        cp "$BRIDGES_CONF" "$tmp/producers.d/desktrace-bridges.conf"
        session_bus
        service "$DESKTRACED" --user
}

# recording FILE SECONDS SOURCE...: in the background; its pid is in $recording. Returns when it records.
recording() {
        local file=$1 seconds=$2
        shift 2
        started "$DESKTRACE" --user record -q -f -t "${seconds}s" -o "$file" "$@"
        # shellcheck disable=SC2034 # for the tests
        recording=$started
        eventually has_session
}

has_session() {
        "$DESKTRACE" --user status --json | grep -q '"sessions":[1-9]' && has_owner --user org.desktrace.Bridges1
}

# asked FILE SQL: the answer, without the headings
asked() {
        "$DESKTRACE" query "$1" "$2" | sed 1d | tr -d " "
}
