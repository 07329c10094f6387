#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A stock Chromium of Debian 12 with Perfetto's protocol: its recording is whole, and inspect shows all of its slices.
# A recording of its heap says what of that is not seen.
# Time limit: 30 min
# shellcheck disable=SC2119,SC2317 # project() without an owner; functions that ok() calls

# shellcheck source=tests/machines/lib.sh
. "$(dirname "$0")/lib.sh"

SECONDS_RECORDED=6

machine bookworm build +chromium +zstd
project

build() {
        as_root meson setup build -Dprefix=/usr -Dprobes=disabled -Dtests=disabled -Dexamples=false &&
                as_root ninja -C build src/client/desktrace src/daemon/desktraced src/heap/libdesktrace-heap.so
}

cat >"$root$PROJECT/chromium.cfg" <<'END'
buffers { size_kb: 65536 }
data_sources { config { name: "track_event" track_event_config {
        disabled_categories: "*"
        enabled_categories: "toplevel" enabled_categories: "blink"
        enabled_categories: "v8" enabled_categories: "benchmark"
        enabled_categories: "loading" enabled_categories: "netlog" enabled_categories: "navigation"
        enabled_categories: "latencyInfo" enabled_categories: "input" enabled_categories: "cc"
} } }
END

# A browser that is ended from outside gives its own status; the recording's is what counts here.
cat >"$root$PROJECT/browse" <<END
#!/bin/sh
timeout $SECONDS_RECORDED chromium --headless --no-sandbox --disable-gpu --disable-quic --no-first-run \
        --disable-background-networking --disable-component-update --disable-sync --user-data-dir=/tmp/chromium \
        --enable-features=EnablePerfettoSystemTracing "file://$PROJECT/tests/machines/chromium.page.html"
exit 0
END
chmod 755 "$root$PROJECT/browse"

inspect() {
        as_root sh -c 'build/src/client/desktrace inspect --json=short page.pftrace >page.json'
}

ok 'the client and the service build' build
ok 'Chromium is recorded' \
        as_root build/src/client/desktrace record --standalone -c chromium.cfg -o page.pftrace -- ./browse
said 'without losses' '^No losses\.$'
ok 'inspect has nothing to complain of' inspect
ok 'its slices are those that are in the file' as_root python3 tests/machines/count-slices.py page.pftrace page.json
said 'and both counts are the same' '^inspect has the same: [0-9]+ slices$'
sed 's/^/# /' "$output"

cat >"$root$PROJECT/show" <<END
#!/bin/sh
timeout -k 5 60 chromium --headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking \\
        --disable-component-update --disable-sync --user-data-dir=/tmp/chromium-heap \\
        --dump-dom 'data:text/html,<p>it is shown</p>'
exit 0
END
chmod 755 "$root$PROJECT/show"
ok 'the heap of Chromium is recorded' \
        as_root env DESKTRACE_PRESET_PATH=data/presets \
        build/src/client/desktrace record --standalone -p apps --heap=32K -o heap.pftrace -- ./show
said 'and it shows its page' 'it is shown'
ok 'inspect reads that, too' as_root sh -c 'build/src/client/desktrace inspect heap.pftrace || [ $? = 6 ]'
said 'it says what is not seen' 'PartitionAlloc seems to be a part of '

# Phases that new versions of Chromium no longer write.
ok 'a recording with every phase of the older format is made' \
        as_root python3 tests/machines/count-slices.py --make made.pftrace
ok 'inspect reads it' as_root sh -c 'build/src/client/desktrace inspect --json=short made.pftrace >made.json'
ok 'and counts the same' as_root python3 tests/machines/count-slices.py made.pftrace made.json
sed 's/^/# /' "$output"
finish
