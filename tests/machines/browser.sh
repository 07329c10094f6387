#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Pages of "desktrace report" in Debian's Chromium and Firefox: they open from a disk, show what is in the recording, do
# what keys and clicks ask for, load nothing, and run nothing that a recording says.
# Time limit: 15 min

# shellcheck source=tests/machines/lib.sh
. "$(dirname "$0")/lib.sh"

machine bookworm build +chromium +chromium-driver +firefox-esr +fonts-dejavu-core
project
echo '127.0.0.1 localhost' >"$root/etc/hosts" # what an installed system has, and ChromeDriver asks for
ok 'it is configured' as_root meson setup build -Dprefix=/usr -Dprobes=disabled -Dtests=disabled -Dexamples=false
ok 'the command line builds' as_root ninja -C build src/client/desktrace
ok 'the page does what it should in all browsers' as_root python3 tests/browser/check-page.py build/src/client/desktrace
said 'in Chromium' '^ok [0-9]+ - chromium: no request leaves$'
said 'in Firefox' '^ok [0-9]+ - firefox: no request leaves$'
ok 'who has never seen a trace finds the slowest frame and its cause' \
        as_root python3 tests/browser/check-looking.py build/src/client/desktrace
finish
