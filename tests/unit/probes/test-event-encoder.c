/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "test.h"

#include "fixture.h"
#include "host/packet-list.h"
#include "probes/ftrace/event-encoder.h"

/* A record in memory of exactly its size, so that a sanitizer sees each byte too many. */
typedef struct World {
        EventFormat *format;
        EventEncoder *encoder;
        uint8_t *record;
        uint32_t n_record;
        uint8_t memory[4096];
        WireReader event, body;
} World;

static EventFormat *format_of(const char *kernel, const char *group, const char *name) {
        char file[256], *text;
        EventFormat *format;
        size_t n;

        snprintf(file, sizeof(file), "tracefs/formats/%s/%s", kernel, name);
        text = fixture_read(file, &n);
        ck_assert_int_eq(
                event_format_parse_words(&format, group, text, n, strstr(kernel, "arm") ? 4 : 8),
                0);
        free(text);
        return format;
}

static void world_init(World *world,
                       const char *kernel,
                       const char *group,
                       const char *name,
                       uint32_t n_record,
                       const EncoderOptions *options) {
        *world = (World){ .format = format_of(kernel, group, name), .n_record = n_record };
        world->record = calloc(1, n_record);
        ck_assert_ptr_nonnull(world->record);
        ck_assert_int_eq(event_encoder_new_with(&world->encoder, world->format, options), 0);
}

static void world_deinit(World *world) {
        event_encoder_free(world->encoder);
        event_format_free(world->format);
        free(world->record);
}

static void world_put(World *world, size_t offset, const void *data, size_t n) {
        ck_assert_uint_le(offset + n, world->n_record);
        memcpy(world->record + offset, data, n);
}

static void world_put_word(World *world, size_t offset, uint32_t value) {
        world_put(world, offset, &value, sizeof(value));
}

/* However an event is written, it is the same. */
static void world_check_slow_way(World *world, size_t n_bytes) {
        EventEncoder slow = *world->encoder;
        uint8_t memory[sizeof(world->memory)];
        WireWriter wire;

        slow.is_plain = false;
        wire_writer_init(&wire, memory, sizeof(memory));
        ck_assert(event_encode(&slow, &wire, 1, world->record, world->n_record, NULL));
        ck_assert_uint_eq(wire_writer_size(&wire), n_bytes);
        ck_assert_int_eq(memcmp(memory, world->memory, n_bytes), 0);
}

static bool world_encode(World *world) {
        WireReader bundle;
        WireWriter wire;

        wire_writer_init(&wire, world->memory, sizeof(world->memory));
        if (!event_encode(world->encoder, &wire, 1, world->record, world->n_record, NULL))
                return false;
        ck_assert(!wire_writer_failed(&wire));
        world_check_slow_way(world, wire_writer_size(&wire));
        wire_reader_init(&bundle, world->memory, wire_writer_size(&wire));
        ck_assert(message_submessage(bundle, 2, 0, &world->event));
        ck_assert(message_submessage(world->event, world->encoder->number, 0, &world->body));
        return true;
}

static const EncoderOptions plain;

START_TEST(test_switches_of_other_kernels_have_their_states_and_names_in_place) {
        static const struct {
                const char *kernel;
                size_t prev_state, next_comm;
                uint32_t n_record;
        } cases[] = {
                { "4.19-rt-x86_64", 40, 48, 72 },
                { "5.10-arm", 32, 36, 60 },
                { "6.1-x86_64", 32, 40, 64 },
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                World world;

                world_init(&world,
                           cases[i].kernel,
                           "sched",
                           "sched_switch",
                           cases[i].n_record,
                           &plain);
                world_put_word(&world, cases[i].prev_state, 2);
                world_put(&world, cases[i].next_comm, "later", 5);
                ck_assert(world_encode(&world));
                ck_assert_uint_eq(world.encoder->number, 4);
                ck_assert_uint_eq(message_uint(world.body, 4), 2);
                ck_assert(message_has_text(world.body, 5, "later"));
                world_deinit(&world);
        }
}
END_TEST

START_TEST(test_a_32_bit_kernel_has_words_of_its_own) {
        World world;
        WireField field;

        world_init(&world, "5.10-arm", "raw_syscalls", "sys_enter", 36, &plain);
        world_put_word(&world, 8, 322);
        world_put_word(&world, 12, 0xffffff9c);
        world_put_word(&world, 32, 7);
        ck_assert(world_encode(&world));
        ck_assert_uint_eq(message_uint(world.body, 1), 322);
        ck_assert_uint_eq(message_count(world.body, 2), 6);
        ck_assert(message_field(world.body, 2, 0, &field));
        ck_assert_uint_eq(field.value, 0xffffff9c);
        ck_assert(message_field(world.body, 2, 5, &field));
        ck_assert_uint_eq(field.value, 7);
        world_deinit(&world);
}
END_TEST

START_TEST(test_texts_that_records_only_point_to_are_looked_up) {
        KernelStrings *strings;
        EncoderOptions options;
        World world;

        ck_assert_int_eq(kernel_strings_new(&strings,
                                            strdup("0xc0a00010 : \"machine_suspend\"\n"
                                                   "nonsense\n0xc0a00020 : \"unterminated\n"
                                                   "0xc0a00000 : \"a \\\"b\\\"\\n\"\n")),
                         0);
        options = (EncoderOptions){ .strings = strings };
        ck_assert_uint_eq(strings->n_strings, 2);
        ck_assert_str_eq(kernel_strings_find(strings, 0xc0a00000), "a \"b\"\n");
        world_init(&world, "5.10-arm", "power", "suspend_resume", 20, &options);
        world_put_word(&world, 8, 0xc0a00010);
        ck_assert(world_encode(&world));
        ck_assert(message_has_text(world.body, 1, "machine_suspend"));
        world_put_word(&world, 8, 0xdead);
        ck_assert(world_encode(&world));
        ck_assert(message_has_text(world.body, 1, "0xdead"));
        world_deinit(&world);
        kernel_strings_free(strings);
}
END_TEST

START_TEST(test_addresses_and_enums_of_generic_events_can_be_read) {
        static const uint8_t address[] = { 0xaa, 0xbb, 0, 1, 2, 0xff };
        World world;

        world_init(&world, "6.1-x86_64", "cfg80211", "rdev_auth", 72, &plain);
        world_put(&world, 8, "phy0", 4);
        world_put(&world, 60, address, sizeof(address));
        world_put_word(&world, 68, 3);
        ck_assert(world_encode(&world));
        ck_assert(message_has_text(world.body, 1, "phy0"));
        ck_assert(message_has_text(world.body, 4, "aa:bb:00:01:02:ff"));
        ck_assert_uint_eq(message_uint(world.body, 5), 3);
        world_deinit(&world);
}
END_TEST

START_TEST(test_sets_of_cpus_are_ranges) {
        static const struct {
                uint64_t words[2];
                const char *text;
        } cases[] = {
                { { 0 }, "" },
                { { 1 }, "0" },
                { { 0x10f }, "0-3,8" },
                { { UINT64_C(1) << 63, 3 }, "63-65" },
                { { UINT64_MAX, UINT64_MAX }, "0-127" },
        };
        World world;

        world_init(&world, "6.18-x86_64", "ipi", "ipi_send_cpumask", 48, &plain);
        world_put_word(&world, 8, 16u << 16 | 32);
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                world_put(&world, 32, cases[i].words, 16);
                ck_assert(world_encode(&world));
                ck_assert_msg(message_has_text(world.body, 1, cases[i].text), "case %zu", i);
        }
        world_deinit(&world);
}
END_TEST

START_TEST(test_relative_locations_count_from_the_end_of_their_field) {
        static const uint32_t list[] = { 7, 4000000000u };
        World world;

        world_init(&world, "6.18-x86_64", "user_events", "user_note", 36, &plain);
        world_put_word(&world, 8, 6u << 16 | 8); /* from 12 on */
        world_put(&world, 20, "hello", 6);
        world_put_word(&world, 12, (uint32_t)-5);
        world_put_word(&world, 16, 8u << 16 | 8); /* from 20 on */
        world_put(&world, 28, list, sizeof(list));
        ck_assert(world_encode(&world));
        ck_assert(message_has_text(world.body, 1, "hello"));
        ck_assert_int_eq((int64_t)message_uint(world.body, 2), -5);
        ck_assert(message_has_text(world.body, 3, "7 4000000000"));
        world_deinit(&world);
}
END_TEST

START_TEST(test_arrays_of_any_width_are_lists_of_numbers) {
        static const uint64_t blocks[] = { 1, UINT64_MAX };
        static const int64_t levels[] = { -1, 0, 5 };
        static const uint16_t modes[] = { 1, 65535 };
        World world;

        world_init(&world, "6.18-x86_64", "ext4", "ext4_odd", 80, &plain);
        world_put_word(&world, 8, 16u << 16 | 64);
        world_put(&world, 64, blocks, sizeof(blocks));
        world_put(&world, 16, levels, sizeof(levels));
        world_put(&world, 40, modes, sizeof(modes));
        world_put(&world, 48, levels, 16);
        ck_assert(world_encode(&world));
        ck_assert(message_has_text(world.body, 1, "1 18446744073709551615"));
        ck_assert(message_has_text(world.body, 2, "-1 0 5"));
        ck_assert(message_has_text(world.body, 3, "1 65535"));
        /* Without a size it goes to the end of the record. */
        ck_assert(message_has_text(world.body, 4, "18446744073709551615 0 1 18446744073709551615"));
        world_deinit(&world);
}
END_TEST

START_TEST(test_what_points_out_of_the_record_is_cut_or_left_out) {
        static const uint32_t locations[] = { 0xffffffff, 0xffff0024, 0x00400024, 36, 0, 0xffff };
        World world;

        world_init(&world, "6.18-x86_64", "user_events", "user_note", 36, &plain);
        for (size_t i = 0; i < ARRAY_SIZE(locations); i++) {
                world_put_word(&world, 8, locations[i]);
                world_put_word(&world, 16, locations[i]);
                ck_assert(world_encode(&world));
        }
        world.n_record = 16; /* shorter than its fields */
        ck_assert(!world_encode(&world));
        world.n_record = 36;
        world_deinit(&world);
}
END_TEST

START_TEST(test_long_arrays_end_in_dots) {
        World world;
        WireField field;

        world_init(&world, "6.18-x86_64", "user_events", "user_note", 20 + 4000, &plain);
        world_put_word(&world, 16, 4000u << 16);
        memset(world.record + 20, 0xff, 4000);
        ck_assert(world_encode(&world));
        ck_assert(message_field(world.body, 3, 0, &field));
        ck_assert_uint_le(field.n_bytes, 512);
        ck_assert_int_eq(memcmp(field.data + field.n_bytes - 3, "...", 3), 0);
        world_deinit(&world);
}
END_TEST

START_TEST(test_events_of_any_length_are_written_alike) {
        World world;

        /* Its length, and that of the event around it, need one byte, two or three. */
        for (uint32_t n_text = 0; n_text < 3900; n_text += n_text < 300 ? 1 : 97) {
                world_init(&world, "6.18-x86_64", "user_events", "user_note", 64 + n_text, &plain);
                world_put_word(&world, 8, n_text << 16 | (64 - 12)); /* from the end of the field */
                memset(world.record + 64, 'x', n_text);
                world.encoder->n_fields = 1; /* the text; the others are not plain */
                world.encoder->is_plain = true;
                ck_assert(world_encode(&world));
                world_deinit(&world);
        }
}
END_TEST

START_TEST(test_no_room_for_an_event_is_a_failure) {
        uint8_t memory[32];
        WireWriter wire;
        World world;

        world_init(&world, "6.1-x86_64", "sched", "sched_switch", 68, &plain);
        ck_assert(world.encoder->is_plain);
        wire_writer_init(&wire, memory, sizeof(memory));
        ck_assert(event_encode(world.encoder, &wire, 1, world.record, world.n_record, NULL));
        ck_assert(wire_writer_failed(&wire));
        ck_assert_uint_eq(wire_writer_size(&wire), 0);
        world_deinit(&world);
}
END_TEST

START_TEST(test_hostile_formats_are_refused) {
        static const char head[] = "name: x\nID: 1\nformat:\n"
                                   "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n";
        static const char *const bad[] = {
                "\tfield:int a;\toffset:0;\tsize:4;\tsigned:1;\n",
                "\tfield:int a;\toffset:4;\tsize:4;\tsigned:1;\n",
                "\tfield:int a;\toffset:65536;\tsize:4;\tsigned:1;\n",
                "\tfield:int a;\toffset:-8;\tsize:4;\tsigned:1;\n",
                "\tfield:char a[9];\toffset:8;\tsize:65536;\tsigned:1;\n",
                "\tfield:char a[9];\toffset:8;\tsize:-1;\tsigned:1;\n",
                "\tfield:__data_loc char[] a;\toffset:8;\tsize:2;\tsigned:1;\n",
                "\tfield:__rel_loc char[] a;\toffset:8;\tsize:8;\tsigned:1;\n",
                "\tfield:int[] a;\toffset:8;\tsize:4;\tsigned:1;\n",
                "\tfield:int;\toffset:8;\tsize:4;\tsigned:1;\n",
                "\tfield: a;\toffset:8;\tsize:4;\tsigned:1;\n",
                "\tfield:int a;\toffset:8;\tsize:x;\tsigned:1;\n",
                "\tfield:int a;\toffset:8;\tsize:4;\tsigned:1\n",
                "\tfield:int \"a;\toffset:8;\tsize:4;\tsigned:1;\n",
        };
        char text[512];

        for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
                EventFormat *format;
                size_t n = (size_t)snprintf(
                        text, sizeof(text), "%s%s\nprint fmt: \"\"\n", head, bad[i]);

                ck_assert_msg(event_format_parse(&format, "g", text, n) == -EBADMSG, "case %zu", i);
        }
}
END_TEST

START_TEST(test_probes_without_arguments_are_slices_of_their_name) {
        EncoderOptions options = { .slice_name = "vfs_read", .slice_type = 1 };
        World world;

        world_init(&world, "6.18-x86_64", "desktrace_0", "user_note", 36, &options);
        ck_assert(world_encode(&world));
        ck_assert_uint_eq(world.encoder->number, 542);
        ck_assert_ptr_null(world.encoder->descriptor);
        ck_assert(message_has_text(world.body, 1, "vfs_read"));
        ck_assert_uint_eq(message_uint(world.body, 2), 1);
        ck_assert_uint_eq(message_count(world.body, 3), 0);
        world_deinit(&world);
}
END_TEST

START_TEST(test_threads_that_are_new_or_renamed_are_looked_up_again) {
        static const struct {
                const char *group, *name;
                bool makes_task;
        } cases[] = {
                { "task", "task_newtask", true },
                { "task", "task_rename", true },
                { "sched", "sched_process_exec", true },
                { "sched", "sched_process_exit", false },
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                EventFormat *format = fixture_format(cases[i].group, cases[i].name);
                EventEncoder *encoder = NULL;

                ck_assert_int_eq(event_encoder_new(&encoder, format), 0);
                ck_assert_int_eq(encoder->makes_task, cases[i].makes_task);
                ck_assert_uint_ge(encoder->n_pids, 1);
                event_encoder_free(encoder);
                event_format_free(format);
        }
}
END_TEST

TEST_MAIN("event-encoder",
          test_switches_of_other_kernels_have_their_states_and_names_in_place,
          test_a_32_bit_kernel_has_words_of_its_own,
          test_texts_that_records_only_point_to_are_looked_up,
          test_addresses_and_enums_of_generic_events_can_be_read,
          test_sets_of_cpus_are_ranges,
          test_relative_locations_count_from_the_end_of_their_field,
          test_arrays_of_any_width_are_lists_of_numbers,
          test_what_points_out_of_the_record_is_cut_or_left_out,
          test_long_arrays_end_in_dots,
          test_events_of_any_length_are_written_alike,
          test_no_room_for_an_event_is_a_failure,
          test_hostile_formats_are_refused,
          test_probes_without_arguments_are_slices_of_their_name,
          test_threads_that_are_new_or_renamed_are_looked_up_again)
