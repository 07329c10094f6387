#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A clean Debian 13, as root, without sudo.
# Time limit: 20 min

# shellcheck source=tests/machines/lib.sh
. "$(dirname "$0")/lib.sh"

machine trixie
project
ok "the README's first command succeeds, from nothing" as_root bash -euc "$(readme '# Desktrace' '^\./scripts/try')"
said 'it has recorded the kernel' '^linux\.ftrace +[a-z_]+ +[1-9]'
said 'and the example' '^frame +mandelbrot'
finish
