#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Point 8: somebody who may not record the system has the probes started, which have capabilities.
# The checks call functions by name.
# shellcheck disable=SC2317,SC2154
# shellcheck source=tests/hostile/hostile-lib.sh
. "$(dirname "$0")/hostile-lib.sh"

[ "$(id -u)" = 0 ] || skip_all "needs root, to be several users"

# What stands for the probes says that it was started.
mkdir -p "$tmp/sockets"
started /usr/bin/python3 -B "$(dirname "$0")/../integration/socket-activator.py" "$tmp/probes.sock" \
        /bin/sh -c "touch $tmp/probes-ran; exec sleep 60"
eventually test -S "$tmp/probes.sock"
chown daemon "$tmp/probes.sock"
cat >"$tmp/producers.d/kernel.conf" <<CONF
[Producer]
Name=kernel
DataSources=linux.ftrace;linux.sys_stats;
Socket=$tmp/probes.sock
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

gives "a list is given to every caller" '"linux.ftrace" 0' call_as "$bob" $ROOT $MANAGER ListSources
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
fails "nor can they be reached behind the service's back" 'Permission denied' as "$bob" /usr/bin/python3 -c \
        "import socket; socket.socket(socket.AF_UNIX).connect('$tmp/probes.sock')"
ok "so nothing was started" did_not_run
attack_is_over "many who want the probes"

answer trace-system yes
call_as "$bob" $ROOT $MANAGER ActivateProducers >/dev/null
ok "for who may record the system they are started" eventually did_run
finish
