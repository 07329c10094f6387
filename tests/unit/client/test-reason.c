/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "client/reason.h"

#include "shared/macro.h"
#include "test.h"

static const char *const formats[] = {
        "%s: %s",
        "nothing to record: %s",
        "cannot open /%s: %s%s",
        "\"%.64s\" has %zu names; at most %d are allowed",
        "at %d%% of it nothing is left",
        "tracefs is not mounted",
        "a %s b",
};

static const char *translate(const char *format) {
        static const char *const translations[] = {
                "%s = %s",
                "nichts: %s",
                "/%1$s: kann nicht: %2$s%3$s",
                "%3$d, nicht %2$zu, für \"%1$.64s\"",
                "bei %d%% bleibt nichts",
                "kein tracefs",
                "%1$s %7$s %s %s %s",
        };

        for (size_t i = 0; i < ARRAY_SIZE(formats); i++)
                if (formats[i] == format)
                        return translations[i];
        ck_abort();
}

static void check(const char *reason, const char *wanted) {
        _cleanup_(freep) char *text =
                reason_translate_by(reason, formats, ARRAY_SIZE(formats), translate);

        ck_assert_str_eq(text, wanted);
}

START_TEST(test_reasons_are_translated_with_what_is_in_them) {
        check("tracefs is not mounted", "kein tracefs");
        check("cannot open /sys/x: Permission denied; ask",
              "/sys/x: kann nicht: Permission denied; ask");
        check("\"ftrace\" has 9 names; at most 5 are allowed", "5, nicht 9, für \"ftrace\"");
        check("at 90% of it nothing is left", "bei 90% bleibt nichts");
}
END_TEST

START_TEST(test_reasons_in_reasons_are_translated) {
        check("nothing to record: tracefs is not mounted", "nichts: kein tracefs");
        check("nothing to record: nothing to record: nothing to record: tracefs is not mounted",
              "nichts: nichts: nichts: tracefs is not mounted");
}
END_TEST

START_TEST(test_joined_reasons_are_translated_each) {
        check("ftrace: tracefs is not mounted; see at 9% of it nothing is left",
              "ftrace: kein tracefs; see at 9% of it nothing is left");
        check("tracefs is not mounted: it; at 9% of it nothing is left",
              "kein tracefs: it; bei 9% bleibt nichts");
}
END_TEST

START_TEST(test_what_is_no_known_reason_stays_as_it_is) {
        check("", "");
        check("its GPU is on fire", "its GPU is on fire");
        check("tracefs is not mounted!", "tracefs is not mounted!");
        check("x: y", "x: y"); /* a format without words fits anything */
        check("%s%n", "%s%n");
}
END_TEST

/* Our own sources give these words. Without a catalogue they are put together again. */
static void check_is_known(const char *reason) {
        _cleanup_(freep) char *text = reason_translate(reason);

        ck_assert_str_eq(text, reason);
        for (size_t i = 0; i < reason_n_formats(); i++)
                if (reason_is_of_format(reason, i))
                        return;
        ck_abort_msg("no format makes: %s", reason);
}

START_TEST(test_formats_of_the_probes_are_known) {
        check_is_known("nothing to record: \"x\"");
        check_is_known(
                "tracefs is not mounted; mount it: mount -t tracefs tracefs /sys/kernel/tracing");
        check_is_known("/proc is not mounted; mount it: mount -t proc proc /proc");
        check_is_known("cannot open /sys/kernel/tracing/events: Permission denied");
        ck_assert_uint_gt(reason_n_formats(), 50);
}
END_TEST

START_TEST(test_formats_of_the_service_are_known) {
        check_is_known("duration_ms is 700000000, which exceeds the limit SESSION_DURATION_MAX_MS "
                       "of 604800000");
        check_is_known("a session named \"x\" is already running");
        check_is_known("cannot start the session");
        check_is_known("DataSourceConfig has no field 'nmae'; did you mean name?");
}
END_TEST

TEST_MAIN("reason",
          test_reasons_are_translated_with_what_is_in_them,
          test_reasons_in_reasons_are_translated,
          test_joined_reasons_are_translated_each,
          test_what_is_no_known_reason_stays_as_it_is,
          test_formats_of_the_probes_are_known,
          test_formats_of_the_service_are_known)
