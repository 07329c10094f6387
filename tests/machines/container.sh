#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# An ordinary container: the README's first two commands as root, the first as another user.
# Time limit: 30 min

# shellcheck source=tests/machines/lib.sh
. "$(dirname "$0")/lib.sh"

machine bookworm build test lint
project
user alice

try=$(readme '# Desktrace' '^\./scripts/try')
ok "the README's first command succeeds" in_container bash -euc "$try"
said 'it has recorded processes' '^linux\.process_stats +[a-z_]+ +[1-9]'
said 'memory' '^meminfo'
said 'and the example' '^frame +mandelbrot'
said 'it says what is missing, and what helps' "^The kernel's events are not recorded: .*--privileged"
left_a_page in_container
suite in_container

chroot "$root" chown -R alice: $PROJECT
ok 'another user records the example' in_container_as alice bash -euc "$try"
said 'it says what is missing' 'that needs root'
finish
