#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The recipes of docs/FLEET.md: two recordings as a tree of Parquet files, in DuckDB and in ClickHouse of npm, whose
# answers are held against the recordings; a profile in the Firefox profiler's own reader; and Debian's ClickHouse.
# Time limit: 20 min

# shellcheck source=tests/machines/lib.sh
. "$(dirname "$0")/lib.sh"

command -v npm >/dev/null || skip_all 'npm is not installed'
engines=$CACHE/npm-engines
mkdir -p "$engines"
# shellcheck disable=SC2016 # for the shell inside
install_engines() {
        [ -e "$engines/node_modules/chdb" ] || (cd "$engines" &&
                npm install --no-audit --no-fund @duckdb/node-api chdb @firefox-devtools/profiler-cli)
}
ok 'the engines are installed' install_engines

machine bookworm build +clickhouse-tools
project
ok 'it is configured' in_chroot meson setup build -Dprefix=/usr -Dprobes=disabled -Dtests=disabled
ok 'it builds' in_chroot ninja -C build src/client/desktrace src/daemon/desktraced examples/daemon-desktrace
export_all() {
        # shellcheck disable=SC2016 # for the shell inside
        in_chroot sh -ec 'export DESKTRACE_PRESET_PATH=$PWD/data/presets
                export DESKTRACE_DAEMON=$PWD/build/src/daemon/desktraced
                for i in 1 2; do
                        build/src/client/desktrace record --standalone -p apps -f -o $i.pftrace -- \
                                build/examples/daemon-desktrace --seconds 1
                        build/src/client/desktrace export fleet $i.pftrace --machine machine-$i -f -o lake
                done
                build/src/client/desktrace export firefox 1.pftrace -f -o profile.json
                build/src/client/desktrace query --csv --no-legend 1.pftrace >requests \
                        "SELECT count(*) FROM slice WHERE name GLOB \"request\" AND dur >= 0"'
}
ok 'two recordings are exported' export_all

# engine NAME: the answers to all recipes
engine() {
        (cd "$root$PROJECT" && NODE_PATH=$engines/node_modules timeout 120 \
                node "$top/tests/machines/fleet-recipes.js" "$1" docs/FLEET.md)
}
requests=$(cat "$root$PROJECT/requests")
ok 'DuckDB runs all recipes' engine duckdb
said 'and finds the slices of a recording' "\"machine\":\"machine-1\",\"n\":\"$requests\""
ok 'ClickHouse runs all recipes' engine clickhouse
said 'and finds as many' "\"machine\":\"machine-1\",\"n\":$requests,"

profiler() {
        local cli=$engines/node_modules/@firefox-devtools/profiler-cli/dist/profiler-cli.js status=0
        HOME=$root$PROJECT node "$cli" load "$root$PROJECT/profile.json" &&
                HOME=$root$PROJECT node "$cli" thread list || status=$?
        HOME=$root$PROJECT node "$cli" stop --all
        return $status
}
ok "Firefox's profiler loads a profile" profiler
said 'with the threads of the program' 'event loop.*daemon-desktrace'

old_clickhouse() {
        # shellcheck disable=SC2016 # for the shell inside
        in_chroot sh -ec 'build/src/client/desktrace export jsonl 1.pftrace -q \
                        --sql "SELECT ts, dur, coalesce(name, '"''"') AS name FROM slice WHERE dur >= 0" |
                clickhouse-local -S "ts Int64, dur Int64, name String" --input-format JSONEachRow -N slice \
                        -q "SELECT count() FROM slice WHERE name = '"'request'"'"'
}
ok "Debian's ClickHouse takes lines of JSON" old_clickhouse
said 'all of them' "^$requests\$"
finish
