# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Verbs of the machine cases: other Debians, whole or as a container, made of this machine's own package mirror. A case
# sources this file first, which starts it once more as root of new mount and pid namespaces: whatever it mounts or
# leaves running ends with it. Each check is one TAP line; the end of what a failing check said is printed before it.
#
#   machine SUITE[/ARCH] [SECTION|+PACKAGE]...   a clean Debian; with packages, these are installed and cached
#   project [OWNER]                              this source tree, without builds, in $PROJECT of that machine
#   user NAME                                    an account there, with sudo if that is installed
#   as_root COMMAND...                           there, with all rights, as in a privileged container
#   as_user NAME COMMAND...
#   in_chroot COMMAND...                         as a build tool of a distribution does: a chroot, no tracefs
#   in_bare_chroot_as NAME COMMAND...            likewise, without /sys
#   in_container COMMAND...                      as "docker run": its capabilities only, /sys read-only, no tracefs
#   in_container_as NAME COMMAND...

set -u

CACHE=/var/cache/desktrace-tests
CACHE_DAYS=30           # a minimal Debian is made again after that
UNUSED_DAYS=3           # and one with packages is given up once no case has used it for these
ROOM_GIB=8              # what stays free on the disk of the cache: those used longest ago give way
NEEDED_GIB=3            # the largest Debian with packages, while it is made
PROJECT=/srv/desktrace
OUTPUT_LINES=80         # of a failing check
# What Docker and Podman leave a container's root.
CONTAINER_CAPABILITIES=chown,dac_override,fowner,fsetid,kill,setgid,setuid,setpcap,net_bind_service,sys_chroot,setfcap
# What a system needs to be booted by tests/boot.
# shellcheck disable=SC2034 # for the cases
BOOT_PACKAGES='+systemd-sysv +dbus +polkitd +libpam-systemd +procps +systemd'

top=$(realpath "$(dirname "$0")/../..")
n_checks=0 n_failed=0 root='' suite='' arch=''

skip_all() {
        echo "1..0 # SKIP $*"
        exit 0
}

if [ -z "${MACHINE_CASE-}" ]; then
        [ "$(id -u)" = 0 ] || skip_all 'needs root'
        command -v debootstrap >/dev/null || skip_all 'debootstrap is not installed'
        unshare --mount --pid --fork --mount-proc true 2>/dev/null || skip_all 'namespaces and mounts are not allowed'
        MACHINE_CASE=1 exec unshare --mount --pid --fork --kill-child --mount-proc bash "$0" "$@"
fi

# ok PROMISE COMMAND...: the command succeeds. All that it says is kept in $output.
output=$(mktemp)
trap 'rm -f "$output"' EXIT
ok() {
        local promise=$1 status=0
        shift
        n_checks=$((n_checks + 1))
        "$@" >"$output" 2>&1 </dev/null || status=$?
        if [ $status = 0 ]; then
                echo "ok $n_checks - $promise"
        else
                { echo "$* ($status):"; tail -n $OUTPUT_LINES "$output"; } | cut -c 1-400 | sed 's/^/# /'
                echo "not ok $n_checks - $promise"
                n_failed=$((n_failed + 1))
        fi
}

# said PROMISE PATTERN: what the last check ran said this
said() {
        n_checks=$((n_checks + 1))
        if grep -qE -- "$2" "$output"; then
                echo "ok $n_checks - $1"
        else
                { tail -n $OUTPUT_LINES "$output"; echo "wanted: $2"; } | cut -c 1-400 | sed 's/^/# /'
                echo "not ok $n_checks - $1"
                n_failed=$((n_failed + 1))
        fi
}

not() {
        ! "$@"
}

skip_check() {
        n_checks=$((n_checks + 1))
        echo "ok $n_checks - $1 # SKIP $2"
}

finish() {
        echo "1..$n_checks"
        exit $((n_failed > 0))
}

# readme HEADING [PATTERN]: the commands below it, as they are in the README's first block there; or those that match
readme() {
        awk -v heading="$1" '$0 == heading { found = 1 } found && /^```$/ { exit } inside
                found && /^```sh$/ { inside = 1 }' "$top/README.md" | grep -E -- "${2-}"
}

#
# The minimal Debians, and those with packages: directories in $CACHE, which cases only read. The root is one level
# deeper, so that it is no mount point: neither is that of a build tool's chroot.
#

# Where this machine has its packages from, however apt is told so.
find_mirror() {
        apt-get indextargets --format '$(REPO_URI)' 2>/dev/null | grep -E '/debian(/[0-9TZ]+)?/$' | head -n 1
}

# The network of this machine: its proxy, its name servers, the dates that its mirror allows.
copy_network() {
        apt-config dump | grep -E '^Acquire::(https?::|Check-|Retries|ForceIP|Languages)' \
                >"$root/etc/apt/apt.conf.d/80machine"
        [ ! -e /etc/resolv.conf ] || cat /etc/resolv.conf >"$root/etc/resolv.conf"
}

# make_base DIRECTORY
make_base() {
        local mirror certificates=()
        mirror=$(find_mirror)
        [ -n "$mirror" ] || { echo 'apt knows no Debian mirror'; return 1; }
        [ "${mirror#https}" = "$mirror" ] || certificates=(--include=ca-certificates)
        mkdir -p "$1"
        root=$1/root
        debootstrap --variant=minbase --arch="$arch" --cache-dir="$CACHE/archives" "${certificates[@]}" \
                "$suite" "$root" "$mirror" || return
        copy_network
        printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d" # starts no services
        chmod 755 "$root/usr/sbin/policy-rc.d"
}

# make_stage DIRECTORY BASE SECTION|+PACKAGE...
make_stage() {
        local sections=() packages=() word
        for word in "${@:3}"; do
                case $word in
                +*) packages+=("${word#+}") ;;
                *) sections+=("$word") ;;
                esac
        done
        cp -a "$2" "$1" || return
        root=$1/root
        mount_devices
        mkdir -p "$root/tmp/scripts" && cp "$top"/scripts/{install-packages,packages} "$root/tmp/scripts/" || return
        echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/80machine" # what breaks is made again: no wait for the disk
        # shellcheck disable=SC2016 # for the shell inside
        # What was downloaded stays in the cache: each attempt goes on where the network left the one before.
        in_chroot sh -euc 'export DEBIAN_FRONTEND=noninteractive
                [ -z "$1" ] || /tmp/scripts/install-packages $1
                packages=$2
                update_and_install() {
                        apt-get update -qq &&
                                { [ -z "$packages" ] || apt-get install -y -qq --no-install-recommends $packages; }
                }
                for pause in 10 20 0; do
                        ! update_and_install || break
                        [ $pause -gt 0 ]
                        sleep $pause
                done
                rm -r /tmp/scripts' sh "${sections[*]}" "${packages[*]}"
}

# A case holds a shared lock on the directory below its machine for as long as it runs; NAME.used has the time of the
# last use.
give_up() {
        ! flock -n -x "$1" true || rm -rf --one-file-system "$1" "$1.used"
}

free_gib() {
        df --output=avail -B 1G "$CACHE" | tail -n 1 | tr -d ' '
}

# by_use: the Debians with packages, the one first that has been used longest ago
by_use() {
        local directory
        for directory in "$CACHE"/*-*-*/; do
                directory=${directory%/}
                [ ! -d "$directory/root" ] || stat -c "%Y $directory" "$directory.used" 2>/dev/null ||
                        echo "0 $directory"
        done | sort -n | cut -d ' ' -f 2-
}

# tidy: whatever no case will use again, and as much as the disk lacks
tidy() {
        local directory
        find "$CACHE/archives" -xdev -type f -ctime +$CACHE_DAYS -delete
        for directory in "$CACHE"/*.new; do
                [ ! -d "$directory" ] || rm -rf --one-file-system "$directory"
        done
        by_use | while read -r directory; do
                if [ "$(free_gib)" -lt $ROOM_GIB ] ||
                        [ -z "$(find "$directory.used" -mtime -$UNUSED_DAYS 2>/dev/null)" ]; then
                        give_up "$directory"
                fi
        done
}

# cached NAME MAKER ARGUMENTS...: the directory, made by MAKER DIRECTORY ARGUMENTS... when there is none
cached() {
        local directory=$CACHE/$1 log maker=$2
        shift 2
        if [ ! -d "$directory" ] || [ -n "$(find "$directory" -maxdepth 0 -mtime +$CACHE_DAYS)" ]; then
                [ "$(free_gib)" -ge $NEEDED_GIB ] || return
                log=$(mktemp)
                rm -rf --one-file-system "$directory" "$directory.new"
                if ("$maker" "$directory.new" "$@") >"$log" 2>&1 </dev/null; then
                        umount_below "$directory.new"
                        mv "$directory.new" "$directory"
                        touch "$directory"
                else
                        tail -n 20 "$log" | sed 's/^/# /' >&2
                        umount_below "$directory.new"
                        rm -rf --one-file-system "$directory.new"
                fi
                rm -f "$log"
        fi
        [ ! -d "$directory" ] || echo "$directory"
}

umount_below() {
        findmnt -nro TARGET | grep -F "$1/" | sort -r | xargs -r -n 1 umount -l
}

# The lower directory of a machine.
prepare() {
        local base key
        base=$(cached "$suite-$arch" make_base)
        [ -n "$base" ] || return
        [ $# -gt 0 ] || { echo "$base"; return; }
        key=$({ stat -c %Y "$base"; echo "$*"; cat "$top"/scripts/{install-packages,packages}; } | sha256sum)
        key=${key:0:12}
        cached "$suite-$arch-$key" make_stage "$base" "$@"
}

machine() {
        local lower work
        suite=${1%/*} arch=$(dpkg --print-architecture)
        [ "$suite" = "$1" ] || arch=${1#*/}
        mkdir -p "$CACHE/archives"
        exec 9>"$CACHE/lock"
        flock 9
        tidy
        lower=$(prepare "${@:2}")
        if [ -z "$lower" ]; then
                [ "$(free_gib)" -ge $NEEDED_GIB ] ||
                        skip_all "a Debian $suite for $arch needs $NEEDED_GIB GiB free in $CACHE"
                skip_all "cannot make a Debian $suite for $arch"
        fi
        touch "$lower.used"
        exec 8<"$lower"
        flock -s 8
        exec 9>&-
        work=$(mktemp -d)
        mount -t tmpfs -o mode=755 machine "$work"
        root=$work/machine/root
        mkdir "$work/upper" "$work/work" "$work/machine"
        mount -t overlay -o "lowerdir=$lower,upperdir=$work/upper,workdir=$work/work" machine "$work/machine" ||
                skip_all 'overlay mounts are not allowed'
        copy_network
        mount_devices
}

mount_devices() {
        local device name minor

        mount -t tmpfs -o nosuid,mode=755 tmpfs "$root/dev"
        mkdir "$root/dev/pts" "$root/dev/shm"
        for device in null:1:3 zero:1:5 full:1:7 random:1:8 urandom:1:9 tty:5:0; do
                IFS=: read -r name major minor <<<"$device"
                mknod -m 666 "$root/dev/$name" c "$major" "$minor"
        done
        ln -s pts/ptmx "$root/dev/ptmx"
        ln -s /proc/self/fd "$root/dev/fd"
        ln -s fd/0 "$root/dev/stdin"
        ln -s fd/1 "$root/dev/stdout"
        ln -s fd/2 "$root/dev/stderr"
        mount -t devpts -o nosuid,noexec,newinstance,mode=620,gid=5,ptmxmode=666 devpts "$root/dev/pts"
        mount -t tmpfs -o nosuid,nodev,mode=1777 tmpfs "$root/dev/shm"
        # What has been downloaded once.
        mount --bind "$CACHE/archives" "$root/var/cache/apt/archives"
}

#
# Inside
#

# Each of these becomes COMMAND in new mount and pid namespaces. `in_new` passes them $root.

enter_machine() {
        mount --rbind "$root" "$root"
        mount -t proc proc "$root/proc"
        mount -t sysfs sysfs "$root/sys"
        mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup" 2>/dev/null || :
        mount -t tracefs tracefs "$root/sys/kernel/tracing" 2>/dev/null || :
        cd "$root" && pivot_root . mnt && cd / && umount -l /mnt && exec "$@"
}

enter_chroot() {
        mount -t proc proc "$root/proc"
        mount -t sysfs sysfs "$root/sys"
        exec chroot "$root" "$@"
}

enter_bare_chroot() {
        mount -t proc proc "$root/proc"
        exec chroot "$root" "$@"
}

# A chroot may make no user namespaces, as Docker's system call filter has it.
enter_container() {
        local path
        mount -t proc proc "$root/proc"
        mount -t sysfs -o ro sysfs "$root/sys"
        mount -t cgroup2 -o ro cgroup2 "$root/sys/fs/cgroup" 2>/dev/null || :
        for path in bus fs irq sys; do
                mount --bind "$root/proc/$path" "$root/proc/$path" && mount -o remount,bind,ro "$root/proc/$path"
        done
        for path in kcore keys timer_list sched_debug; do
                [ ! -e "$root/proc/$path" ] || mount --bind /dev/null "$root/proc/$path"
        done
        exec chroot "$root" setpriv --inh-caps=-all --bounding-set="-all,+${CONTAINER_CAPABILITIES//,/,+}" "$@"
}

in_new() {
        local enter=$1 name=$2 home=/root
        shift 2
        [ "$name" = root ] || home=/home/$name
        [ "$name" = root ] || set -- setpriv --reuid="$name" --regid="$name" --init-groups --inh-caps=-all "$@"
        root=$root CONTAINER_CAPABILITIES=$CONTAINER_CAPABILITIES unshare --mount --pid --fork --kill-child \
                bash -c "$(declare -f "$enter"); $enter \"\$@\"" bash env -i \
                PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb LC_ALL=C.UTF-8 \
                HOME=$home USER="$name" LOGNAME="$name" \
                sh -c 'cd "$0" 2>/dev/null || cd /; "$@"; exit $?' $PROJECT "$@" 8<&-
}

as_root() { in_new enter_machine root "$@"; }
as_user() { in_new enter_machine "$@"; }
in_chroot() { in_new enter_chroot root "$@"; }
in_bare_chroot_as() { in_new enter_bare_chroot "$@"; }
in_container() { in_new enter_container root "$@"; }
in_container_as() { in_new enter_container "$@"; }

project() {
        mkdir -p "$root$PROJECT"
        tar -C "$top" -c --exclude='./build*' --exclude=./.git --exclude='*.pftrace' . |
                tar -C "$root$PROJECT" -x --no-same-owner
        [ $# = 0 ] || chroot "$root" chown -R "$1:" $PROJECT
}

user() {
        chroot "$root" useradd --create-home --shell /bin/bash "$1"
        if [ -d "$root/etc/sudoers.d" ]; then
                echo "$1 ALL=(ALL) NOPASSWD: ALL" >"$root/etc/sudoers.d/$1"
        fi
}

#
# What several cases look at
#

# left_a_page VERB...: beside the recording of the README's first command
left_a_page() {
        ok 'it has left the recording, and a page of it' "$@" sh -c '
                test -s desktrace-try.pftrace &&
                        head -c 15 desktrace-try.html | grep -i "^<!doctype html>" &&
                        grep -c mandelbrot desktrace-try.html'
}

# The README's first command, where nothing is prepared.
readme_try() {
        ok "the README's first command succeeds" as_root bash -euc "$(readme '# Desktrace' '^\./scripts/try')"
        said 'it has recorded the kernel' '^linux\.ftrace +[a-z_]+ +[1-9]'
        said 'and the example' '^frame +mandelbrot'
        left_a_page as_root
}

# The README's way to install, as root, and a recording with what was installed.
readme_install() {
        ok "the README's commands install it" as_root bash -euc "$(readme '## Install')"
        ok 'what was installed records' as_root sh -c 'cd /root &&
                desktrace record --standalone -o installed.pftrace -- $0/build/examples/hello-desktrace --seconds 0.5 &&
                desktrace inspect installed.pftrace' $PROJECT
        said 'the kernel' '^linux\.ftrace +[a-z_]+ +[1-9]'
        said 'and the program' '^peel +kitchen'
}

# boot_it CASE: what the machine booted with systemd says; each line of its TAP is a check of ours
boot_it() {
        local line
        while IFS= read -r line; do
                case $line in
                'ok '*) n_checks=$((n_checks + 1)) && echo "ok $n_checks - $suite: ${line#ok * - }" ;;
                'not ok '*)
                        n_checks=$((n_checks + 1)) n_failed=$((n_failed + 1))
                        echo "not ok $n_checks - $suite: ${line#not ok * - }"
                        ;;
                1..*SKIP*) skip_check "$suite: boots" "${line#*SKIP }" ;;
                1..*) ;;
                Bail*) echo "# $line" && ok "$suite: boots" false ;;
                *) echo "# ${line#\# }" ;;
                esac
        done < <("$top/tests/boot/boot.sh" --root="$root" "$top/tests/boot/$1" 2>&1)
}

# suite VERB...: the README's second command in there, without the sanitizers; no test fails
suite() {
        local command
        command=$(readme '# Desktrace' '^\./scripts/test' | sed 's/ *#.*//')
        ok "the tests fail nowhere: $*" "$@" bash -euc "$command --quick"
        said 'the tests ran' '^[0-9]{3,} passed, 0 failed, [0-9]+ skipped$'
        grep -aE '^SKIPPED|^UNSTABLE|^[0-9]+ passed' "$output" | cut -c 1-200 | sed 's/^/# /'
}
