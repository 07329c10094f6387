#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Points 3 and 7 of the attacks, at a restart: a user fills what is kept for the next process, and has passed a
# descriptor that hangs in a file system that never answers, so the process of the service cannot end, not even by
# SIGKILL. The next one serves nevertheless, while that one still hangs, and goes on with what an innocent user
# records. How long it took is printed.
. ./lib.sh

seconds_since() { python3 -c "import sys, time; print(f'{time.time() - float(sys.argv[1]):.1f}')" "$1"; }
attack() { # COMMAND...: its pid is in $attacker
        : >/tmp/attacker
        "$@" >/tmp/attacker 2>&1 &
        attacker=$!
}
says() { grep -q "$1" /tmp/attacker; }
service_pid() {
        busctl --json=short call org.freedesktop.DBus /org/freedesktop/DBus org.freedesktop.DBus \
                GetConnectionUnixProcessID s $BUS | json 'd["data"][0]'
}
written() { as bob busctl --json=short get-property $BUS "$session" $BUS.Session BytesWritten | json 'd["data"]'; }
has_written() {
        as bob busctl call $BUS "$session" $BUS.Session Flush u 2000 >/dev/null
        [ "$(written)" -gt 0 ]
}
is_answered() { as bob timeout 20 busctl call $BUS $ROOT $MANAGER ListSources; }
is_dying() { [ "$(ps -o stat= -p "$1" | cut -c1)" = Z ] && [ -e "/proc/$1" ]; }
log_says() { journalctl -b -q -o cat -u desktraced.service | grep -q "$1"; }

ok 'the native socket is there' systemctl start desktraced.socket

# A session that takes its time to stop: its output is a pipe that nobody reads.
mkfifo /tmp/pipe
sleep 100 <>/tmp/pipe &
reader=$!
as alice ./hello-desktrace --seconds 100 >/dev/null 2>&1 &
as alice desktrace record --system -q -p apps -o - >/tmp/pipe 2>/dev/null &
recorder=$!
is_recording() { as alice busctl call $BUS $ROOT $MANAGER ListSessions | grep -q /session/; }
ok 'somebody records into a pipe that is full' within 20 is_recording
sleep 2
stopping=$(service_pid)
ok 'the service is stopped' systemctl stop desktraced.service
# LeakSanitizer cannot look at a thread that still hangs in a write, and then says so by the exit status.
is_no_failure() {
        [ "$(systemctl show -P Result desktraced.service)" = success ] ||
                log_says 'LeakSanitizer has encountered a fatal error'
}
ok 'which was no failure' is_no_failure
ok 'nor was it killed' not log_says 'Killing process'
ok 'the process has ended' test ! -e "/proc/$stopping"
kill -KILL $recorder $reader

# Sessions that outlive a process lie in one store for all users. Four of these would fill it.
buffers=$(printf 'buffers { size_kb: 4 } %.0s' {1..100})
takes_store() {
        start alice 3 detach b true duration-ms u 140000 config-text s \
                "$buffers data_sources { config { name: 'org.example.none' } }"
}
takes_more() { for _ in 1 2 3; do takes_store || return; done; }
ok 'an attacker has a session with very many buffers' takes_store
n_stored() { systemctl show -P NFileDescriptorStore desktraced.service; }
has_stored() { [ "$(n_stored)" -gt 100 ]; }
ok 'which is kept for the next process' within 20 has_stored
ok 'the attacker has more of these' takes_more
ok 'whose buffers are too many to be kept' within 20 log_says 'would not survive the service'

as bob ./hello-desktrace --seconds 140 >/dev/null 2>&1 &
session=$(start bob 3 sources as 1 track_event duration-ms u 140000 detach b true)
ok 'an innocent user records' within 20 has_written
before=$(service_pid)
[ -e /dev/fuse ] || mknod -m 666 /dev/fuse c 10 229
if ! head -c 0 /dev/fuse 2>/tmp/fuse; then
        skip_check 'a restart while a descriptor hangs' "no file system of one's own here: $(head -c 200 /tmp/fuse)"
        finish
fi
attack unshare -m --propagation private \
        env "ATTACKER_UID=$(id -u alice)" python3 -B ./stuck-file.py native /run/desktrace/native.sock 1
ok 'a descriptor that cannot be closed is passed' within 20 says attacked
sleep 1
ok 'it hurts nobody yet' is_answered
began=$(date +%s.%N)
systemctl restart --no-block desktraced.service
ok 'the service is restarted, and the old process tries to end' within 30 is_dying "$before"
is_next() { [ "$(service_pid)" != "$before" ] && is_answered; }
ok 'the next process answers' within 100 is_next
echo "# $(seconds_since "$began") s without a service"
ok 'while the old one still hangs' is_dying "$before"
ok 'the journal says whose file it is' log_says "user $(id -u alice) has passed does not answer"
ok 'the innocent recording goes on' within 30 has_written
ok 'and can be read' test "$(as bob busctl --json=short call $BUS "$session" $BUS.Session Read u 0 |
        json 'len(d["data"][0]) > 1000')" = True
kill -KILL $attacker
ok 'the old process ends when the file system is gone' within 20 not is_dying "$before"
ok 'its end does not disturb the next one' is_answered
finish
