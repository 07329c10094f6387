/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Policy: who may do what. */

#include "fixture.h"

static const ServiceInfo system_instance = { .uid = 990, .probes_uid = 991 };
static const ServiceInfo no_probes = { .uid = 1000, .probes_uid = (uid_t)-1 };
static const ServiceInfo private_instance = { .uid = 1000,
                                              .probes_uid = (uid_t)-1,
                                              .is_private = true };

#define KERNEL CONFIG_ONE("linux.ftrace")
#define APP    CONFIG_ONE("track_event")
#define FTRACE(text)                                                            \
        "buffers { size_kb: 64 } data_sources { config { name: 'linux.ftrace' " \
        "ftrace_config { " text " } } } "
#define KPROBE FTRACE("kprobe_events { probe: 'vfs_read' }")
#define UPROBE FTRACE("uprobe_events { path: '/bin/sh' usdt: 'a:b' }")
#define FILTER FTRACE("event_filters { event: 'a/b' filter: 'pid == 1' }")
#define FOLLOWS_POINTERS \
        FTRACE("event_filters { event: 'a/b' filter: 'filename.ustring ~ \\'x*\\'' }")
#define TRIGGERS(mode) "trigger_config { trigger_mode: " mode " trigger_timeout_ms: 1000 } "

static unsigned needs(const ServiceInfo *info,
                      uid_t uid,
                      const char *text,
                      PolicyScope wanted,
                      bool detached,
                      SessionScope *ret_scope) {
        const Identity owner = { .uid = uid };
        ConfigError error;
        Config *config;
        unsigned result;

        ck_assert_int_eq(config_new_from_text(&config, text, &error), 0);
        result = policy_session_needs(info, &owner, config, wanted, detached, ret_scope);
        config_free(config);
        return result;
}

START_TEST(test_reserved_are_names_under_linux_and_desktrace) {
        ck_assert(policy_source_is_reserved(&system_instance, "linux.ftrace"));
        ck_assert(policy_source_is_reserved(&system_instance, "desktrace.meta"));
        ck_assert(!policy_source_is_reserved(&system_instance, "linux"));
        ck_assert(!policy_source_is_reserved(&system_instance, "linuxulator.x"));
        ck_assert(!policy_source_is_reserved(&system_instance, "org.linux.ftrace"));
        ck_assert(!policy_source_is_reserved(&system_instance, "track_event"));
}
END_TEST

START_TEST(test_what_guarded_producers_have_is_reserved_in_their_instance) {
        static const char *const names[] = { "org.example.machine", NULL };
        const ServiceInfo guarding = { .uid = 990, .probes_uid = 991, .guarded = names };
        const Identity user = { .uid = 1000 }, probes = { .uid = 991 };
        SessionScope scope;

        ck_assert(policy_source_is_reserved(&guarding, "org.example.machine"));
        ck_assert(!policy_source_is_reserved(&system_instance, "org.example.machine"));
        ck_assert(!policy_may_register(&guarding, &user, "org.example.machine"));
        ck_assert(policy_may_register(&guarding, &probes, "org.example.machine"));
        ck_assert(policy_may_register(&no_probes, &user, "org.example.machine"));
        ck_assert_uint_eq(needs(&guarding,
                                1000,
                                CONFIG_ONE("org.example.machine"),
                                POLICY_SCOPE_DEFAULT,
                                false,
                                &scope),
                          POLICY_NEEDS_TRACE_SYSTEM | POLICY_NEEDS_GUARDED_SYSTEM);
        ck_assert_int_eq(scope, SESSION_SCOPE_SYSTEM);
        /* Guarded producers ask for themselves, also about root. */
        ck_assert_uint_eq(needs(&guarding,
                                0,
                                CONFIG_ONE("org.example.machine"),
                                POLICY_SCOPE_DEFAULT,
                                false,
                                &scope),
                          POLICY_NEEDS_GUARDED_SYSTEM);
}
END_TEST

START_TEST(test_only_root_and_the_owner_start_producers_unasked) {
        const Identity root = { .uid = 0 }, user = { .uid = 1000 }, other = { .uid = 1001 };

        ck_assert(policy_may_start_producers(&system_instance, &root));
        ck_assert(!policy_may_start_producers(&system_instance, &user));
        ck_assert(policy_may_start_producers(&no_probes, &user)); /* his own instance */
        ck_assert(!policy_may_start_producers(&no_probes, &other));
        ck_assert(policy_may_start_producers(&private_instance, &other));
}
END_TEST

START_TEST(test_only_root_and_probes_register_reserved_names) {
        static const struct {
                const ServiceInfo *info;
                uid_t uid;
                bool may;
        } cases[] = {
                { &system_instance, 0, true },     { &system_instance, 991, true },
                { &system_instance, 990, false },  { &system_instance, 1000, false },
                { &no_probes, 1000, false },       { &no_probes, (uid_t)-1, false },
                { &private_instance, 1000, true },
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                const Identity identity = { .uid = cases[i].uid };

                ck_assert(policy_may_register(cases[i].info, &identity, "linux.ftrace") ==
                          cases[i].may);
                ck_assert(policy_may_register(cases[i].info, &identity, "track_event"));
        }
}
END_TEST

START_TEST(test_what_a_session_needs) {
        static const struct {
                const ServiceInfo *info;
                uid_t uid;
                const char *config;
                PolicyScope wanted;
                unsigned needs;
                SessionScope scope;
        } cases[] = {
                { &system_instance, 1000, APP, POLICY_SCOPE_DEFAULT, 0, SESSION_SCOPE_OWN },
                { &system_instance, 1000, APP, POLICY_SCOPE_OWN, 0, SESSION_SCOPE_OWN },
                { &system_instance,
                  1000,
                  APP,
                  POLICY_SCOPE_SYSTEM,
                  POLICY_NEEDS_TRACE_SYSTEM,
                  SESSION_SCOPE_SYSTEM },
                { &system_instance,
                  1000,
                  KERNEL,
                  POLICY_SCOPE_DEFAULT,
                  POLICY_NEEDS_TRACE_SYSTEM,
                  SESSION_SCOPE_SYSTEM },
                { &system_instance,
                  1000,
                  KERNEL,
                  POLICY_SCOPE_OWN,
                  POLICY_NEEDS_TRACE_SYSTEM,
                  SESSION_SCOPE_OWN },
                { &system_instance, 0, KERNEL, POLICY_SCOPE_DEFAULT, 0, SESSION_SCOPE_SYSTEM },
                { &system_instance, 0, APP, POLICY_SCOPE_DEFAULT, 0, SESSION_SCOPE_SYSTEM },
                { &system_instance, 0, APP, POLICY_SCOPE_OWN, 0, SESSION_SCOPE_OWN },
                { &private_instance, 1000, KERNEL, POLICY_SCOPE_DEFAULT, 0, SESSION_SCOPE_SYSTEM },
                { &system_instance,
                  1000,
                  APP "exclusive_prio: 1",
                  POLICY_SCOPE_OWN,
                  POLICY_NEEDS_MANAGE,
                  SESSION_SCOPE_OWN },
                { &system_instance,
                  0,
                  APP "exclusive_prio: 1",
                  POLICY_SCOPE_OWN,
                  0,
                  SESSION_SCOPE_OWN },
                { &no_probes,
                  1000,
                  APP "exclusive_prio: 1",
                  POLICY_SCOPE_OWN,
                  0,
                  SESSION_SCOPE_OWN },
                { &private_instance,
                  1000,
                  APP "exclusive_prio: 1",
                  POLICY_SCOPE_OWN,
                  0,
                  SESSION_SCOPE_OWN },
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                SessionScope scope;

                ck_assert_uint_eq(needs(cases[i].info,
                                        cases[i].uid,
                                        cases[i].config,
                                        cases[i].wanted,
                                        false,
                                        &scope),
                                  cases[i].needs);
                ck_assert_int_eq(scope, cases[i].scope);
        }
}
END_TEST

START_TEST(test_a_process_in_a_sandbox_may_only_be_recorded) {
        static const Identity root = { .uid = 0 }, user = { .uid = 1000 };

        ck_assert(policy_may_consume(&system_instance, &user, CONFINEMENT_NONE));
        ck_assert(!policy_may_consume(&system_instance, &user, CONFINEMENT_FLATPAK));
        ck_assert(!policy_may_consume(&system_instance, &user, CONFINEMENT_SNAP));
        ck_assert(!policy_may_consume(&system_instance, &user, CONFINEMENT_UNKNOWN));
        ck_assert(!policy_may_consume(&system_instance, &root, CONFINEMENT_SNAP));
        ck_assert(policy_may_consume(&system_instance, &root, CONFINEMENT_UNKNOWN));
        ck_assert(!policy_may_consume(&no_probes, &user, CONFINEMENT_FLATPAK));
        ck_assert(policy_may_consume(&private_instance, &user, CONFINEMENT_FLATPAK));
}
END_TEST

START_TEST(test_probes_of_ones_own_need_a_right_of_their_own) {
        static const struct {
                const char *config;
                unsigned needs;
        } cases[] = {
                { KPROBE, POLICY_NEEDS_TRACE_SYSTEM | POLICY_NEEDS_TRACE_DYNAMIC },
                { APP UPROBE, POLICY_NEEDS_TRACE_SYSTEM | POLICY_NEEDS_TRACE_DYNAMIC },
                { FOLLOWS_POINTERS, POLICY_NEEDS_TRACE_SYSTEM | POLICY_NEEDS_TRACE_DYNAMIC },
                { FILTER, POLICY_NEEDS_TRACE_SYSTEM },
        };
        SessionScope scope;

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
                for (PolicyScope wanted = POLICY_SCOPE_DEFAULT; wanted <= POLICY_SCOPE_SYSTEM;
                     wanted++)
                        ck_assert_uint_eq(needs(&system_instance,
                                                1000,
                                                cases[i].config,
                                                wanted,
                                                false,
                                                &scope),
                                          cases[i].needs);
        ck_assert_uint_eq(
                needs(&private_instance, 1000, KPROBE, POLICY_SCOPE_DEFAULT, false, &scope), 0);
}
END_TEST

START_TEST(test_who_may_lock_down_and_which_producers_pass) {
        ck_assert(policy_may_lock_down(&system_instance, &(Identity){ .uid = 0 }));
        ck_assert(!policy_may_lock_down(&system_instance, &(Identity){ .uid = 1000 }));
        ck_assert(!policy_may_lock_down(&system_instance, &(Identity){ .uid = 990 }));
        ck_assert(policy_may_lock_down(&private_instance, &(Identity){ .uid = 1000 }));
        ck_assert(policy_passes_lockdown(&system_instance, &(Identity){ .uid = 0 }));
        ck_assert(policy_passes_lockdown(&system_instance, &(Identity){ .uid = 990 }));
        ck_assert(policy_passes_lockdown(&system_instance, &(Identity){ .uid = 991 }));
        ck_assert(!policy_passes_lockdown(&system_instance, &(Identity){ .uid = 1000 }));
        ck_assert(policy_passes_lockdown(&no_probes, &(Identity){ .uid = 1000 }));
        ck_assert(!policy_passes_lockdown(&no_probes, &(Identity){ .uid = (uid_t)-1 }));
}
END_TEST

START_TEST(test_leaving_a_session_alone_needs_an_end_or_a_right) {
        SessionScope scope;

        ck_assert_uint_eq(needs(&system_instance, 1000, APP, POLICY_SCOPE_DEFAULT, true, &scope),
                          POLICY_NEEDS_DETACH);
        ck_assert_uint_eq(needs(&system_instance,
                                1000,
                                APP "duration_ms: 1000",
                                POLICY_SCOPE_DEFAULT,
                                true,
                                &scope),
                          0);
        ck_assert_uint_eq(needs(&system_instance,
                                1000,
                                APP "duration_ms: 604800001",
                                POLICY_SCOPE_DEFAULT,
                                true,
                                &scope),
                          POLICY_NEEDS_DETACH);
        ck_assert_uint_eq(needs(&system_instance, 1000, KERNEL, POLICY_SCOPE_DEFAULT, true, &scope),
                          POLICY_NEEDS_DETACH | POLICY_NEEDS_TRACE_SYSTEM);
        ck_assert_uint_eq(needs(&system_instance, 0, APP, POLICY_SCOPE_DEFAULT, true, &scope), 0);
}
END_TEST

START_TEST(test_what_waits_for_ever_needs_a_right_to_be_left_alone) {
        static const struct {
                const char *config;
                unsigned needs;
        } cases[] = {
                { APP "duration_ms: 1000", 0 },
                { APP "duration_ms: 1000 deferred_start: true", POLICY_NEEDS_DETACH },
                { APP TRIGGERS("START_TRACING"), 0 },
                { APP TRIGGERS("STOP_TRACING"), 0 },
                { APP TRIGGERS("CLONE_SNAPSHOT"), 0 },
                { APP TRIGGERS("START_TRACING") "deferred_start: true", 0 },
                { APP TRIGGERS("STOP_TRACING") "deferred_start: true", POLICY_NEEDS_DETACH },
                { APP "trigger_config { trigger_mode: STOP_TRACING }", POLICY_NEEDS_DETACH },
        };
        SessionScope scope;

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
                ck_assert_msg(needs(&system_instance,
                                    1000,
                                    cases[i].config,
                                    POLICY_SCOPE_DEFAULT,
                                    true,
                                    &scope) == cases[i].needs,
                              "%s",
                              cases[i].config);
}
END_TEST

static unsigned detach_needs(uid_t uid, const FakeConsumer *consumer) {
        return policy_detach_needs(&system_instance, &(Identity){ .uid = uid }, consumer->session);
}

START_TEST(test_a_session_that_has_begun_may_be_left_alone_if_it_ends) {
        const SessionOptions options = { .owner = { .uid = 1000 } };
        FakeConsumer *waiting, *endless;
        Fixture f;

        fixture_init(&f);
        ck_assert_int_eq(
                fixture_try_session(
                        &f, &waiting, &options, APP "duration_ms: 1000 deferred_start: true"),
                0);
        ck_assert_uint_eq(detach_needs(1000, waiting), POLICY_NEEDS_DETACH);
        ck_assert_uint_eq(detach_needs(0, waiting), 0);
        ck_assert_int_eq(session_start(waiting->session, f.now), 0);
        ck_assert_uint_eq(detach_needs(1000, waiting), 0);

        endless = fixture_start_session(&f, 1000, APP);
        ck_assert_uint_eq(detach_needs(1000, endless), POLICY_NEEDS_DETACH);
        fixture_stop_session(&f, endless);
        ck_assert_uint_eq(detach_needs(1000, endless), 0);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_sessions_belong_to_their_owner_and_root) {
        Fixture f;
        FakeConsumer *consumer;

        fixture_init(&f);
        consumer = fixture_start_session(&f, 1000, APP);
        ck_assert(policy_owns_session(&f.info, &(Identity){ .uid = 1000 }, consumer->session));
        ck_assert(policy_owns_session(&f.info, &(Identity){ .uid = 0 }, consumer->session));
        ck_assert(!policy_owns_session(&f.info, &(Identity){ .uid = 1001 }, consumer->session));
        ck_assert(!policy_owns_session(&f.info, &(Identity){ .uid = 991 }, consumer->session));
        ck_assert(policy_owns_session(
                &private_instance, &(Identity){ .uid = 1001 }, consumer->session));
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_own_scope_records_own_programs_only) {
        const SessionOptions own = { .owner = { .uid = 1000 }, .scope = SESSION_SCOPE_OWN };
        const SessionOptions all = { .owner = { .uid = 1000 }, .scope = SESSION_SCOPE_SYSTEM };

        ck_assert(policy_may_record(&system_instance, &own, &(Identity){ .uid = 1000 }));
        ck_assert(!policy_may_record(&system_instance, &own, &(Identity){ .uid = 1001 }));
        ck_assert(!policy_may_record(&system_instance, &own, &(Identity){ .uid = 0 }));
        ck_assert(!policy_may_record(&system_instance, &own, &(Identity){ .uid = 991 }));
        ck_assert(policy_may_record(&system_instance, &all, &(Identity){ .uid = 1001 }));
}
END_TEST

#define STACKS "cpu.stacks"

START_TEST(test_call_stacks_of_ones_own_programs_need_less) {
        static const char *const names[] = { "linux.ftrace", STACKS, NULL };
        const ServiceInfo guarding = { .uid = 990, .probes_uid = 991, .guarded = names };
        const SessionOptions own = { .owner = { .uid = 1000 }, .scope = SESSION_SCOPE_OWN };
        const Identity user = { .uid = 1000 }, probes = { .uid = 991 };
        SessionScope scope;

        ck_assert_uint_eq(
                needs(&guarding, 1000, CONFIG_ONE(STACKS), POLICY_SCOPE_DEFAULT, false, &scope),
                POLICY_NEEDS_GUARDED_OWN);
        ck_assert_int_eq(scope, SESSION_SCOPE_OWN);
        ck_assert_uint_eq(
                needs(&guarding, 1000, CONFIG_ONE(STACKS), POLICY_SCOPE_SYSTEM, false, &scope),
                POLICY_NEEDS_TRACE_SYSTEM | POLICY_NEEDS_GUARDED_OWN);
        ck_assert_uint_eq(needs(&guarding,
                                1000,
                                "buffers { size_kb: 64 } data_sources { config { name: '" STACKS
                                "' } } data_sources { config { name: 'linux.ftrace' } }",
                                POLICY_SCOPE_DEFAULT,
                                false,
                                &scope),
                          POLICY_NEEDS_TRACE_SYSTEM | POLICY_NEEDS_GUARDED_SYSTEM);
        /* Nobody else may say so, and of nothing else it is said. */
        ck_assert(!policy_may_register(&guarding, &user, STACKS));
        ck_assert(policy_may_record_source(&guarding, &own, &probes, STACKS));
        ck_assert(!policy_may_record_source(&guarding, &own, &probes, "linux.ftrace"));
        ck_assert(!policy_may_record_source(&guarding, &own, &(Identity){ .uid = 1001 }, STACKS));
        /* Where nobody guards it, it is a name like others. */
        ck_assert(policy_may_register(&no_probes, &user, STACKS));
        ck_assert(!policy_may_record_source(&system_instance, &own, &probes, STACKS));
}
END_TEST

TEST_MAIN("policy",
          test_reserved_are_names_under_linux_and_desktrace,
          test_what_guarded_producers_have_is_reserved_in_their_instance,
          test_only_root_and_the_owner_start_producers_unasked,
          test_only_root_and_probes_register_reserved_names,
          test_what_a_session_needs,
          test_a_process_in_a_sandbox_may_only_be_recorded,
          test_probes_of_ones_own_need_a_right_of_their_own,
          test_who_may_lock_down_and_which_producers_pass,
          test_leaving_a_session_alone_needs_an_end_or_a_right,
          test_what_waits_for_ever_needs_a_right_to_be_left_alone,
          test_a_session_that_has_begun_may_be_left_alone_if_it_ends,
          test_sessions_belong_to_their_owner_and_root,
          test_own_scope_records_own_programs_only,
          test_call_stacks_of_ones_own_programs_need_less)
