#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# What this machine has to know after "meson install": users, directories, units and policies. Packages have scripts of
# their own for that, and "meson install" leaves this one out when it installs for them, with DESTDIR.
# Usage: after-install.sh SYSUSERS-DIRECTORY TMPFILES-DIRECTORY
set -eu

[ "$(id -u)" = 0 ] || exit 0
if command -v systemd-sysusers >/dev/null; then
        systemd-sysusers "$1"/desktrace*.conf
fi
[ -d /run/systemd/system ] || exit 0
systemd-tmpfiles --create "$2/desktrace.conf"
systemctl daemon-reload
# A machine without a system bus has nothing to tell it.
! systemctl --quiet is-active dbus.service || systemctl reload dbus.service
