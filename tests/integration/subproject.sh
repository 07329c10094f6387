#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# An application that ships Desktrace as a subproject, as docs/INSTRUMENT.md says, builds the library and nothing else,
# where nothing but libsystemd is installed. Needs SOURCES.

# shellcheck source=tests/integration/page-lib.sh
. "$(dirname "$0")/page-lib.sh"

MAX_STEPS=95 # of the application's build; the whole of Desktrace has ten times as many

# A machine where pkg-config finds sd-bus, and no tool of the service's build works.
mkdir installed tools
cp "$(pkg-config --variable=pcfiledir libsystemd)/libsystemd.pc" installed/
for tool in protoc protoc-c msgfmt glib-compile-resources; do
        printf '#!/bin/sh\nexit 1\n' >"tools/$tool"
        chmod 755 "tools/$tool"
done
bare() {
        env -u PKG_CONFIG_PATH PKG_CONFIG_LIBDIR="$PWD/installed" PATH="$PWD/tools:$PATH" "$@"
}

mkdir subprojects
mv desktrace.wrap subprojects/
ln -s "$SOURCES" subprojects/desktrace
ok 'it is configured' bare meson setup with-subproject
steps=$(ninja -C with-subproject -n | tail -n 1 | grep -oE '[0-9]+' | head -n 1)
echo "# $steps steps"
ok "in fewer than $MAX_STEPS steps" test "$steps" -lt "$MAX_STEPS"
fails 'none of the service, the tools and the tests' '^$' \
        grep -E 'desktraced|src/client|pb-c|tests/' with-subproject/build.ninja
ok 'it is built' bare ninja -C with-subproject
fails 'the library needs nothing beyond sd-bus and libc' '^$' \
        sh -c "readelf -d with-subproject/subprojects/desktrace/src/lib/libdesktrace.so.0 | grep NEEDED |
                grep -vE 'libsystemd|libc\.|libm\.|libpthread|ld-linux'"
gives 'and recorded' 'No losses' desktrace record --standalone -p apps -o subproject.pftrace -- with-subproject/app
is_recorded subproject.pftrace frame 100

# The library by itself, as for another architecture.
ok 'the library alone is configured' bare meson setup library "$SOURCES" -Dlibrary-only=true -Dtests=disabled
fails 'and installs nothing else' '^$' sh -c "meson introspect --installed library | tr ',' '\n' |
        grep -vE 'libdesktrace|/desktrace/[a-z-]+\.hp*\"|desktrace\.pc|include'"
finish
