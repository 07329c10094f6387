#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# "desktrace doctor" on a private bus: what is broken is named, nothing is started that need not be, and nothing hangs.

# shellcheck source=tests/integration/cli-lib.sh
. "$(dirname "$0")/cli-lib.sh"

[ "$(id -u)" = 0 ] || skip_all "not root: the service's name is root's on the system bus"

# says PROMISE PATTERN [ARGUMENT...]: the findings, one a line as "level topic: text | remedy", have a match
says() {
        local promise=$1 pattern=$2 status=0
        shift 2
        n_checks=$((n_checks + 1))
        timeout 60 "${doctor[@]}" doctor --json=short "$@" >"$tmp/findings" 2>&1 </dev/null || status=$?
        if python3 - "$tmp/findings" "$status" >"$tmp/lines" 2>&1 <<'PY' && grep -qE -- "$pattern" "$tmp/lines"; then
import json, sys
report = json.load(open(sys.argv[1]))
for f in report["findings"]:
    print("%s %s: %s | %s" % (f["level"], f["topic"], f["text"], f["remedy"]))
problems = sum(f["level"] == "problem" for f in report["findings"])
sys.exit(problems != report["problems"] or int(sys.argv[2]) != (10 if problems else 0))
PY
                echo "ok $n_checks - $promise"
        else
                failed "$promise" "status $status: $(cat "$tmp/lines" "$tmp/findings")" "wanted: $pattern"
        fi
}

not_prompted() {
        ! grep -q 'flags=1' "$tmp/questions"
}
has_thread() { # of the library
        grep -qx desktrace "/proc/$1"/task/*/comm
}
no_escapes() {
        ! "$DESKTRACE" doctor "$1" 2>&1 | grep -q "[$(printf '\001-\010\016-\037')]"
}

doctor=("$DESKTRACE")
says "without a bus, that is what is said" '^problem bus: there is no system bus here: .* --standalone'

# A bus that takes connections and never says a word.
python3 -c 'import socket, sys, time
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1])
s.listen(16)
print(flush=True)
time.sleep(600)' "$tmp/silent.sock" >"$tmp/silent" &
pids+=("$!")
eventually test -S "$tmp/silent.sock"
doctor=(env DBUS_SYSTEM_BUS_ADDRESS="unix:path=$tmp/silent.sock" "$DESKTRACE")
says "a bus that never answers is not waited for" '^problem bus: the bus, or what is on it, did not answer within'
doctor=("$DESKTRACE")

system_bus root
chmod 755 "$tmp" "$tmp/work"
says "a bus without the service is told" '^problem service: the bus knows no org.desktrace.Tracing1'
nobody_owns_it() {
        ! busctl --system status $BUS >/dev/null 2>&1
}
printf 'org.desktrace.tracing1.trace-system ask\n' >"$tmp/answers"
started "$FAKE_POLKIT" "$tmp/answers" "$tmp/questions"
eventually busctl --system status org.freedesktop.PolicyKit1
export BUSCTL=--system
service "$DESKTRACED" --system --idle-timeout=infinity
says "a service that runs is asked for its version" '^ok service: runs, version'
says "root is not asked for by polkit" '^ok polkit: root is not asked'
doctor=(setpriv --reuid=nobody --clear-groups --inh-caps=-all -- "$DESKTRACE")
says "a user learns that polkit would ask" '^note polkit: to record the system you are asked for a password'
printf 'org.desktrace.tracing1.trace-system no\n' >"$tmp/answers"
says "or that it says no" '^problem polkit: you may not record the system.*desktrace-example.rules'
printf 'org.desktrace.tracing1.trace-system yes\n' >"$tmp/answers"
says "or yes" '^ok polkit: you may record the system without being asked'
ok "and was not prompted" not_prompted
doctor=("$DESKTRACE")

# Programs.
cp "$TEST_PRODUCER" "$tmp/test-producer.copy"
producer app org.example.app
says "a program that the service knows is well" '^ok service: the service knows it, with org.example.app' "$started"
kill -STOP "$started"
says "one that is stopped is told" "^problem program: it is stopped.*kill -CONT $started" "$started"
kill -CONT "$started"
started sleep 300
says "one that has nothing in it is told" '^problem library: .*neither libdesktrace nor' "$started"
started env DESKTRACE_SOCKET="$tmp/elsewhere.sock" "$TEST_PRODUCER" lost org.example.lost
eventually has_thread "$started"
says "one that was led elsewhere is told why" \
        "^note environment: DESKTRACE_SOCKET=$tmp/elsewhere.sock: it is recorded by" \
        "$started"
says "and that the service does not know it" '^problem service: the service does not know it, although' "$started"
says "programs are found by their names" "^ok program: test-producer is process" test-producer
says "one that does not run is looked at" \
        '^note program: .*test-producer.copy uses libdesktrace' "$tmp/test-producer.copy"
says "there is no such process" '^problem program: there is no process 4194305 ' 4194305

# Names.
says "a data source that nobody offers has a near one" \
        '^problem source: .*did you mean "org.example.app"' org.example.ap
says "events are not known here" \
        '^note event: the kernel.s events are not known.*sudo desktrace list events' \
        sched/sched_switch
says "a category that nobody has is told" '^problem category: no program that runs has the category "x"' cat:x
says "what is nothing at all is told" \
        '^problem program: no program, data source or event is called "zzzz"' zzzz
hostile=$'/tmp/\033]0;evil\007'
exits 10 "names are made safe to print" 'cannot be read' "$DESKTRACE" doctor "$hostile"
ok "for all of the output" no_escapes "$hostile"
kill "$daemon" && wait "$daemon"
ok "looking starts no service" nobody_owns_it
finish
