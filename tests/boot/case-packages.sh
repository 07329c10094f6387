#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The life of the Debian packages in $DEBS: installed, used by a user, upgraded while somebody records, removed and
# purged. tests/machines/packages.sh boots it.
. ./lib.sh

DEBS=/srv/packages
SOURCE=/usr/share/doc/libdesktrace-dev/examples/hello-desktrace.c
EXAMPLE=/usr/share/doc/python3-desktrace/examples/hello-desktrace.py
PACKAGES='desktrace desktraced desktrace-probes libdesktrace0 libdesktrace-dev python3-desktrace
libdesktrace-glib0 libdesktrace-glib-dev gir1.2-desktrace-0 gstreamer1.0-desktrace desktrace-vulkan-layer'

# Files of packages, and what maintainer scripts leave. dpkg's own notes, and what is of this boot, are none of ours.
list_files() {
        find / \( -path /proc -o -path /sys -o -path /dev -o -path /run -o -path /tmp -o -path /home -o -path /var/log \
                -o -path /var/cache -o -path /var/lib/dpkg -o -path /var/lib/systemd -o -path /root \
                -o -path "$PWD" -o -name __pycache__ -o -path '/etc/*-' \) -prune -o -print | sort
        cut -d: -f1 /etc/passwd /etc/group
        find /var/lib/systemd -name '*desktrace*'
}

record() {
        as alice desktrace record -o "/home/alice/$1.pftrace" --force "${@:2}"
}

is_recording() { as alice desktrace list sessions --no-legend | grep -qw "$1"; }

has_steps() {
        is_true "/home/alice/$1.pftrace" 'any(s["name"] == "step" and s["count"] > 10 for s in d["slices"])'
}

is_enabled() { systemctl is-enabled --quiet "$1"; }
# snapshot_has WHEN: a new snapshot of the flight recorder has slices WHEN
snapshot_has() {
        as alice desktrace snapshot -q -f -o /home/alice/snapshot.pftrace &&
                file_has_slices /home/alice/snapshot.pftrace "$1"
}
has_user() { getent passwd "$1"; }
knows_no_unit() { ! systemctl list-units --all --no-legend --plain "$@" | grep .; }
upgrade() { dpkg -i $DEBS/next/*.deb; }
versions() { dpkg-query -W -f '${Version}\n' $PACKAGES | sort -u; }
is_of_now() { [ "/proc/$(main_pid desktraced.service)/exe" -ef /usr/libexec/desktraced ]; }

rm -f /usr/sbin/policy-rc.d # which starts no services where packages are built
list_files >/tmp/before

# Installation
ok 'the packages are installed' dpkg -i $DEBS/*.deb
ok 'they are consistent' dpkg --audit
ok 'the native socket listens' is_active desktraced.socket
ok 'and will after the next start' is_enabled desktraced.socket
for unit in desktraced-perfetto-producer.socket desktraced-perfetto-consumer.socket; do
        ok "$unit does not" not is_active "$unit"
        ok 'and will not' not is_enabled "$unit"
done
ok 'nothing runs' is_gone desktraced.service
ok 'the service has its user' has_user desktrace
ok 'the probes have theirs' has_user desktrace-probes

# Use
ok 'a user records' record first -p apps -- python3 $EXAMPLE --seconds 0.5
ok 'what the program did' has_steps first
ok 'for which the service was started' is_active desktraced.service
ok 'as its user' test "$(ps -o user:32= -C desktraced | tr -d ' \n')" = desktrace
fails 'the kernel needs authorization' authori record kernel --no-ask-password -p scheduling -t 1s
ok 'which root has' desktrace record -p scheduling -t 1s -o /root/kernel.pftrace --force
ok 'and gets the probes, or is told why not' test -s /root/kernel.pftrace
# shellcheck disable=SC2046 # words
ok 'a program is compiled with the development package' \
        cc -o /tmp/hello $SOURCE $(pkg-config --cflags --libs desktrace)
ok 'and recorded' record compiled -p apps -- /tmp/hello --seconds 0.5
ok 'with its events' is_true /home/alice/compiled.pftrace 'any(s["count"] > 10 for s in d["slices"])'
ok 'GObject introspection finds the library' \
        test -e "$(dirname "$(find /usr/lib -name 'libdesktrace-glib.so.0')")/girepository-1.0/Desktrace-0.typelib"

# Upgrade
{
        record upgraded -n through-the-upgrade -p apps -- sh -c "python3 $EXAMPLE --seconds 0.5
                until [ -e /tmp/is-upgraded ]; do sleep 0.1; done
                exec python3 $EXAMPLE --seconds 0.5" >/tmp/upgraded 2>&1
        echo $? >/tmp/upgraded.status
} &
ok 'somebody records' within 30 is_recording through-the-upgrade
before=$(main_pid desktraced.service)
ok 'an upgrade goes through' upgrade
ok 'to the new version' test "$(versions)" = 9.9
ok 'the recording goes on' is_recording through-the-upgrade
touch /tmp/is-upgraded
ok 'and ends with its command' within 30 test -s /tmp/upgraded.status
ok 'well' grep -qx 0 /tmp/upgraded.status
ok 'with nothing lost' grep -q 'No losses' /tmp/upgraded
ok 'and with programs from before and after' \
        is_true /home/alice/upgraded.pftrace 'len({p["pid"] for p in d["producers"] if p["pid"]}) == 2'
ok 'because the service went on' test "$(main_pid desktraced.service)" = "$before"
ok 'with the program that it had' not is_of_now
ok 'the socket still listens' is_active desktraced.socket
ok 'the service can be restarted' systemctl restart desktraced.service
ok 'which makes it the new one' is_of_now
ok 'and a user records with it' record second -p apps -- python3 $EXAMPLE --seconds 0.5
ok 'what the program did' has_steps second

# An upgrade and a restart, which makes the new version run, during a flight recorder and a recording into a file
as alice python3 $EXAMPLE --seconds 100 >/dev/null 2>&1 &
program=$!
ok 'a flight recorder runs' as alice desktrace record --flight-recorder -p apps
# On a tmpfs: the root is an overlay here, whose files are not kept.
as alice desktrace record -t 10min -f -p apps -o /tmp/written.pftrace >/tmp/written 2>&1 &
written=$!
ok 'it records' within 30 snapshot_has '> 0'
ok 'and so does one into a file' within 30 test -s /tmp/written.pftrace
ok 'the packages are upgraded' upgrade
upgraded_ns=$(boottime)
ok 'and the service is started again' systemctl restart desktraced.service
restarted_ns=$(boottime)
ok 'the flight recorder has what was after that' within 30 snapshot_has ">= $restarted_ns"
ok 'and what was before' file_has_slices /home/alice/snapshot.pftrace "< $upgraded_ns"
sleep 1
pkill -INT -u alice -f written.pftrace
status=0
wait $written || status=$?
ok 'the other one is ended' grep -qx '[06]' <<<"$status"
ok 'and was told' grep -q 'the recording goes on' /tmp/written
ok 'its file has what was before' file_has_slices /tmp/written.pftrace "< $upgraded_ns"
ok 'and after' file_has_slices /tmp/written.pftrace ">= $restarted_ns"
kill $program
ok 'the flight recorder is stopped' as alice desktrace stop flight-recorder --discard

# Removal, while it runs
ok 'the service runs' is_active desktraced.service
# shellcheck disable=SC2086 # words
ok 'the packages are removed' dpkg -r $PACKAGES
ok 'the service has ended' test -z "$(ps -o pid= -C desktraced,desktrace-probes)"
ok 'nobody listens' test ! -e /run/desktrace
# shellcheck disable=SC2086
ok 'and purged' dpkg -P $PACKAGES
ok 'systemd knows no unit of them' knows_no_unit 'desktrace*'
list_files >/tmp/after
ok 'no file, user or group is left' diff /tmp/before /tmp/after
finish
