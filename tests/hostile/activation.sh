#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Point 8: somebody who may not record the system has the probes started, which have capabilities.
# The checks call functions by name.
# shellcheck disable=SC2317,SC2154
# shellcheck source=tests/hostile/hostile-lib.sh
. "$(dirname "$0")/hostile-lib.sh"

[ "$(id -u)" = 0 ] || skip_all "needs root, to be several users"

# What stands for the probes says that it was started, and leaves.
mkdir -p "$tmp/services" "$tmp/system.d" "$tmp/sockets"
cat >"$tmp/services/probes.service" <<SERVICE
[D-BUS Service]
Name=org.example.Probes
Exec=/usr/bin/touch $tmp/probes-ran
User=root
SERVICE
echo "<busconfig><servicedir>$tmp/services</servicedir></busconfig>" >"$tmp/system.d/probes.conf"
cat >"$tmp/producers.d/kernel.conf" <<'CONF'
[Producer]
Name=kernel
DataSources=linux.ftrace;linux.sys_stats;
BusName=org.example.Probes
CONF
chmod 777 "$tmp/sockets"
socket=$tmp/sockets/consumer.sock
cp "$(dirname "$0")"/../integration/perfetto_*.py "$tmp/sockets"
export PERFETTO_CONSUMER_SOCK_NAME=$socket

did_run() { test -e "$tmp/probes-ran"; }
did_not_run() { ! did_run; }
query_as() { as "$1" timeout 30 /usr/bin/python3 -B "$tmp/sockets/perfetto_consumer.py" "$socket" producers; }

two_users
innocent_records

gives "a list is given to whoever asks" '"linux.ftrace" 0' call_as "$bob" $ROOT $MANAGER ListSources
ok "ActivateProducers() is answered" call_as "$bob" $ROOT $MANAGER ActivateProducers
ok "and starts nobody" did_not_run
ok "so is the call without starting" call_as "$bob" $ROOT $MANAGER AwaitProducers
ok "events are listed" call_as "$bob" $ROOT $MANAGER ListEvents 'a{sv}' 0
ok "and Perfetto's QueryServiceState()" query_as "$bob"
fails "and recordings are refused" 'trace-system' named_as "$bob" StartSession "{'sources': <['linux.ftrace']>}"
ok "none of these starts the probes" did_not_run
ok "polkit was asked without a prompt" grep -qE 'check .*trace-system flags=0 sources=linux.ftrace' "$questions"
ok "also about the process on the socket" grep -qE 'check unix-process .*trace-system flags=0' "$questions"
answer trace-system ask
ok "a user who would have to be asked is not" call_as "$bob" $ROOT $MANAGER ActivateProducers
ok "and has nobody started" did_not_run
innocent_is_unharmed "many who want the probes"

answer trace-system yes
call_as "$bob" $ROOT $MANAGER ActivateProducers >/dev/null
ok "for who may record the system they are started" eventually did_run
finish
