#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The GStreamer tracer in gst-launch-1.0: what a private service records of it is counted. Needs TRACER_FOLDER as well.

# shellcheck source=tests/integration/recorded-lib.sh
. "$(dirname "$0")/recorded-lib.sh"

command -v gst-launch-1.0 >/dev/null || skip_all 'gst-launch-1.0 is not installed'
export GST_PLUGIN_PATH=$TRACER_FOLDER GST_TRACERS=desktrace GST_REGISTRY=$tmp/registry HOME=$tmp

launch() { timeout -k 10 60 gst-launch-1.0 -q "$@"; }
# answer FILE SQL
answer() { "$DESKTRACE" query "$1" "$2" | sed 1d | tr -d ' '; }

ok 'nobody needs to record' launch fakesrc num-buffers=10 ! identity ! fakesink
ok 'a pipeline is recorded' records pipe.pftrace gst-launch-1.0 -q \
        fakesrc num-buffers=100 sizetype=fixed sizemax=500 ! identity name=first ! \
        queue name=between ! identity name=second ! fakesink name=last
for name in first between second last; do
        ok "each push into $name is a slice" slices pipe.pftrace $name 'n == 100'
done
gives 'slices are nested as the elements are' '^100$' answer pipe.pftrace "select count(*) from slice s
        join slice p on s.parent_id = p.id where s.name = 'between' and p.name = 'first'"
gives 'behind a queue they are those of another thread' '^100$' answer pipe.pftrace "select count(*) from slice a
        join slice b on a.name = 'first' and b.name = 'second' and a.track_id <> b.track_id group by a.id limit 1"
gives 'an arrow leads there with each buffer' '^100$' answer pipe.pftrace "select count(*) from flow f
        join slice a on f.slice_out = a.id join slice b on f.slice_in = b.id
        where a.name = 'between' and b.name = 'second'"
gives 'how much it is is told' '^500$' answer pipe.pftrace "select distinct int_value from args a
        join slice s using (arg_set_id) where s.name = 'first' and a.key like '%bytes'"
for counter in buffers bytes time; do
        gives "the queue's $counter are counted" '^[1-9]' answer pipe.pftrace "select count(*) from counter c
                join track t on c.track_id = t.id join track p on t.parent_id = p.id
                where t.name = '$counter' and p.name = 'between'"
done
# Five elements and the pipeline, which does it for them.
ok 'changes of states are slices' slices pipe.pftrace 'READY->PAUSED' 'n == 6'
ok 'nothing is lost' lossless pipe.pftrace
ok 'each slice that began has ended' json_holds pipe.pftrace.json \
        'not any(s["open"] for s in t["slices"]) and t["unmatched_slice_ends"] == 0'

# Thirty buffers a second through what takes 80 ms for each: the sink drops them.
ok 'a pipeline that is too slow' records slow.pftrace gst-launch-1.0 -q \
        fakesrc format=time datarate=3000 sizetype=fixed sizemax=100 num-buffers=12 ! \
        identity sleep-time=80000 ! fakesink name=sink sync=true qos=true max-lateness=10000000
ok 'buffers that were late are instants' instants slow.pftrace 'late buffer' 'n > 0'
gives 'of the element that says so' '^sink$' answer slow.pftrace "select distinct string_value from args a
        join slice s using (arg_set_id) where s.name = 'late buffer' and a.key like '%element'"
finish
