#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A clean Debian 12, as root, without sudo: the README's first command as it is.
# Time limit: 15 min

# shellcheck source=tests/machines/lib.sh
. "$(dirname "$0")/lib.sh"

machine bookworm
project
readme_try
finish
