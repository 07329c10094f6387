#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The library from C++, from GLib's log and from Python: their examples' events are in the trace.

# shellcheck source=tests/integration/cli-lib.sh
. "$(dirname "$0")/cli-lib.sh"

# records FILE COMMAND...
records() {
        local file=$1
        shift
        timeout 30 "$DESKTRACE" record --standalone -p apps -o "$file" -- "$@" >"$tmp/output" 2>&1
}

# has_the_example NAME FILE: slices, instants and counters, and nothing lost
has_the_example() {
        ok "$1: its slices are there" holds "$2" 'any(s["name"] == "step" and s["count"] > 10 for s in t["slices"])'
        ok "$1: its counter too" holds "$2" 'any(c["name"] == "steps" and c["count"] > 10 for c in t["counters"])'
        ok "$1: nothing is lost" holds "$2" 't["losses"]["verdict"] == "none"'
}

if [ -n "${EXAMPLE_CPP-}" ]; then # built where there is a compiler for it
        ok "a C++ program is recorded" records cpp.pftrace "$EXAMPLE_CPP" --seconds 0.3
        has_the_example "C++" cpp.pftrace
        ok "C++: arguments are in it, those of the end too" grep -qa 'done' cpp.pftrace
        ok "C++: it is told that it is recorded" grep -qa 'recorded from now on' cpp.pftrace
fi

ok "a GLib program is recorded" records glib.pftrace "$EXAMPLE_GLIB" --seconds 0.3
ok "GLib: its slices are there" holds glib.pftrace 'any(s["name"] == "on_job" and s["count"] > 10 for s in t["slices"])'
ok "GLib: what it logs is in the trace" grep -qa 'the time is up' glib.pftrace
ok "GLib: with its place in the source" grep -qa 'glib-desktrace.c' glib.pftrace

# An interpreter without the sanitizers cannot load a library with them.
if [ -n "${BINDINGS_PYTHON-}" ]; then
        export PYTHONPATH=$BINDINGS_PYTHON
        ok "a Python program is recorded" records python.pftrace python3 "$EXAMPLES/hello-desktrace.py" --seconds 0.3
        has_the_example "Python" python.pftrace
        ok "Python: arguments are in it, nested ones too" grep -qaE 'heights' python.pftrace
        ok "Python: so is what came first, and that it is recorded" \
                eval "grep -qa 'before init' python.pftrace && grep -qa 'recorded' python.pftrace"
        cat >"$tmp/odd.py" <<'END'
import desktrace
desktrace.init()
odd = desktrace.Category("odd\udcff")
loop = [1]
loop.append(loop)
with odd.slice("file\udcff", None, **{"of\udcff": loop}):
    odd.instant("went on")
END
        ok "Python: texts and lists that cannot be said do no harm" records odd.pftrace python3 "$tmp/odd.py"
        ok "Python: and are in the trace as far as they can" grep -qa 'went on' odd.pftrace
        ok "a Python program runs without the library, too" \
                env LIBDESKTRACE=/nowhere LD_LIBRARY_PATH=/nowhere python3 "$EXAMPLES/hello-desktrace.py" --seconds 0.01
fi

finish
