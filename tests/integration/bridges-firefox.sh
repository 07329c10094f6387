#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# org.mozilla.firefox: a command writes a profile when it ends, and Firefox does where it is installed.

# shellcheck source=tests/integration/bridges-lib.sh
. "$(dirname "$0")/bridges-lib.sh"

trace=$tmp/markers.pftrace
app=$(dirname "$0")/firefox-app.py
source=org.mozilla.firefox
export DESKTRACE_BRIDGES=$BRIDGES XDG_RUNTIME_DIR=$tmp HOME=$tmp/home
unset MOZ_PROFILER_SHUTDOWN DISPLAY WAYLAND_DISPLAY
count='select count(*) from slice where name ='
mkdir -m 700 "$tmp/home"

# marked MODE: what the program wrote is in the trace
marked() {
        local n
        ok "$1: a command is recorded" test "$status" = 0
        n=$(tail -n 1 "$tmp/steps")
        gives "$1: all of its markers are there" "^$n\$" asked "$trace" "$count 'step' and dur = 5000000"
        gives "$1: what the page calls its own is there" '^1$' asked "$trace" \
                "$count 'of the page' and category = 'UserTiming'"
        gives "$1: of an address the host is there" '^1$' asked "$trace" "$count 'Load 1: https://example.org'"
        fails "$1: and nothing behind it" '^$' grep -a secret "$trace"
        gives "$1: below its own process" 'python3' "$DESKTRACE" inspect "$trace"
}

"$DESKTRACE" --standalone record -q -f -o "$trace" $source -- python3 "$app" 1.5 >"$tmp/steps" 2>>"$tmp/log"
status=$?
marked standalone

bridged_session
"$DESKTRACE" --user record -q -f -o "$trace" $source -- python3 "$app" 1.5 >"$tmp/steps" 2>>"$tmp/log"
status=$?
marked 'of a user'

fails 'without a command there is nothing to record' 'name the command behind --' \
        "$DESKTRACE" --user record -q -f -t 1s -o "$trace" $source
# shellcheck disable=SC2016 # for the shell inside
ok 'a file that the user has named stays the one' env "MOZ_PROFILER_SHUTDOWN=$tmp/own.json" \
        "$DESKTRACE" --standalone record -q -f -o "$trace" $source -- sh -c 'test "$MOZ_PROFILER_SHUTDOWN" = "$0"' \
        "$tmp/own.json"
# shellcheck disable=SC2016 # likewise
"$DESKTRACE" --standalone record -q -f -o "$trace" $source -- \
        sh -c 'printf "{\"threads\": [" >"$MOZ_PROFILER_SHUTDOWN"' 2>>"$tmp/log"
gives 'a profile that is cut is told of' '^1$' asked "$trace" "$count 'Firefox has not told all'"

# One that ends by itself, when it has drawn a page that measures something.
if command -v firefox-esr >/dev/null; then
        cat >"$tmp/page.html" <<'HTML'
<p>A page</p><script>
performance.mark("begun");
for (const until = performance.now() + 20; performance.now() < until;);
performance.measure("measured by the page", "begun");
</script>
HTML
        # Firefox rounds the time that it tells a page, by a millisecond or more; its markers are exact. What is there
        # follows the number, for who reads that the check has failed.
        measured="select count(*) filter (where dur between 15000000 and 10000000000), group_concat(dur, ' '),
                        (select group_concat(name, ', ') from track where name glob 'Firefox GeckoMain *')
                        from slice where name = 'measured by the page'"
        # A process that ends before Firefox writes its profile is missing there, as this page's may be.
        for _ in 1 2 3 4 5 6; do
                "$DESKTRACE" --standalone record -q -f -o "$trace" $source -- timeout 300 firefox-esr --headless \
                        --no-remote --profile "$HOME" --screenshot "$tmp/page.png" "file://$tmp/page.html" \
                        >>"$tmp/log" 2>&1
                [[ "$(asked "$trace" "$measured")" != [1-9]* ]] || break
        done
        ok 'Firefox: it has drawn the page' test -s "$tmp/page.png"
        gives 'Firefox: what the page has measured is there' '^[1-9]' asked "$trace" "$measured"
        gives 'Firefox: so are the markers of its own' '^[1-9][0-9]' asked "$trace" \
                "select count(*) from slice where name in ('RefreshDriverTick', 'Styles', 'Reflow (interruptible)',
                        'Runnable', 'CC', 'GCSlice', 'DOMEvent', 'Awake')"
        # Tracks directly below a process have no parent in the table, but the process.
        gives 'Firefox: of several processes' '^[2-9]|^[1-9][0-9]' asked "$trace" \
                "select count(distinct coalesce('process ' || p.upid, 'group ' || t.parent_id)) from track t
                        left join process_track p using (id) where t.name glob 'Firefox GeckoMain *'"
        gives 'Firefox: each has one main thread' '^1$' asked "$trace" \
                "select max(n) from (select count(distinct t.name) as n from track t join process_track p using (id)
                        where t.name glob 'Firefox GeckoMain *' group by p.upid)"
        gives 'Firefox: none is without an end' '^0$' asked "$trace" 'select count(*) from slice where dur < 0'
else
        skip_check 'Firefox: what the page has measured is there' 'firefox-esr is not installed'
fi
finish
