#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Boots a real systemd, with system bus, logind and polkitd, in new namespaces on a throw-away overlay
# of this machine's root; installs the build into the overlay; runs one test case in there, as root.
# The case's stdout is TAP and becomes ours. Nothing of this machine is changed but its cgroup tree,
# for as long as it runs.
#
# Usage: boot.sh BUILD-DIRECTORY CASE.sh [FILE...]      FILEs, and lib.sh, are put next to the case; one with a line
#                                                       "# Bus: dbus-broker" gets that for dbus-daemon
#        boot.sh --root=DIRECTORY CASE.sh [FILE...]     the root of another system, into which nothing is installed
#        KEEP=DIRECTORY keeps the case's output, the journal and the console there
#
# Without root, or where the needed namespaces and mounts are not allowed, the case is skipped.
set -eu

LIMIT_SEC=150        # of the case itself
TESTS=/usr/libexec/desktrace-tests
SYSTEMD=/lib/systemd/systemd

skip() {
        echo "1..0 # SKIP $*"
        exit 0
}

#
# Part 2: PID 1 of the new PID namespace. Enters its own cgroup, so that the new cgroup namespace is
# rooted there.
#

enter() {
        echo 0 >"$cgroup/cgroup.procs"
        exec unshare --cgroup bash "$0" --boot
}

#
# Part 3: builds the new root, makes it the root, and becomes systemd.
#

mount_root() {
        local safe=nosuid,nodev,noexec

        mount -t tmpfs -o mode=755 boot "$work/m"
        mkdir "$work/m/upper" "$work/m/work" "$root"
        mount -t overlay -o "lowerdir=$lower,upperdir=$work/m/upper,workdir=$work/m/work" boot "$root"
        mount -t proc -o $safe proc "$root/proc"
        mount --bind "$root/proc/sys" "$root/proc/sys"
        mount -o remount,bind,ro "$root/proc/sys" # the machine's sysctls are not ours
        mount -t sysfs -o ro,$safe sysfs "$root/sys"
        mount -t cgroup2 -o $safe cgroup2 "$root/sys/fs/cgroup"
        mount -t tracefs -o $safe tracefs "$root/sys/kernel/tracing" 2>/dev/null || :
        mount -t tmpfs -o nosuid,nodev,mode=755 tmpfs "$root/run"
        mkdir "$root/run/boot"
        mount --bind "$work/out" "$root/run/boot"
        # In /tmp and /var/tmp is what belongs to others, and may be the work directory itself.
        mount -t tmpfs -o nosuid,nodev,mode=1777 tmpfs "$root/tmp"
}

make_devices() {
        local device name major minor

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
}

# What the machine has enabled for itself stays out.
quiet_the_machine() {
        local unit units=$root/run/systemd/system

        mkdir -p "$units" "$root"/run/{tmpfiles.d,systemd/{system,journald}.conf.d}
        rm -rf "$root"/etc/systemd/system/*.wants "$root"/etc/systemd/user/*.wants
        : >"$root/etc/fstab"
        [ -s "$root/etc/machine-id" ] || tr -d - </proc/sys/kernel/random/uuid >"$root/etc/machine-id"
        ln -s /dev/null "$root/run/tmpfiles.d/tmp.conf"
        for unit in systemd-udevd.service systemd-firstboot.service systemd-timesyncd.service \
                systemd-networkd.service proc-sys-fs-binfmt_misc.automount; do
                ln -s /dev/null "$units/$unit"
        done
        # The bus is the one that the case names, not that of the machine.
        rm -f "$root"/etc/systemd/{system,user}/dbus.service
        [ "$bus" = dbus-daemon ] || for unit in system user; do
                ln -s "/usr/lib/systemd/$unit/$bus.service" "$root/etc/systemd/$unit/dbus.service"
        done
        printf '[Manager]\nDefaultTimeoutStopSec=5s\n' >"$root/run/systemd/system.conf.d/boot.conf"
        printf '[Journal]\nStorage=volatile\n' >"$root/run/systemd/journald.conf.d/boot.conf"
}

install_build() {
        local file

        [ -z "$build" ] || DESTDIR=$root "$meson" install -C "$build" --no-rebuild --quiet
        mkdir -p "$root$TESTS"
        for file in "$here/lib.sh" "$case" "${files[@]}"; do
                install -m 755 "$file" "$root$TESTS/"
        done
        printf 'u %s %s "of tests/boot" /home/%s /bin/bash\n' alice 60101 alice bob 60102 bob \
                >"$root/usr/lib/sysusers.d/boot.conf"
        systemd-sysusers --root="$root"
        for file in alice bob; do
                chroot "$root" install -d -o "$file" -g "$file" -m 700 "/home/$file"
        done
}

write_units() {
        local needed='basic.target dbus.service systemd-logind.service systemd-user-sessions.service polkit.service'

        cat >"$root/run/systemd/system/boot.target" <<END
[Unit]
Wants=$needed boot-case.service
After=$needed
END
        cat >"$root/run/systemd/system/boot-case.service" <<END
[Unit]
After=$needed
SuccessAction=exit
FailureAction=exit
[Service]
Type=exec
RuntimeMaxSec=$LIMIT_SEC
Environment=PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 HOME=/root
WorkingDirectory=$TESTS
ExecStart=/bin/bash $TESTS/$(basename "$case")
ExecStopPost=/bin/sh -c 'journalctl -b --no-pager -o short-monotonic >/run/boot/journal'
ExecStopPost=/bin/sh -c 'echo \$SERVICE_RESULT \$EXIT_STATUS >/run/boot/result'
StandardOutput=file:/run/boot/stdout
StandardError=file:/run/boot/stderr
END
}

boot() {
        root=$work/m/root
        mount_root
        make_devices
        quiet_the_machine
        install_build
        write_units
        cd "$root"
        mkdir -p mnt/.old
        pivot_root . mnt/.old # not chroot: units could not be sandboxed
        cd /
        umount -l mnt/.old
        exec env -i container=boot PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \
                setpriv --bounding-set=-sys_time,-sys_module,-sys_rawio \
                $SYSTEMD --unit=boot.target </dev/null
}

#
# Part 1, in the caller's namespaces.
#

check_requirements() {
        local program

        [ "$(id -u)" = 0 ] || skip 'needs root'
        [ -z "$build" ] || [ "$(meson_option prefix)" = /usr ] ||
                skip 'units and policies are only found when the build is configured with -Dprefix=/usr'
        for program in unshare setpriv pivot_root systemd-sysusers busctl runuser findmnt; do
                command -v $program >/dev/null || skip "$program is not installed"
        done
        [ -x "$lower$SYSTEMD" ] || skip 'systemd is not installed'
        find_unit dbus || skip 'the system bus is not installed'
        [ "$bus" = dbus-daemon ] || find_unit "$bus" || skip "$bus is not installed"
        find_unit polkit || skip 'polkitd is not installed'
}

find_unit() {
        [ -e "$lower/usr/lib/systemd/system/$1.service" ] || [ -e "$lower/lib/systemd/system/$1.service" ]
}

meson_option() {
        "$meson" introspect --buildoptions "$build" |
                python3 -c "import json, sys
print(*(option['value'] for option in json.load(sys.stdin) if option['name'] == '$1'))"
}

# A cgroup of our own below the one that we are in.
make_cgroup() {
        local top path

        top=$(findmnt -nrt cgroup2 -o TARGET | head -n 1)
        [ -n "$top" ] || skip 'there is no cgroup2 mount'
        path=$(sed -n 's/^0:://p' /proc/self/cgroup)
        cgroup=$top${path%/}/${work##*/}
        mkdir "$cgroup" 2>/dev/null || { cgroup=''; skip "cannot make a cgroup below $top"; }
}

try_namespaces() {
        local error

        error=$(unshare --mount --uts --ipc --net --pid --cgroup --fork bash -c "
                mount -t tmpfs tmpfs $work/m && mkdir $work/m/{u,w,r} &&
                mount -t overlay -o lowerdir=/,upperdir=$work/m/u,workdir=$work/m/w boot $work/m/r &&
                mount -t proc proc $work/m/r/proc" 2>&1) || skip "namespaces and mounts are not allowed: $error"
}

remove_cgroup() {
        local i

        for ((i = 0; i < 50; i++)); do
                find "$cgroup" -depth -type d -exec rmdir {} + 2>/dev/null || :
                [ -d "$cgroup" ] || return 0
                sleep 0.1
        done
        echo "# cannot remove $cgroup" >&2
}

cleanup() {
        [ -z "$child" ] || { kill -KILL "$child"; wait "$child"; } 2>/dev/null || :
        [ -z "$cgroup" ] || remove_cgroup
        [ -z "${KEEP-}" ] || { mkdir -p "$KEEP" && cp "$work"/out/* "$KEEP/"; }
        rm -rf "$work"
}

main() {
        [ $# -ge 2 ] || { sed -n '4,16s/^# \{0,1\}//p' "$0" >&2; exit 2; }
        build='' lower=/
        case $1 in
        --root=*) lower=$(realpath "${1#--root=}") ;;
        *) build=$(realpath "$1") ;;
        esac
        case=$(realpath "$2")
        shift 2
        files=()
        for file; do files+=("$(realpath "$file")"); done
        bus=$(sed -n 's/^# Bus: //p' "$case")
        bus=${bus:-dbus-daemon}
        here=$(dirname "$(realpath "$0")")
        meson=$(command -v /usr/bin/meson || command -v meson)
        work=''
        check_requirements
        child='' cgroup=''
        work=$(mktemp -d /tmp/desktrace-boot.XXXXXX)
        trap cleanup EXIT
        trap 'exit 143' INT TERM HUP
        mkdir "$work/m" "$work/out"
        touch "$work/out/stdout" "$work/out/stderr"
        make_cgroup
        try_namespaces
        declare -p work cgroup build lower case bus here meson files >"$work/state"

        BOOT_STATE=$work/state timeout --foreground -s KILL $((LIMIT_SEC + 20)) \
                unshare --mount --uts --ipc --net --pid --fork --kill-child=KILL \
                bash "$0" --enter >"$work/out/console" 2>&1 </dev/null &
        child=$!
        wait "$child" || :
        child=''
        cat "$work/out/stdout"
        sed 's/^/# /' "$work/out/stderr" >&2
        read -r result status 2>/dev/null <"$work/out/result" || result="no result"
        case $result in
        success) exit 0 ;;
        timeout) echo "Bail out! more than $LIMIT_SEC s" ;;
        'no result') echo 'Bail out! the system did not boot' && tail -n 50 "$work/out/console" >&2 ;;
        esac
        grep -sE 'desktrace|boot-case|dbus|polkit|audit' "$work/out/journal" | tail -n 100 >&2
        exit "${status:-1}"
}

case ${1-} in
--enter | --boot)
        # shellcheck disable=SC1090 # written by main()
        . "$BOOT_STATE"
        "${1#--}"
        ;;
*) main "$@" ;;
esac
