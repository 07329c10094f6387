#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Signals: each connection is sent those of all buffers, sessions and programs that it may see, which one user
# multiplies by the number of connections. Past SIGNALS_PER_USER_MAX what can be read as well is left out.
# The checks call functions by name.
# shellcheck disable=SC2317,SC2154
# shellcheck source=tests/hostile/hostile-lib.sh
. "$(dirname "$0")/hostile-lib.sh"

[ "$(id -u)" = 0 ] || skip_all "needs root, to be several users"

left_out() { grep -q "signals to user $(id -u $bob) are left out.*SIGNALS_PER_USER_MAX" "$tmp/log"; }

attacked_ports
innocent_records
attacks_port buffers "$producer_socket" "$socket" 100
ok "the buffers are there, and many who are told of them" eventually eventually grep -q attacked "$tmp/attacker"
ok "there would be too many signals" eventually left_out
sleep 1
innocent_is_unharmed "signals of very many buffers"
# The innocent one is told all: of a session of his own that ends.
: >"$tmp/heard"
started setpriv "--reuid=$alice" --clear-groups -- "$TEST_CONSUMER" system watch - >"$tmp/heard"
eventually grep -q watching "$tmp/heard"
start_as $alice config-text s "buffers { size_kb: 64 } data_sources { config { name: 'org.example.innocent' } }"
call_as $alice "$path" $SESSION Stop >/dev/null
has_heard() { grep -q "$1" "$tmp/heard"; }
ok "the innocent still gets the signals of his own session" eventually has_heard Stopped
kill -KILL "$attacker"
attack_is_over "signals of very many buffers, and the attacker is gone"
finish
