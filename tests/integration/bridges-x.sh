#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# org.x.present: an X server without a screen, and a program that presents frames on it and prints when each was shown.
# Also servers that say nothing, that are none, and that end. Needs PRESENTING_APP as well, "" where it is not built.

# shellcheck source=tests/integration/bridges-lib.sh
. "$(dirname "$0")/bridges-lib.sh"

source=org.x.present
trace=$tmp/x.pftrace
frames="from slice s join process_track t on s.track_id = t.id join process p using (upid)
        where s.name in ('frame', 'late frame') and t.name = 'Frames 1 (X11)'"
why="select string_value from args join slice using (arg_set_id) where name = 'not recorded'"
export DESKTRACE_BRIDGES=$BRIDGES XAUTHORITY=/dev/null

"$BRIDGES" --list-sources | grep -q 'without libxcb' && skip_all 'built without libxcb'

# record DISPLAY SECONDS
record() { env DISPLAY="$1" "$DESKTRACE" --standalone record -q -f -t "$2s" -o "$trace" $source; }

fails 'without a display it is refused' 'this session has no X server' \
        env -u DISPLAY "$DESKTRACE" --standalone record -f -t 1s -o "$trace" $source
ok 'a display that is not there stops nobody' record :4711 1
gives 'but is told of' '^noXservercanbereached' asked "$trace" "$why"

# fake_server ANSWER: what listens as a display, whose number is in $number
fake_server() {
        started python3 "$(dirname "$0")/fake-server.py" /tmp/.X11-unix/X$number "$1"
        fake=$started
        eventually test -S /tmp/.X11-unix/X$number
}

end_fake() {
        ended "$fake"
        rm -f /tmp/.X11-unix/X$number
}

number=$((20000 + $$ % 20000))
[ -d /tmp/.X11-unix ] || mkdir -m 1777 /tmp/.X11-unix
if [ -w /tmp/.X11-unix ]; then
        fake_server silence
        ok 'a server that says nothing stops nobody' record :$number 1
        gives 'but is told of, too' '^theXserverhasnotanswered$' asked "$trace" "$why"
        end_fake
        fake_server noise
        ok 'nor does one that talks nonsense' record :$number 1
        end_fake
fi

if ! command -v Xvfb >/dev/null || [ -z "$PRESENTING_APP" ]; then
        skip_check 'frames are recorded' 'Xvfb is not installed, or no program was built for it'
        finish
fi

# The server chooses a number that is free.
started Xvfb -displayfd 1 -nolisten tcp -screen 0 640x480x24 >"$tmp/display"
server=$started
eventually grep -q . "$tmp/display"
display=:$(cat "$tmp/display")
started env DISPLAY="$display" "$PRESENTING_APP" >"$tmp/shown"
app=$started
has_shown() { [ "$(wc -l <"$tmp/shown")" -ge "$1" ]; }
eventually has_shown 20

ok 'a program that runs already is recorded' record "$display" 3
ended "$app"
gives 'its frames are below its process' "^$app\$" asked "$trace" "select distinct p.pid $frames"

# in_a_row: all intervals of the recording are intervals of the program, one after the other
in_a_row() {
        asked "$trace" "select s.dur $frames order by s.ts" >"$tmp/recorded"
        python3 - "$tmp/shown" "$tmp/recorded" <<'PYTHON'
import sys
shown, recorded = ([int(line) for line in open(path, encoding="ascii") if line.endswith("\n")] for path in sys.argv[1:])
shown = [(b - a) * 1000 for a, b in zip(shown, shown[1:])]
n = len(recorded)
print(n, "intervals of", len(shown))
sys.exit(n < 5 or not any(shown[i:i + n] == recorded for i in range(len(shown) - n + 1)))
PYTHON
}
ok 'at the times that the server has told the program' in_a_row
gives 'those that came late are late' '^[1-9]' asked "$trace" "select count(*) $frames and s.name = 'late frame'"
gives 'and took longer' '^0$' asked "$trace" "select count(*) $frames and s.name = 'late frame' and s.dur < 20000000"

# A window that is made later, and a server that ends.
count_clients() { grep -c "/tmp/.X11-unix/X${display#:}\$" /proc/net/unix; }
n_clients=$(count_clients)
is_listened_to() { [ "$(count_clients)" -gt "$n_clients" ]; }
export DISPLAY=$display
bridged_session
recording "$trace" 600 $source
eventually is_listened_to
: >"$tmp/shown"
started "$PRESENTING_APP" >"$tmp/shown"
app=$started
eventually has_shown 100
ended "$server" "$app"
sleep 1
kill -INT "$recording"
wait "$recording"
gives 'a window that is made later is recorded' "^$app,[1-9]" asked "$trace" \
        "select p.pid || ',' || count(*) $frames group by p.pid"
gives 'that the server has ended is told' '^theXserverhasended$' asked "$trace" "$why"
finish
