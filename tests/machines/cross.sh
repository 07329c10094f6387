#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The library, built on this machine for others: for 32-bit ARM, whose programs run under 64-bit kernels, and for 64-bit
# ARM.
# Time limit: 15 min

# shellcheck source=tests/machines/lib.sh
. "$(dirname "$0")/lib.sh"

# shellcheck disable=SC2317 # it is called from within
# install DEBIAN-ARCHITECTURE
install() {
        export DEBIAN_FRONTEND=noninteractive
        dpkg --add-architecture "$1"
        for attempt in 1 2 3; do # the downloads are shared with other cases, one at a time
                apt-get update -qq
                apt-get install -y -qq --no-install-recommends "libc6-dev:$1" "libsystemd-dev:$1" && return
                sleep $((10 * attempt))
        done
        return 1
}

# build CPU-FAMILY TRIPLET
build() {
        printf '%s\n' '[binaries]' "c = '$2-gcc'" "ar = '$2-ar'" "strip = '$2-strip'" "pkg-config = 'pkg-config'" \
                '[properties]' "pkg_config_libdir = ['/usr/lib/$2/pkgconfig', '/usr/share/pkgconfig']" \
                '[host_machine]' "system = 'linux'" "cpu_family = '$1'" "cpu = '$1'" "endian = 'little'" >cross-$1.txt
        meson setup "build-$1" --cross-file "cross-$1.txt" -Dprefix=/usr -Dlibrary-only=true -Dtests=disabled \
                -Dwerror=true && ninja -C "build-$1"
}

# crosses DEBIAN-ARCHITECTURE CPU-FAMILY TRIPLET MACHINE
crosses() {
        # A mirror that is being brought up to date has none of another architecture for a while.
        if ! in_chroot bash -c "$(declare -f install); install $1" >"$output" 2>&1 </dev/null &&
                grep -qE 'Unable to locate|Failed to fetch' "$output"; then
                skip_check "$1: the library builds without a warning" 'the mirror does not have its packages'
                return
        fi
        ok "$1: its packages" in_chroot dpkg -s "libsystemd-dev:$1"
        ok "$1: the library builds without a warning" in_chroot bash -c "$(declare -f build); build $2 $3"
        ok "$1: and is for that machine" in_chroot \
                sh -c "readelf -h build-$2/src/lib/libdesktrace.so | grep -q 'Machine: *$4'"
}

machine trixie build +gcc-arm-linux-gnueabihf +gcc-aarch64-linux-gnu
project
crosses armhf arm arm-linux-gnueabihf ARM
crosses arm64 aarch64 aarch64-linux-gnu AArch64
finish
