/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Requests in shared memory: each is taken once and answered once, and the service believes only what it asked. */

#include "smb-fixture.h"

#define PAGE 4096

START_TEST(test_request_reaches_the_producer_and_its_answer_the_service) {
        const uint64_t instances[] = { 7, UINT64_MAX, 9 };
        Fixture fixture;
        SmbAsked asked;
        unsigned place;

        fixture_init(&fixture, 4 * PAGE, PAGE);
        ck_assert(!smb_take_request(fixture.producer, &asked));
        ck_assert_int_eq(smb_ask(&fixture.service, SMB_REQUEST_FLUSH, instances, 3, &place), 0);
        ck_assert(!smb_take_answer(&fixture.service, place));
        ck_assert(smb_take_request(fixture.producer, &asked));
        ck_assert_int_eq(asked.kind, SMB_REQUEST_FLUSH);
        ck_assert_uint_eq(asked.n_instances, 3);
        ck_assert_int_eq(memcmp(asked.instances, instances, sizeof(instances)), 0);
        ck_assert(!smb_take_request(fixture.producer, &asked));
        ck_assert(!smb_take_answer(&fixture.service, place));
        ck_assert_uint_eq(fixture_rings(&fixture), 0);
        smb_answer(fixture.producer, asked.place);
        ck_assert_uint_eq(fixture_rings(&fixture), 1);
        ck_assert(smb_take_answer(&fixture.service, place));
        ck_assert(!smb_take_answer(&fixture.service, place));
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_answers_may_come_in_any_order_and_make_room) {
        SmbAsked asked[SMB_REQUESTS];
        unsigned place;
        Fixture fixture;

        fixture_init(&fixture, 4 * PAGE, PAGE);
        for (uint64_t i = 0; i < SMB_REQUESTS; i++)
                ck_assert_int_eq(smb_ask(&fixture.service, SMB_REQUEST_STOP, &i, 1, &place), 0);
        ck_assert_int_eq(smb_ask(&fixture.service, SMB_REQUEST_STOP, NULL, 0, &place), SMB_E_FULL);
        for (unsigned i = 0; i < SMB_REQUESTS; i++)
                ck_assert(smb_take_request(fixture.producer, &asked[i]));
        smb_answer(fixture.producer, asked[5].place);
        ck_assert_int_eq(smb_ask(&fixture.service, SMB_REQUEST_STOP, NULL, 0, &place), SMB_E_FULL);
        ck_assert(!smb_take_answer(&fixture.service, asked[4].place));
        ck_assert(smb_take_answer(&fixture.service, asked[5].place));
        ck_assert_int_eq(smb_ask(&fixture.service, SMB_REQUEST_STOP, NULL, 0, &place), 0);
        ck_assert_uint_eq(place, asked[5].place);
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_too_many_instances_have_no_room) {
        uint64_t instances[SMB_REQUEST_INSTANCES_MAX + 1] = {};
        Fixture fixture;
        SmbAsked asked;
        unsigned place;

        fixture_init(&fixture, 4 * PAGE, PAGE);
        ck_assert_int_eq(smb_ask(&fixture.service,
                                 SMB_REQUEST_FLUSH,
                                 instances,
                                 ARRAY_SIZE(instances),
                                 &place),
                         SMB_E_FULL);
        ck_assert(!smb_take_request(fixture.producer, &asked));
        ck_assert_int_eq(smb_ask(&fixture.service,
                                 SMB_REQUEST_FLUSH,
                                 instances,
                                 SMB_REQUEST_INSTANCES_MAX,
                                 &place),
                         0);
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_perfettos_producers_have_no_requests) {
        static uint8_t memory[4 * PAGE];
        SmbArea area;
        unsigned place;

        smb_area_create_plain(&area, memory, sizeof(memory), PAGE);
        ck_assert_int_eq(smb_ask(&area, SMB_REQUEST_FLUSH, NULL, 0, &place), SMB_E_FULL);
        ck_assert(!smb_take_answer(&area, 0));
}
END_TEST

/* A producer that writes what it likes. */
START_TEST(test_answers_to_nothing_are_none) {
        Fixture fixture;
        unsigned place;

        fixture_init(&fixture, 4 * PAGE, PAGE);
        for (unsigned i = 0; i < SMB_REQUESTS; i++)
                atomic_store(&fixture.service.control->requests[i].state, SMB_REQUEST_DONE);
        for (unsigned i = 0; i < 40; i++)
                ck_assert(!smb_take_answer(&fixture.service, i));

        /* A place that it made look taken is used nevertheless, and what it makes of it answers only once. */
        ck_assert_int_eq(smb_ask(&fixture.service, SMB_REQUEST_STOP, NULL, 0, &place), 0);
        atomic_store(&fixture.service.control->requests[place].state, 4711);
        ck_assert(!smb_take_answer(&fixture.service, place));
        atomic_store(&fixture.service.control->requests[place].state, SMB_REQUEST_DONE);
        ck_assert(smb_take_answer(&fixture.service, place));
        atomic_store(&fixture.service.control->requests[place].state, SMB_REQUEST_DONE);
        ck_assert(!smb_take_answer(&fixture.service, place));
        fixture_deinit(&fixture);
}
END_TEST

/* The service is trusted, but may be of another version. */
START_TEST(test_counts_that_cannot_be_are_cut) {
        Fixture fixture;
        SmbAsked asked;
        unsigned place;

        fixture_init(&fixture, 4 * PAGE, PAGE);
        ck_assert_int_eq(smb_ask(&fixture.service, 99, NULL, 0, &place), 0);
        atomic_store(&fixture.service.control->requests[place].n_instances, UINT32_MAX);
        ck_assert(smb_take_request(fixture.producer, &asked));
        ck_assert_int_eq(asked.kind, 99);
        ck_assert_uint_eq(asked.n_instances, SMB_REQUEST_INSTANCES_MAX);
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_requests_of_a_killed_service_are_pending_for_the_next) {
        unsigned first, second;
        Fixture fixture;
        SmbAsked asked;

        fixture_init(&fixture, 4 * PAGE, PAGE);
        ck_assert_int_eq(smb_ask(&fixture.service, SMB_REQUEST_FLUSH, NULL, 0, &first), 0);
        ck_assert_int_eq(smb_ask(&fixture.service, SMB_REQUEST_STOP, NULL, 0, &second), 0);
        ck_assert(smb_take_request(fixture.producer, &asked));
        smb_answer(fixture.producer, asked.place);
        smb_area_find(&fixture.service, fixture.memory, 4 * PAGE, PAGE);
        ck_assert_uint_eq(fixture.service.asked, 1u << first | 1u << second);
        ck_assert(smb_take_answer(&fixture.service, asked.place));
        ck_assert(!smb_take_answer(&fixture.service, asked.place ^ first ^ second));
        ck_assert(smb_take_request(fixture.producer, &asked));
        smb_answer(fixture.producer, asked.place);
        ck_assert(smb_take_answer(&fixture.service, asked.place));
        ck_assert_uint_eq(fixture.service.asked, 0);
        fixture_deinit(&fixture);
}
END_TEST

TEST_MAIN("smb-requests",
          test_request_reaches_the_producer_and_its_answer_the_service,
          test_answers_may_come_in_any_order_and_make_room,
          test_too_many_instances_have_no_room,
          test_perfettos_producers_have_no_requests,
          test_answers_to_nothing_are_none,
          test_counts_that_cannot_be_are_cut,
          test_requests_of_a_killed_service_are_pending_for_the_next)
