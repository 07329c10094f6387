#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# desktrace export fleet: a recording as a tree of files, held against what the recording says; and the script that
# hands such files over. What engines make of them is the machine case "fleet".

# shellcheck source=tests/integration/cli-lib.sh
. "$(dirname "$0")/cli-lib.sh"

check=$(dirname "$0")/fleet_check.py
hand_over=$(dirname "$0")/../../data/fleet/desktrace-fleet

writes() {
        "$DESKTRACE" export fleet "$@" || [ $? = 6 ]
}

preset=apps
if [ "$(id -u)" = 0 ] && [ -x "$DESKTRACE_PROBES" ]; then
        preset=default
fi
ok 'a program is recorded' records_with \
        'SELECT count(*) >= 10 AND (SELECT count(*) FROM args) > 0 FROM slice WHERE dur > 0' app.pftrace $preset \
        "$EXAMPLE_PROGRAMS/daemon-desktrace"
ok 'a tree is made' writes app.pftrace -o lake --machine box-1
ok 'with what the recording says' python3 "$check" lake "$DESKTRACE" app.pftrace box-1
is_kept() {
        ! find lake -name '.*' -type f | grep .
}
ok 'and nothing that is half written' is_kept
exits 2 'what is there is not replaced' 'already' "$DESKTRACE" export fleet app.pftrace -o lake --machine box-1
ok 'but with -f' writes app.pftrace -o lake --machine box-1 -f
ok 'a machine without a name has a hash of its number' writes app.pftrace -o hashed --table trace
is_hashed() {
        local id
        id=$(cat /etc/machine-id 2>/dev/null) || return 0
        find hashed/trace -path '*/day=????-??-??/machine=*' | grep -E 'machine=[0-9a-f]{32}/' &&
                ! find hashed | grep -F "$id"
}
if [ -s /etc/machine-id ]; then
        ok 'and not the number itself' is_hashed
fi
ok 'a table is chosen' test ! -e hashed/slice
exits 2 'a table that there is not' "no table 'sched'" "$DESKTRACE" export fleet app.pftrace -o x --table sched
exits 2 'a name that would be another place' "machine's name" "$DESKTRACE" export fleet app.pftrace -o x \
        --machine ../x
exits 2 'part of a recording' 'whole recordings' "$DESKTRACE" export fleet app.pftrace -o x --from 1
exits 2 'without a directory' 'needs a directory' "$DESKTRACE" export fleet app.pftrace
exits 2 'a machine for another format' 'does not take --machine' "$DESKTRACE" export csv app.pftrace --machine x
ok 'nothing is written by all of these' test ! -e x
exits 1 'a place that cannot be written to' 'cannot write' "$DESKTRACE" export fleet app.pftrace -o /proc/none \
        --machine x

mkdir spool bin
ln -s "$DESKTRACE" bin/desktrace
spool() {
        PATH=$PWD/bin:$PATH FLEET_SPOOL=$PWD/spool FLEET_OUT=$PWD/out FLEET_TABLES='trace slice' \
                FLEET_HAND_OVER=$1 sh "$hand_over"
}
not() {
        ! "$@"
}
cp app.pftrace spool/a.pftrace
ok 'a tool that fails' not spool false
ok 'leaves the files for the next time' test -d out/trace -a -e spool/done/a.pftrace
ok 'and gets them then' spool "cp -r \"\$FLEET_OUT\" taken"
ok 'all of them' test -d taken/slice -a ! -e out/slice
echo nothing >spool/b.pftrace
ok 'what is no recording is told' not spool true
ok 'and put aside' test -e spool/failed/b.pftrace
finish
