#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Point 13: a program in a sandbox, which was given the service's name to be recorded, wants to record others.
# The checks call functions by name.
# shellcheck disable=SC2317,SC2154
# shellcheck source=tests/hostile/hostile-lib.sh
. "$(dirname "$0")/hostile-lib.sh"

[ "$(id -u)" = 0 ] || skip_all "needs root, to be several users"
unshare -m true 2>/dev/null || skip_all "may not mount"

boxed_call() { # METHOD ARGUMENTS...
        "${boxed[@]}" timeout 20 gdbus call "${gdbus_options[@]}" --system --dest $BUS --object-path $ROOT \
                --method "$MANAGER.$1" "${@:2}"
}
gdbus_options=()
asked() { grep -qE -- "$1" "$questions"; }
DENIED='NotAuthorized.*org\.desktrace\.tracing1\.trace-from-sandbox'
own="{'sources': <['org.example.innocent']>, 'duration-ms': <uint32 1000>, 'detach': <true>}"

consumer_socket=$tmp/sockets/consumer.sock
export PERFETTO_CONSUMER_SOCK_NAME=$consumer_socket
three_users
native_service
native=$tmp/sockets/native.sock
make_box "$alice"
cp "$(dirname "$0")"/../integration/perfetto_*.py "$tmp/sockets"
innocent_records

for method in ListSources ListSessions ListPresets ActivateProducers; do
        fails "$method is not for a program in a sandbox" "$DENIED" boxed_call $method
done
fails "nor are the recordings of its user" "$DENIED" "${boxed[@]}" timeout 20 gdbus call --system --dest $BUS \
        --object-path "$innocent_session" --method "$SESSION.Stop"
fails "nor their state" "$DENIED" "${boxed[@]}" timeout 20 gdbus call --system --dest $BUS \
        --object-path "$innocent_session" --method org.freedesktop.DBus.Properties.GetAll "$SESSION"
fails "it does not record other programs of its user" "$DENIED" boxed_call StartSession "$own"
ok "polkit was told from where" asked 'trace-from-sandbox flags=[01] sandbox=Flatpak'
answer trace-from-sandbox ask
fails "nor when the user is not to be asked" 'AuthorizationNeeded' boxed_call ListSources
gdbus_options=(--interactive)
fails "nor over Perfetto's socket" . "${boxed[@]}" timeout 30 /usr/bin/python3 -B "$tmp/sockets/perfetto_consumer.py" \
        "$consumer_socket" record org.example.innocent
# Where there is nobody to be asked.
boxed_native() { # METHOD ARGUMENTS...
        "${boxed[@]}" timeout 20 gdbus call --address "unix:path=$native" --dest $BUS --object-path $ROOT \
                --method "$MANAGER.$1" "${@:2}"
}
for method in ListSources ListSessions; do
        fails "native socket: $method is not for a program in a sandbox" 'NotAuthorized' boxed_native $method
done
fails "native socket: it does not record other programs of its user" 'NotAuthorized' boxed_native StartSession "$own"
fails "native socket: nor does it see what there is" 'NotAuthorized' "${boxed[@]}" timeout 20 gdbus call \
        --address "unix:path=$native" --dest $BUS --object-path $ROOT \
        --method org.freedesktop.DBus.Properties.GetAll "$MANAGER"
gives "native socket: another program of the same user does" '^\(' as "$alice" gdbus call \
        --address "unix:path=$native" --dest $BUS --object-path $ROOT --method "$MANAGER.ListSources"
attack_is_over "a consumer in a sandbox"

started "${boxed[@]}" "$TEST_PRODUCER" boxed org.example.boxed
ok "it may be recorded" eventually has_producer boxed
answer trace-from-sandbox yes
gives "and it may record when its user says so" "session/" boxed_call StartSession "$own"
gives "others of the same user are not asked" '^a\(saoa' call_as "$alice" $ROOT $MANAGER ListSources
finish
