#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Tracks and names, as programs in C, C++ and Python say them: what is in the file is what each of them said.

# shellcheck source=tests/integration/cli-lib.sh
. "$(dirname "$0")/cli-lib.sh"

# has LANGUAGE PROMISE LINE...: all these lines are there, in this order
has() {
        local language=$1 promise=$2
        shift 2
        ok "$language: $promise" in_order "$@"
}

in_order() {
        local line at=0 next
        for line; do
                next=$(tail -n +$((at + 1)) said | grep -nxF -m 1 -- "$line" | cut -d: -f1)
                [ -n "$next" ] || return
                at=$((at + next))
        done
}

# says_it_all LANGUAGE COMMAND...
says_it_all() {
        local language=$1
        shift
        rm -f tracks.pftrace
        ok "$language: a program is recorded" \
                timeout 30 "$DESKTRACE" record --standalone -p apps -o tracks.pftrace -- "$@"
        ok "$language: nothing is lost" holds tracks.pftrace 't["losses"]["verdict"] == "none"'
        python3 "$TRACKS_CHECK" tracks.pftrace >said
        has "$language" "tracks say what they are, and how those below them are ordered and merged" \
                'track process/gpu 11=3 14=What it does' \
                'track process/gpu/queue 12=-2 15=3 16=queues' \
                'event process/gpu/queue in the queue'
        has "$language" "counters say their unit, scale and axis" \
                'track process/memory 8.2=calls 8.3=3 8.4=1024 8.7=sizes' 'event process/memory 5'
        has "$language" "a thread has tracks of its own, and a rank" \
                'track thread worker 12=3' 'track root 19=1 20=1' \
                'track thread worker/row' 'event thread worker/row in the row'
        has "$language" "differences add up" \
                'track thread worker/cpu 8.3=1 8.5=1' 'event thread worker/cpu 1000000' \
                'event thread worker/cpu 1000001' 'event thread worker/cpu 1000002'
        has "$language" "a track is the whole trace's" 'track root/bus' 'event root/bus on the bus'
        has "$language" "a new name and labels are told at once" \
                'track process 3.6=Tracks' 'track process 3.6=Tracks 3.8=one 3.8=two'
        has "$language" "what overlaps is on lanes, which are used again" \
                'event process/requests#1 first' 'event process/requests#2 second' \
                'event process/requests#1 end' 'event process/requests#1 third' \
                'event process/requests#1 end' 'event process/requests#2 end'
        ok "$language: a category of run time is recorded" grep -qx 'event thread .* found' said
        ok "$language: under its name" grep -qa 'calls\.found' tracks.pftrace
}

says_it_all C "$TRACKS_APP"
[ -z "${TRACKS_APP_CPP-}" ] || says_it_all C++ "$TRACKS_APP_CPP"
if [ -n "${BINDINGS_PYTHON-}" ]; then
        export PYTHONPATH=$BINDINGS_PYTHON
        says_it_all Python python3 "$TRACKS_APP_PY"
        ok "Python: it runs without the library, too" \
                env LIBDESKTRACE=/nowhere LD_LIBRARY_PATH=/nowhere python3 "$TRACKS_APP_PY"
fi
finish
