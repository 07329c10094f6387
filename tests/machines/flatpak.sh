#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A real Flatpak, as an ordinary user: what an app in its sandbox writes is recorded, its heap, and its call stacks,
# with the names of its functions. The app, its debug information and its runtime are made here.
# Time limit: 15 min

# The checks call functions by name, and what other shells are to expand is in single quotes.
# shellcheck disable=SC2016,SC2317
# shellcheck source=tests/machines/lib.sh
. "$(dirname "$0")/lib.sh"

machine bookworm build +flatpak +dbus-daemon
user alice
project alice
PLATFORM=org.example.Platform APP=org.example.App

ok 'it builds as a user' as_user alice sh -c \
        'meson setup build -Dprefix=/usr -Dtests=disabled -Dexamples=true && ninja -C build'
ok 'and is installed' as_root meson install -C build --no-rebuild

# The runtime has what the programs and the library of heaps need to run, and nothing else.
cat >"$root/home/alice/make-app" <<'END'
set -eu
cd
arch=$(flatpak --default-arch)
add() {
        for file; do
                { echo "$file"; ldd "$file" | grep -o '/[^ ]*'; } | grep -v desktrace | while IFS= read -r path; do
                        mkdir -p "platform/usr$(dirname "${path#/usr}")"
                        cp -L "$path" "platform/usr${path#/usr}"
                done
        done
}
# describe KIND NAME
describe() { printf '[%s]\nname=%s\nruntime=%s\nsdk=%s\n' "$1" "$2" "$PLATFORM/$arch/1" "$PLATFORM/$arch/1"; }
mkdir -p platform/files platform/usr/etc app/files/bin app/files/lib debug/files/bin
add /usr/bin/sh /usr/bin/env /usr/sbin/ldconfig "$(find /usr/lib -name libdesktrace-heap.so)"
describe Runtime "$PLATFORM" >platform/metadata
flatpak build-export --runtime --disable-sandbox repo platform 1
gcc -O2 -D_GNU_SOURCE -pthread -o heap-sites "$PROJECT/tests/integration/heap-sites.c"
objcopy --only-keep-debug heap-sites debug/files/bin/heap-sites.debug
strip -o app/files/bin/heap-sites heap-sites
printf '%s\n' 'static __attribute__((__noinline__)) void spend_time(void) {' \
        'for (volatile unsigned i = 0; i < 1000000000; i++) ; }' 'int main(void) { spend_time(); }' >busy.c
gcc -O1 -o app/files/bin/busy busy.c
cp "$PROJECT/build/examples/hello-desktrace" app/files/bin
cp -L "$PROJECT/build/src/lib/libdesktrace.so.0" app/files/lib
describe Application "$APP" >app/metadata
# The extension is shown at /app/lib/debug, so it is of what is below that.
describe Runtime "$APP.Debug" >debug/metadata
printf '[ExtensionOf]\nref=app/%s\n' "$APP/$arch/1" >>debug/metadata
flatpak build-export --runtime --disable-sandbox repo debug 1
flatpak build-finish --command=heap-sites app
flatpak build-export --disable-sandbox repo app 1
flatpak --user remote-add --no-gpg-verify here repo
flatpak --user install -y --noninteractive here "$PLATFORM" "$APP" "$APP.Debug"
END
# Flatpak asks the system's bus for parental controls, which are not there.
in_a_session() {
        as_user alice dbus-run-session -- env PLATFORM="$PLATFORM" APP="$APP" PROJECT="$PROJECT" \
                sh -c 'DBUS_SYSTEM_BUS_ADDRESS=$DBUS_SESSION_BUS_ADDRESS exec "$@"' sh "$@"
}
ok 'there is an app' in_a_session bash /home/alice/make-app
ok 'it runs' in_a_session flatpak run --command=env $APP
recorded() { in_a_session sh -c 'cd && desktrace record --standalone -f -p apps -o "$0" "$@"' "$@"; }
ok 'its heap is recorded' recorded heap.pftrace --heap=4K -- flatpak run $APP sites
ok 'and what it has not freed' as_user alice desktrace why grows /home/alice/heap.pftrace
said 'is what it keeps' '^heap-sites +1[12]\.[0-9] MiB '
said 'from functions that its debug information names' ' leak_site < '
# The words of docs/CONTAINERS.md.
ok 'what a program in it writes is recorded' recorded app.pftrace -- sh -c 'exec flatpak run --command=hello-desktrace \
        --filesystem="$DESKTRACE_SOCKET" --env=DESKTRACE_SOCKET="$DESKTRACE_SOCKET" "$0" --seconds 0.5' $APP
ok 'and can be read' as_user alice desktrace inspect /home/alice/app.pftrace
said 'it is in the recording' '^peel +kitchen'
if [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -gt 2 ]; then
        skip_check 'its call stacks are recorded' 'the kernel lets no user sample programs'
else
        ok 'its call stacks are recorded' recorded stacks.pftrace --stacks -- flatpak run --command=busy $APP
        ok 'and what it did' as_user alice desktrace inspect /home/alice/stacks.pftrace
        said 'in a function that its own file names' 'spend_time'
fi
finish
