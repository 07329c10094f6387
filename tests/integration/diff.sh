#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# desktrace diff: recordings of an example, and recordings that are written here, whose difference is known.

here=$(realpath "$(dirname "$0")")
# shellcheck source=tests/integration/cli-lib.sh
. "$here/cli-lib.sh"

# differs EXPRESSION ARGUMENT...: a Python expression over the answer (t) holds
differs() {
        "$DESKTRACE" diff --json=short "${@:2}" >"$tmp/answer" || [ $? = 10 ] || [ $? = 6 ] || return
        json_holds "$tmp/answer" "$1"
}

# Files of frames that take so long, in microseconds, and of another slice that always takes as long.
cat >write.py <<'END'
import sys

from perfetto_wire import field, packet, track_event as event

name, us = sys.argv[1], int(sys.argv[2])
with open(name, "wb") as file:
    file.write(packet(field(60, field(1, 5) + field(2, b"\033[31mtrack"))))
    for i in range(100):
        at = 1000000 + i * 16000000
        file.write(event(at, 1, b"frame") + event(at + us * 1000 + i, 2))
        file.write(event(at + 12000000, 1, b"\033]0;other\007") + event(at + 13000000, 2))
END
for i in 1 2 3 4 5 6; do
        PYTHONPATH=$here python3 -B write.py "a$i" $((2000 + i * 10))
        PYTHONPATH=$here python3 -B write.py "b$i" $((3000 + i * 10))
done

requests="SELECT count(*) >= 5 FROM slice WHERE name = 'request' AND dur > 0"
ok 'an example is recorded' records_with "$requests" one.pftrace apps "$EXAMPLE_PROGRAMS/daemon-desktrace"
ok 'twice' records_with "$requests" two.pftrace apps "$EXAMPLE_PROGRAMS/daemon-desktrace"
ok 'one recording on each side is too few' \
        differs "t['changed'] == 0 and t['too_few'] > 0 and all(r['verdict'] == 'too few' for r in t['rows'])" \
        one.pftrace -- two.pftrace
exits 0 'and the conditions come first' '^Recordings: 1 \(A\) and 1 \(B\)' "$DESKTRACE" diff one.pftrace -- two.pftrace
ok 'a recording does not differ from itself' \
        differs "all(r['change'] == 0 for r in t['rows'])" one.pftrace -- one.pftrace
ok 'a difference is found, and what is the same is not' \
        differs "t['rows'][0]['name'] == 'frame' and t['rows'][0]['verdict'] == 'more' and t['changed'] == 1" a? -- b?
ok 'with an interval around it' \
        differs "(t['rows'][0]['change_low'] <= t['rows'][0]['change'] <= t['rows'][0]['change_high'] and
                0.4 < t['rows'][0]['change'] < 0.6 and t['rows'][0]['p'] < 0.05)" a? -- b?
exits 10 'a change is in the exit status' 'of which changed: 1' "$DESKTRACE" diff a? -- b?
exits 0 'no change is, too' 'of which changed: 0' "$DESKTRACE" diff a? -- a?
exits 10 'a limit is exceeded' "'frame' changed by \+4" "$DESKTRACE" diff --fail-if 'frame +10%' a? -- b?
exits 0 'or it is not' 'frame' "$DESKTRACE" diff --fail-if 'frame +60%' a? -- b?
exits 0 'the other way it is no loss' 'less' "$DESKTRACE" diff --fail-if 'frame +10%' b? -- a?
exits 10 'unless that was asked for' "changed by -3" "$DESKTRACE" diff --fail-if 'frame -10%' b? -- a?
exits 5 'a limit on what is not there' 'not on both sides' "$DESKTRACE" diff --fail-if 'gone +1%' a? -- b?
ok 'four of each side are enough for one name' differs "t['changed'] == 1" --slice frame a1 a2 a3 a4 -- b1 b2 b3 b4
ok 'and not for two' differs "t['changed'] == 0 and t['too_few'] == 2" a1 a2 a3 a4 -- b1 b2 b3 b4
ok 'p99 needs 367 slices' differs "t['rows'] == []" --metric p99 a? -- b?
ok 'totals are compared, too' differs "t['rows'][0]['verdict'] == 'more'" --metric total a? -- b?
is_clean() {
        ! "$DESKTRACE" diff a1 -- b1 | tr -d '\n' | grep -q '[[:cntrl:]]'
}
ok 'names are printed without what drives a terminal' is_clean

# One file in which a frame takes 2 ms up to second 5, and 3 ms from then on, and the other slice as long as ever.
cat >phases.py <<'END'
import sys

from perfetto_wire import field, packet, track_event as event

with open(sys.argv[1], "wb") as file:
    file.write(packet(field(60, field(1, 5) + field(2, b"track"))))
    for i in range(100):
        at = 1000000000 + i * 100000000
        file.write(event(at, 1, b"frame") + event(at + (2000000 if i < 50 else 3000000) + int(sys.argv[2]) + i, 2))
        file.write(event(at + 12000000, 1, b"other") + event(at + 13000000, 2))
END
for i in 1 2 3 4; do
        PYTHONPATH=$here python3 -B phases.py "phases$i" "$i"
done
ok 'two times of one recording are compared: the frames that begin in them' \
        differs "t['rows'][0]['a_ns'] == 2000026 and t['rows'][0]['b_ns'] == 3000075" \
        --slice frame --to 5 phases1 -- --from 5
ok 'as too few, with the recording on both sides' \
        differs "t['on_both_sides'] == 1 and t['overlapping'] == 0 and t['rows'][0]['verdict'] == 'too few'" \
        --to 5 phases1 -- --from 5.05
ok 'with how long each is' differs "abs(t['seconds_a'] - 2) < 0.01 and abs(t['seconds_b'] - 3) < 0.01" \
        --from 1 --to 3 phases1 -- --from 4 --to 7
exits 0 'which is said' 'on both sides: 1, at different times' "$DESKTRACE" diff --to 4 phases1 -- --from 5
exits 0 'times that overlap are, too' 'on both sides: 1, at times that overlap' \
        "$DESKTRACE" diff --to 6 phases1 -- --from 5
ok 'four recordings at two times are enough for one name' \
        differs "t['rows'][0]['verdict'] == 'more' and t['changed'] == 1 and t['on_both_sides'] == 4" \
        --slice frame --to 4.5 phases? -- --from 5
ok 'what did not change at the other time is the same' \
        differs "t['rows'][0]['change'] == 0" --slice other --to 4.5 phases? -- --from 5
ok 'one time is for both sides' differs "(abs(t['seconds_a'] - 2) < 0.01 and abs(t['seconds_b'] - 2) < 0.01 and
        t['on_both_sides'] == 0 and t['rows'][0]['change'] > 0)" --slice frame --from 1 --to 3 phases1 -- phases2
ok 'or each has its own, with files of its own' differs "0.4 < t['rows'][0]['change'] < 0.6" \
        --slice frame --to 3 phases1 -- --from 6 phases2
exits 5 'a time of which there is nothing' 'nothing in this time' "$DESKTRACE" diff --to 3 phases1 -- --from 1000
exits 2 'what is no time' 'is no time' "$DESKTRACE" diff --to 3 phases1 -- --from soon
exits 2 'another option behind --' 'files and their time range' "$DESKTRACE" diff phases1 -- --metric p99 phases2

# A config: its data sources, and one setting of the second.
cat >made.py <<'END'
import sys

from perfetto_wire import field, packet, track_event as event

name, setting = sys.argv[1], int(sys.argv[2])
sources = [b"track_event", b"linux.perf"]
config = b"".join(field(2, field(1, field(1, source) + field(2, setting * i))) for i, source in enumerate(sources))
with open(name, "wb") as file:
    file.write(packet(field(33, config)))
    file.write(packet(field(60, field(1, 5) + field(2, b"track"))))
    file.write(event(1000000, 1, b"frame") + event(3000000, 2))
END
for i in 1 2; do
        PYTHONPATH=$here python3 -B made.py "made$i" "$i"
done
ok 'another setting of a data source is another condition' \
        differs "(t['same_config'] == 0 and t['same_system'] == 1 and
                t['data_sources_a'].startswith('linux.perf, track_event (') and
                t['data_sources_a'] != t['data_sources_b'])" made1 -- made2
exits 0 'which is said first' '^  data sources and a sum of their settings: linux.perf, track_event' \
        "$DESKTRACE" diff made1 -- made2
ok 'the same setting is none' differs "t['same_config'] == 1" made1 -- made1

exits 2 'one side is none' 'two sides' "$DESKTRACE" diff a1 a2
exits 2 'an empty side is none' 'two sides' "$DESKTRACE" diff a1 --
exits 2 'an unknown metric' 'p50, p99, total, cpu' "$DESKTRACE" diff --metric colour a1 -- b1
for change in frame 'frame 10%' 'frame +10' '+10%' 'frame +nan%' 'frame +1e999%'; do
        exits 2 "no change: $change" 'is no change' "$DESKTRACE" diff --fail-if "$change" a1 -- b1
done
exits 1 'a file that is not there' 'cannot open' "$DESKTRACE" diff a1 -- gone
exits 1 'what is no trace' 'not a Perfetto trace' "$DESKTRACE" diff a1 -- write.py
finish
