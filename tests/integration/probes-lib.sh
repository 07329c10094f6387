# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# For tests of the command line with a service that starts the probes, on top of its other verbs: root's system bus and
# service.

# shellcheck source=tests/integration/cli-lib.sh
. "$(dirname "$0")/cli-lib.sh"

[ "$(id -u)" = 0 ] || skip_all "not root: the probes' names are root's"

mkdir -p "$tmp/system.d"
echo '<busconfig><policy user="root"><allow own="org.desktrace.Probes1"/></policy></busconfig>' \
        >"$tmp/system.d/probes.conf"
cat >"$tmp/producers.d/kernel.conf" <<CONF
[Producer]
Name=kernel
DataSources=${probe_sources-linux.ftrace;linux.sys_stats;linux.sysfs_power;}
Socket=$tmp/probes.sock
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
mkdir "$tmp/grants"
RUNTIME_DIRECTORY=$tmp/grants started /usr/bin/python3 -B "$(dirname "$0")/socket-activator.py" \
        "$tmp/probes.sock" "$DESKTRACE_PROBES" --system
eventually test -S "$tmp/probes.sock"
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
