#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# desktrace report: pages of recordings of this machine and of the examples have what "desktrace query" says of them,
# and nothing of a recording becomes markup. How a page behaves in browsers, tests/machines/browser.sh sees.

# shellcheck source=tests/integration/cli-lib.sh
. "$(dirname "$0")/cli-lib.sh"

page=$(dirname "$0")/report_page.py picture=$(dirname "$0")/report_picture.py

# records FILE PRESET COMMAND...
records() {
        timeout 60 "$DESKTRACE" record --standalone -p "$2" -f -o "$1" -- "${@:3}" || [ $? = 6 ]
}
reports() {
        "$DESKTRACE" report "$@" || [ $? = 6 ]
}

frames="SELECT count(*) >= 5 AND trace_dur() > 400000000 FROM slice WHERE name = 'frame' AND dur > 0"
ok 'a program is recorded' records_with "$frames" app.pftrace apps "$EXAMPLE_PROGRAMS/game-desktrace"
ok 'its page is made' reports app.pftrace
ok 'beside the recording' test -s app.html
ok 'it has the slices and counters that there are, and nothing else' python3 "$page" "$DESKTRACE" app.pftrace app.html
ok 'it says what took longest' grep -q 'data-track=' app.html
if [ "$(id -u)" = 0 ] && [ -x "$DESKTRACE_PROBES" ] &&
        records all.pftrace default "$EXAMPLE_PROGRAMS/daemon-desktrace" --seconds 1 >/dev/null 2>&1; then
        ok 'a page of the whole machine is made' reports all.pftrace -o machine.html
        ok 'it has scheduling and states, too' python3 "$page" "$DESKTRACE" all.pftrace machine.html
else
        echo '# the kernel cannot be recorded here: only programs'
fi

# As long as it takes a slow machine until there are frames.
both() {
        local seconds
        for seconds in 1 2 4 8 16; do
                rm -f both.*
                timeout 90 "$DESKTRACE" record --standalone -p apps --report -o both.pftrace -- \
                        "$EXAMPLE_PROGRAMS/game-desktrace" --seconds $seconds || [ $? = 6 ] || return
                [ "$("$DESKTRACE" query --csv --no-legend both.pftrace "$frames" 2>/dev/null)" != 1 ] || return 0
        done
        return 1
}
ok 'record makes a page, too' both
same_as_report() {
        reports -q -o - both.pftrace | cmp - both.html
}
ok 'which is that of the recording' same_as_report
mv both.pftrace older.pftrace
exits 2 'an older page is not replaced' 'both.html.*exists' \
        "$DESKTRACE" record --standalone -p apps --report -o both.pftrace -t 1s
ok 'and nothing is recorded then' test ! -e both.pftrace
exits 2 'a page needs a file' 'is not a file' "$DESKTRACE" record --standalone -p apps --report -o /dev/null -t 1s
exits 2 'a page is of one file' 'leave out' "$DESKTRACE" record --standalone -p apps --report -o - -t 1s

exits 2 'a page that is there is not replaced' 'exists' "$DESKTRACE" report app.pftrace
ok 'unless that is asked for' reports -f app.pftrace
to_stdout() {
        reports -o - app.pftrace | cmp - app.html
}
ok 'the same page goes to stdout' to_stdout
from_pipe() {
        # shellcheck disable=SC2002 # a pipe is what is tested
        cat app.pftrace | reports - && grep -q '<h1>stdin</h1>' report.html
}
ok 'a recording comes through a pipe' from_pipe
cp app.pftrace '<b>&"x.pftrace'
reports -o markup.html '<b>&"x.pftrace' 2>/dev/null
ok "a file's name is text" grep -qF '<h1>&lt;b&gt;&amp;&quot;x.pftrace</h1>' markup.html
french() {
        local locale
        locale=$(locale -a | grep -im 1 '^fr_FR.utf') || locale=''
        [ -n "$locale" ] || {
                skip_check 'a page in French' 'that locale is not installed'
                return
        }
        LANGUAGE='' LC_ALL=$locale "$DESKTRACE" report -f -o french.html app.pftrace
        ok 'a page says in which language it is' grep -q '<html lang="fr-FR">' french.html
}
french

# A frame in the middle, and a little around it.
read -r from to < <("$DESKTRACE" query --csv --no-legend app.pftrace "
        WITH chosen AS (SELECT ts, dur FROM slice WHERE name = 'frame' AND dur > 0 ORDER BY ts
                        LIMIT 1 OFFSET (SELECT count(*) / 2 FROM slice WHERE name = 'frame' AND dur > 0)),
             start AS (SELECT min(ts) AS zero FROM (SELECT ts FROM slice UNION ALL SELECT ts FROM counter))
        SELECT printf('%f %f', (ts - zero) / 1e9 - 0.001, (ts + dur - zero) / 1e9 + 0.001) FROM chosen, start" |
        tr -d '"')
draws() {
        reports -q --svg --from "$from" --to "$to" -f "$@"
}
ok 'a picture is made of a part of it' draws app.pftrace
ok 'beside the recording' test -s app.svg
ok 'its slices are where they should be' python3 "$picture" "$DESKTRACE" app.pftrace app.svg "$from" "$to"
ok 'it is at most 1 MiB' test "$(stat -c %s app.svg)" -le 1048576
ok 'a picture of all of it is made, too' reports --svg -o all.svg app.pftrace
comma() {
        local locale
        locale=$(locale -a | grep -im 1 '^de_DE.utf') || locale=''
        [ -n "$locale" ] || {
                skip_check 'a picture where numbers have a comma' 'that locale is not installed'
                return
        }
        LANGUAGE='' LC_ALL=$locale draws -o comma.svg app.pftrace
        ok 'a locale has no say in where things are' \
                python3 "$picture" "$DESKTRACE" app.pftrace comma.svg "$from" "$to"
}
comma
around() {
        reports -q --svg --around frame --margin 1ms -o around.svg app.pftrace && grep -q '<title>frame, ' around.svg
}
ok 'a picture is made of a slice and what is around it' around
exits 5 'there must be such a slice' "no slice 'nothing'" \
        "$DESKTRACE" report --svg --around nothing -o no.svg app.pftrace
exits 2 'a time must be one' 'is no time' "$DESKTRACE" report --svg --from soon -o no.svg app.pftrace
exits 5 'there must be something in it' 'nothing in this time' \
        "$DESKTRACE" report --svg --from 1000 -o no.svg app.pftrace
exits 5 'for a page, too' 'nothing in this time' "$DESKTRACE" report --from 1000 --to 1001 -o no.svg app.pftrace
ok 'nothing is written then' test ! -e no.svg
view() {
        reports -q --from 0.2 --to 0.3 -o view.html app.pftrace && PYTHONPATH=$(dirname "$page") python3 -c '
from report_page import Page
begin, end = Page("view.html").head["view"]
assert end - begin == 100000000, (begin, end)'
}
ok 'a page may begin with a part of it' view

pair() {
        reports app.pftrace -- both.pftrace older.pftrace && PYTHONPATH=$(dirname "$page") python3 -c '
import re
from report_page import Page
text = open("app-both.html", encoding="utf-8").read()
assert text.count("class=\"side\"") == 2 and len(re.findall("<script type=\"text/plain\"", text)) == 2
assert "Recordings: 1 (A) and 2 (B)" in text, "all recordings of a side count"
assert re.search("<td>frame</td><td class=\"number\"><a href=\"#picture-a\" data-side=\"-a\"", text)'
}
cp older.pftrace both.pftrace
ok 'two sides have a page that shows both and what differs' pair
exits 2 'a side must have a recording' 'desktrace report A' "$DESKTRACE" report app.pftrace --
exits 2 'a still picture is of one recording' 'one recording' "$DESKTRACE" report --svg app.pftrace -- both.pftrace
exits 1 'what is no trace is on no side' 'not a Perfetto trace' "$DESKTRACE" report -o no.html app.pftrace -- "$page"
ok 'no page is written then' test ! -e no.html

head -c -1 app.pftrace >cut.pftrace
exits 6 'a file that is not whole has a page as far as it goes' 'not complete' "$DESKTRACE" report cut.pftrace
ok 'the page says so' grep -q 'No: trace_file_damaged' cut.html
exits 1 'what is no trace is no trace' 'not a Perfetto trace' "$DESKTRACE" report "$page"
exits 1 'a file that is not there' 'cannot open' "$DESKTRACE" report gone.pftrace
exits 2 'a page is of a file' 'FILE|argument' "$DESKTRACE" report
if [ -e /dev/full ]; then
        exits 1 'a full disk is told' 'cannot write' "$DESKTRACE" report -o /dev/full app.pftrace
fi
finish
