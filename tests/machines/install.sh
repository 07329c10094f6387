#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The README's commands to install, on Debian 12 and 13 as they are booted, by a user who has root through sudo.
# Time limit: 15 min

# shellcheck source=tests/machines/lib.sh
. "$(dirname "$0")/lib.sh"

for suite in bookworm trixie; do
        # shellcheck disable=SC2086 # words
        machine $suite build $BOOT_PACKAGES +sudo
        project
        # What is booted has a time limit, so it finds the programs built.
        ok "$suite: it builds" as_root sh -c 'meson setup build --prefix=/usr && ninja -C build'
        boot_it case-install.sh
done
finish
