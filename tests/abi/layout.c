/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Prints what programs have compiled in: sizes of structures, offsets of their fields, numbers and texts of constants.
 * Built with the headers of 0.1 and with those of now, it must say the same; what is newer than 0.1 is not asked for.
 */

#include <stdio.h>

#include <desktrace/source.h>
#include <desktrace/track-event.h>
#include <desktrace/trigger.h>

#define SIZE(type) printf("%s: %zu bytes\n", #type, sizeof(type))
#define FIELD(type, field)                  \
        printf("%s.%s: %zu bytes at %zu\n", \
               #type,                       \
               #field,                      \
               sizeof(((type *)0)->field),  \
               offsetof(type, field))
#define NUMBER(constant) printf("%s: %d\n", #constant, (int)(constant))
#define TEXT(constant)   printf("%s: %d\n", #constant, (constant)[0])

static void events(void) {
        SIZE(dt_options);
        FIELD(dt_options, name);
        FIELD(dt_options, shared_memory_bytes);
        FIELD(dt_options, page_bytes);
        SIZE(dt_category);
        FIELD(dt_category, name);
        FIELD(dt_category, description);
        FIELD(dt_category, tags);
        FIELD(dt_category, enabled);
        FIELD(dt_category, number);
        FIELD(dt_category, next);
        SIZE(dt_arg);
        FIELD(dt_arg, type);
        FIELD(dt_arg, name);
        FIELD(dt_arg, value);
        SIZE(dt_track);
        FIELD(dt_track, name);
        FIELD(dt_track, unit);
        FIELD(dt_track, id);
        FIELD(dt_track, parent);
}

static void sources(void) {
        SIZE(dt_source_ops);
        FIELD(dt_source_ops, setup);
        FIELD(dt_source_ops, start);
        FIELD(dt_source_ops, flush);
        FIELD(dt_source_ops, stop);
        FIELD(dt_source_ops, clear_incremental_state);
        FIELD(dt_source_ops, gone);
        SIZE(dt_source_options);
        FIELD(dt_source_options, descriptor);
        FIELD(dt_source_options, n_descriptor);
        FIELD(dt_source_options, no_flush);
        FIELD(dt_source_options, categories);
        FIELD(dt_source_options, packet_fields);
        FIELD(dt_source_options, n_packet_fields);
        FIELD(dt_source_options, unavailable);
        NUMBER(DT_FULL_DEFAULT);
        NUMBER(DT_FULL_DROP);
        NUMBER(DT_FULL_STALL);
        NUMBER(DT_TRIGGER_NAME_MAX);
}

static void arguments(void) {
        NUMBER(DT_ARG_NONE);
        NUMBER(DT_ARG_INT);
        NUMBER(DT_ARG_UINT);
        NUMBER(DT_ARG_DOUBLE);
        NUMBER(DT_ARG_BOOL);
        NUMBER(DT_ARG_STRING);
        NUMBER(DT_ARG_POINTER);
        NUMBER(DT_ARG_FLOW);
        NUMBER(DT_ARG_FLOW_END);
        NUMBER(DT_ARG_STRING_INTERNED);
        NUMBER(DT_ARG_DICT);
        NUMBER(DT_ARG_ARRAY);
        NUMBER(DT_ARG_CLOSE);
        NUMBER(DT_ARG_CORRELATION);
        NUMBER(DT_ARG_CORRELATION_TEXT);
        NUMBER(DT_ARG_TIME);
        NUMBER(DT_ARG_LOCATION);
        NUMBER(DT_ARG_LOG);
        NUMBER(DT_ARG_CATEGORY);
        NUMBER(DT_ARG_COUNTER);
        NUMBER(DT_ARG_COUNTER_DOUBLE);
        NUMBER(DT_ARG_RAW);
        TEXT(DT_LOG_VERBOSE);
        TEXT(DT_LOG_DEBUG);
        TEXT(DT_LOG_INFO);
        TEXT(DT_LOG_WARNING);
        TEXT(DT_LOG_ERROR);
        TEXT(DT_LOG_FATAL);
}

int main(void) {
        events();
        sources();
        arguments();
        return 0;
}
