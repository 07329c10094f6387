#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The recipes of docs/FLEET.md: two recordings as a tree of Parquet files, in DuckDB and in ClickHouse of npm, whose
# answers are held against the recordings; a profile in the Firefox profiler's own reader; and Debian's ClickHouse.
# Time limit: 25 min

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

machine bookworm build +clickhouse-server +clickhouse-client
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
                        "SELECT count(*) FROM slice WHERE name = '"'"'request'"'"' AND dur >= 0"'
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
said 'with the threads of the program' 'event loop +daemon example'

# An old one, which runs as a server only. It ends with the check.
cat >"$root$PROJECT/clickhouse.xml" <<'XML'
<yandex><logger><level>warning</level><console>1</console></logger>
<listen_host>127.0.0.1</listen_host><http_port>18123</http_port><tcp_port>19000</tcp_port>
<path>/srv/clickhouse/</path><tmp_path>/srv/clickhouse/tmp/</tmp_path><mark_cache_size>1000000</mark_cache_size>
<users_config>/etc/clickhouse-server/users.xml</users_config><default_profile>default</default_profile>
<default_database>default</default_database></yandex>
XML
cat >"$root$PROJECT/old-clickhouse.sh" <<'SH'
set -e
ask() {
        clickhouse-client --host 127.0.0.1 --port 19000 --query "$1"
}
clickhouse-server --config-file="$PWD/clickhouse.xml" >clickhouse.log 2>&1 &
tries=0
until ask 'SELECT 1' 2>/dev/null; do
        tries=$((tries + 1))
        [ $tries -lt 60 ] || { cat clickhouse.log; exit 1; }
        sleep 1
done
ask 'CREATE TABLE slice (ts Int64, dur Int64, name String) ENGINE = Memory'
build/src/client/desktrace export jsonl 1.pftrace -q \
        --sql "SELECT ts, dur, coalesce(name, '') AS name FROM slice WHERE dur >= 0" |
        ask 'INSERT INTO slice FORMAT JSONEachRow'
ask "SELECT 'requests', count() FROM slice WHERE name = 'request'"
kill $!
SH
ok "Debian's ClickHouse takes lines of JSON" in_chroot sh old-clickhouse.sh
said 'all of them' "^requests\s$requests\$"
finish
