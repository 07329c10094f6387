#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Each of the processes that a recording of the desktop is made of is killed at a random moment: the service, probes,
# bridges, the client, the program that is recorded, and the compositor where there is one. Nothing is left in the
# kernel, nothing of ours runs on or has memory that was shared with the dead, and the others live.

# The checks call functions by name.
# shellcheck disable=SC2317
# shellcheck source=tests/integration/kernel-lib.sh
. "$(dirname "$0")/kernel-lib.sh"

[ -e $TRACEFS/uprobe_events ] || skip_all 'this kernel has no uprobes'
case $(uname -m) in x86_64 | aarch64 | riscv64) ;; *) skip_all 'points are not known on this machine' ;; esac

MOMENT_MS_MAX=1500 # after the first process runs: from before anything is set up until long after
export DESKTRACE_BRIDGES=$BRIDGES XDG_RUNTIME_DIR=$tmp/run
mkdir -m 700 "$tmp/run"
RANDOM=${SEED:=$RANDOM}
echo "# SEED=$SEED"

# A library of our own, which is probed for this test only.
library=$tmp/libpointed.so.1
cp "$POINTED_LIBRARY" "$library"
cat >"$tmp/points.d/toy.conf" <<'POINTS'
[Point outer]
Group=toy
Library=libpointed.so.1
Symbol=pointed_outer
Means=slice
POINTS

# Also when its parent has not asked for its status yet.
is_gone() { ! readlink "/proc/$1/exe" >/dev/null; }

# child_of PID NAME: the pid of its child of that name, whenever there is one
child_of() {
        eventually pgrep -P "$1" -x "$2" >/dev/null
        pgrep -P "$1" -x "$2" | head -n 1
}

# The kernel shows descriptors for the names of files, so it is known by where its function is, or 4 bytes behind that.
offset=$((16#$(nm -D "$library" | awk '$3 == "pointed_outer" { print $1 }')))
place=$(printf '0x%016x|0x%016x' $offset $((offset + 4)))
probed() { grep -E "desktrace.*:($place) " "$TRACEFS/dynamic_events"; }
not_probed() { ! probed; }
has_no_instance() { ! compgen -G "$TRACEFS/instances/desktrace-$1-*"; }

# What is recorded: a program that runs already, and a compositor if there is one. A check's variables are gone when it
# is done, so what it starts ends with it.
running() {
        started "$POINTED_APP" "$library" 10000
        program=$started
        command -v weston >/dev/null || return
        started weston --backend=headless-backend.so --use-pixman --socket=killed --idle-time=0
        compositor=$started
        eventually test -S "$XDG_RUNTIME_DIR/killed"
}

end_all() {
        kill -KILL "${pids_of[command]}" "$program" "${compositor:-$program}" 2>/dev/null
        rm -rf "$XDG_RUNTIME_DIR"/killed* "$TMPDIR"/desktrace-*
}

# recorder: in the background; ${pids_of[NAME]} are its processes
declare -A pids_of
recorder() {
        started "$DESKTRACE" record --standalone -q -p desktop -t 60s -f -o killed.pftrace org.gnome.sysprof -- \
                sleep 60
        pids_of=([client]=$started)
        pids_of[service]=$(child_of "$started" desktraced)
        pids_of[probes]=$(child_of "$started" desktrace-probe)
        pids_of[bridges]=$(child_of "$started" desktrace-bridg)
        pids_of[command]=$(child_of "$started" sleep)
        pids_of[program]=$program
        pids_of[compositor]=$compositor
}

# survived VICTIM: what is recorded lives, unless it is what was killed
survived() {
        [ "$1" = program ] || ! is_gone "$program" || return
        [ "$1" = compositor ] || [ -z "$compositor" ] || ! is_gone "$compositor"
}

# memory_of PID...: the numbers of the memfds that they have mapped, which are shared with others
memory_of() {
        printf '/proc/%s/maps\n' "$@" | xargs cat 2>/dev/null | awk '$6 ~ "^/memfd:" { print $5 }' | sort -u
}

# nobody_has NUMBERS: no process has one of these mapped, or open
nobody_has() {
        [ -n "$1" ] || return 0
        ! grep -s ' /memfd:' /proc/[0-9]*/maps | grep -wF "$1" || return
        ! stat -L --format '%i %n' /proc/[0-9]*/fd/* 2>/dev/null | grep -wF "$1"
}

# leaves_nothing VICTIM
leaves_nothing() {
        local name all own
        sleep "$((RANDOM % MOMENT_MS_MAX))e-3"
        all=$(memory_of "${pids_of[service]}" "${pids_of[probes]}" "${pids_of[bridges]}")
        own=$(memory_of "${pids_of[$1]}")
        kill -KILL "${pids_of[$1]}"
        eventually is_gone "${pids_of[$1]}"
        survived "$1" || { echo 'something else has ended, too'; return 1; }
        # The service keeps nothing that it has shared with the dead.
        case $1 in
        probes | bridges) eventually nobody_has "$own" || { nobody_has "$own"; return 1; } ;;
        esac
        [ "$1" = client ] || kill -INT "${pids_of[client]}"
        for name in client service probes bridges; do
                eventually is_gone "${pids_of[$name]}" || { echo "$name is left"; return 1; }
        done
        eventually not_probed || { probed; return 1; }
        eventually nobody_has "$all" || { nobody_has "$all"; return 1; }
        eventually has_no_instance "${pids_of[probes]}"
}

# round VICTIM
round() {
        local status=0
        running
        recorder
        leaves_nothing "$1" || status=1
        end_all
        return "$status"
}

# Without a victim, so that it is known what is looked for.
compositor='' program=''
is_probed() {
        local status=0
        running
        recorder
        eventually probed || status=1
        kill -INT "${pids_of[client]}"
        eventually is_gone "${pids_of[client]}" || status=1
        eventually not_probed || status=1
        end_all
        return "$status"
}
ok 'a program is probed while it is recorded, and not afterwards' is_probed
for victim in service probes bridges client program; do
        ok "$victim: nothing is left when it is killed" round $victim
done
if command -v weston >/dev/null; then
        ok 'compositor: nothing is left when it is killed' round compositor
else
        n_checks=$((n_checks + 1))
        echo "ok $n_checks - compositor: nothing is left when it is killed # SKIP there is no weston"
fi
finish
