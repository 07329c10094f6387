/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "core/model/quota.h"
#include "core/model/sequence-ids.h"
#include "core/model/service.h"
#include "core/service.h"
#include "fixture.h"
#include "test.h"

#define RAM (UINT64_C(16) << 30)

START_TEST(test_charges_are_limited_and_given_back) {
        Quota quota;
        Charge first = {}, second = {};
        uint64_t max;

        quota_init(&quota, RAM);
        max = quota_user_max(&quota, QUOTA_BUFFER_BYTES);
        ck_assert_int_eq(quota_charge(&quota, &first, 1000, QUOTA_BUFFER_BYTES, max - 10), 0);
        ck_assert_int_eq(quota_charge(&quota, &second, 1000, QUOTA_BUFFER_BYTES, 11),
                         QUOTA_E_EXCEEDED);
        ck_assert_ptr_null(second.owner);
        ck_assert_int_eq(quota_charge(&quota, &second, 1000, QUOTA_BUFFER_BYTES, 10), 0);
        charge_deinit(&first);
        ck_assert(quota_has_room(&quota, 1000, QUOTA_BUFFER_BYTES, max - 10));
        ck_assert(!quota_has_room(&quota, 1000, QUOTA_BUFFER_BYTES, max - 9));
        charge_deinit(&second);
        charge_deinit(&second);
        ck_assert(list_is_empty(&quota.owners));
}
END_TEST

START_TEST(test_users_and_resources_do_not_share_limits) {
        Quota quota;
        Charge mine = {}, theirs = {}, other = {};

        quota_init(&quota, RAM);
        ck_assert_int_eq(
                quota_charge(&quota, &mine, 1000, QUOTA_SESSIONS, SERVICE_SESSIONS_PER_USER_MAX),
                0);
        ck_assert(!quota_has_room(&quota, 1000, QUOTA_SESSIONS, 1));
        ck_assert_int_eq(quota_charge(&quota, &theirs, 1001, QUOTA_SESSIONS, 1), 0);
        ck_assert_int_eq(quota_charge(&quota, &other, 1000, QUOTA_PRODUCERS, 1), 0);
        charge_deinit(&mine);
        charge_deinit(&theirs);
        charge_deinit(&other);
        ck_assert(list_is_empty(&quota.owners));
}
END_TEST

START_TEST(test_enormous_charges_do_not_wrap_around) {
        Quota quota;
        Charge charge = {}, small = {};

        quota_init(&quota, RAM);
        ck_assert_int_eq(quota_charge(&quota, &small, 1000, QUOTA_MEMORY_BYTES, 4096), 0);
        ck_assert_int_eq(quota_charge(&quota, &charge, 1000, QUOTA_MEMORY_BYTES, UINT64_MAX),
                         QUOTA_E_EXCEEDED);
        ck_assert_int_eq(quota_charge(&quota, &charge, 1000, QUOTA_MEMORY_BYTES, UINT64_MAX - 4095),
                         QUOTA_E_EXCEEDED);
        charge_deinit(&small);
}
END_TEST

START_TEST(test_every_limit_has_a_name_and_a_remedy) {
        char why[QUOTA_WHY_BYTES];
        Quota quota;

        quota_init(&quota, RAM);
        for (QuotaSlot slot = 0; slot < _QUOTA_SLOT_N; slot++) {
                ck_assert_uint_gt(quota_user_max(&quota, slot), 0);
                quota_explain(&quota, why, 1000, slot, UINT64_MAX);
                ck_assert_ptr_nonnull(strstr(why, "_PER_USER_MAX"));
                ck_assert_ptr_nonnull(strstr(strstr(why, "_PER_USER_MAX"), ": "));
                quota.used[slot] = quota_total_max(&quota, slot);
                quota_explain(&quota, why, 1000, slot, 1);
                ck_assert_ptr_nonnull(strstr(why, "_MAX, "));
                ck_assert_uint_lt(strlen(why), sizeof(why) - 1);
        }
}
END_TEST

/* What is kept is worth something, on machines of every size. */
START_TEST(test_shares_fit_into_each_other) {
        for (uint64_t ram = UINT64_C(1) << 28; ram <= UINT64_C(1) << 42; ram *= 2) {
                uint64_t memory = 0;
                Quota quota;

                quota_init(&quota, ram);
                for (QuotaSlot slot = 0; slot < _QUOTA_SLOT_N; slot++) {
                        uint64_t total = quota_total_max(&quota, slot);

                        ck_assert_uint_le(2 * quota_user_max(&quota, slot), total);
                        ck_assert_uint_le(quota_first(&quota, slot), quota_user_max(&quota, slot));
                        ck_assert_uint_ge(total / 4 / quota_first(&quota, slot), 4);
                }
                for (QuotaSlot slot = QUOTA_BUFFER_BYTES; slot <= QUOTA_CALL_BYTES; slot++)
                        memory += quota_total_max(&quota, slot);
                if (ram >= UINT64_C(4) << 30)
                        ck_assert_uint_le(memory, ram / 100 * 80);
        }
}
END_TEST

START_TEST(test_bytes_follow_the_machines_memory) {
        Quota small, large;

        quota_init(&small, UINT64_C(1) << 28);
        quota_init(&large, UINT64_C(64) << 30);
        ck_assert_uint_eq(quota_user_max(&small, QUOTA_BUFFER_BYTES),
                          SERVICE_BUFFER_BYTES_PER_USER_MIN);
        ck_assert_uint_eq(quota_user_max(&large, QUOTA_BUFFER_BYTES), UINT64_C(16) << 30);
        ck_assert_uint_eq(quota_total_max(&large, QUOTA_BUFFER_BYTES), UINT64_C(32) << 30);
        ck_assert_uint_eq(quota_user_max(&small, QUOTA_SESSIONS),
                          quota_user_max(&large, QUOTA_SESSIONS));
}
END_TEST

START_TEST(test_charge_grows_and_shrinks) {
        Quota quota;
        Charge charge = {};
        uint64_t max;

        quota_init(&quota, RAM);
        max = quota_user_max(&quota, QUOTA_MESSAGE_BYTES);
        ck_assert_int_eq(quota_charge(&quota, &charge, 1000, QUOTA_MESSAGE_BYTES, 0), 0);
        ck_assert_int_eq(charge_grow(&charge, max), 0);
        ck_assert_int_eq(charge_grow(&charge, 1), QUOTA_E_EXCEEDED);
        charge_shrink(&charge, 10);
        ck_assert_int_eq(charge_grow(&charge, 10), 0);
        ck_assert_int_eq(charge_grow(&charge, UINT64_MAX), QUOTA_E_EXCEEDED);
        charge_deinit(&charge);
        ck_assert_uint_eq(quota.used[QUOTA_MESSAGE_BYTES], 0);
        ck_assert(list_is_empty(&quota.owners));
}
END_TEST

static Fixture f;

static uint64_t n_buffer_bytes(void) {
        return f.service->quota.used[QUOTA_BUFFER_BYTES];
}

START_TEST(test_what_is_kept_of_writers_is_charged_and_given_back) {
        FakeConsumer *consumer, *clone;
        SmbWriter *writers[400];
        FakeProducer *app;
        uint64_t before;
        Bytes trace;

        fixture_init(&f);
        app = fixture_connect_producer(&f, 1000, "app", "track_event");
        consumer = fixture_start_session(&f, 1000, CONFIG_ONE("track_event"));
        before = n_buffer_bytes();
        for (size_t i = 0; i < ARRAY_SIZE(writers); i++)
                writers[i] = fake_writer_new(app, fake_instance(app, "track_event"));
        for (size_t i = 0; i < ARRAY_SIZE(writers); i++) {
                fake_write(writers[i], "a");
                fake_ring(app);
                fixture_advance(&f, PRODUCER_DRAIN_INTERVAL_NS);
        }
        ck_assert_uint_ge(n_buffer_bytes(), before + 256 * TRACE_BUFFER_SEQUENCE_BYTES);
        before = n_buffer_bytes();
        clone = fixture_clone(&f, consumer);
        ck_assert_uint_ge(n_buffer_bytes(), 2 * before);
        fixture_free_session(clone);
        before = n_buffer_bytes();
        fixture_stop_session(&f, consumer);
        trace = fixture_read(&f, consumer);
        ck_assert_uint_ge(n_buffer_bytes(), before + ARRAY_SIZE(writers) * sizeof(SequenceIdsSlot));
        bytes_deinit(&trace);
        fixture_free_session(consumer);
        ck_assert_uint_eq(n_buffer_bytes(), 0);
        for (size_t i = 0; i < ARRAY_SIZE(writers); i++)
                free(writers[i]);
        fixture_deinit(&f);
}
END_TEST

/* Users who take all that they may: what of the limit for all is left for root, and for those with little. */
static void fill(Quota *quota, QuotaSlot slot, const char *name) {
        enum { STEPS = 128 };
        static Charge taken[STEPS];
        const uint64_t max = quota_total_max(quota, slot), step = quota_user_max(quota, slot) / 2;
        char why[QUOTA_WHY_BYTES];
        Charge root = {}, first = {};
        size_t n = 0;

        while (n < STEPS && quota_charge(quota, &taken[n], (uid_t)(2000 + n / 2), slot, step) == 0)
                n++;
        ck_assert_uint_le(quota->used[slot], max - max / 8 - max / 4);
        ck_assert_uint_gt(quota->used[slot] + step, max - max / 8 - max / 4);
        quota_explain(quota, why, (uid_t)(2000 + n / 2), slot, step);
        ck_assert_msg(strstr(why, name), "%s is not in \"%s\"", name, why);
        ck_assert_int_eq(quota_charge(quota, &first, 1000, slot, 1), 0);
        ck_assert_int_eq(quota_charge(quota, &root, 0, slot, step), 0);
        while (n > 0)
                charge_deinit(&taken[--n]);
        charge_deinit(&first);
        charge_deinit(&root);
}

START_TEST(test_all_users_together_have_a_limit) {
        static const char *const names[_QUOTA_SLOT_N] = {
                [QUOTA_SESSIONS] = "SERVICE_SESSIONS_MAX",
                [QUOTA_PRODUCERS] = "SERVICE_PRODUCERS_MAX",
                [QUOTA_CONNECTIONS] = "SERVICE_CONNECTIONS_MAX",
                [QUOTA_BUFFER_BYTES] = "SERVICE_BUFFER_BYTES_MAX",
                [QUOTA_MEMORY_BYTES] = "SERVICE_MEMORY_BYTES_MAX",
                [QUOTA_DESCRIPTOR_BYTES] = "SERVICE_DESCRIPTOR_BYTES_MAX",
                [QUOTA_MESSAGE_BYTES] = "SERVICE_MESSAGE_BYTES_MAX",
                [QUOTA_CALL_BYTES] = "SERVICE_CALL_BYTES_MAX",
                [QUOTA_RECENT_SESSIONS] = "SERVICE_RECENT_SESSIONS_MAX",
        };
        Quota quota;

        quota_init(&quota, RAM);
        ck_assert_uint_eq(quota_total_max(&quota, QUOTA_PRODUCERS), SERVICE_PRODUCERS_MAX);
        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                fill(&quota, (QuotaSlot)i, names[i]);
        quota_deinit(&quota);
}
END_TEST

TEST_MAIN("quota",
          test_charges_are_limited_and_given_back,
          test_users_and_resources_do_not_share_limits,
          test_enormous_charges_do_not_wrap_around,
          test_every_limit_has_a_name_and_a_remedy,
          test_shares_fit_into_each_other,
          test_bytes_follow_the_machines_memory,
          test_charge_grows_and_shrinks,
          test_what_is_kept_of_writers_is_charged_and_given_back,
          test_all_users_together_have_a_limit)
