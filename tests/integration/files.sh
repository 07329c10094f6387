#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Trace files: compressed, limited, synced, and of a service that was killed while it wrote. What is in them is read by
# trace-check.py, which knows nothing of our own reader.
# The checks call functions by name.
# shellcheck disable=SC2317
# shellcheck source=tests/integration/cli-lib.sh
. "$(dirname "$0")/cli-lib.sh"

check() { "$TRACE_CHECK" "$@"; }

# config FILE TEXT...: of the flood or the app, streaming ten times a second
config() {
        {
                echo 'buffers { size_kb: 16384 }'
                echo 'write_into_file: true file_write_period_ms: 100'
                printf '%s\n' "${@:2}"
        } >"$1"
}

FLOOD='data_sources { config { name: "org.example.flood" } }'
APP='data_sources { config { name: "org.example.app" } }'
declare -A codecs=(
        [plain]=''
        [deflate]='compression_type: COMPRESSION_TYPE_DEFLATE'
        [zstd]='compression { zstd { level: 3 } }'
)
declare -A fields=([deflate]=50 [zstd]=133)

session_bus
service "$DESKTRACED" --user --idle-timeout=60s
producer app org.example.app
producer flood org.example.flood flood

for codec in plain deflate zstd; do
        config "$codec.pbtxt" "$APP" "${codecs[$codec]}" 'write_flush_mode: WRITE_FLUSH_ENABLED'
        exits 0 "$codec: a session is recorded" 'No losses' \
                "$DESKTRACE" record --user -t 1s -c "$codec.pbtxt" -o "$codec.pftrace"
        ok "$codec: it is whole, and every packet is there" \
                check "$codec.pftrace" 'torn == 0 and in_order and n_texts > 100 and stats == 1'
        ok "$codec: our own reader finds as many" \
                check "$codec.pftrace" "packets == $("$DESKTRACE" inspect --json=short "$codec.pftrace" |
                        python3 -c 'import json, sys; print(json.load(sys.stdin)["packets"])')"
done
ok "what is not asked for is not compressed" check plain.pftrace 'sum(compressed.values()) == 0'
for codec in deflate zstd; do
        ok "$codec: each piece is one compressed packet" \
                check "$codec.pftrace" "compressed[${fields[$codec]}] >= 5 and sum(compressed.values()) < 20"
done

config synced.pbtxt "$APP" 'fflush_post_write: FFLUSH_ENABLED' "${codecs[zstd]}"
exits 0 "a file is synced as it is written" 'No losses' \
        "$DESKTRACE" record --user -t 500ms -c synced.pbtxt -o synced.pftrace
ok "and whole" check synced.pftrace 'torn == 0 and in_order and n_texts > 100'

config marked.pbtxt "$APP" "${codecs[zstd]}" 'builtin_data_sources { snapshot_interval_ms: 300 }' \
        'write_flush_mode: WRITE_FLUSH_ENABLED'
exits 0 "a session is recorded with markers" 'No losses' \
        "$DESKTRACE" record --user -t 1500ms -c marked.pbtxt -o marked.pftrace
ok "which are found in the compressed file, with a trace behind each" \
        check marked.pftrace 'len(entries) >= 2 and min(entries) >= 1 and torn == 0'

# The flood may be faster than the service, which is said by status 6 and is not the point here.
recorded_to_the_limit() {
        timeout 20 "$DESKTRACE" record --user -f -c max.pbtxt -o max.pftrace || [ $? = 6 ]
}

for codec in plain zstd; do
        config max.pbtxt "$FLOOD" "${codecs[$codec]}" 'max_file_size_bytes: 1000000'
        exits 0 "$codec: a session ends itself when its file is full, and says so" 'size limit of its config' \
                recorded_to_the_limit
        ok "$codec: the file is as large as it may be, and ends in order" \
                check max.pftrace '700000 < size <= 1000000 and torn == 0 and stats >= 1'
done

start 3 config-text s "buffers { size_kb: 4096 } $APP ${codecs[zstd]}" detach b true duration-ms u 60000
sleep 0.3
session "$path" Flush u 0 >/dev/null
read_into() { "$TEST_CONSUMER" user read-into "$path" 3>into.pftrace; }
gives "ReadInto() compresses, too" '^[0-9]+$' read_into
ok "what is read" check into.pftrace 'compressed[133] == 1 and torn == 0 and in_order and n_texts >= 100'
read_all() { session "$path" Read u 0 | bytes >read.pftrace; }
session "$path" Flush u 0 >/dev/null
ok "Read() replies" read_all
ok "with what is not compressed" check read.pftrace 'compressed[133] == 0 and torn == 0 and n_texts >= 1'
session "$path" Free >/dev/null

# killed CODEC: records until the service dies
killed() {
        local recorder status=0
        config killed.pbtxt "$FLOOD" "${codecs[$1]}"
        timeout 20 "$DESKTRACE" record --user -c killed.pbtxt -o killed.pftrace >killed.out 2>&1 &
        recorder=$!
        eventually large_enough killed.pftrace
        sleep "0.0$((RANDOM % 10))" # at any moment
        kill -KILL "$daemon"
        wait "$recorder" || status=$?
        cat killed.out
        return "$status"
}
large_enough() { [ "$(stat -c %s "$1" 2>/dev/null || echo 0)" -ge 100000 ]; }

for codec in plain zstd; do
        rm -f killed.pftrace
        exits 8 "$codec: a client says that the service was killed under it, and fails" 'service' killed "$codec"
        ok "$codec: the file is readable up to the last write, with every packet in its place" \
                check killed.pftrace 'torn < 300000 and n_texts > 1000 and increasing'
        service "$DESKTRACED" --user --idle-timeout=60s
        eventually has_producer flood
done
finish
