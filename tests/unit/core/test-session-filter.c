/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a trace may contain: packets that their producers may write, as far as the trace_filter passes them. */

#include <stdio.h>

#include "core/events/service-packets.h"
#include "core/filter-bytecode.h"
#include "fixture.h"

static Fixture f;

START_TEST(test_packet_fields_of_the_machine_are_the_machines) {
        static const uint32_t fields[] = { 11, 1 };
        static uint32_t many[PACKET_FIELDS_MAX + 1];
        const SourceOptions reserved = { .packet_fields = fields, .n_packet_fields = 2 };
        const SourceOptions too_many = { .packet_fields = many,
                                         .n_packet_fields = ARRAY_SIZE(many) };
        FakeProducer *app, *probes;

        fixture_init(&f);
        app = fixture_connect_producer(&f, 1000, "app", NULL);
        probes = fixture_connect_producer(&f, 991, "probes", NULL);
        ck_assert_int_eq(producer_add_source(app->producer, "a", &reserved, f.now),
                         PRODUCER_E_FIELD);
        ck_assert_int_eq(producer_add_source(probes->producer, "a", &reserved, f.now), 0);
        ck_assert_int_eq(producer_add_source(app->producer, "a", &too_many, f.now),
                         PRODUCER_E_LIMIT);
        ck_assert_uint_eq(producer_n_sources(app->producer), 0);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_packets_about_what_is_not_the_producers_are_dropped_and_counted) {
        static const uint8_t scheduler[] = { 0x0a, 0 };        /* ftrace_events */
        static const uint8_t undeclared[] = { 0xe2, 0x03, 0 }; /* track_descriptor */
        static const uint32_t fields[] = { FIXTURE_TEXT_FIELD };
        FakeProducer *app, *careful;
        FakeConsumer *consumer;
        SmbWriter *writer, *other;
        SessionTotals totals;
        Bytes trace;

        fixture_init(&f);
        app = fixture_connect_producer(&f, 1000, "app", "track_event");
        careful = fixture_connect_producer(&f, 1000, "careful", NULL);
        fixture_add_source(
                careful,
                "track_event",
                &(SourceOptions){ .packet_fields = fields, .n_packet_fields = ARRAY_SIZE(fields) });
        consumer = fixture_start_session(&f, 1000, CONFIG_ONE("track_event"));
        writer = fake_writer_new(app, fake_instance(app, "track_event"));
        other = fake_writer_new(careful, fake_instance(careful, "track_event"));
        fake_write_bytes(writer, scheduler, sizeof(scheduler));
        fake_write_bytes(writer, undeclared, sizeof(undeclared));
        fake_write_bytes(other, undeclared, sizeof(undeclared));
        fake_write(writer, "program");
        fake_write(other, "declared");
        fixture_disconnect_producer(careful); /* its packets outlive it, and so do its rules */
        fixture_stop_session(&f, consumer);
        trace = fixture_read(&f, consumer);
        ck_assert_uint_eq(trace_count(&trace, 1), 0);
        ck_assert_uint_eq(trace_count(&trace, 60), 1);
        ck_assert_uint_eq(trace_count_text(&trace, "program"), 1);
        ck_assert_uint_eq(trace_count_text(&trace, "declared"), 1);
        session_totals(consumer->session, &totals);
        ck_assert_uint_eq(totals.packets_lost, 2);
        bytes_deinit(&trace);
        free(writer);
        free(other);
        fixture_deinit(&f);
}
END_TEST

/* A config with a filter, as text: bytes in octal. */
static char *config_with_filter(const uint32_t *words, size_t n_words, const char *rest) {
        static char text[4096];
        uint8_t code[256];
        size_t n = bytecode_put(code, sizeof(code), words, n_words);
        char *at = stpcpy(text, CONFIG_ONE("track_event") " trace_filter { bytecode_v2: \"");

        for (size_t i = 0; i < n; i++)
                at += sprintf(at, "\\%03o", code[i]);
        sprintf(at, "\" %s }", rest);
        return text;
}

/* Of a packet: who it is from, its text, and of the service's only clock snapshots. */
static const uint32_t text_filter[] = {
        OP(1, OP_NESTED),
        1,
        OP_END,
        OP(PACKET_TRUSTED_UID, OP_FIELD),
        OP(PACKET_CLOCK_SNAPSHOT, OP_FIELD),
        OP(PACKET_SEQUENCE_ID, OP_FIELD),
        OP(FIXTURE_TEXT_FIELD, OP_STRING),
        OP_END,
};

static Bytes record(const char *config, const char *first, const char *second) {
        FakeProducer *app;
        FakeConsumer *consumer;
        SmbWriter *writer;
        Bytes trace;

        fixture_init(&f);
        app = fixture_connect_producer(&f, 1000, "app", "track_event");
        consumer = fixture_start_session(&f, 1000, config);
        writer = fake_writer_new(app, fake_instance(app, "track_event"));
        fake_write(writer, first);
        fake_write(writer, second);
        fixture_stop_session(&f, consumer);
        trace = fixture_read(&f, consumer);
        free(writer);
        fixture_deinit(&f);
        return trace;
}

START_TEST(test_only_what_the_filter_names_leaves_the_session) {
        Bytes trace =
                record(config_with_filter(text_filter, ARRAY_SIZE(text_filter), ""), "one", "two");
        TestPacket packet = trace_text(&trace, "one");

        ck_assert_uint_eq(packet_uint(&packet, PACKET_TRUSTED_UID), 1000);
        ck_assert_uint_eq(packet_uint(&packet, PACKET_TRUSTED_PID), 0);
        ck_assert_uint_eq(trace_count_text(&trace, "two"), 1);
        ck_assert_uint_gt(trace_count(&trace, PACKET_CLOCK_SNAPSHOT), 0);
        ck_assert_uint_eq(trace_count(&trace, PACKET_TRACE_CONFIG), 0);
        ck_assert_uint_eq(trace_count(&trace, PACKET_SYSTEM_INFO), 0);
        bytes_deinit(&trace);
}
END_TEST

START_TEST(test_statistics_are_never_filtered_and_say_what_was) {
        Bytes trace =
                record(config_with_filter(text_filter, ARRAY_SIZE(text_filter), ""), "one", "two");
        TestPacket packet = trace_packet(&trace, PACKET_TRACE_STATS, 0), stats, filter;
        WireField field;

        ck_assert(packet_field(&packet, PACKET_TRACE_STATS, &field));
        stats = (TestPacket){ field.data, field.n_bytes };
        ck_assert(packet_field(&stats, 11, &field));
        filter = (TestPacket){ field.data, field.n_bytes };
        ck_assert_uint_gt(packet_uint(&filter, 1), 2);
        ck_assert_uint_gt(packet_uint(&filter, 2), packet_uint(&filter, 3));
        ck_assert_uint_eq(packet_uint(&filter, 4), 0);
        ck_assert_uint_gt(packet_uint(&filter, 20), 0);
        bytes_deinit(&trace);
}
END_TEST

START_TEST(test_strings_are_filtered_by_the_chain) {
        Bytes trace = record(config_with_filter(text_filter,
                                                ARRAY_SIZE(text_filter),
                                                "string_filter_chain { rules { policy: "
                                                "SFP_MATCH_REDACT_GROUPS regex_pattern: "
                                                "\"user (.*)\" } }"),
                             "user ann",
                             "another");

        ck_assert_uint_eq(trace_count_text(&trace, "user P60"), 1);
        ck_assert_uint_eq(trace_count_text(&trace, "another"), 1);
        bytes_deinit(&trace);
}
END_TEST

START_TEST(test_the_newer_chain_replaces_rules_by_name) {
        Bytes trace = record(
                config_with_filter(
                        text_filter,
                        ARRAY_SIZE(text_filter),
                        "string_filter_chain { rules { name: \"a\" policy: "
                        "SFP_MATCH_REDACT_GROUPS regex_pattern: \"(.*)\" } } "
                        "string_filter_chain_v54 { rules { name: \"a\" policy: SFP_MATCH_BREAK "
                        "regex_pattern: \".*\" } }"),
                "user ann",
                "another");

        ck_assert_uint_eq(trace_count_text(&trace, "user ann"), 1);
        bytes_deinit(&trace);
}
END_TEST

START_TEST(test_clones_are_filtered_and_held_to_the_rules_of_the_original) {
        static const uint8_t scheduler[] = { 0x0a, 0 };
        FakeProducer *app;
        FakeConsumer *consumer, *clone;
        SmbWriter *writer;
        Bytes trace;

        fixture_init(&f);
        app = fixture_connect_producer(&f, 1000, "app", "track_event");
        consumer = fixture_start_session(
                &f, 1000, config_with_filter(text_filter, ARRAY_SIZE(text_filter), ""));
        writer = fake_writer_new(app, fake_instance(app, "track_event"));
        fake_write_bytes(writer, scheduler, sizeof(scheduler));
        fake_write(writer, "one");
        clone = fixture_clone(&f, consumer);
        trace = fixture_read(&f, clone);
        ck_assert_uint_eq(trace_count_text(&trace, "one"), 1);
        ck_assert_uint_eq(trace_count(&trace, 1), 0);
        ck_assert_uint_eq(trace_count(&trace, PACKET_TRACE_CONFIG), 0);
        bytes_deinit(&trace);
        free(writer);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_broken_filters_are_refused_with_what_is_wrong) {
        static const struct {
                const char *rest, *says;
        } cases[] = {
                { "string_filter_chain { rules { policy: SFP_MATCH_BREAK regex_pattern: \"(\" } }",
                  "rule 0" },
                { "string_filter_chain { rules { regex_pattern: \"x\" } }", "policy" },
                { "bytecode_overlay_v54: \"x\"", "checksum" },
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                const SessionOptions options = { .owner = { 1000, 77 } };
                FakeConsumer *consumer;

                fixture_init(&f);
                ck_assert_int_eq(fixture_try_session(&f,
                                                     &consumer,
                                                     &options,
                                                     config_with_filter(text_filter,
                                                                        ARRAY_SIZE(text_filter),
                                                                        cases[i].rest)),
                                 SESSION_E_CONFIG);
                ck_assert_msg(strstr(consumer->error.message, cases[i].says) != NULL,
                              "%s",
                              consumer->error.message);
                fixture_deinit(&f);
        }
}
END_TEST

TEST_MAIN("session-filter",
          test_packet_fields_of_the_machine_are_the_machines,
          test_packets_about_what_is_not_the_producers_are_dropped_and_counted,
          test_only_what_the_filter_names_leaves_the_session,
          test_statistics_are_never_filtered_and_say_what_was,
          test_strings_are_filtered_by_the_chain,
          test_the_newer_chain_replaces_rules_by_name,
          test_clones_are_filtered_and_held_to_the_rules_of_the_original,
          test_broken_filters_are_refused_with_what_is_wrong)
