/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Who may do what. */

#include "fixture.h"

static const ServiceInfo system_instance = { .uid = 990, .probes_uid = 991 };
static const ServiceInfo no_probes = { .uid = 1000, .probes_uid = (uid_t)-1 };
static const ServiceInfo private_instance = { .uid = 1000,
                                              .probes_uid = (uid_t)-1,
                                              .is_private = true };

#define KERNEL CONFIG_ONE("linux.ftrace")
#define APP    CONFIG_ONE("track_event")

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
        ck_assert(policy_source_is_reserved("linux.ftrace"));
        ck_assert(policy_source_is_reserved("desktrace.meta"));
        ck_assert(!policy_source_is_reserved("linux"));
        ck_assert(!policy_source_is_reserved("linuxulator.x"));
        ck_assert(!policy_source_is_reserved("org.linux.ftrace"));
        ck_assert(!policy_source_is_reserved("track_event"));
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

START_TEST(test_who_may_lock_down_and_who_passes) {
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
        /* One that waits to be started may wait for ever; one that waits for triggers does not. */
        ck_assert_uint_eq(needs(&system_instance,
                                1000,
                                APP "duration_ms: 1000 deferred_start: true",
                                POLICY_SCOPE_DEFAULT,
                                true,
                                &scope),
                          POLICY_NEEDS_DETACH);
        ck_assert_uint_eq(
                needs(&system_instance,
                      1000,
                      APP "trigger_config { trigger_mode: STOP_TRACING trigger_timeout_ms: 1000 }",
                      POLICY_SCOPE_DEFAULT,
                      true,
                      &scope),
                0);
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

TEST_MAIN("policy",
          test_reserved_are_names_under_linux_and_desktrace,
          test_only_root_and_probes_register_reserved_names,
          test_what_a_session_needs,
          test_who_may_lock_down_and_who_passes,
          test_leaving_a_session_alone_needs_an_end_or_a_right,
          test_sessions_belong_to_their_owner_and_root,
          test_own_scope_records_own_programs_only)
