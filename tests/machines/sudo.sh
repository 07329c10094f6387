#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A user of Debian 12 who may use sudo.
# Time limit: 10 min

# shellcheck source=tests/machines/lib.sh
. "$(dirname "$0")/lib.sh"

machine bookworm build +sudo
user alice
project alice

ok 'scripts/try asks for root' as_user alice bash -euc "$(readme '# Desktrace' '^\./scripts/try')"
said 'it says how' '^== root, through sudo: '
said 'it has recorded the kernel' '^linux\.ftrace +[a-z_]+ +[1-9]'
said 'and the example' '^frame +mandelbrot'
ok 'there is a recording' test -s "$root$PROJECT/desktrace-try.pftrace"
ok 'and a page' test -s "$root$PROJECT/desktrace-try.html"
ok 'all that is left belongs to the user' test -z "$(find "$root$PROJECT" -user root)"

# A user who does not become root records less, and is not asked for ever.
printf '#!/bin/sh\n[ "$1" != -n ] || shift\nexec "$@"\n' >"$root/usr/local/bin/sudo"
chmod 755 "$root/usr/local/bin/sudo"
ok 'a sudo that gives no root ends in a recording' as_user alice scripts/try
said 'which says so' 'that needs root'
finish
