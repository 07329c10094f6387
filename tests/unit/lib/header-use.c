/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Compiled as strict C99, and as C++: what the macros expand to must be both. */

#include <desktrace/proto.h>
#include <desktrace/source.h>
#include <desktrace/track-event.h>
#include <desktrace/trigger.h>

DT_CATEGORY_DECLARE(elsewhere);
DT_CATEGORY(here, "here", "In this file");
DT_CATEGORY_TAGGED(tagged, "tagged", "With tags", "slow,debug");
DT_CATEGORY(elsewhere, "elsewhere", NULL);

static const dt_track row = DT_TRACK("row", 1);
static const dt_track counter = DT_COUNTER_TRACK("memory", "bytes");

static const dt_track below = DT_TRACK_UNDER(&row, "below", 2);
static const dt_track of_thread = DT_COUNTER_TRACK_UNDER(&dt_thread_track, "time", "ns");
static dt_lanes lanes = DT_LANES("requests");

int header_use(int n, const char *text);
int more_use(dt_writer *writer);

/* What has no macro. */
int more_use(dt_writer *writer) {
        dt_track_details details = { sizeof(details),
                                     NULL,
                                     DT_ORDER_DEFAULT,
                                     0,
                                     DT_MERGE_DEFAULT,
                                     NULL,
                                     DT_UNIT_OTHER,
                                     0,
                                     NULL,
                                     NULL,
                                     false };
        const dt_category *category = dt_category_find_or_add("found", NULL, NULL);
        dt_track lane = dt_lane_take(&lanes);
        uint8_t memory[64];
        uint64_t number;
        dt_proto proto;

        details.rank = 3;
        DT_SLICE_BEGIN_ON(*category, &lane, "on", DT_ALSO_CATEGORY_TEXT("text"));
        DT_INSTANT_ON(*category, &below, NULL, DT_NAME("rare"));
        DT_COUNTER_ON(*category, &of_thread, 7);
        dt_lane_return(&lanes, &lane);
        dt_proto_init(&proto, memory, sizeof(memory));
        dt_proto_end(&proto, dt_proto_begin(&proto, 11));
        dt_process_set_name("name");
        dt_process_set_labels(NULL, 0);
        dt_process_set_rank(1);
        dt_thread_set_rank(-1);
        return dt_track_describe(&below, &details) || dt_writer_begins(writer) ||
               dt_writer_intern(writer, 2, "text", 4, &number) == DT_INTERNED_NEW;
}

int header_use(int n, const char *text) {
        dt_options options = { "name", 0, 0 };

        DT_SLICE(here, "whole");
        DT_SLICE(here, "whole", DT_INT("n", n), DT_STRING("text", text));
        if (n > 3)
                DT_SLICE_BEGIN(
                        here, "inner", DT_UINT("n", 1u), DT_BOOL("b", n), DT_DOUBLE("d", 1.5));
        else
                DT_SLICE_END(here);
        DT_SLICE_BEGIN_ON(tagged, &row, "on", DT_POINTER("p", text), DT_FLOW(dt_flow_id(4)));
        DT_SLICE_END_ON(tagged, &row);
        DT_INSTANT(elsewhere, text);
        DT_INSTANT_ON(elsewhere, &row, text, DT_FLOW_END(7));
        DT_INSTANT(here,
                   "all",
                   DT_DICT("d", DT_INT("n", n), DT_ARRAY("a", DT_INT("", 1), DT_DOUBLE("", 2))),
                   DT_STRING_INTERNED("s", text),
                   DT_AT(1),
                   DT_HERE,
                   DT_CORRELATION(7),
                   DT_LOG(DT_LOG_INFO, text));
        DT_INSTANT(here,
                   "more",
                   DT_CORRELATION_TEXT(text),
                   DT_ALSO_CATEGORY(tagged),
                   DT_ALSO_COUNT(&counter, n),
                   DT_ALSO_COUNT_DOUBLE(&counter, 0.5),
                   DT_RAW(text, 2u));
        DT_SLICE_END_WITH(here, DT_INT("n", n));
        DT_SLICE_END_ON_WITH(here, &row, DT_INT("n", n));
        DT_STATE(here, &row, text);
        DT_STATE(here, &row, text, DT_INT("n", n));
        DT_COUNTER(here, "n", n);
        DT_COUNTER_DOUBLE(here, "n", 0.5);
        DT_COUNTER_ON(here, &counter, n);
        DT_COUNTER_DOUBLE_ON(here, &counter, 1e9);
        return dt_trigger("name") || dt_init(&options) || dt_category_enabled(&here);
}
