/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "test.h"

#include "fixture.h"
#include "host/packet-list.h"
#include "probes/input/input-latency-probe.h"
#include "probes/input/input-record.h"
#include "tree.h"

#define US      UINT64_C(1000)
#define MS      UINT64_C(1000000)
#define START   (1000 * MS)
#define KEY     2 /* values of a report: the key and the mark */
#define READER  100
#define LOGIND  200
#define READ(n) ((n)*INPUT_EVENT_BYTES)

static InputPairing pairing;

static void setup(void) {
        pairing = (InputPairing){};
}

static void report(uint64_t at_ns, uint32_t n_values) {
        input_pairing_report(&pairing, at_ns, "event3", "Keyboard", n_values);
}

/* When what the thread reads began to wait; 0: nothing did. */
static uint64_t waits_since(uint64_t at_ns, pid_t tid, uint64_t n_bytes) {
        InputWait wait;

        if (input_pairing_read(&pairing, &wait, at_ns, "event3", tid, n_bytes) != 0)
                return 0;
        ck_assert_str_eq(wait.device->name, "Keyboard");
        ck_assert_int_eq(wait.tid, tid);
        ck_assert_uint_eq(wait.end_ns, at_ns);
        ck_assert_uint_le(wait.begin_ns, wait.end_ns);
        return wait.begin_ns;
}

START_TEST(test_a_read_waited_since_the_first_report_that_it_returns) {
        setup();
        report(START, KEY);
        report(START + 5 * MS, KEY);
        ck_assert_uint_eq(waits_since(START + 20 * MS, READER, READ(4)), START);
        report(START + 30 * MS, KEY);
        ck_assert_uint_eq(waits_since(START + 31 * MS, READER, READ(2)), START + 30 * MS);
}
END_TEST

START_TEST(test_each_reader_waits_for_itself) {
        setup();
        report(START, KEY);
        ck_assert_uint_eq(waits_since(START + MS, READER, READ(2)), START);
        report(START + 2 * MS, KEY);
        ck_assert_uint_eq(waits_since(START + 3 * MS, LOGIND, READ(4)), START);
        ck_assert_uint_eq(waits_since(START + 4 * MS, READER, READ(2)), START + 2 * MS);
}
END_TEST

START_TEST(test_a_report_that_comes_while_a_read_ends_waits_for_the_next) {
        setup();
        report(START, KEY);
        report(START + MS - 10 * US, KEY); /* between the read's copy and its return */
        ck_assert_uint_eq(waits_since(START + MS, READER, READ(2)), START);
        ck_assert_uint_eq(waits_since(START + 9 * MS, READER, READ(2)), START + MS - 10 * US);
}
END_TEST

/* Slices of one track may not overlap. */
START_TEST(test_waits_of_a_thread_are_shown_one_after_the_other) {
        InputWait first, second;

        setup();
        report(START, KEY);
        report(START + MS - 10 * US, KEY); /* as above */
        ck_assert_int_eq(
                input_pairing_read(&pairing, &first, START + MS, "event3", READER, READ(2)), 0);
        ck_assert_int_eq(
                input_pairing_read(&pairing, &second, START + 9 * MS, "event3", READER, READ(2)),
                0);
        ck_assert_uint_eq(first.shown_ns, first.begin_ns);
        ck_assert_uint_lt(second.begin_ns, first.end_ns);
        ck_assert_uint_eq(second.shown_ns, first.end_ns);
}
END_TEST

START_TEST(test_an_instance_for_few_kinds_of_events_does_not_wait_for_the_others) {
        setup();
        for (size_t i = 0; i < 10; i++)
                report(START + i * MS, KEY + 1);
        report(START + 60 * MS, KEY + 1); /* the power key */
        ck_assert_uint_eq(waits_since(START + 61 * MS, LOGIND, READ(2)), START + 60 * MS);
}
END_TEST

START_TEST(test_a_report_that_is_read_in_pieces_waited_once) {
        setup();
        report(START, KEY);
        ck_assert_uint_eq(waits_since(START + MS, READER, READ(1)), START);
        ck_assert_uint_eq(waits_since(START + 2 * MS, READER, READ(1)), 0);
}
END_TEST

START_TEST(test_reads_of_what_came_before_the_recording_are_left_out) {
        InputWait wait;

        setup();
        ck_assert_uint_eq(waits_since(START, READER, READ(2)), 0);
        report(START + MS, KEY);
        ck_assert_uint_eq(waits_since(START + 2 * MS, READER, 0), 0);
        ck_assert_int_eq(input_pairing_read(&pairing, &wait, START, "event9", READER, READ(2)),
                         INPUT_E_NOTHING);
        input_pairing_forget(&pairing);
        ck_assert_uint_eq(waits_since(START + 3 * MS, READER, READ(2)), 0);
        ck_assert_uint_eq(waits_since(START + 3 * MS, LOGIND, READ(2)), 0);
        report(START + 4 * MS, KEY);
        ck_assert_uint_eq(waits_since(START + 5 * MS, READER, READ(2)), START + 4 * MS);
}
END_TEST

START_TEST(test_more_reports_devices_and_readers_than_fit_do_no_harm) {
        char handler[INPUT_HANDLER_BYTES];

        setup();
        for (size_t i = 0; i < 3 * INPUT_REPORTS_MAX; i++)
                report(START + i * MS, KEY);
        ck_assert_uint_eq(waits_since(START + 900 * MS, READER, READ(3 * INPUT_REPORTS_MAX * KEY)),
                          START + 2 * INPUT_REPORTS_MAX * MS);
        for (pid_t i = 0; i < 2 * INPUT_READERS_MAX; i++)
                ck_assert_uint_ne(waits_since(START + 901 * MS, 1000 + i, READ(2)), 0);
        for (size_t i = 0; i < INPUT_DEVICES_MAX + 2; i++) {
                snprintf(handler, sizeof(handler), "event%zu", 100 + i);
                input_pairing_report(&pairing, START, handler, "Mouse", 3);
        }
        ck_assert_uint_eq(pairing.n_left_out, 3);
        ck_assert_uint_eq(pairing.n_devices, INPUT_DEVICES_MAX);
}
END_TEST

START_TEST(test_a_device_number_that_is_given_again_is_the_new_device) {
        InputWait wait;

        setup();
        input_pairing_report(&pairing, START, "event3", "Old mouse", 3);
        input_pairing_report(&pairing, START + MS, "event3", "Keyboard", 2);
        ck_assert_int_eq(input_pairing_read(&pairing, &wait, START + 2 * MS, "event3", 1, READ(2)),
                         0);
        ck_assert_str_eq(wait.device->name, "Keyboard");
}
END_TEST

static EventFormat *read_format(const char *event) {
        EventFormat *format;
        char file[64], *text;
        size_t n;

        snprintf(file, sizeof(file), "input/%s-format", event);
        text = fixture_read(file, &n);
        ck_assert_int_eq(event_format_parse(&format, "desktrace_input_1_1", text, n), 0);
        free(text);
        return format;
}

static InputLayout read_layout(void) {
        InputLayout layout = {};

        for (unsigned event = 0; event < INPUT_EVENTS_N; event++) {
                _cleanup_(event_format_freep) EventFormat *format =
                        read_format(event == INPUT_EVENT_REPORT ? "report" : "read");

                ck_assert_int_eq(input_layout_set(&layout, event, format), 0);
        }
        return layout;
}

START_TEST(test_a_kernels_page_says_who_waited_how_long) {
        const PageLayout page_layout = PAGE_LAYOUT_64BIT;
        InputLayout layout = read_layout();
        size_t n, n_polling = 0, n_blocking = 0;
        char *page = fixture_read("input/input.raw", &n);
        PageReader reader;
        PageRecord raw;

        setup();
        ck_assert_int_eq(page_reader_init(&reader, &page_layout, page, n), 0);
        while (page_read(&reader, &raw) == 1) {
                InputRecord record;
                InputWait wait;

                if (!input_record_decode(&record, &layout, &raw))
                        continue;
                ck_assert_str_eq(record.handler, "event1");
                if (record.event == INPUT_EVENT_REPORT) {
                        ck_assert_str_eq(record.name, "Desktrace Test Keyboard");
                        ck_assert_uint_eq(record.n, 2);
                        input_pairing_report(
                                &pairing, record.at_ns, record.handler, record.name, 2);
                        continue;
                }
                ck_assert_int_eq(input_pairing_read(&pairing,
                                                    &wait,
                                                    record.at_ns,
                                                    record.handler,
                                                    record.tid,
                                                    record.n),
                                 0);
                /* In the fixture's time, which does not change. */
                if (wait.end_ns - wait.begin_ns > 15 * MS)
                        n_polling += record.tid == 174;
                else
                        n_blocking += record.tid == 175;
        }
        ck_assert_uint_ge(n_polling, 5);
        ck_assert_uint_ge(n_blocking, 2 * n_polling - 2);
        free(page);
}
END_TEST

START_TEST(test_records_that_are_cut_or_point_beyond_their_end_are_left_out) {
        InputLayout layout = read_layout();
        uint8_t data[64] = {};
        InputRecord record;
        const uint16_t id = layout.ids[INPUT_EVENT_REPORT];
        uint32_t location;

        memcpy(data, &id, sizeof(id));
        memcpy(data + 28, "event5\0Mouse\1ed", 16);
        location = 7u << 16 | 28;
        memcpy(data + layout.handler.offset, &location, sizeof(location));
        location = 9u << 16 | 35;
        memcpy(data + layout.device.offset, &location, sizeof(location));
        for (uint32_t n = 0; n <= 44; n++) {
                _cleanup_(freep) uint8_t *copy = malloc(n + 1);
                const PageRecord raw = { .data = copy, .n_bytes = n };

                memcpy(copy, data, n);
                ck_assert_int_eq(input_record_decode(&record, &layout, &raw), n == 44);
        }
        ck_assert_str_eq(record.handler, "event5");
        ck_assert_str_eq(record.name, "Mouse?ed");
        location = UINT32_MAX;
        memcpy(data + layout.device.offset, &location, sizeof(location));
        ck_assert(!input_record_decode(
                &record, &layout, &(PageRecord){ .data = data, .n_bytes = sizeof(data) }));
}
END_TEST

START_TEST(test_reads_of_other_devices_and_reads_of_nothing_are_left_out) {
        static const struct {
                uint32_t device;
                int64_t n_bytes;
                const char *handler;
        } reads[] = {
                { 13u << 20 | 64, 24, "event0" },    { 13u << 20 | 95, 48, "event31" },
                { 13u << 20 | 256, 48, "event256" }, { 13u << 20 | 63, 48, NULL }, /* mice */
                { 13u << 20 | 100, 48, NULL },                                     /* nobody's */
                { 14u << 20 | 64, 48, NULL },        { 13u << 20 | 64, -11, NULL },
                { 13u << 20 | 64, 0, NULL },
        };
        InputLayout layout = read_layout();

        for (size_t i = 0; i < ARRAY_SIZE(reads); i++) {
                const uint16_t id = layout.ids[INPUT_EVENT_READ];
                uint8_t data[36] = {};
                InputRecord record;

                memcpy(data, &id, sizeof(id));
                memcpy(data + layout.rdev.offset, &reads[i].device, 4);
                memcpy(data + layout.bytes.offset, &reads[i].n_bytes, 8);
                ck_assert_int_eq(input_record_decode(&record,
                                                     &layout,
                                                     &(PageRecord){ .data = data, .n_bytes = 36 }),
                                 reads[i].handler != NULL);
                if (reads[i].handler)
                        ck_assert_str_eq(record.handler, reads[i].handler);
        }
}
END_TEST

START_TEST(test_events_with_other_fields_are_refused) {
        _cleanup_(event_format_freep) EventFormat *report_format = read_format("report"),
                                                  *reading = read_format("read");
        InputLayout layout;

        ck_assert_int_eq(input_layout_set(&layout, INPUT_EVENT_READ, report_format), -EBADMSG);
        ck_assert_int_eq(input_layout_set(&layout, INPUT_EVENT_REPORT, reading), -EBADMSG);
}
END_TEST

/* The whole of what is recorded: a field more is one to think about. */
START_TEST(test_what_was_typed_is_in_no_field) {
        static const char *const wanted[INPUT_EVENTS_N][4] = {
                { "__probe_ip", "handler", "device", "count" },
                { "__probe_func", "__probe_ret_ip", "rdev", "bytes" },
        };
        const FtraceConfig *config = input_events_config();

        for (unsigned event = 0; event < INPUT_EVENTS_N; event++) {
                _cleanup_(event_format_freep) EventFormat *format =
                        read_format(event == INPUT_EVENT_REPORT ? "report" : "read");

                ck_assert_uint_eq(format->n_fields, 4);
                for (size_t i = 0; i < 4; i++)
                        ck_assert_str_eq(format->fields[i].name, wanted[event][i]);
        }
        ck_assert_uint_eq(config->n_kprobe_events, INPUT_EVENTS_N);
        ck_assert_uint_eq(config->kprobe_events[INPUT_EVENT_REPORT]->n_args, 3);
        ck_assert_uint_eq(config->kprobe_events[INPUT_EVENT_READ]->n_args, 2);
        for (unsigned event = 0; event < INPUT_EVENTS_N; event++)
                for (size_t i = 0; i < config->kprobe_events[event]->n_args; i++)
                        ck_assert_ptr_null(strstr(config->kprobe_events[event]->args[i], "vals"));
}
END_TEST

START_TEST(test_kernels_without_kprobes_or_types_are_told_apart) {
        Tree tree = tree_new();
        const TraceDir dir = { .path = tree.path, .fd = tree.fd };
        char *error = NULL;

        ck_assert_int_eq(input_events_check(&dir, &error), PROBE_E_REFUSED);
        ck_assert_msg(strstr(error, "CONFIG_KPROBE_EVENTS"), "%s", error);
        free(TAKE(error));
        tree_put(&tree, "kprobe_events", "");
        tree_put(&tree, "README", "fetcharg: $stack, <argname>\n");
        ck_assert_int_eq(input_events_check(&dir, &error), PROBE_E_REFUSED);
        ck_assert_msg(strstr(error, "CONFIG_PROBE_EVENTS_BTF_ARGS"), "%s", error);
        free(TAKE(error));
        tree_put(&tree, "README", "fetcharg: <argname>[->field[->field|.field...]],\n");
        ck_assert_int_eq(input_events_check(&dir, &error), 0);
        tree_free(&tree);
}
END_TEST

START_TEST(test_this_machine_is_recorded_or_refused) {
        PacketList list = PACKET_LIST_INIT;
        ProbeSetup setup = { .sink = &list.sink };
        const ProbeOps *ops = &input_latency_probe_ops;
        char *error = NULL;
        void *probe = NULL;

        if (ops->setup(&probe, &setup, &error) == 0) {
                ck_assert_int_eq(ops->start(probe, &error), 0);
                ops->poll(probe, probe_now_ns());
                ops->stop(probe, probe_now_ns());
        } else {
                ck_assert_ptr_nonnull(error);
                test_skip("%s", error);
        }
        ops->free(probe);
        packet_list_deinit(&list);
        free(error);
}
END_TEST

TEST_MAIN("input",
          test_a_read_waited_since_the_first_report_that_it_returns,
          test_each_reader_waits_for_itself,
          test_a_report_that_comes_while_a_read_ends_waits_for_the_next,
          test_waits_of_a_thread_are_shown_one_after_the_other,
          test_an_instance_for_few_kinds_of_events_does_not_wait_for_the_others,
          test_a_report_that_is_read_in_pieces_waited_once,
          test_reads_of_what_came_before_the_recording_are_left_out,
          test_more_reports_devices_and_readers_than_fit_do_no_harm,
          test_a_device_number_that_is_given_again_is_the_new_device,
          test_a_kernels_page_says_who_waited_how_long,
          test_records_that_are_cut_or_point_beyond_their_end_are_left_out,
          test_reads_of_other_devices_and_reads_of_nothing_are_left_out,
          test_events_with_other_fields_are_refused,
          test_what_was_typed_is_in_no_field,
          test_kernels_without_kprobes_or_types_are_told_apart,
          test_this_machine_is_recorded_or_refused)
