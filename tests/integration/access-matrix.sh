#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Every cell of the tables in docs/ACCESS.md: three users, on the bus and on the native socket, with polkit and without.
# With $ACCESS_HIDEPID nobody but root sees processes of others in /proc.
if [ "${ACCESS_HIDEPID-}" ]; then
        unset ACCESS_HIDEPID
        in_namespace=(unshare --mount --pid --fork --kill-child --mount-proc --propagation private bash -c)
        "${in_namespace[@]}" 'mount -o remount,hidepid=2 /proc' 2>/dev/null ||
                { echo '1..0 # SKIP may not mount /proc'; exit 0; }
        # shellcheck disable=SC2016 # for the shell inside
        exec "${in_namespace[@]}" 'mount -o remount,hidepid=2 /proc && exec "$0" "$@"' "$0" "$@"
fi

# shellcheck source=tests/integration/bus-lib.sh
. "$(dirname "$0")/bus-lib.sh"

[ "$(id -u)" = 0 ] || skip_all "needs root, to be several users"
/usr/bin/python3 -c 'from gi.repository import Gio' 2>/dev/null || skip_all "python3-gi is not installed"
unshare -m true 2>/dev/null || skip_all "may not make a sandbox (mount namespaces)"

service_user=daemon alice=games bob=nobody
sockets=$tmp/sockets
mkdir -m 777 "$sockets"
cp "$(dirname "$0")"/{access,perfetto}_*.py "$sockets"
cat >"$tmp/producers.d/kernel.conf" <<'CONF'
[Producer]
Name=kernel
DataSources=linux.ftrace;linux.sys_stats;
BusName=org.example.Nobody
CONF

system_bus $service_user
PERFETTO_PRODUCER_SOCK_NAME=$sockets/producer PERFETTO_CONSUMER_SOCK_NAME=$sockets/consumer \
        started systemd-socket-activate -l "$sockets/native" --fdname=native -E PERFETTO_PRODUCER_SOCK_NAME \
        -E PERFETTO_CONSUMER_SOCK_NAME -E DBUS_SYSTEM_BUS_ADDRESS -E DESKTRACE_CONFIG -E DESKTRACE_PRODUCERS_PATH \
        setpriv --reuid=$service_user --clear-groups -- "$DESKTRACED" --system --idle-timeout=infinity
eventually test -S "$sockets/native"
chmod 666 "$sockets/native"
# The first connection starts it.
python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])' "$sockets/native"
eventually has_owner --system $BUS
eventually test -S "$sockets/consumer"
started setpriv --reuid=$alice --clear-groups -- "$TEST_PRODUCER" own-program org.example.own
make_box $alice
box=$(printf '"%s", ' "${boxed[@]}")

export ACCESS_WORLD="{
        \"directory\": \"$tmp\", \"pid\": $started,
        \"users\": { \"own\": \"$alice\", \"other\": \"$bob\", \"root\": \"root\" }, \"box\": [${box%, }],
        \"addresses\": { \"bus\": \"$DBUS_SYSTEM_BUS_ADDRESS\", \"native\": \"unix:path=$sockets/native\" },
        \"ports\": { \"ConsumerPort\": \"$sockets/consumer\", \"ProducerPort\": \"$sockets/producer\" }
}"
/usr/bin/python3 -B "$sockets/access_matrix.py" "$@" "$ACCESS_PAGE" 2>>"$tmp/log"
status=$?
[ $status = 0 ] || tail -n 40 "$tmp/log" | sed 's/^/# /'
exit $status
