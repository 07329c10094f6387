#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The live objects are what the XML says.
# The checks call functions by name.
# shellcheck disable=SC2317
# shellcheck source=tests/integration/bus-lib.sh
. "$(dirname "$0")/bus-lib.sh"

session_bus
service "$DESKTRACED" --user --idle-timeout=60s
producer app org.example.app
app=$started
start 3 sources as 1 org.example.app duration-ms u 60000 detach b true

show() {
        gdbus introspect --session --xml --dest "$1" --object-path "$2" >"$tmp/live.xml" &&
                /usr/bin/python3 "$(dirname "$0")/compare-interface.py" "$BUS_XML" "$tmp/live.xml" "$3"
}
bus_call() { # METHOD ARGUMENTS...: of the bus itself
        busctl --user call org.freedesktop.DBus /org/freedesktop/DBus org.freedesktop.DBus "$@"
}
owner() { # of the producer: its process's connection. Not "busctl list", which fails where there are no control groups.
        local name
        for name in $(bus_call ListNames | grep -oE ':[0-9]+\.[0-9]+'); do
                [ "$(bus_call GetConnectionUnixProcessID s "$name")" != "u $app" ] || echo "$name"
        done
}
producer_path=$(busctl --user call "$BUS" "$ROOT" org.freedesktop.DBus.ObjectManager GetManagedObjects |
        grep -oE '/org[^"]*/producer/[0-9]+' | head -n 1)

ok "Manager is as documented" show "$BUS" "$ROOT" "$MANAGER"
ok "Session is as documented" show "$BUS" "$path" "$SESSION"
ok "Buffer is as documented" show "$BUS" "$path"/buffer/0 "$BUS".Buffer
ok "SourceInfo is as documented" show "$BUS" "$ROOT"/source/org_2eexample_2eapp "$BUS".SourceInfo
ok "ProducerInfo is as documented" show "$BUS" "$producer_path" "$BUS".ProducerInfo
ok "Producer is as documented, in the library" show "$(owner)" "$ROOT"/Producer "$BUS".Producer
fails "and the comparison would notice" 'Manager' show "$BUS" "$path" "$MANAGER"
finish
