#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The Debian packages on Debian 12 and 13: built of the sources that "meson dist" makes, accepted by lintian, and their
# life in a system that is booted for it. The other cases run the tests in such a chroot; here they are left out.
# Time limit: 30 min

# shellcheck source=tests/machines/lib.sh
. "$(dirname "$0")/lib.sh"

BUILD='+debhelper +dh-python +valac +gobject-introspection +libgirepository1.0-dev +libgstreamer1.0-dev
        +libpipewire-0.3-dev +libvulkan-dev +libxcb-present-dev +libxcb-res0-dev +lintian'

# The sources as somebody else has them; without a repository, as they are here.
make_sources() {
        local dist
        if [ -e "$top/.git" ] && dist=$(mktemp -d) && git -C "$top" rev-parse HEAD >/dev/null 2>&1; then
                /usr/bin/meson setup "$dist" "$top" &&
                        /usr/bin/meson dist -C "$dist" --allow-dirty --no-tests --formats gztar &&
                        cp "$dist"/meson-dist/*.tar.gz "$work_files/"
                rm -rf "$dist"
        fi
}

unpack_sources() {
        local archive
        archive=$(compgen -G "$work_files/*.tar.gz") || { project && return; }
        mkdir -p "$root$PROJECT"
        tar -C "$root$PROJECT" --strip-components=1 -xf "$archive"
}

build_packages() {
        in_chroot env DEB_BUILD_PROFILES=nocheck DEB_BUILD_OPTIONS='nocheck parallel=2' dpkg-buildpackage -us -uc
}

# The packages as a later version would have them.
make_next_version() {
        # shellcheck disable=SC2016 # for the shell inside
        in_chroot sh -euc 'mkdir -p /srv/packages/next && cd /srv/packages
                mv ../*.deb . && rm -f *-dbgsym_*
                for deb in *.deb; do
                        rm -rf /tmp/deb
                        dpkg-deb -R "$deb" /tmp/deb
                        version=$(sed -n "s/^Version: //p" /tmp/deb/DEBIAN/control)
                        sed -i "s/^Version: .*/Version: 9.9/; s/(= $version)/(= 9.9)/g" /tmp/deb/DEBIAN/control
                        touch /tmp/deb/usr/share/doc/*/copyright
                        dpkg-deb -b --root-owner-group /tmp/deb "next/$deb"
                done'
}

work_files=$(mktemp -d)
trap 'rm -rf "$work_files" "$output"' EXIT
ok 'meson makes a source archive' make_sources
for suite in bookworm trixie; do
        # shellcheck disable=SC2086 # words
        machine $suite build $BUILD $BOOT_PACKAGES
        ok "$suite: the archive is unpacked" unpack_sources
        ok "$suite: the packages are built" build_packages
        ok "$suite: lintian has no complaint" in_chroot sh -c 'lintian --fail-on warning,error /srv/*.changes'
        ok "$suite: a later version of them" make_next_version
        boot_it case-packages.sh
done
finish
