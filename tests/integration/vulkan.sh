#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The Vulkan layer in vkcube, below an X server where the processor draws: each of its frames is there, and when that
# was done. Needs VULKAN_LAYER as well, the layer's file of the build.

# shellcheck source=tests/integration/recorded-lib.sh
. "$(dirname "$0")/recorded-lib.sh"

command -v vkcube >/dev/null || skip_all 'vkcube is not installed'
command -v Xvfb >/dev/null || skip_all 'Xvfb is not installed'
compgen -G '/usr/share/vulkan/icd.d/lvp*' >/dev/null || skip_all 'lavapipe is not installed'

export XDG_DATA_HOME=$tmp/data
mkdir -p "$XDG_DATA_HOME/vulkan/implicit_layer.d"
cp "$VULKAN_LAYER" "$XDG_DATA_HOME/vulkan/implicit_layer.d"
started Xvfb -displayfd 1 -screen 0 320x240x24 >display
eventually test -s display
DISPLAY=:$(head -n1 display)
export DISPLAY

# answer SQL
answer() { "$DESKTRACE" query cube.pftrace "$1" | sed 1d | tr -d ' '; }
cube() { timeout -k 10 60 vkcube --c "$1" --present_mode 0; }
export -f cube

ok 'a program is recorded that does not ask for the layer' records plain.pftrace vkcube --c 10 --present_mode 0
ok 'and it has none' slices plain.pftrace vkQueuePresentKHR 'n == 0'
export DESKTRACE_VULKAN=1
ok 'with it nobody needs to record' cube 10
ok 'a program is recorded' records cube.pftrace bash -c 'cube 100'
ok 'each time that it presents is a slice' slices cube.pftrace vkQueuePresentKHR 'n == 100'
gives 'from each to the next is a frame' '^99$' answer "select count(*) from slice s join track t on s.track_id = t.id
        where s.name in ('frame', 'late frame') and t.name = 'Frames 1 (Vulkan)'"
gives 'its waiting for images and fences is seen' '^2$' answer "select count(distinct name) from slice
        where name in ('vkAcquireNextImageKHR', 'vkWaitForFences')"
gives 'all that it submits is worked on by the GPU' '^1$' answer "select
        (select count(*) from slice where name = 'GPU work') between
        (select count(*) from slice where name = 'vkQueueSubmit') - 1 and
        (select count(*) from slice where name = 'vkQueueSubmit')"
# Both clocks are a millisecond apart at most.
gives 'and not before' '^0$' answer "select count(*) from
        (select ts, row_number() over (order by ts) as n from slice where name = 'GPU work') g join
        (select ts, row_number() over (order by ts) as n from slice where name = 'vkQueueSubmit') s using (n)
        where g.ts < s.ts - 1000000"
ok 'nothing is lost' lossless cube.pftrace
ok 'each slice that began has ended' json_holds cube.pftrace.json \
        'not any(s["open"] for s in t["slices"]) and t["unmatched_slice_ends"] == 0'
export DISABLE_DESKTRACE_VULKAN=1
ok 'another variable keeps it out' records off.pftrace vkcube --c 10 --present_mode 0
ok 'whatever the first one says' slices off.pftrace vkQueuePresentKHR 'n == 0'
finish
