#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# All that is installed builds without a warning with every compiler that these Debians have, and with link-time
# optimization, for which all files are looked at as one.
# Time limit: 60 min
# By name only: sixteen builds take half an hour

# shellcheck source=tests/machines/lib.sh
. "$(dirname "$0")/lib.sh"

# build COMPILER LINKER OPTIONS...
build() {
        local compiler=$1 linker=$2
        shift 2
        rm -rf build
        CC=$compiler CC_LD=$linker meson setup build -Dprefix=/usr -Dprobes=enabled -Dtests=disabled -Dexamples=false \
                -Ddebug=false -Doptimization=2 -Dwerror=true "$@" && ninja -C build
}

# builds COMPILER OPTIONS...: the library, the daemon, the client and the probes
builds() {
        local linker=bfd
        [ "${1#clang}" = "$1" ] || linker=lld
        ok "$suite: $*" in_chroot bash -c "$(declare -f build); build \"\$@\"" bash "$1" $linker "${@:2}"
}

# The compiler that comes with Debian 14, and nothing else of that where it is not needed.
install_gcc_15() {
        export DEBIAN_FRONTEND=noninteractive
        sed -n 's/^deb \(.*\) trixie main/deb \1 forky main/p' /etc/apt/sources.list >/etc/apt/sources.list.d/forky.list
        printf 'Package: *\nPin: release n=forky\nPin-Priority: 100\n' >/etc/apt/preferences.d/forky
        apt-get update -qq && apt-get install -y -qq --no-install-recommends -t forky gcc-15 g++-15
}

machine bookworm build +gcc-11 +clang-14 +clang-15 +clang-16 +lld
project
for compiler in gcc-11 gcc-12 clang-14 clang-15 clang-16; do
        builds $compiler
done
builds gcc-12 -Db_lto=true
builds clang-14 -Db_lto=true

machine trixie build +gcc-13 +clang-17 +clang-18 +clang-19 +lld
project
for compiler in gcc-13 gcc-14 clang-17 clang-18 clang-19; do
        builds $compiler
done
builds gcc-14 -Db_lto=true
builds clang-19 -Db_lto=true
ok "$suite: gcc-15 of forky" in_chroot bash -c "$(declare -f install_gcc_15); install_gcc_15"
builds gcc-15
builds gcc-15 -Db_lto=true
finish
