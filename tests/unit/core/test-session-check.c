/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a config may ask for, and what is said when it asks for more. */

#include <stdio.h>

#include "core/life/check.h"
#include "core/model/session-names.h"
#include "fixture.h"

static Fixture f;

#define ONE   "data_sources { config { name: \"track_event\" } } "
#define PLAIN "buffers { size_kb: 256 } "

/* A refusal: its outcome, and words that its text must have. */
static const struct Refusal {
        const char *config;
        int outcome;
        const char *words[3];
} refusals[] = {
        { ONE, SESSION_E_CONFIG, { "track_event", "no buffers" } },
        { PLAIN, SESSION_E_CONFIG, { "no data_sources" } },
        { "buffers { } " ONE, SESSION_E_CONFIG, { "buffers[0].size_kb" } },
        { PLAIN "buffers { size_kb: 4194305 } " ONE,
          SESSION_E_LIMIT,
          { "buffers[1].size_kb", "4194305", "TRACE_BUFFER_BYTES_MAX" } },
        { "buffers { size_kb: 3000000 } buffers { size_kb: 3000000 } " ONE,
          SESSION_E_LIMIT,
          { "6000000", "SERVICE_BUFFER_BYTES_PER_USER_MAX", "4194304" } },
        { "buffers { size_kb: 256 name: \"a\" } buffers { size_kb: 256 name: \"a\" } " ONE,
          SESSION_E_CONFIG,
          { "two buffers are named \"a\"" } },
        { PLAIN ONE "duration_ms: 604800001",
          SESSION_E_LIMIT,
          { "duration_ms", "604800001", "SESSION_DURATION_MAX_MS" } },
        { PLAIN ONE "flush_timeout_ms: 600001",
          SESSION_E_LIMIT,
          { "flush_timeout_ms", "SESSION_TIMEOUT_MAX_MS" } },
        { PLAIN ONE "data_source_stop_timeout_ms: 600001",
          SESSION_E_LIMIT,
          { "data_source_stop_timeout_ms", "SESSION_TIMEOUT_MAX_MS" } },
        { PLAIN "data_sources { }", SESSION_E_CONFIG, { "data_sources[0] has no config.name" } },
        { PLAIN "data_sources { config { name: \"\" } }", SESSION_E_CONFIG, { "config.name" } },
        { PLAIN "data_sources { config { name: \"track_event\" target_buffer: 1 } }",
          SESSION_E_CONFIG,
          { "track_event", "target_buffer 1", "the last buffer is 0" } },
        { "buffers { size_kb: 256 name: \"main\" } "
          "data_sources { config { name: \"track_event\" target_buffer_name: \"mian\" } }",
          SESSION_E_CONFIG,
          { "no buffer is named \"mian\"", "did you mean \"main\"" } },
        { "buffers { size_kb: 256 name: \"a\" } buffers { size_kb: 256 name: \"b\" } "
          "data_sources { config { name: \"track_event\" target_buffer: 1 target_buffer_name: "
          "\"a\" } }",
          SESSION_E_CONFIG,
          { "do not agree" } },
        { PLAIN
          "data_sources { config { name: \"track_event\" } producer_name_regex_filter: \"(\" }",
          SESSION_E_CONFIG,
          { "producer_name_regex_filter" } },
        { PLAIN "data_sources { config { name: \"track_event\" } producer_name_regex_filter: "
                "\"(((a{255}){255}){255})\" }",
          SESSION_E_CONFIG,
          { "producer_name_regex_filter" } },
        { PLAIN ONE "trace_filter { }", SESSION_E_CONFIG, { "trace_filter", "it is empty" } },
        { PLAIN ONE "trace_filter { bytecode: \"abc\" }",
          SESSION_E_CONFIG,
          { "trace_filter", "checksum" } },
        { PLAIN ONE "write_into_file: true", SESSION_E_CONFIG, { "write_into_file", "output" } },
        { PLAIN ONE "write_into_file: true output_path: \"/tmp/x\"",
          SESSION_E_CONFIG,
          { "output_path", "descriptor", "\"output\"" } },
        { PLAIN ONE "output_path: \"/tmp/x\"", SESSION_E_CONFIG, { "output_path" } },
        { PLAIN ONE "bugreport_filename: \"../x\"",
          SESSION_E_CONFIG,
          { "bugreport_filename", "../x", "letters" } },
        { PLAIN ONE "priority_boost { }", SESSION_E_CONFIG, { "priority_boost.policy 0" } },
        { PLAIN ONE "priority_boost { policy: POLICY_SCHED_FIFO }",
          SESSION_E_CONFIG,
          { "priority_boost.priority 0", "between 1 and 99" } },
        { PLAIN ONE "priority_boost { policy: POLICY_SCHED_OTHER priority: 21 }",
          SESSION_E_CONFIG,
          { "priority_boost.priority 21", "between 0 and 20" } },
        { PLAIN ONE "priority_boost { policy: POLICY_SCHED_OTHER priority: 5 }",
          SESSION_E_CONFIG,
          { "priority_boost", "Nice=", "desktraced.service" } },
        { PLAIN ONE "lockdown_mode: LOCKDOWN_SET", SESSION_E_DENIED, { "lockdown_mode", "root" } },
        { PLAIN ONE "lockdown_mode: LOCKDOWN_CLEAR", SESSION_E_DENIED, { "lockdown_mode" } },
        { PLAIN "data_sources { config { name: \"linux.ftrac\" } }",
          SESSION_E_NO_SOURCE,
          { "linux.ftrac", "did you mean \"linux.ftrace\"" } },
        { PLAIN "data_sources { config { name: \"linux.perfectly.unknown\" } }",
          SESSION_E_NO_SOURCE,
          { "linux.perfectly.unknown", "no producer" } },
        { PLAIN "data_sources { config { name: \"desktrace.x\" } }",
          SESSION_E_NO_SOURCE,
          { "desktrace.x" } },
        { PLAIN "data_sources { config { name: \"trak_event\" } }",
          SESSION_E_NO_SOURCE,
          { "did you mean \"track_event\"" } },
        { PLAIN "data_sources { config { name: \"com.example.rendr\" } }",
          SESSION_E_NO_SOURCE,
          { "did you mean \"com.example.render\"" } },
        { PLAIN "data_sources { config { name: \"linux.ftrace\" } }",
          SESSION_E_CONFIG,
          { "linux.ftrace", "scope \"system\"" } },
};

static void assert_refused(const SessionOptions *options,
                           const char *config,
                           int outcome,
                           const char *const words[3]) {
        size_t n_sessions = service_n_sessions(f.service);
        FakeConsumer *consumer;

        ck_assert_msg(fixture_try_session(&f, &consumer, options, config) == outcome,
                      "not refused so: %s",
                      config);
        for (size_t i = 0; i < 3 && words[i]; i++)
                ck_assert_msg(strstr(consumer->error.message, words[i]),
                              "\"%s\" is not in \"%s\"",
                              words[i],
                              consumer->error.message);
        ck_assert_uint_eq(service_n_sessions(f.service), n_sessions);
        free(consumer);
        f.n_consumers--;
}

START_TEST(test_each_refusal_names_what_is_wrong) {
        const SessionOptions options = { .owner = { .uid = 1000 } };
        FakeProducer *app;

        fixture_init(&f);
        ck_assert_int_eq(service_add_activatable(
                                 f.service, "probes", (const char *[]){ "linux.ftrace", NULL }),
                         0);
        app = fixture_connect_producer(&f, 1000, "app", "track_event");
        fixture_connect_producer(&f, 1000, "other", "com.example.render");
        for (size_t i = 0; i < ARRAY_SIZE(refusals); i++)
                assert_refused(
                        &options, refusals[i].config, refusals[i].outcome, refusals[i].words);
        ck_assert_uint_eq(app->n_instances, 0);
        ck_assert_uint_eq(f.n_activations[0], 0);
        fixture_deinit(&f);
}
END_TEST

/* A slip that is near to what another user's program offers is answered as one that is near to nothing. */
START_TEST(test_sources_of_other_users_are_no_suggestions) {
        const char *config = PLAIN "data_sources { config { name: \"com.example.secrt\" } }";
        FakeConsumer *consumer;

        fixture_init(&f);
        fixture_connect_producer(&f, 1001, "other", "com.example.secret");
        ck_assert_int_eq(
                fixture_try_session(
                        &f, &consumer, &(SessionOptions){ .owner = { .uid = 1000 } }, config),
                0);
        assert_refused(&(SessionOptions){ .owner = { .uid = 1001 } },
                       config,
                       SESSION_E_NO_SOURCE,
                       (const char *[3]){ "did you mean \"com.example.secret\"" });
        assert_refused(&(SessionOptions){ .owner = { .uid = 0 } },
                       config,
                       SESSION_E_NO_SOURCE,
                       (const char *[3]){ "did you mean \"com.example.secret\"" });
        assert_refused(&(SessionOptions){ .owner = { .uid = 1000 }, .scope = SESSION_SCOPE_SYSTEM },
                       config,
                       SESSION_E_NO_SOURCE,
                       (const char *[3]){ "did you mean \"com.example.secret\"" });
        fixture_deinit(&f);
}
END_TEST

/* Looking for one takes time: who has written many names that nobody offers means them. */
START_TEST(test_suggestions_are_looked_for_a_few_times) {
        const SessionOptions options = { .owner = { .uid = 1000 } };
        char config[1024] = PLAIN;
        FakeConsumer *consumer;

        fixture_init(&f);
        fixture_connect_producer(&f, 1000, "other", "com.example.render");
        for (unsigned i = 1; i < CHECK_SLIPS_MAX; i++)
                strcat(config, "data_sources { config { name: \"nobodys\" } } ");
        strcat(config, "data_sources { config { name: \"com.example.rendr\" } } ");
        assert_refused(&options,
                       config,
                       SESSION_E_NO_SOURCE,
                       (const char *[3]){ "did you mean \"com.example.render\"" });
        memmove(strstr(config, "com.example.rendr"), "a.name.of.nobody's", 17);
        strcat(config, "data_sources { config { name: \"com.example.rendr\" } } ");
        ck_assert_int_eq(fixture_try_session(&f, &consumer, &options, config), 0);
        fixture_deinit(&f);
}
END_TEST

#define TRIGGER(mode, more) \
        PLAIN ONE "trigger_config { trigger_mode: " mode " trigger_timeout_ms: 1000 " more " } "

static const struct Refusal trigger_refusals[] = {
        { PLAIN ONE "trigger_config { trigger_mode: START_TRACING triggers { name: \"a\" } }",
          SESSION_E_CONFIG,
          { "trigger_timeout_ms is not set" } },
        { PLAIN ONE "trigger_config { trigger_mode: STOP_TRACING trigger_timeout_ms: 604800001 }",
          SESSION_E_LIMIT,
          { "trigger_timeout_ms", "604800001", "SESSION_DURATION_MAX_MS" } },
        { TRIGGER("UNSPECIFIED", "triggers { name: \"a\" }"),
          SESSION_E_CONFIG,
          { "no trigger_mode" } },
        { TRIGGER("START_TRACING", "use_clone_snapshot_if_available: true"),
          SESSION_E_CONFIG,
          { "use_clone_snapshot_if_available", "STOP_TRACING" } },
        { TRIGGER("CLONE_SNAPSHOT", "use_clone_snapshot_if_available: true"),
          SESSION_E_CONFIG,
          { "use_clone_snapshot_if_available", "STOP_TRACING" } },
        { TRIGGER("START_TRACING", "") "duration_ms: 1",
          SESSION_E_CONFIG,
          { "duration_ms and trigger_config are mutually exclusive" } },
        { TRIGGER("STOP_TRACING", "") "write_into_file: true",
          SESSION_E_CONFIG,
          { "write_into_file and triggers" } },
        { TRIGGER("CLONE_SNAPSHOT", "") "write_into_file: true",
          SESSION_E_CONFIG,
          { "write_into_file and triggers" } },
        { TRIGGER("START_TRACING", "triggers { name: \"a\" } triggers { name: \"a\" }"),
          SESSION_E_CONFIG,
          { "two triggers are named \"a\"" } },
        { TRIGGER("START_TRACING", "triggers { name: \"a\" } triggers { }"),
          SESSION_E_CONFIG,
          { "triggers[1] has no name" } },
        { TRIGGER("START_TRACING", "triggers { name: \"a\" producer_name_regex: \"(\" }"),
          SESSION_E_CONFIG,
          { "trigger \"a\"", "producer_name_regex" } },
        { TRIGGER("START_TRACING", "triggers { name: \"a\" skip_probability: 1.5 }"),
          SESSION_E_CONFIG,
          { "skip_probability 1.5" } },
        { TRIGGER("START_TRACING", "triggers { name: \"a\" skip_probability: -0.5 }"),
          SESSION_E_CONFIG,
          { "skip_probability -0.5" } },
        { TRIGGER("START_TRACING", "triggers { name: \"a\" skip_probability: nan }"),
          SESSION_E_CONFIG,
          { "skip_probability", "nan" } },
        { TRIGGER("START_TRACING", "triggers { name: \"a\" stop_delay_ms: 604800001 }"),
          SESSION_E_LIMIT,
          { "stop_delay_ms is 604800001", "SESSION_DURATION_MAX_MS" } },
};

#define GUARDED PLAIN ONE "enable_extra_guardrails: true "

static const struct Refusal guardrail_refusals[] = {
        { GUARDED "deferred_start: true", SESSION_E_CONFIG, { "deferred_start" } },
        { GUARDED "duration_ms: 86400001",
          SESSION_E_LIMIT,
          { "duration_ms", "86400001", "SESSION_GUARDED_DURATION_MAX_MS" } },
        { GUARDED "trigger_config { trigger_mode: STOP_TRACING trigger_timeout_ms: 86400001 }",
          SESSION_E_LIMIT,
          { "trigger_timeout_ms", "86400001", "SESSION_GUARDED_DURATION_MAX_MS" } },
        { GUARDED "buffers { size_kb: 130817 }",
          SESSION_E_LIMIT,
          { "131073", "SESSION_GUARDED_BUFFERS_MAX_KB", "131072" } },
        { GUARDED "buffers { size_kb: 200000 } "
                  "guardrail_overrides { max_tracing_buffer_size_kb: 200255 }",
          SESSION_E_LIMIT,
          { "200256", "max_tracing_buffer_size_kb", "200255" } },
};

static void assert_all_refused(const struct Refusal *cases, size_t n) {
        const SessionOptions options = { .owner = { .uid = 1000 }, .has_output = true };

        fixture_init(&f);
        for (size_t i = 0; i < n; i++)
                assert_refused(&options, cases[i].config, cases[i].outcome, cases[i].words);
        fixture_deinit(&f);
}

START_TEST(test_each_refusal_of_triggers_names_what_is_wrong) {
        assert_all_refused(trigger_refusals, ARRAY_SIZE(trigger_refusals));
}
END_TEST

START_TEST(test_too_many_and_too_long_triggers_are_refused) {
        const SessionOptions options = { .owner = { .uid = 1000 } };
        static char config[64 << 10];
        char *at = config;

        fixture_init(&f);
        at = stpcpy(at, PLAIN ONE "trigger_config { trigger_mode: 1 trigger_timeout_ms: 1 ");
        for (unsigned i = 0; i <= SESSION_TRIGGERS_MAX; i++)
                at += sprintf(at, "triggers { name: \"t%u\" } ", i);
        stpcpy(at, "}");
        assert_refused(&options,
                       config,
                       SESSION_E_LIMIT,
                       (const char *[3]){ "triggers is 65", "SESSION_TRIGGERS_MAX" });
        sprintf(config,
                PLAIN ONE "trigger_config { trigger_mode: 1 trigger_timeout_ms: 1 "
                          "triggers { name: \"%0*d\" } }",
                TRIGGER_NAME_MAX + 1,
                0);
        assert_refused(&options,
                       config,
                       SESSION_E_LIMIT,
                       (const char *[3]){ "trigger's name is 129", "TRIGGER_NAME_MAX" });
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_each_guardrail_names_what_is_wrong) {
        assert_all_refused(guardrail_refusals, ARRAY_SIZE(guardrail_refusals));
}
END_TEST

/* What lies just within each limit, or means no harm. */
START_TEST(test_what_is_within_the_limits_is_accepted) {
        static const char *const configs[] = {
                PLAIN ONE "duration_ms: 604800000",
                TRIGGER("START_TRACING", "triggers { name: \"a\" skip_probability: 1 }"),
                TRIGGER("START_TRACING", "") "write_into_file: true",
                TRIGGER("START_TRACING", "") "deferred_start: true",
                TRIGGER("STOP_TRACING", "use_clone_snapshot_if_available: true"),
                PLAIN ONE "trigger_config { }",
                GUARDED "duration_ms: 86400000 unique_session_name: \"a\"",
                GUARDED "buffers { size_kb: 130816 } unique_session_name: \"b\"",
                GUARDED "buffers { size_kb: 200000 } unique_session_name: \"c\" "
                        "guardrail_overrides { max_tracing_buffer_size_kb: 200256 }",
                GUARDED "unique_session_name: \"d\" "
                        "guardrail_overrides { max_tracing_buffer_size_kb: 1 }",
                "buffers { size_kb: 256 } buffers { size_kb: 256 name: \"b\" } "
                "data_sources { config { name: \"track_event\" target_buffer: 0 "
                "target_buffer_name: \"b\" } }",
                PLAIN ONE "bugreport_filename: \"A-z_0.pftrace\"",
                PLAIN "data_sources { config { name: \"track_event\" "
                      "priority_boost { policy: POLICY_SCHED_FIFO priority: 1 } } }",
        };
        const SessionOptions options = { .owner = { .uid = 1000 }, .has_output = true };

        fixture_init(&f);
        for (size_t i = 0; i < ARRAY_SIZE(configs); i++) {
                FakeConsumer *consumer;
                int r = fixture_try_session(&f, &consumer, &options, configs[i]);

                ck_assert_msg(r == 0, "%s: %s", configs[i], consumer->error.message);
                fixture_free_session(consumer);
        }
        fixture_deinit(&f);
}
END_TEST

/* Only serialized configs can hold them. `field` is of the decoded config. */
static void assert_number_refused(Config *config, int *field, int value, const char *words) {
        const SessionOptions options = { .has_output = true };
        const int before = *field;
        SessionError error;

        *field = value;
        ck_assert_int_eq(session_check(f.service, config, &options, &error, f.now),
                         SESSION_E_CONFIG);
        ck_assert_msg(strstr(error.message, words), "\"%s\": \"%s\"", words, error.message);
        *field = before;
}

START_TEST(test_numbers_of_newer_configs_are_refused_where_they_would_matter) {
        ConfigError error;
        Config *config;

        fixture_init(&f);
        ck_assert_int_eq(config_new_from_text(&config,
                                              TRIGGER("START_TRACING", "") "priority_boost { }",
                                              &error),
                         0);
        const struct {
                void *field;
                int value;
                const char *words;
        } cases[] = {
                { &config->pb->trigger_config->trigger_mode, 3, "trigger_mode 3 is unknown" },
                { &config->pb->trigger_config->trigger_mode, 5, "trigger_mode 5 is unknown" },
                { &config->pb->trigger_config->trigger_mode, -1, "trigger_mode -1 is unknown" },
                { &config->pb->lockdown_mode, 3, "lockdown_mode 3 is unknown" },
                { &config->pb->lockdown_mode, -1, "lockdown_mode -1 is unknown" },
                { &config->pb->write_flush_mode, 4, "write_flush_mode 4 is unknown" },
                { &config->pb->fflush_post_write, 3, "fflush_post_write 3 is unknown" },
                { &config->pb->priority_boost->policy, 3, "priority_boost.policy 3 is unknown" },
                { &config->pb->priority_boost->policy, -1, "priority_boost.policy -1" },
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
                assert_number_refused(config, cases[i].field, cases[i].value, cases[i].words);
        config_free(config);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_too_many_buffers_and_sources_are_refused) {
        const SessionOptions options = { .owner = { .uid = 1000 } };
        static char config[64 << 10];
        char *at;

        fixture_init(&f);
        at = config;
        for (unsigned i = 0; i <= SESSION_BUFFERS_MAX; i++)
                at = stpcpy(at, PLAIN);
        stpcpy(at, ONE);
        assert_refused(&options,
                       config,
                       SESSION_E_LIMIT,
                       (const char *[3]){ "number of buffers is 129", "SESSION_BUFFERS_MAX" });
        at = stpcpy(config, PLAIN);
        for (unsigned i = 0; i <= SESSION_SOURCES_MAX; i++)
                at = stpcpy(at, ONE);
        assert_refused(&options,
                       config,
                       SESSION_E_LIMIT,
                       (const char *[3]){ "data_sources is 257", "SESSION_SOURCES_MAX" });
        at = stpcpy(config, PLAIN "data_sources { config { name: \"track_event\" } ");
        for (unsigned i = 0; i <= SESSION_FILTERS_MAX; i++)
                at = stpcpy(at, "producer_name_filter: \"a\" ");
        stpcpy(at, "}");
        assert_refused(&options,
                       config,
                       SESSION_E_LIMIT,
                       (const char *[3]){ "65", "SESSION_FILTERS_MAX" });
        at = stpcpy(config, PLAIN);
        for (unsigned i = 0; i <= SESSION_REGEXES_MAX; i++)
                at = stpcpy(at,
                            "data_sources { config { name: \"track_event\" } "
                            "producer_name_regex_filter: \"a\" } ");
        assert_refused(&options,
                       config,
                       SESSION_E_LIMIT,
                       (const char *[3]){ "65", "SESSION_REGEXES_MAX" });
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_unknown_name_that_resembles_nothing_may_come_yet) {
        FakeConsumer *consumer;
        InstanceInfo info;

        fixture_init(&f);
        consumer = fixture_start_session(&f, 1000, CONFIG_ONE("org.gnome.Shell.frames"));
        session_instance(consumer->session, 0, &info);
        ck_assert_int_eq(info.state, INSTANCE_MISSING);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_unknown_fill_policy_is_refused) {
        /* buffers { size_kb: 256 fill_policy: 3 } data_sources { config { name: "track_event" } } */
        static const uint8_t bytes[] = { 0x0a, 5,    0x08, 0x80, 2,   0x20, 3,   0x12,
                                         15,   0x0a, 13,   0x0a, 11,  't',  'r', 'a',
                                         'c',  'k',  '_',  'e',  'v', 'e',  'n', 't' };
        const SessionOptions options = { .owner = { .uid = 1000 } };
        ConfigError config_error;
        SessionError error;
        Config *config;

        fixture_init(&f);
        ck_assert_int_eq(config_new_from_bytes(&config, bytes, sizeof(bytes), &config_error), 0);
        ck_assert_int_eq(session_check(f.service, config, &options, &error, f.now),
                         SESSION_E_CONFIG);
        ck_assert_ptr_nonnull(strstr(error.message, "buffers[0].fill_policy 3"));
        config_free(config);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_names_are_unique_among_running_sessions) {
        const SessionOptions options = { .owner = { .uid = 1000 } };
        FakeConsumer *first, *second;

        fixture_init(&f);
        first = fixture_start_session(
                &f, 1000, PLAIN ONE "unique_session_name: \"flight-recorder\"");
        ck_assert_str_eq(session_name(first->session), "flight-recorder");
        assert_refused(&options,
                       PLAIN ONE "unique_session_name: \"flight-recorder\"",
                       SESSION_E_NAME_IN_USE,
                       (const char *[3]){ "flight-recorder" });
        ck_assert_ptr_eq(session_find_own(f.service, 1000, "flight-recorder"), first->session);
        ck_assert_ptr_null(session_find_own(f.service, 1000, ""));
        fixture_stop_session(&f, first);
        second = fixture_start_session(
                &f, 1000, PLAIN ONE "unique_session_name: \"flight-recorder\"");
        ck_assert_ptr_eq(session_find_own(f.service, 1000, "flight-recorder"), second->session);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_sessions_are_limited_by_user) {
        const SessionOptions options = { .owner = { .uid = 1000 } };
        FakeConsumer *last = NULL;

        fixture_init(&f);
        for (unsigned i = 0; i < SERVICE_SESSIONS_PER_USER_MAX; i++)
                last = fixture_start_session(&f, 1000, PLAIN ONE);
        assert_refused(&options,
                       PLAIN ONE,
                       SESSION_E_LIMIT,
                       (const char *[3]){ "user 1000", "SERVICE_SESSIONS_PER_USER_MAX" });
        fixture_start_session(&f, 1001, PLAIN ONE);
        fixture_free_session(last);
        fixture_start_session(&f, 1000, PLAIN ONE);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_small_buffers_and_short_periods_are_made_what_is_possible) {
        FakeProducer *app;
        FakeConsumer *consumer;

        fixture_init(&f);
        app = fixture_connect_producer(&f, 1000, "app", "track_event");
        consumer =
                fixture_start_session(&f, 1000, "buffers { size_kb: 1 } " ONE "flush_period_ms: 1");
        ck_assert_uint_ge(session_buffer_stats(consumer->session, 0)->buffer_bytes,
                          TRACE_BUFFER_BYTES_MIN);
        fixture_advance(&f, 1 * S);
        ck_assert_uint_eq(app->n_flushes, 1 * S / SESSION_PERIOD_MIN_NS);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_checking_changes_nothing) {
        const SessionOptions options = { .owner = { .uid = 1000 } };
        SessionError error;
        ConfigError config_error;
        FakeProducer *app;
        Config *config;

        fixture_init(&f);
        app = fixture_connect_producer(&f, 1000, "app", "track_event");
        ck_assert_int_eq(config_new_from_text(&config, PLAIN ONE, &config_error), 0);
        ck_assert_int_eq(session_check(f.service, config, &options, &error, f.now), 0);
        ck_assert_uint_eq(service_n_sessions(f.service), 0);
        ck_assert_uint_eq(app->n_instances, 0);
        config_free(config);
        fixture_deinit(&f);
}
END_TEST

/* KNOWN_SOURCES_MAX: a name beyond is still known, but suggested to nobody. */
START_TEST(test_suggestions_are_looked_for_among_some_names_only) {
        const SessionOptions options = { .owner = { .uid = 1000 } };
        FakeProducer *producer = NULL;
        FakeConsumer *consumer;
        char name[64];

        fixture_init(&f);
        for (unsigned i = 0; i < 1100; i++) {
                snprintf(name, sizeof(name), "com.example.number%u", i);
                if (i % PRODUCER_SOURCES_MAX == 0)
                        producer = fixture_connect_producer(&f, 1000, "many", name);
                else
                        fixture_add_source(producer, name, &(SourceOptions){});
        }
        fixture_connect_producer(&f, 1000, "last", "org.nobody.knows");
        assert_refused(&options,
                       PLAIN "data_sources { config { name: \"com.example.numbr7\" } }",
                       SESSION_E_NO_SOURCE,
                       (const char *[3]){ "did you mean \"com.example.number" });
        ck_assert_int_eq(
                fixture_try_session(&f,
                                    &consumer,
                                    &options,
                                    PLAIN "data_sources { config { name: \"org.nobody.knws\" } }"),
                0);
        ck_assert_int_eq(
                fixture_try_session(&f,
                                    &consumer,
                                    &options,
                                    PLAIN "data_sources { config { name: \"org.nobody.knows\" } }"),
                0);
        fixture_deinit(&f);
}
END_TEST

TEST_MAIN("session-check",
          test_each_refusal_names_what_is_wrong,
          test_sources_of_other_users_are_no_suggestions,
          test_suggestions_are_looked_for_a_few_times,
          test_each_refusal_of_triggers_names_what_is_wrong,
          test_too_many_and_too_long_triggers_are_refused,
          test_each_guardrail_names_what_is_wrong,
          test_what_is_within_the_limits_is_accepted,
          test_numbers_of_newer_configs_are_refused_where_they_would_matter,
          test_too_many_buffers_and_sources_are_refused,
          test_unknown_name_that_resembles_nothing_may_come_yet,
          test_unknown_fill_policy_is_refused,
          test_names_are_unique_among_running_sessions,
          test_sessions_are_limited_by_user,
          test_small_buffers_and_short_periods_are_made_what_is_possible,
          test_checking_changes_nothing,
          test_suggestions_are_looked_for_among_some_names_only)
