/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Needs are asked for one after the other, by a table that notes what it was asked and answers when the test says. */

#include "test.h"

#include <errno.h>
#include <string.h>

#include "core/model/policy.h"
#include "owner/permission.h"

struct AccessQuestion {
        AccessAsk ask;
        bool is_open;
};

static struct {
        AccessQuestion question; /* the one that is open */
        unsigned asked;          /* all needs that were asked about */
        size_t n_asked, n_cancelled;
        int next; /* what the next question returns at once; 0: it is really asked */
} host;

/* What the request was told. */
static struct {
        size_t n;
        int outcome;
        AccessRefusal refusal;
} told;

static int
fake_ask(AccessQuestion **ret, void *userdata, const AccessAsk *ask, AccessRefusal *ret_refusal) {
        ck_assert_ptr_eq(userdata, &host);
        ck_assert(!host.question.is_open);
        host.asked |= ask->need;
        host.n_asked++;
        if (host.next) {
                access_refuse(ret_refusal, ACCESS_LIMIT, "asked %d times", (int)host.n_asked);
                return host.next;
        }
        host.question = (AccessQuestion){ *ask, true };
        *ret = &host.question;
        return 0;
}

static AccessQuestion *fake_cancel(AccessQuestion *question) {
        ck_assert(question->is_open);
        question->is_open = false;
        host.n_cancelled++;
        return NULL;
}

static const AccessOps ops = { .ask = fake_ask, .cancel = fake_cancel };

static void on_done(Permission *permission, int outcome, const AccessRefusal *refusal) {
        ck_assert(!host.question.is_open);
        told.n++;
        told.outcome = outcome;
        if (refusal)
                told.refusal = *refusal;
}

static Permission needs(unsigned mask) {
        memset(&host, 0, sizeof(host));
        memset(&told, 0, sizeof(told));
        return (Permission){
                .access = { &ops, &host },
                .peer = { .identity = { .uid = 1000, .pid = 7 }, .pidfd = -1 },
                .needs = mask,
                .done = on_done,
        };
}

static void answer(const AccessRefusal *refusal) {
        ck_assert(host.question.is_open);
        host.question.is_open = false;
        host.question.ask.done(host.question.ask.userdata, refusal);
}

START_TEST(test_what_needs_nothing_is_granted_without_a_question) {
        Permission permission = needs(0);
        AccessRefusal refusal;

        ck_assert_int_eq(permission_ask(&permission, &refusal), 0);
        ck_assert_uint_eq(host.n_asked, 0);
        permission.access.ops = NULL;
        ck_assert_int_eq(permission_ask(&permission, &refusal), 0);
}
END_TEST

START_TEST(test_without_anybody_to_ask_a_need_is_refused) {
        Permission permission = needs(POLICY_NEEDS_DETACH);
        AccessRefusal refusal;

        permission.access.ops = NULL;
        ck_assert_int_eq(permission_ask(&permission, &refusal), PERMISSION_E_REFUSED);
        ck_assert_int_eq(refusal.answer, ACCESS_UNAVAILABLE);
        ck_assert_ptr_nonnull(strstr(refusal.why, "nobody to ask"));
        permission_deinit(&permission);
}
END_TEST

START_TEST(test_needs_are_asked_for_one_by_one_and_guards_last) {
        Permission permission = needs(POLICY_NEEDS_GUARDED_SYSTEM | POLICY_NEEDS_DETACH |
                                      POLICY_NEEDS_TRACE_SYSTEM);
        AccessRefusal refusal;

        permission.is_interactive = true;
        ck_assert_int_eq(permission_ask(&permission, &refusal), PERMISSION_E_WAITS);
        ck_assert_uint_eq(host.question.ask.need, POLICY_NEEDS_TRACE_SYSTEM);
        ck_assert(host.question.ask.is_interactive);
        ck_assert_int_eq(host.question.ask.peer->identity.pid, 7);
        answer(NULL);
        ck_assert_uint_eq(host.question.ask.need, POLICY_NEEDS_DETACH);
        answer(NULL);
        ck_assert_uint_eq(told.n, 0);
        ck_assert_uint_eq(host.question.ask.need, POLICY_NEEDS_GUARDED_SYSTEM);
        answer(NULL);
        ck_assert_uint_eq(host.n_asked, 3);
        ck_assert_uint_eq(told.n, 1);
        ck_assert_int_eq(told.outcome, 0);
        permission_deinit(&permission);
        ck_assert_uint_eq(host.n_cancelled, 0);
}
END_TEST

START_TEST(test_the_first_refusal_ends_it) {
        Permission permission = needs(POLICY_NEEDS_TRACE_SYSTEM | POLICY_NEEDS_DETACH);
        const AccessRefusal denied = { ACCESS_DENIED, "no" };
        AccessRefusal refusal;

        ck_assert_int_eq(permission_ask(&permission, &refusal), PERMISSION_E_WAITS);
        answer(&denied);
        ck_assert_uint_eq(host.n_asked, 1);
        ck_assert_uint_eq(told.n, 1);
        ck_assert_int_eq(told.outcome, PERMISSION_E_REFUSED);
        ck_assert_int_eq(told.refusal.answer, ACCESS_DENIED);
        ck_assert_str_eq(told.refusal.why, "no");
        permission_deinit(&permission);
}
END_TEST

START_TEST(test_a_later_question_that_cannot_be_asked_is_a_refusal) {
        Permission permission = needs(POLICY_NEEDS_TRACE_SYSTEM | POLICY_NEEDS_DETACH);
        AccessRefusal refusal;

        ck_assert_int_eq(permission_ask(&permission, &refusal), PERMISSION_E_WAITS);
        host.next = ACCESS_E_REFUSED;
        answer(NULL);
        ck_assert_uint_eq(told.n, 1);
        ck_assert_int_eq(told.outcome, PERMISSION_E_REFUSED);
        ck_assert_int_eq(told.refusal.answer, ACCESS_LIMIT);
        ck_assert_str_eq(told.refusal.why, "asked 2 times");
        permission_deinit(&permission);
}
END_TEST

START_TEST(test_errors_are_passed_on_at_once_and_later) {
        Permission permission = needs(POLICY_NEEDS_TRACE_SYSTEM | POLICY_NEEDS_DETACH);
        AccessRefusal refusal;

        host.next = -ENOMEM;
        ck_assert_int_eq(permission_ask(&permission, &refusal), -ENOMEM);
        host.next = 0;
        ck_assert_int_eq(permission_ask(&permission, &refusal), PERMISSION_E_WAITS);
        host.next = -ENOMEM;
        answer(NULL);
        ck_assert_uint_eq(told.n, 1);
        ck_assert_int_eq(told.outcome, -ENOMEM);
        permission_deinit(&permission);
}
END_TEST

START_TEST(test_a_request_that_goes_takes_its_question_back) {
        Permission permission = needs(POLICY_NEEDS_MANAGE);
        AccessRefusal refusal;

        ck_assert_int_eq(permission_ask(&permission, &refusal), PERMISSION_E_WAITS);
        permission_deinit(&permission);
        ck_assert_uint_eq(host.n_cancelled, 1);
        ck_assert_uint_eq(told.n, 0);
        permission_deinit(&permission);
        ck_assert_uint_eq(host.n_cancelled, 1);
}
END_TEST

START_TEST(test_a_long_reason_is_cut) {
        char text[2 * ACCESS_WHY_MAX];
        AccessRefusal refusal;

        memset(text, 'x', sizeof(text));
        text[sizeof(text) - 1] = 0;
        access_refuse(&refusal, ACCESS_DENIED, "%s", text);
        ck_assert_uint_eq(strlen(refusal.why), ACCESS_WHY_MAX - 1);
}
END_TEST

TEST_MAIN("permission",
          test_what_needs_nothing_is_granted_without_a_question,
          test_without_anybody_to_ask_a_need_is_refused,
          test_needs_are_asked_for_one_by_one_and_guards_last,
          test_the_first_refusal_ends_it,
          test_a_later_question_that_cannot_be_asked_is_a_refusal,
          test_errors_are_passed_on_at_once_and_later,
          test_a_request_that_goes_takes_its_question_back,
          test_a_long_reason_is_cut)
