#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# docs/CONTAINERS.md: programs in pid namespaces of their own, by the bus, behind a proxy of it, and by the native
# socket. Whatever they call themselves in there, lists and traces have the pids and tids of outside. What this machine
# does not allow or have is skipped by name.
# The checks call functions by name.
# shellcheck disable=SC2317
# shellcheck source=tests/integration/cli-lib.sh
. "$(dirname "$0")/cli-lib.sh"

box=box-$$ # the name of the program's process, of no other test's
ln -s "$BOXED_APP" "$tmp/$box"
app=$tmp/$box
socket=$tmp/native.sock

# skipped REASON PROMISE
skipped() {
        n_checks=$((n_checks + 1))
        echo "ok $n_checks - $2 # SKIP $1"
}

# The pid of the program in the box, as we see it.
box_pid() {
        local comm
        for comm in /proc/[0-9]*/comm; do
                [ "$(cat "$comm" 2>/dev/null)" != "$box" ] || basename "$(dirname "$comm")"
        done | grep .
}
is_alone() { [ "$(box_pid | wc -l)" = 1 ]; }

list() { "$DESKTRACE" list producers --json=short "${where[@]}"; }
is_listed() { list | grep -q "\"name\":\"$box\""; }

# the_list_has EXPRESSION: of the program (p) and its true pid
the_list_has() {
        list >"$tmp/list" && python3 -c 'import json, sys
p = [x for x in json.load(open(sys.argv[1])) if x["name"] == sys.argv[2]][0]
pid = int(sys.argv[4])
sys.exit(0 if eval(sys.argv[3]) else "not so: %s of %s, which is %d" % (sys.argv[3], p, pid))' \
                "$tmp/list" "$box" "$1" "$(box_pid)"
}

# Both threads of the true process, by its true tids, and nobody else.
trace_has_them() {
        rm -f box.pftrace
        "$DESKTRACE" record -q "${where[@]}" -c "$tmp/boxed.pbtxt" -t 500ms -o box.pftrace || return
        find "/proc/$(box_pid)/task" -mindepth 1 -maxdepth 1 -printf '%f\n' | sort -n >"$tmp/tids"
        holds box.pftrace "([p['pid'] for p in t['processes']] == [$(box_pid)] and
                sorted(x['name'] for x in t['threads']) == ['box main', 'box worker'] and
                all(x['slices'] > 0 and x['pid'] == $(box_pid) for x in t['threads']) and
                {x['tid'] for x in t['threads']} <= {$(paste -sd, "$tmp/tids")} and
                [p['pid'] for p in t['producers'] if p['name'] == '$box'] == [$(box_pid)] and
                not sum(p['losses'] for p in t['producers']))"
}

# boxed WHAT COMMAND...: runs the program by that command, and looks at what is known of it
boxed() {
        local what=$1
        shift
        started "$@" "$app"
        ok "$what: the program is there" eventually is_listed
        ok "$what: once" eventually is_alone
        ok "$what: the list has its pid of outside" the_list_has "p['pid'] == pid"
        ok "$what: the trace has its pid and tids of outside" trace_has_them
}

unboxed() {
        kill -KILL "$started" "$(box_pid)" 2>/dev/null
        wait "$started" 2>/dev/null
        eventually nobody_is_listed
}
nobody_is_listed() { ! is_listed; }

cat >"$tmp/boxed.pbtxt" <<'CONFIG'
buffers { size_kb: 1024 }
data_sources { config { name: "track_event" track_event_config {
        enabled_categories: "boxed"
        disabled_categories: "*"
} } }
CONFIG

unshared=(unshare --user --map-root-user --pid --fork --kill-child --mount-proc)
[ "$(id -u)" != 0 ] || unshared=(unshare --pid --fork --kill-child --mount-proc)
"${unshared[@]}" true 2>/dev/null || unshared=()
# As Flatpak has them: the file system read-only, everything else its own.
jail=(bwrap --unshare-all --die-with-parent --ro-bind / / --proc /proc --dev /dev --bind "$tmp" "$tmp")
"${jail[@]}" true 2>/dev/null || jail=()

session_bus
service "$DESKTRACED" --user
where=(--user)

if [ ${#unshared[@]} -gt 0 ]; then
        boxed "a pid namespace, by the bus" "${unshared[@]}"
        unboxed
else
        skipped "no pid namespaces here" "a pid namespace, by the bus"
fi

# xdg-dbus-proxy before 0.1.6 does not understand sd-bus
proxy() {
        command -v xdg-dbus-proxy >/dev/null || return
        started xdg-dbus-proxy "$DBUS_SESSION_BUS_ADDRESS" "$tmp/proxy.sock" --filter --talk=$BUS
        proxy=$started
        eventually test -S "$tmp/proxy.sock"
        DBUS_SESSION_BUS_ADDRESS=unix:path=$tmp/proxy.sock timeout 10 \
                busctl --user call $BUS $ROOT org.freedesktop.DBus.Peer Ping 2>>"$tmp/log"
}
if [ ${#jail[@]} = 0 ]; then
        skipped "no bubblewrap, or it may not" "a sandbox behind a proxy of the bus"
elif ! proxy; then
        skipped "no xdg-dbus-proxy of 0.1.6 or newer" "a sandbox behind a proxy of the bus"
else
        boxed "a sandbox behind a proxy of the bus" "${jail[@]}" \
                --setenv DBUS_SESSION_BUS_ADDRESS "unix:path=$tmp/proxy.sock"
        ok "which is not taken for the program" test "$(box_pid)" != "$proxy"
        unboxed
fi
kill "$daemon"
wait "$daemon" 2>/dev/null

# The native socket, of a service that only that is passed to.
started systemd-socket-activate -l "$socket" "$DESKTRACED" --standalone
eventually test -S "$socket"
export DESKTRACE_SOCKET=$socket
where=()
if [ ${#unshared[@]} -gt 0 ]; then
        boxed "a pid namespace, by the socket" "${unshared[@]}"
        unboxed
else
        skipped "no pid namespaces here" "a pid namespace, by the socket"
fi

# Flatpak's root is a tmpfs with the file /.flatpak-info.
flatpak_info=$'[Application]\nname=org.example.Boxed\n'
if [ ${#jail[@]} -gt 0 ]; then
        rooted=(bwrap --unshare-all --die-with-parent --proc /proc --dev /dev --bind "$tmp" "$tmp")
        for place in /usr /lib /lib64 /bin "$BUILD_ROOT"; do
                [ ! -e "$place" ] || rooted+=(--ro-bind "$place" "$place")
        done
        exec 9< <(printf '%s' "$flatpak_info")
        boxed "a sandbox, by the socket" "${rooted[@]}" --ro-bind-data 9 /.flatpak-info
        exec 9<&-
        ok "the list has its app" the_list_has "p['app'] == 'org.example.Boxed' or p['container']"
        unboxed
else
        skipped "no bubblewrap, or it may not" "a sandbox, by the socket"
fi

# Here nothing is another's: no link is kept.
boxed "no namespace at all" env
keeps_no_link() { ! find "/proc/$(box_pid)/fd" -lname '/proc/*' | grep -q .; }
ok "no descriptor of /proc is kept then" keeps_no_link
unboxed
finish
