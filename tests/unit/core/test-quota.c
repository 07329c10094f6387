/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "core/quota.h"
#include "core/service.h"
#include "test.h"

START_TEST(test_charges_are_limited_and_given_back) {
        Quota quota;
        Charge first = {}, second = {};
        uint64_t max = quota_limit(QUOTA_BUFFER_BYTES);

        quota_init(&quota);
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

        quota_init(&quota);
        ck_assert_int_eq(
                quota_charge(&quota, &mine, 1000, QUOTA_SESSIONS, SERVICE_SESSIONS_PER_UID_MAX), 0);
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

        quota_init(&quota);
        ck_assert_int_eq(quota_charge(&quota, &small, 1000, QUOTA_MEMORY_BYTES, 4096), 0);
        ck_assert_int_eq(quota_charge(&quota, &charge, 1000, QUOTA_MEMORY_BYTES, UINT64_MAX),
                         QUOTA_E_EXCEEDED);
        ck_assert_int_eq(quota_charge(&quota, &charge, 1000, QUOTA_MEMORY_BYTES, UINT64_MAX - 4095),
                         QUOTA_E_EXCEEDED);
        charge_deinit(&small);
}
END_TEST

START_TEST(test_every_limit_has_a_name) {
        for (QuotaSlot slot = 0; slot < _QUOTA_SLOT_N; slot++) {
                ck_assert_uint_gt(quota_limit(slot), 0);
                ck_assert_ptr_nonnull(strstr(quota_limit_name(slot), "_PER_UID_MAX"));
        }
}
END_TEST

TEST_MAIN("quota",
          test_charges_are_limited_and_given_back,
          test_users_and_resources_do_not_share_limits,
          test_enormous_charges_do_not_wrap_around,
          test_every_limit_has_a_name)
