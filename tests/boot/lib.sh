# shellcheck shell=bash disable=SC2034
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Verbs of the boot cases. Each check is one TAP line; what a failing check saw is printed before it.

BUS=org.desktrace.Tracing1
ROOT=/org/desktrace/Tracing1
MANAGER=$BUS.Manager

n_checks=0 n_failed=0

# ok PROMISE COMMAND...: the command succeeds
ok() {
        local promise=$1 output
        shift
        n_checks=$((n_checks + 1))
        if output=$("$@" 2>&1); then
                echo "ok $n_checks - $promise"
        else
                head -n 40 <<<"$* ($?): $output" | sed 's/^/# /'
                echo "not ok $n_checks - $promise"
                n_failed=$((n_failed + 1))
        fi
}

# fails PROMISE PATTERN COMMAND...: the command fails and its output matches
fails() {
        local promise=$1 pattern=$2 output
        shift 2
        n_checks=$((n_checks + 1))
        if ! output=$("$@" 2>&1) && grep -qE -- "$pattern" <<<"$output"; then
                echo "ok $n_checks - $promise"
        else
                head -n 40 <<<"$*: $output" | sed 's/^/# /'
                echo "# wanted: $pattern"
                echo "not ok $n_checks - $promise"
                n_failed=$((n_failed + 1))
        fi
}

skip_check() {
        n_checks=$((n_checks + 1))
        echo "ok $n_checks - $1 # SKIP $2"
}

finish() {
        echo "1..$n_checks"
        exit $((n_failed > 0))
}

# as USER COMMAND...: without any privilege, and on no session bus unless the user has one
as() {
        local user=$1 uid

        shift
        uid=$(id -u "$user")
        env -i PATH="$PATH" LC_ALL=C.UTF-8 HOME="/home/$user" USER="$user" XDG_RUNTIME_DIR="/run/user/$uid" \
                setpriv --reuid="$user" --regid="$user" --init-groups --inh-caps=-all -- "$@"
}

# within SECONDS COMMAND...: the command succeeds sooner or later
within() {
        local deadline=$(($(date +%s%N) + $1 * 1000000000))

        shift
        until "$@"; do
                [ "$(date +%s%N)" -lt "$deadline" ] || return 1
                sleep 0.05
        done
}

not() {
        ! "$@"
}

# The main process of a unit.
main_pid() {
        systemctl show -P MainPID "$1"
}

is_active() {
        systemctl is-active --quiet "$1"
}

is_gone() {
        [ "$(systemctl show -P ActiveState "$1")" = inactive ]
}

# A value of a JSON document on stdin by a Python expression over `d`.
json() {
        python3 -c "import json,sys; d=json.load(sys.stdin); print($1)"
}

# trace FILE EXPRESSION: a fact about a recorded file; `d` is what "desktrace inspect" says of it. It
# warns of lost data with its exit status, which is no concern here.
trace() {
        { desktrace inspect --json=short "$1" || :; } | json "$2"
}

# is_true FILE EXPRESSION
is_true() {
        local value

        [ -s "$1" ] || { echo "$1 is missing or empty"; return 1; }
        value=$(trace "$1" "bool($2)") || return
        [ "$value" = True ] || { trace "$1" d | cut -c 1-2000; return 1; }
}

# file_has_slices FILE WHEN: whether a recording of alice's has slices WHEN, as SQL says it
file_has_slices() {
        as alice desktrace query --json=short "$1" "SELECT count(*) AS n FROM slice WHERE ts $2" | grep -vqE '"n":0\b'
}

boottime() {
        python3 -c 'import time; print(time.clock_gettime_ns(time.CLOCK_BOOTTIME))'
}

# start USER OPTIONS...: starts a session with busctl, detached for it ends with busctl otherwise;
# prints its object. OPTIONS are as busctl wants them, in the words "name signature value…".
start() {
        local user=$1 n=$2

        shift 2
        as "$user" busctl --json=short call $BUS $ROOT $MANAGER StartSession 'a{sv}' "$n" "$@" | json 'd["data"][0]'
}

state_of() {
        as "$1" busctl --json=short get-property $BUS "$2" $BUS.Session State | json 'd["data"]'
}

is_in_state() {
        [ "$(state_of "$1" "$2")" = "$3" ]
}

# Every line that the service or the probes logged at warning or worse.
complaints() {
        local lines

        lines=$(journalctl -b -q -o cat -p warning -u desktraced.service -u desktrace-probes.service)
        [ -z "$lines" ] || { echo "$lines"; return 1; }
}

# The capabilities that a unit may have at most, as /proc/PID/status has them.
unit_capabilities() {
        systemctl show -P CapabilityBoundingSet "$1" | python3 -c "
import re, sys
numbers = dict((n.lower(), int(v)) for n, v in re.findall(
        r'^#define (CAP_\w+)\s+(\d+)', open('/usr/include/linux/capability.h').read(), re.M))
print('%016x' % sum(1 << numbers[name] for name in sys.stdin.read().split()))"
}

# has_instances PID: whether the probes of this process id record kernel events. tracefs is the machine's,
# so there may be instances of others.
has_instances() {
        [ -n "$(find /sys/kernel/tracing/instances -mindepth 1 -maxdepth 1 -name "desktrace-$1-*")" ]
}

# records_kernel PID: whether these probes do, into an instance of their own or one that the process before has left
records_kernel() {
        has_instances "$1" || grep -q 'goes on in the tracefs instance' <(journalctl -b -q -o cat _PID="$1")
}

# Idle means idle soon, in here.
shorten_idle_times() {
        mkdir -p /etc/desktrace
        printf '[Daemon]\nIdleTimeoutSec=1s\n' >/etc/desktrace/desktraced.conf
}

# allow USER ACTION: by a rule, which polkitd loads when it sees it
allow() {
        printf 'polkit.addRule(function (a, s) {\n  if (a.id == "%s" && s.user == "%s") return "yes";\n});\n' \
                "$2" "$1" >"/etc/polkit-1/rules.d/10-boot-$1.rules"
        within 5 as "$1" pkcheck --action-id "$2" --process $$ >/dev/null 2>&1 || sleep 1
}
