#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A clean Debian 13, as root, without sudo: the README's first command as it is, and its commands to install.
# Time limit: 20 min

# shellcheck source=tests/machines/lib.sh
. "$(dirname "$0")/lib.sh"

machine trixie
project
readme_try
readme_install
finish
