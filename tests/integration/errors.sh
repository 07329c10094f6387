#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Each named error is given, names what was wrong, and leaves nothing behind.
# The checks call functions by name.
# shellcheck disable=SC2317
# shellcheck source=tests/integration/bus-lib.sh
. "$(dirname "$0")/bus-lib.sh"

call() { # METHOD ARGUMENTS..., as gdbus shows the error's name
        gdbus call --session --dest "$BUS" --object-path "${object:-$ROOT}" --method "$@"
}
start_error() {
        call "$MANAGER".StartSession "$1"
}

has_no_sessions() {
        manager ListSessions | grep -q '^a(otsus) 0'
}

session_bus
service "$DESKTRACED" --user --idle-timeout=60s
producer app org.example.app

fails "an unknown option is named, with the nearest known one" \
        'BadConfig: unknown option "sourecs"; did you mean "sources"' \
        start_error "{'sourecs': <['org.example.app']>}"
fails "an option of the wrong type is named, with both types" \
        'BadConfig: option "duration-ms" has D-Bus type "s"; it must be "u"' \
        start_error "{'duration-ms': <'5s'>}"
fails "a bad fill policy is named" 'BadConfig: option "fill-policy" is "round"' \
        start_error "{'sources': <['org.example.app']>, 'fill-policy': <'round'>}"
fails "a bad scope is named" 'BadConfig: option "scope" is "all"' \
        start_error "{'sources': <['x.y']>, 'scope': <'all'>}"
fails "two whole configs are one too many" 'BadConfig: .*mutually exclusive' \
        start_error "{'preset': <'a'>, 'config-text': <''>}"
fails "an error in a text config has its line and column" 'BadConfig: option "config-text", line 2, column [0-9]+' \
        start_error "{'config-text': <'buffers { size_kb: 4096 }
buffrs { size_kb: 4096 }'>}"
fails "bytes that are no config are refused" 'BadConfig: option "config"' start_error "{'config': <b'\\377\\377'>}"
fails "an unknown preset is named" 'BadConfig: option "preset".*nosuch' start_error "{'preset': <'nosuch'>}"
fails "a file to write, but no file" 'BadConfig: .*write_into_file' \
        start_error "{'config-text': <'buffers { size_kb: 4096 } write_into_file: true
                data_sources { config { name: \"org.example.app\" } }'>}"
fails "a file by its path is refused, with what to do" 'BadConfig: .*output_path.*pass the descriptor as' \
        start_error "{'config-text': <'buffers { size_kb: 4096 } write_into_file: true output_path: \"/tmp/x\"
                data_sources { config { name: \"org.example.app\" } }'>}"
fails "a session of nothing is refused" 'BadConfig' start_error "{'name': <'empty'>}"
fails "a buffer that is too large is a limit" 'LimitExceeded|BadConfig' \
        start_error "{'sources': <['org.example.app']>, 'buffer-size-kb': <uint32 4294967295>}"
fails "a buffer of nothing is refused" 'BadConfig: option "buffer-size-kb" is 0' \
        start_error "{'sources': <['org.example.app']>, 'buffer-size-kb': <uint32 0>}"
fails "a source that is nearly a known one is not accepted" 'NoSuchSource: .*org.example.app' \
        start_error "{'sources': <['org.example.ap']>}"
producer sulky org.example.sulky refuse
fails "a source that every producer refuses fails the session, with the reason" \
        'SourceFailed: org.example.sulky cannot be recorded: .+; leave it out' \
        start_error "{'sources': <['org.example.app', 'org.example.sulky']>}"
ok "of which nothing stays" eventually has_no_sessions
producer verbose org.example.verbose complain
fails "a reason that is cut off amidst a character is still told" 'SourceFailed: .*éé' \
        start_error "{'sources': <['org.example.verbose']>}"
start 4 sources as 2 org.example.app org.example.verbose partial b true duration-ms u 60000 detach b true
gives "also as a property, which ends with a whole one" 'failed: [^"]*\\303\\251"' property "$path" Sources
ok "of a session that is freed" session "$path" Free
long=$(printf 'é%.0s' {1..400})
fails "an error that quotes too much is cut to characters" 'NoSuchSession: .*éé' call "$MANAGER".GetSession "$long"
fails "wherever they begin" 'NoSuchSession: .*éé' call "$MANAGER".GetSession "x$long"
start 4 sources as 2 org.example.app org.example.sulky \
        partial b true duration-ms u 60000 detach b true
gives "what can be recorded is, if that will do" '"org.example.app" .* "started"' property "$path" Sources
gives "and the rest is told" '"failed: ' property "$path" Sources
ok "it is freed" session "$path" Free
fails "a session of no name is not found" 'NoSuchSession: .*"nosuch"' call "$MANAGER".GetSession nosuch
fails "nor one of a wrong number" 'NoSuchSession' call "$MANAGER".GetSession 999
fails "who has not registered is no producer" 'NotAProducer' call "$MANAGER".UnregisterDataSource x
fails "a producer's name must be one" 'BadConfig' call "$MANAGER".RegisterProducer "''" "@a(sa{sv}) []" "@a{sv} {}"
fails "a source of the wrong type is named" 'BadConfig: option "no-flush"' \
        call "$MANAGER".RegisterProducer p "[('x.y', {'no-flush': <'yes'>})]" "@a{sv} {}"

start 3 duration-ms u 60000 detach b true config-text s 'buffers { size_kb: 4096 }
        data_sources { config { name: "org.example.app" } } session_semaphores { name: "alone" }'
fails "who must wait for another is told for whom" 'Busy: .*semaphore "alone"' \
        start_error "{'config-text': <'buffers { size_kb: 4096 } session_semaphores { name: \"alone\" }
                data_sources { config { name: \"org.example.app\" } }'>}"
ok "who stops is in nobody's way" session "$path" Stop
ok "and is freed" session "$path" Free

start 4 sources as 1 org.example.app name s one duration-ms u 60000 detach b true
fails "a name is given once" 'NameInUse: .*one' start_error "{'sources': <['org.example.app']>, 'name': <'one'>}"
gives "a session is found by its name" "$path" manager GetSession s one
gives "and by its number" "$path" manager GetSession s "${path##*/}"
object=$path
fails "a running session cannot be started" 'WrongState' call "$SESSION".Start
ok "a stopped session can be stopped" session "$path" Stop
ok "again" session "$path" Stop
fails "but not flushed" 'WrongState: cannot flush' call "$SESSION".Flush 0
object=$ROOT
fails "what is not in the interface cannot be called" 'UnknownMethod' call "$MANAGER".Nothing
fails "properties cannot be set" 'Error' call org.freedesktop.DBus.Properties.Set "$MANAGER" Version "<'2'>"
consumer user start org.example.app deferred
gives "a session with deferred_start is configured" '"configured"' property "$path" State
ok "and starts when told" session "$path" Start
gives "to be started" '"started"' property "$path" State
for n in 1 2 3 4 5 6 7 8 9; do
        start 3 sources as 1 org.example.app duration-ms u 60000 detach b true || break
done
ok "sessions of a user are limited, or the user is root" test "$(id -u)" = 0 -o "$n" -lt 9
finish
