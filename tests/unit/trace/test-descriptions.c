/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What packets say about processes, tracks, the machine and the recording. */

#include <string.h>

#include "test.h"
#include "trace/trace-process-tree.h"
#include "trace/trace-service.h"
#include "trace/trace-stats.h"
#include "trace/trace-track-descriptor.h"
#include "trace/trace-track-event.h"
#include "wire/wire-writer.h"

static uint8_t memory[64 << 10];
static WireWriter writer;

static WireWriter *begin(void) {
        wire_writer_init(&writer, memory, sizeof(memory));
        return &writer;
}

static WireField written(void) {
        ck_assert(!wire_writer_failed(&writer));
        return (WireField){ .type = WIRE_BYTES,
                            .data = memory,
                            .n_bytes = wire_writer_size(&writer) };
}

static void assert_text(const WireField *field, const char *text) {
        ck_assert_int_eq(field->type, WIRE_BYTES);
        ck_assert_uint_eq(field->n_bytes, strlen(text));
        ck_assert_mem_eq(field->data, text, strlen(text));
}

START_TEST(test_a_process_has_its_arguments_and_units) {
        WireWriter *w = begin();
        TraceTreeProcess process;
        WireReader reader;
        WireField argument, message;

        wire_put_int(w, 1, 77);
        wire_put_int(w, 2, 1);
        wire_put_string(w, 3, "/usr/bin/cat");
        wire_put_string(w, 3, "-n");
        wire_put_uint(w, 5, 1000);
        wire_put_bool(w, 8, false);
        wire_put_string(w, 1900, "old.service");
        wire_put_string(w, 1900, "cat.service");
        wire_put_string(w, 1907, "box");
        message = written();
        trace_tree_process_read(&process, &message);
        ck_assert_int_eq(process.pid, 77);
        ck_assert_int_eq(process.ppid, 1);
        ck_assert_uint_eq(process.n_arguments, 2);
        ck_assert(process.has_uid && process.uid == 1000);
        ck_assert(process.has_is_kthread && !process.is_kthread && !process.is_comm);
        ck_assert(!process.has_start);
        assert_text(&process.command, "/usr/bin/cat");
        assert_text(&process.units[TRACE_PROCESS_UNIT], "cat.service");
        assert_text(&process.units[TRACE_PROCESS_CONTAINER], "box");
        ck_assert_int_ne(process.units[TRACE_PROCESS_APP].type, WIRE_BYTES);
        wire_reader_init_field(&reader, &message);
        ck_assert(trace_tree_next_argument(&reader, &argument));
        ck_assert(trace_tree_next_argument(&reader, &argument));
        assert_text(&argument, "-n");
        ck_assert(!trace_tree_next_argument(&reader, &argument));
}
END_TEST

START_TEST(test_a_thread_may_have_no_name) {
        WireWriter *w = begin();
        TraceTreeThread thread;
        WireField message;

        wire_put_int(w, 1, 78);
        wire_put_int(w, 3, 77);
        message = written();
        trace_tree_thread_read(&thread, &message);
        ck_assert_int_eq(thread.tid, 78);
        ck_assert_int_eq(thread.tgid, 77);
        ck_assert_int_ne(thread.name.type, WIRE_BYTES);
}
END_TEST

START_TEST(test_a_track_has_its_owner_and_counter) {
        WireWriter *w = begin();
        TraceTrackDescriptor track;
        WireField message;
        size_t part;

        wire_put_uint(w, 1, 5);
        wire_put_string(w, 10, "static");
        wire_put_uint(w, 15, 2);
        part = wire_begin(w, 3);
        wire_put_int(w, 1, 77);
        wire_put_string(w, 2, "/bin/first");
        wire_put_string(w, 2, "second");
        wire_put_uint(w, 7, 12345);
        wire_end(w, part);
        part = wire_begin(w, 8);
        wire_put_uint(w, 3, 3);
        wire_put_uint(w, 4, 1024);
        wire_put_string(w, 6, "KiB");
        wire_end(w, part);
        message = written();
        trace_track_descriptor_read(&track, &message);
        ck_assert_uint_eq(track.uuid, 5);
        ck_assert(track.has_process && !track.has_thread && track.is_alone && track.is_counter);
        ck_assert_int_eq(track.pid, 77);
        ck_assert_uint_eq(track.process_start_ns, 12345);
        ck_assert_int_eq(track.unit_multiplier, 1024);
        assert_text(&track.name, "static");
        assert_text(&track.command, "/bin/first");
        assert_text(&track.unit_name, "KiB");
        ck_assert_str_eq(trace_unit_name(track.unit), "bytes");
        ck_assert_ptr_null(trace_unit_name(0));
        ck_assert_ptr_null(trace_unit_name(UINT64_MAX));
}
END_TEST

START_TEST(test_the_machine_is_described_by_fields_of_the_right_type) {
        WireWriter *w = begin();
        TraceSystemInfo info;
        WireField message;
        size_t part = wire_begin(w, 1);

        wire_put_string(w, 1, "Linux");
        wire_put_string(w, 3, "6.1.0");
        wire_end(w, part);
        wire_put_uint(w, 8, 16);
        wire_put_uint(w, 1900, 5);     /* a text by rights */
        wire_put_string(w, 6, "many"); /* a number by rights */
        message = written();
        trace_system_info_read(&info, &message);
        assert_text(&info.fields[TRACE_SYSTEM_NAME], "Linux");
        assert_text(&info.fields[TRACE_SYSTEM_RELEASE], "6.1.0");
        ck_assert_uint_eq(info.fields[TRACE_SYSTEM_CPUS].value, 16);
        ck_assert_uint_eq(info.fields[TRACE_SYSTEM_BOOT_ID].number, 0);
        ck_assert_uint_eq(info.fields[TRACE_SYSTEM_PAGE_BYTES].number, 0);
}
END_TEST

START_TEST(test_the_service_says_when_it_was_away) {
        WireWriter *w = begin();
        TraceServiceEvent event;
        WireField message;
        size_t part = wire_begin(w, 1900);

        wire_put_uint(w, 1, 1000);
        wire_put_uint(w, 2, 3000);
        wire_put_uint(w, 3, 4);
        wire_end(w, part);
        message = written();
        trace_service_event_read(&event, &message);
        ck_assert(event.is_away && !event.is_start && !event.is_all_started && !event.is_clone);
        ck_assert_uint_eq(event.away_from_ns, 1000);
        ck_assert_uint_eq(event.away_until_ns, 3000);
        ck_assert_uint_eq(event.n_lost, 4);
        w = begin();
        wire_put_bool(w, 2, true);
        message = written();
        trace_service_event_read(&event, &message);
        ck_assert(event.is_start && !event.is_away && !event.is_stop);
}
END_TEST

static void put_source(WireWriter *w, const char *name) {
        size_t source = wire_begin(w, 2), config;

        if (name) {
                config = wire_begin(w, 1);
                wire_put_string(w, 1, name);
                wire_end(w, config);
        }
        wire_end(w, source);
}

START_TEST(test_sources_of_a_config_are_read_in_order) {
        WireWriter *w = begin();
        TraceRecordedSource source;
        TraceRecordedConfig config;
        WireReader reader;
        WireField message;

        put_source(w, "linux.ftrace");
        wire_put_bool(w, 8, true);
        put_source(w, NULL);
        put_source(w, "track_event");
        wire_put_string(w, 22, "session");
        message = written();
        trace_recorded_config_read(&config, &message);
        ck_assert(config.streams_to_file);
        assert_text(&config.session_name, "session");
        wire_reader_init_field(&reader, &message);
        ck_assert(trace_recorded_config_next_source(&reader, &source));
        assert_text(&source.name, "linux.ftrace");
        ck_assert(trace_recorded_config_next_source(&reader, &source));
        ck_assert_int_ne(source.name.type, WIRE_BYTES);
        ck_assert(trace_recorded_config_next_source(&reader, &source));
        assert_text(&source.name, "track_event");
        ck_assert(!trace_recorded_config_next_source(&reader, &source));
}
END_TEST

START_TEST(test_statistics_are_numbers_that_are_there_or_not) {
        uint64_t numbers[_TRACE_STATS], of_cpu[_TRACE_KERNEL_STATS], found;
        WireWriter *w = begin();
        WireReader reader;
        WireField message;
        size_t part;

        wire_put_uint(w, TRACE_STAT_FLUSHES_FAILED, 2);
        wire_put_uint(w, 1000, 3);
        message = written();
        found = trace_stats_read(numbers, &message);
        ck_assert_uint_eq(found, 1u << TRACE_STAT_FLUSHES_FAILED);
        ck_assert_uint_eq(numbers[TRACE_STAT_FLUSHES_FAILED], 2);
        w = begin();
        wire_put_uint(w, 1, 2);
        part = wire_begin(w, 2);
        wire_put_uint(w, TRACE_KERNEL_STAT_OVERRUN, 7);
        wire_end(w, part);
        message = written();
        ck_assert_int_eq(trace_kernel_stats_phase(&message), TRACE_STATS_END);
        wire_reader_init_field(&reader, &message);
        ck_assert(trace_kernel_stats_next_cpu(&reader, of_cpu));
        ck_assert_uint_eq(of_cpu[TRACE_KERNEL_STAT_OVERRUN], 7);
        ck_assert(!trace_kernel_stats_next_cpu(&reader, of_cpu));
        w = begin();
        wire_put_uint(w, 1, 3);
        message = written();
        ck_assert_int_eq(trace_kernel_stats_phase(&message), TRACE_STATS_UNKNOWN);
}
END_TEST

START_TEST(test_a_note_is_found_by_its_name) {
        static const char *const names[] = { "other", "data source" };
        WireWriter *w = begin();
        WireField message, text;

        for (size_t i = 0; i < 2; i++) {
                size_t annotation = wire_begin(w, 4);

                wire_put_string(w, 10, names[i]);
                wire_put_string(w, 6, i ? "linux.ftrace" : "not this one");
                wire_end(w, annotation);
        }
        message = written();
        ck_assert(trace_track_event_note(&text, &message, "data source"));
        assert_text(&text, "linux.ftrace");
        ck_assert(!trace_track_event_note(&text, &message, "data"));
}
END_TEST

TEST_MAIN("trace-descriptions",
          test_a_process_has_its_arguments_and_units,
          test_a_thread_may_have_no_name,
          test_a_track_has_its_owner_and_counter,
          test_the_machine_is_described_by_fields_of_the_right_type,
          test_the_service_says_when_it_was_away,
          test_sources_of_a_config_are_read_in_order,
          test_statistics_are_numbers_that_are_there_or_not,
          test_a_note_is_found_by_its_name)
