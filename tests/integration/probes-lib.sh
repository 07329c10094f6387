# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# For tests of the command line on a bus that starts the probes, on top of its other verbs: root's system bus and
# service.

# shellcheck source=tests/integration/cli-lib.sh
. "$(dirname "$0")/cli-lib.sh"

[ "$(id -u)" = 0 ] || skip_all "not root: the probes' names are root's"

mkdir -p "$tmp/services" "$tmp/system.d"
cat >"$tmp/services/probes.service" <<SERVICE
[D-BUS Service]
Name=org.desktrace.Probes1
Exec=$DESKTRACE_PROBES --system
User=root
SERVICE
cat >"$tmp/system.d/probes.conf" <<CONF
<busconfig><servicedir>$tmp/services</servicedir>
<policy user="root"><allow own="org.desktrace.Probes1"/></policy></busconfig>
CONF
cat >"$tmp/producers.d/kernel.conf" <<'CONF'
[Producer]
Name=kernel
DataSources=linux.ftrace;linux.sys_stats;linux.sysfs_power;
BusName=org.desktrace.Probes1
CONF
cat >"$tmp/producers.d/nobody.conf" <<'CONF'
[Producer]
Name=nobody
DataSources=linux.nobody;
BusName=org.example.Nobody
CONF
system_bus root
chmod 755 "$tmp" "$tmp/work"
export RUNTIME_DIRECTORY=$tmp/kept
mkdir "$RUNTIME_DIRECTORY"
service "$DESKTRACED" --system

manager_of_system() {
        BUSCTL=--system manager "$@"
}

nobody() {
        as nobody "$DESKTRACE" "$@"
}

probes_run() {
        busctl --system call org.freedesktop.DBus / org.freedesktop.DBus NameHasOwner s org.desktrace.Probes1 |
                grep -q true
}

no_probes() {
        ! probes_run
}
