#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# desktrace report: pages of recordings of this machine and of the examples have what "desktrace query" says of them,
# and nothing of a recording becomes markup. How a page behaves in browsers, tests/machines/browser.sh sees.

# shellcheck source=tests/integration/cli-lib.sh
. "$(dirname "$0")/cli-lib.sh"

page=$(dirname "$0")/report_page.py

# records FILE PRESET COMMAND...
records() {
        timeout 60 "$DESKTRACE" record --standalone -p "$2" -f -o "$1" -- "${@:3}" || [ $? = 6 ]
}
reports() {
        "$DESKTRACE" report "$@" || [ $? = 6 ]
}

ok 'a program is recorded' records app.pftrace apps "$EXAMPLE_PROGRAMS/game-desktrace" --seconds 1
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

both() {
        timeout 60 "$DESKTRACE" record --standalone -p apps --report -o both.pftrace -- \
                "$EXAMPLE_PROGRAMS/game-desktrace" --seconds 1 || [ $? = 6 ]
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
