#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A user without any rights calls every method with any arguments: by a fuzzer of our own and, where it is installed,
# dfuzzer.
# The checks call functions by name.
# shellcheck disable=SC2317
# shellcheck source=tests/hostile/hostile-lib.sh
. "$(dirname "$0")/hostile-lib.sh"

[ "$(id -u)" = 0 ] || skip_all "needs root, to be several users"
/usr/bin/python3 -c 'from gi.repository import Gio' 2>/dev/null || skip_all "python3-gi is not installed"
GROWTH_KIB_MAX=$((64 * 1024)) # of the service, with what the allocator keeps

resident_kib() { awk '/^VmRSS:/ { print $2 }' "/proc/$daemon/status"; }
fuzz() { # SEED
        as "$bob" timeout 100 /usr/bin/python3 -B "$tmp/method-fuzzer.py" "$DBUS_SYSTEM_BUS_ADDRESS" "$1"
}
dfuzz() {
        DBUS_SESSION_BUS_ADDRESS=$DBUS_SYSTEM_BUS_ADDRESS as "$bob" timeout 300 dfuzzer -s -n "$BUS"
}

cp "$(dirname "$0")/method-fuzzer.py" "$tmp"
two_users
innocent_records
started setpriv --reuid="$bob" --clear-groups -- "$TEST_PRODUCER" attacker org.example.fuzzed
eventually has_producer attacker
seed=${FUZZ_SEED:-$RANDOM}
ok "the first calls are answered (FUZZ_SEED=$seed)" fuzz "$seed"
before=$(resident_kib)
gives "each call of each method is answered" '^[0-9]{3,} calls' fuzz $((seed + 1))
attack_is_over "any arguments"
ok "the service has not grown by it" test "$(resident_kib)" -le $((before + GROWTH_KIB_MAX))
if command -v dfuzzer >/dev/null; then
        ok "dfuzzer finds nothing" dfuzz
        attack_is_over dfuzzer
else
        skip_check "dfuzzer finds nothing" "dfuzzer is not installed"
fi
finish
