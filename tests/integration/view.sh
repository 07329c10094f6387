#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# desktrace view: who gets a page and a recording from it, and who does not.

# shellcheck source=tests/integration/cli-lib.sh
. "$(dirname "$0")/cli-lib.sh"

# What is checked here is not for this script's own numbers.
timeout 60 "$DESKTRACE" record --standalone -q -p apps -o app.pftrace -- \
        "$EXAMPLE_PROGRAMS/hello-desktrace" --seconds 1 >/dev/null 2>&1
exec env -u DISPLAY -u WAYLAND_DISPLAY python3 "$(dirname "$0")/view_client.py" "$DESKTRACE" app.pftrace
