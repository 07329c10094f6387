# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# For tests in which service-manager.py keeps what a service leaves, and starts it again: on top of the command line's.

# shellcheck source=tests/integration/cli-lib.sh
. "$(dirname "$0")/cli-lib.sh"

check() { "$TRACE_CHECK" "$@"; }
service_pid() { cat "$tmp/manager/pid"; }
n_ready() { cat "$tmp/manager/ready" 2>/dev/null || echo 0; }
is_ready() { [ "$(n_ready)" -ge "$1" ]; }
is_stored() { grep -qE -- "$1" "$tmp/manager/stored"; }
not() { ! "$@"; }

# ends SIGNAL: the service gets it, and the next one is there
ends() {
        local n
        n=$(n_ready)
        kill "-$1" "$(service_pid)"
        eventually is_ready $((n + 1))
}

# grows FILE: it is written on
grows() {
        local before
        before=$(stat -c %s "$1")
        eventually is_larger "$1" "$before"
}
is_larger() { [ "$(stat -c %s "$1")" -gt "$2" ]; }

# What lies on top of another file system is not kept, so not on the root of a container.
outputs=$(mktemp -d /dev/shm/desktrace-test.XXXXXX) || skip_all 'there is no /dev/shm'
trap 'rm -rf "$outputs"; cleanup' EXIT
[ "$(stat -fc %T "$outputs")" = tmpfs ] || skip_all '/dev/shm is no tmpfs'
mkdir "$tmp/manager"
