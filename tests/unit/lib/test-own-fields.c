/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What has no macro of its own is said with DT_RAW() and the writer of fields. */

#include "desktrace/proto.h"
#include "track-world.h"

enum {
        ANNOTATION_DICT_ENTRIES = 11,
        ANNOTATION_INT = 4,
        ANNOTATION_NAME = 10,
        EVENT_CALLSTACK = 55,
        EVENT_CALLSTACK_WEIGHT = 57,
        EVENT_EXTENSION = 1000, /* the first of those that are anybody's */
        FRAME_FUNCTION = 1,
        CALLSTACK_FRAMES = 1,
};

START_TEST(test_any_field_of_an_event_can_be_said) {
        World *world = world_new();
        size_t callstack, frame;
        uint8_t memory[256];
        dt_proto fields;

        dt_proto_init(&fields, memory, sizeof(memory));
        callstack = dt_proto_begin(&fields, EVENT_CALLSTACK);
        frame = dt_proto_begin(&fields, CALLSTACK_FRAMES);
        dt_proto_string(&fields, FRAME_FUNCTION, "main");
        dt_proto_end(&fields, frame);
        dt_proto_end(&fields, callstack);
        dt_proto_double(&fields, EVENT_CALLSTACK_WEIGHT, 1);
        dt_proto_uint(&fields, EVENT_EXTENSION, 7);
        ck_assert(!dt_proto_failed(&fields));

        world_record(world, NULL, NULL);
        DT_INSTANT(render, "own", DT_RAW(memory, dt_proto_size(&fields)), DT_INT("n", 1));
        world_read(world);
        ck_assert_str_eq(world->trace->events[0].args,
                         "field55=0 field57=4607182418800017408 field1000=7 n=1");
        world_free(world);
}
END_TEST

START_TEST(test_any_value_can_be_put_into_a_dictionary) {
        World *world = world_new();
        uint8_t memory[64];
        dt_proto fields;
        size_t entry;

        dt_proto_init(&fields, memory, sizeof(memory));
        entry = dt_proto_begin(&fields, ANNOTATION_DICT_ENTRIES);
        dt_proto_string(&fields, ANNOTATION_NAME, "own");
        dt_proto_int(&fields, ANNOTATION_INT, -1);
        dt_proto_end(&fields, entry);

        world_record(world, NULL, NULL);
        DT_INSTANT(render,
                   "in it",
                   DT_DICT("d", DT_INT("n", 1), DT_RAW(memory, dt_proto_size(&fields))));
        world_read(world);
        ck_assert_str_eq(world->trace->events[0].args, "d={n=1 own=-1}");
        world_free(world);
}
END_TEST

TEST_MAIN("lib-own-fields",
          test_any_field_of_an_event_can_be_said,
          test_any_value_can_be_put_into_a_dictionary)
