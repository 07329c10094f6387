/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * What a flight recorder asks of the service, and how its files are called.
 */

#include <string.h>

#include "client/flight-recorder.h"
#include "client/snapshot-writer.h"
#include "client/time-option.h"
#include "client/trigger.h"
#include "test.h"

#define CONFIG_64M                                                                       \
        "buffers { size_kb: 65536 } incremental_state_config { clear_period_ms: 5000 } " \
        "data_sources { config { name: 'track_event' } } "

/* Requests are applied to a config, or to none. */
static void request_init(RecordRequest *request, const char *text) {
        ConfigError error = { 0 };

        record_request_init(request);
        if (text)
                ck_assert_int_eq(config_new_from_text(&request->config, text, &error), 0);
}

START_TEST(test_a_flight_recorder_is_detached_and_has_a_name_and_an_end) {
        _cleanup_(record_request_deinit) RecordRequest request;
        const FlightRecorder recorder = { 0 };

        request_init(&request, NULL);
        flight_recorder_apply(&recorder, &request, false);
        ck_assert(request.is_detached);
        ck_assert(request.is_ring);
        ck_assert_str_eq(request.name, "flight-recorder");
        ck_assert_uint_eq(request.duration_ms, FLIGHT_DURATION_MS_DEFAULT);
        ck_assert_uint_le(request.duration_ms, FLIGHT_DURATION_MS_MAX);
}
END_TEST

START_TEST(test_what_the_user_says_comes_first) {
        _cleanup_(record_request_deinit) RecordRequest request;
        const FlightRecorder recorder = { .before_ms = 60000 };

        request_init(&request, CONFIG_64M "duration_ms: 3000");
        request.name = "mine";
        request.buffer_kb = 128;
        flight_recorder_apply(&recorder, &request, true);
        ck_assert_str_eq(request.name, "mine");
        ck_assert_uint_eq(request.duration_ms, 0); /* the config's */
        ck_assert_uint_eq(request.buffer_kb, 128);
        ck_assert_uint_eq(request.clear_period_ms, 0);
}
END_TEST

START_TEST(test_the_ring_grows_with_the_time_that_it_is_to_hold) {
        static const struct {
                uint32_t before_ms, buffer_kb, clear_period_ms;
        } cases[] = {
                { 0, 0, 2500 }, /* the config's buffer will do */
                { 1, 0, 500 },
                { 10000, 0, 2500 },
                { 60000, 60 * 4096, 5000 },
                { 3600000, FLIGHT_BUFFER_KB_MAX, 5000 },
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_(record_request_deinit) RecordRequest request;
                const FlightRecorder recorder = { .before_ms = cases[i].before_ms };

                request_init(&request, CONFIG_64M);
                flight_recorder_apply(&recorder, &request, false);
                ck_assert_uint_eq(request.buffer_kb, cases[i].buffer_kb);
                ck_assert_uint_eq(request.clear_period_ms, cases[i].clear_period_ms);
        }
}
END_TEST

START_TEST(test_with_triggers_it_is_ours_and_its_time_is_theirs) {
        _cleanup_(record_request_deinit) RecordRequest request;
        char name[] = "slow", *names[] = { name, NULL };
        const FlightRecorder recorder = { .triggers = names, .after_ms = 250 };

        request_init(&request, NULL);
        request.duration_ms = 5000;
        flight_recorder_apply(&recorder, &request, false);
        ck_assert(!request.is_detached);
        ck_assert_ptr_null(request.name);
        ck_assert_uint_eq(request.duration_ms, 0);
        ck_assert_uint_eq(request.trigger_timeout_ms, 5000);
        ck_assert_uint_eq(request.trigger_delay_ms, 250);
        request.duration_ms = 0;
        flight_recorder_apply(&recorder, &request, false);
        ck_assert_uint_eq(request.trigger_timeout_ms, FLIGHT_DURATION_MS_MAX);
}
END_TEST

START_TEST(test_snapshots_are_numbered_before_their_suffix) {
        static const struct {
                const char *output, *path;
        } cases[] = {
                { "x", "x-3.pftrace" },
                { "x.pftrace", "x-3.pftrace" },
                { "a.pftrace/x", "a.pftrace/x-3.pftrace" },
                { "x.trace", "x.trace-3.pftrace" },
                { ".pftrace", ".pftrace-3.pftrace" },
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                g_autofree char *path = output_file_numbered_path(cases[i].output, 3);

                ck_assert_str_eq(path, cases[i].path);
        }
}
END_TEST

START_TEST(test_times_are_written_as_they_are_read) {
        static const struct {
                const char *text;
                uint64_t ms;
        } cases[] = {
                { "0s", 0 },        { "250ms", 250 },     { "10s", 10000 },
                { "1m", 60000 },    { "1h30m", 5400000 }, { "23h59m59s", 86399000 },
                { "1d", 86400000 }, { "1d2h", 93600000 }, { "7d", 604800000 },
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                char text[TIME_OPTION_BYTES];
                uint32_t ms;

                ck_assert_str_eq(time_option_format(text, cases[i].ms), cases[i].text);
                ck_assert_int_eq(time_option_parse(&ms, text, 0, UINT32_MAX), STATUS_OK);
                ck_assert_uint_eq(ms, cases[i].ms);
        }
}
END_TEST

START_TEST(test_times_out_of_bounds_are_usage_errors) {
        static const char *const cases[] = { "", "x", "-1s", "9ms", "1001ms", "99999999999999d" };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                uint32_t ms;

                ck_assert_int_eq(time_option_parse(&ms, cases[i], 10, 1000), STATUS_USAGE);
        }
}
END_TEST

START_TEST(test_triggers_have_names) {
        char good[] = "slow-frame", empty[] = "", bad[] = "\xff";
        char *cases[][3] = { { good, NULL }, { good, empty, NULL }, { bad, NULL } };

        ck_assert_int_eq(triggers_check(cases[0]), STATUS_OK);
        ck_assert_int_eq(triggers_check(cases[1]), STATUS_USAGE);
        ck_assert_int_eq(triggers_check(cases[2]), STATUS_USAGE);
}
END_TEST

TEST_MAIN("flight-recorder",
          test_a_flight_recorder_is_detached_and_has_a_name_and_an_end,
          test_what_the_user_says_comes_first,
          test_the_ring_grows_with_the_time_that_it_is_to_hold,
          test_with_triggers_it_is_ours_and_its_time_is_theirs,
          test_snapshots_are_numbered_before_their_suffix,
          test_times_are_written_as_they_are_read,
          test_times_out_of_bounds_are_usage_errors,
          test_triggers_have_names)
