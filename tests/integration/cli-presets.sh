#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Presets of the desktop as an ordinary user: "desktop" asks for a permission once, and "gnome" without one records what
# is the user's own, and says what it leaves out.

probe_sources='linux.ftrace;linux.drm;linux.input_latency;linux.process_stats;linux.program_points;'
# shellcheck source=tests/integration/probes-lib.sh
. "$(dirname "$0")/probes-lib.sh"

[ -e /sys/kernel/tracing/available_events ] || skip_all 'no tracefs'
chmod 1777 "$tmp/work"
answers=$tmp/answers questions=$tmp/questions
printf 'org.desktrace.tracing1.trace-system ask\n' >"$answers"
: >"$questions"
started "$FAKE_POLKIT" "$answers" "$questions"
eventually has_owner --system org.freedesktop.PolicyKit1

exits 0 'the preset "desktop" records' '[1-9][0-9]* kernel events' \
        nobody record -p desktop -t 1s -f -o desktop.pftrace
# By the service and by its probes, which do not take its word for it: polkit keeps the answer to the first.
asked_for() {
        [ "$(grep -o 'org\.desktrace\.[^ ]* flags=1' "$questions" | sort -u)" = "$1 flags=1" ] || {
                cat "$questions"
                return 1
        }
}
ok 'its user is asked for one thing' asked_for org.desktrace.tracing1.trace-system

printf 'org.desktrace.tracing1.trace-system no\n' >"$answers"
exits 3 'without the permission there is none of it' 'trace-system, which polkit denied' \
        nobody record -p desktop -t 1s -f -o denied.pftrace
exits 0 'the preset "gnome" is recorded' '(linux\.[a-z_]+(, |$)){5}' \
        nobody record -p gnome -f -o gnome.pftrace -- "$FIRST_EVENT"
said() { nobody record -p gnome -f -o gnome.pftrace -- "$FIRST_EVENT" 2>&1; }
gives 'and it is said what is left out' 'this is left out: linux.program_points, linux.drm' said
ok 'what is the own is in it' holds gnome.pftrace 't["track_events_total"] > 0'
ok 'and nothing of the kernel' holds gnome.pftrace 't["kernel_events_total"] == 0'
exits 3 'what is named is not left out' 'trace-system, which polkit denied' \
        nobody record -p gnome linux.process_stats -t 1s -f -o denied.pftrace
finish
