#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Two users of one machine, whose programs' heaps can be recorded: none of them sees the other's, whatever is asked for.
# The checks call functions by name.
# shellcheck disable=SC2317
# shellcheck source=tests/integration/cli-lib.sh
. "$(dirname "$0")/cli-lib.sh"

[ "$(id -u)" = 0 ] || skip_all "not root: there are no other users to be"
[ "$HEAP_STACKS" ] || skip_all 'this build records no call stacks'

# Users that are on every system: the bus daemon wants to know their names.
ALICE=games BOB=nobody
export HOME=$tmp/work
as $ALICE "$DESKTRACE" --version >/dev/null || skip_all "other users cannot run $DESKTRACE"
BUSCTL=--system

sql() {
        "$DESKTRACE" query --csv --no-legend "$@"
}

# record_as USER FILE CONFIG: a busy machine may lose data, and the recording says so
record_as() {
        local status=0
        as "$1" "$DESKTRACE" record -c "$3" -t 500ms -f -o "$2" >"$2.out" 2>&1 || status=$?
        [ "$status" = 0 ] || [ "$status" = 6 ] || { cat "$2.out"; return 1; }
}

pids_in() {
        sql "$1" 'SELECT group_concat(DISTINCT p.pid) FROM heap_site JOIN process p USING (upid)'
}

# sees USER FILE CONFIG PID...: recordings, until one has all of these; a busy machine may leave programs without a CPU
sees() {
        local file=$2 try pid missing
        for try in 1 2 3 4 5; do
                record_as "$1" "$file" "$3" || return
                missing=
                for pid in "${@:4}"; do
                        [[ ,$(pids_in "$file" | tr -d '"'), == *",$pid,"* ]] || missing=$pid
                done
                [ "$missing" ] || return 0
        done
        echo "$missing is in none of $try recordings"
        return 1
}

config() {
        cat <<END
buffers { size_kb: 16384 }
data_sources { config { name: "$1" heapprofd_config { sampling_interval_bytes: 1 $2 } } }
END
}

system_bus root
chmod 755 "$tmp"
chmod 1777 "$tmp/work"
service "$DESKTRACED" --system
for name in alices-heap bobs-heap; do
        cp "$HEAP_SITES" $name
        chmod 755 $name
done
starts() {
        started setpriv --reuid="$1" --clear-groups -- env LD_PRELOAD="$HEAP_LIBRARY" "$PWD/$2" stays
        eventually has_producer "$2"
}
starts $ALICE alices-heap
alices=$started
starts $BOB bobs-heap
bobs=$started

config heap.malloc '' >malloc.pbtxt
config android.heapprofd 'all: true' >all.pbtxt

ok 'root sees both' sees root root.pftrace malloc.pbtxt "$alices" "$bobs"
for kind in malloc all; do
        ok "a user sees the own heap: $kind" sees $ALICE "alice-$kind.pftrace" $kind.pbtxt "$alices"
        gives 'and none besides' "^\"?$alices\"?\$" pids_in "alice-$kind.pftrace"
        fails 'not even the name of a program or file' '^$' grep -a bobs-heap "alice-$kind.pftrace"
        ok "so does the other one: $kind" sees $BOB "bob-$kind.pftrace" $kind.pbtxt "$bobs"
        gives 'who has his own alone' "^\"?$bobs\"?\$" pids_in "bob-$kind.pftrace"
        fails 'and no name of hers' '^$' grep -a alices-heap "bob-$kind.pftrace"
done

# What is asked for by name is not there.
config android.heapprofd "pid: $bobs" >pid.pbtxt
config android.heapprofd 'process_cmdline: "bobs-heap"' >name.pbtxt
for kind in pid name; do
        ok "another user's program is asked for by its $kind" record_as $ALICE stolen.pftrace $kind.pbtxt
        gives 'and is not there' '^0$' sql stolen.pftrace 'SELECT count(*) FROM heap_site'
        ok "its own user gets it" sees $BOB got.pftrace $kind.pbtxt "$bobs"
done
# Programs that have the library are recorded while they run, and doctor knows which do.
records_armed() {
        local try status
        for try in 1 2 3 4 5; do
                status=0
                as $ALICE "$DESKTRACE" record -p apps --heap=1 -t 500ms -f -o armed.pftrace >armed.out 2>&1 || status=$?
                [ "$status" = 0 ] || [ "$status" = 6 ] || { cat armed.out; return 1; }
                [ ! "$(pids_in armed.pftrace)" ] || return 0
        done
        echo "nothing is in any of $try recordings"
        return 1
}
ok 'without a command, what is armed is recorded' records_armed
gives 'of the own programs' "^\"?$alices\"?\$" pids_in armed.pftrace
doctor() {
        "$DESKTRACE" doctor --json=short "$@" || [ $? = 10 ]
}
doctor_of() {
        as "$1" "$DESKTRACE" doctor --json=short "$2" || [ $? = 10 ]
}
gives 'doctor tells her that it is armed' 'libdesktrace-heap.so is loaded into it' doctor_of $ALICE "$alices"
gives 'and him that he may not know' 'you may not look into this process' doctor_of $BOB "$alices"
gives 'and of others what shows their growth, and how to arm them' \
        '"desktrace record --stacks-at=page-fault -t 10s; desktrace record --heap -- .*LD_PRELOAD=' doctor $$

# A recording without the service has the command alone.
standalone() {
        local status=0
        as $ALICE "$DESKTRACE" record --standalone -p apps --heap=4K -f -o own.pftrace -- ./alices-heap sites \
                >own.out 2>&1 || status=$?
        [ "$status" = 0 ] || [ "$status" = 6 ] || { cat own.out; return 1; }
}
ok 'a command of hers is recorded' standalone
gives 'which is all there is' '^alices-heap$' sql own.pftrace \
        'SELECT DISTINCT p.name FROM heap_site JOIN process p USING (upid)'
fails 'nothing of his is in it' '^$' grep -a bobs-heap own.pftrace
finish
