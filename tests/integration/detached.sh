#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Whose connection a session ends with, if any: sessions that are left alone, found again, taken over, and ended.
# The checks call functions by name.
# shellcheck disable=SC2317
# shellcheck source=tests/integration/bus-lib.sh
. "$(dirname "$0")/bus-lib.sh"

says() { property "$1" "$2" | grep -qE -- "$3"; }
gone() { ! property "$1" State 2>/dev/null; }
heard() { grep -qE -- "$1" "$tmp/signals"; }

session_bus
service "$DESKTRACED" --user --idle-timeout=infinity
producer app org.example.app

# Left alone at its start; busctl has left the bus by the time that it returns.
start 4 sources as 1 org.example.app duration-ms u 60000 detach b true name s recorder
alone=$path
gives "a session can be left alone" '"started"' property "$alone" State
gives "and is found by its name" "\"$alone\"" manager GetSession s recorder
gives "and by its number" "\"$alone\"" manager GetSession s "${alone##*/}"
gives "and in the list" "\"$alone\" ${alone##*/} \"recorder\" [0-9]+ \"started\"" manager ListSessions
gives "it says that nobody owns it" 'b true' property "$alone" Detached

# Taken over by a second connection, and again by a third.
started timeout 60 gdbus monitor --session --dest "$BUS" >"$tmp/signals"
eventually test -s "$tmp/signals"
consumer user attach "$alone"
second=$started
gives "who attaches owns it" 'b false' property "$alone" Detached
ok "which is signalled" eventually heard "'Detached': <false>"
consumer user attach "$alone"
third=$started
kill -KILL "$second"
sleep 0.3
gives "who took it over keeps it when the one before leaves" '"started"' property "$alone" State
kill -KILL "$third"
ok "and it ends with the new owner" eventually gone "$alone"
fails "as if it had never been left alone" 'NoSuchSession|no session' manager GetSession s recorder

# Left alone later.
consumer user start org.example.app duration
ok "one that ends by itself may be left alone" session "$path" Detach
ok "which is signalled, too" eventually heard "'Detached': <true>"
ok "once more changes nothing" session "$path" Detach
kill -KILL "$started"
sleep 0.3
gives "it goes on without its owner" '"started"' property "$path" State
ok "and can be stopped by anybody of the same user" session "$path" Stop
gives "its data is kept" '^ayb [0-9]{3}' session "$path" Read u 65536
ok "until somebody frees it" session "$path" Free
fails "an object that is gone cannot be attached" 'Unknown object' session "$path" Attach

# The deadline is the session's own.
start 3 sources as 1 org.example.app duration-ms u 300 detach b true
ok "the duration of a session that was left alone ends it" eventually says "$path" State stopped
gives "and its data is there to read" '^ayb [0-9]{3}' session "$path" Read u 65536
consumer user attach "$path"
kill -KILL "$started"
ok "a stopped one that somebody took ends with them" eventually gone "$path"
finish
