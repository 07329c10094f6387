#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# docs/LIBRARY.md: its programs are built and recorded, and its tables know every argument and function.

# shellcheck source=tests/integration/page-lib.sh
. "$(dirname "$0")/page-lib.sh"

ok "the page has its programs" test -s tracks.c -a -s jobs.c -a -s jobs.pbtxt
follow_page
is_recorded tracks.pftrace copy 20
is_recorded tracks.pftrace upload 40
python3 "$TRACKS_CHECK" tracks.pftrace >said
for line in 'track process 3.6=Renderer 3.8=a.blend' 'track process/GPU queues/copies 12=2' \
        'track process/GPU memory 8.3=3 8.4=4096' 'event process/GPU memory 119'; do
        ok "its trace says: $line" grep -qxF "$line" said
done
python3 "$TRACKS_CHECK" jobs.pftrace >said
ok "a source of one's own is recorded" test "$(grep -cx 'event root/Jobs \(odd\|even\) job' said)" -gt 100

# Whatever the header has for an event is in the tables.
grep -oE '^#define DT_[A-Z_]+\(' "$HEADERS/track-event.h" | grep -oE 'DT_[A-Z_]+' |
        grep -vE 'CATEGORY(_|$)|TRACK|LANES|SLICE|INSTANT$|INSTANT_ON|STATE$|COUNTER|EVENT_WITH|STRINGIFY' >macros
ok "there are arguments" test "$(wc -l <macros)" -gt 15
while read -r macro; do
        ok "$macro is explained" grep -q "$macro" "$PAGE"
done <macros
finish
