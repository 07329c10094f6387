/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* dt_trigger(): what is sent, when, to whom, and that it never waits. */

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>

#include "desktrace/source.h"
#include "desktrace/trigger.h"
#include "fake-service.h"

#define QUEUE_MAX 64 /* as the header says */

static const char *
on_setup(dt_instance *instance, const void *config, size_t n_config, void *userdata) {
        return NULL;
}

static void trigger_in_callback(dt_instance *instance, dt_reply *reply, void *userdata) {
        ck_assert_int_eq(dt_trigger("from a callback"), 0);
        dt_reply_done(reply, NULL);
}

static const dt_source_ops ops = { .setup = on_setup, .flush = trigger_in_callback };

START_TEST(test_trigger_is_sent_to_the_service_that_knows_the_program) {
        dt_source *source;
        Fake fake;

        fake_init(&fake);
        fake_listen(&fake);
        ck_assert_int_eq(dt_source_register(&source, "test.source", NULL, &ops, NULL), 0);
        fake_accept(&fake);
        ck_assert_int_eq(dt_trigger("one"), 0);
        fake_run_triggers(&fake, 1);
        ck_assert_int_eq(dt_trigger("two"), 0);
        ck_assert_int_eq(dt_trigger("one"), 0);
        fake_run_triggers(&fake, 3);
        ck_assert_str_eq(fake.triggers, "one,two,one");
        ck_assert_str_eq(fake.triggered_by, program_invocation_short_name);
        dt_source_unregister(source);
        fake_deinit(&fake);
}
END_TEST

START_TEST(test_trigger_of_the_first_moment_waits_until_the_program_is_registered) {
        dt_source *source;
        Fake fake;

        fake_init(&fake);
        fake_listen(&fake);
        ck_assert_int_eq(dt_source_register(&source, "test.source", NULL, &ops, NULL), 0);
        ck_assert_int_eq(dt_trigger("early"), 0);
        fake_accept(&fake);
        ck_assert_uint_eq(fake.n_triggers, 0);
        fake_run_triggers(&fake, 1);
        ck_assert_str_eq(fake.triggers, "early");
        dt_source_unregister(source);
        fake_deinit(&fake);
}
END_TEST

START_TEST(test_program_without_a_source_can_send_one) {
        Fake fake;

        fake_init(&fake);
        fake_listen(&fake);
        ck_assert_int_eq(dt_trigger("alone"), 0);
        fake_accept_silent(&fake);
        fake_run_triggers(&fake, 1);
        ck_assert_str_eq(fake.triggers, "alone");
        ck_assert_uint_eq(fake.n_registered, 0);
        fake_deinit(&fake);
}
END_TEST

START_TEST(test_trigger_that_nobody_took_in_time_is_forgotten) {
        dt_source *source;
        Fake fake;

        fake_init(&fake);
        ck_assert_int_eq(dt_source_register(&source, "test.source", NULL, &ops, NULL), 0);
        ck_assert_int_eq(dt_trigger("too old"), 0);
        usleep(1100000);
        fake_listen(&fake);
        fake_accept(&fake);
        ck_assert_int_eq(dt_trigger("new"), 0);
        fake_run_triggers(&fake, 1);
        ck_assert_str_eq(fake.triggers, "new");
        dt_source_unregister(source);
        fake_deinit(&fake);
}
END_TEST

/* Whatever the library sends then, it comes behind the triggers of that moment. */
START_TEST(test_a_service_that_comes_too_late_is_sent_no_trigger) {
        dt_source *source;
        Fake fake;

        fake_init(&fake);
        ck_assert_int_eq(dt_source_register(&source, "test.source", NULL, &ops, NULL), 0);
        ck_assert_int_eq(dt_trigger("too old"), 0);
        usleep(1100000);
        fake_listen(&fake);
        fake_accept(&fake);
        for (unsigned i = 0; i < 2; i++) {
                fake.n_sources = 0;
                ck_assert_int_eq(dt_source_update(source, NULL), 0);
                fake_run(&fake, 1, 0);
        }
        ck_assert_uint_eq(fake.n_triggers, 0);
        dt_source_unregister(source);
        fake_deinit(&fake);
}
END_TEST

START_TEST(test_triggers_that_wait_are_bounded_and_make_room_in_time) {
        char name[16];
        Fake fake;

        fake_init(&fake);
        for (unsigned i = 0; i < QUEUE_MAX; i++) {
                snprintf(name, sizeof(name), "t%u", i);
                ck_assert_int_eq(dt_trigger(name), 0);
        }
        ck_assert_int_eq(dt_trigger("one more"), -ENOBUFS);
        usleep(1100000);
        ck_assert_int_eq(dt_trigger("one more"), 0);
        fake_deinit(&fake);
}
END_TEST

START_TEST(test_bad_names_are_refused) {
        char longest[DT_TRIGGER_NAME_MAX + 2];
        Fake fake;

        fake_init(&fake);
        memset(longest, 'x', sizeof(longest));
        longest[DT_TRIGGER_NAME_MAX + 1] = 0;
        ck_assert_int_eq(dt_trigger(NULL), -EINVAL);
        ck_assert_int_eq(dt_trigger(""), -EINVAL);
        ck_assert_int_eq(dt_trigger("two\nlines"), -EINVAL);
        ck_assert_int_eq(dt_trigger("caf\xc3\xa9"), -EINVAL);
        ck_assert_int_eq(dt_trigger(longest), -EINVAL);
        longest[DT_TRIGGER_NAME_MAX] = 0;
        ck_assert_int_eq(dt_trigger(longest), 0);
        fake_deinit(&fake);
}
END_TEST

START_TEST(test_callbacks_may_send_triggers) {
        dt_source *source;
        Fake fake;

        fake_init(&fake);
        fake_listen(&fake);
        ck_assert_int_eq(dt_source_register(&source, "test.source", NULL, &ops, NULL), 0);
        fake_accept(&fake);
        fake_setup_memory(&fake, FAKE_PAGES_BYTES, 4096);
        ck_assert_int_eq(fake_setup_buffer(&fake, 1, "test.source", 1), 0);
        ck_assert_int_eq(fake_start(&fake, 1), 0);
        ck_assert_int_eq(fake_flush(&fake, 1), 0);
        fake_run_triggers(&fake, 1);
        ck_assert_str_eq(fake.triggers, "from a callback");
        dt_source_unregister(source);
        fake_deinit(&fake);
}
END_TEST

static void *send_some(void *userdata) {
        for (unsigned i = 0; i < 10; i++)
                ck_assert_int_eq(dt_trigger("thread"), 0);
        return NULL;
}

START_TEST(test_any_thread_may_send_triggers) {
        pthread_t threads[4];
        dt_source *source;
        Fake fake;

        fake_init(&fake);
        fake_listen(&fake);
        ck_assert_int_eq(dt_source_register(&source, "test.source", NULL, &ops, NULL), 0);
        fake_accept(&fake);
        for (size_t i = 0; i < 4; i++)
                ck_assert_int_eq(pthread_create(&threads[i], NULL, send_some, NULL), 0);
        for (size_t i = 0; i < 4; i++)
                pthread_join(threads[i], NULL);
        fake_run_triggers(&fake, 40);
        dt_source_unregister(source);
        fake_deinit(&fake);
}
END_TEST

START_TEST(test_forked_child_sends_nothing) {
        dt_source *source;
        int status;
        pid_t pid;
        Fake fake;

        fake_init(&fake);
        fake_listen(&fake);
        ck_assert_int_eq(dt_source_register(&source, "test.source", NULL, &ops, NULL), 0);
        fake_accept(&fake);
        pid = fork();
        if (pid == 0)
                _exit(dt_trigger("child") == -ECANCELED ? 0 : 1);
        ck_assert_int_eq(waitpid(pid, &status, 0), pid);
        ck_assert_int_eq(status, 0);
        ck_assert_int_eq(dt_trigger("parent"), 0);
        fake_run_triggers(&fake, 1);
        ck_assert_str_eq(fake.triggers, "parent");
        dt_source_unregister(source);
        fake_deinit(&fake);
}
END_TEST

/* What the last two leave behind would be sent in the others. */
TEST_MAIN("lib-trigger",
          test_trigger_is_sent_to_the_service_that_knows_the_program,
          test_trigger_of_the_first_moment_waits_until_the_program_is_registered,
          test_program_without_a_source_can_send_one,
          test_trigger_that_nobody_took_in_time_is_forgotten,
          test_a_service_that_comes_too_late_is_sent_no_trigger,
          test_callbacks_may_send_triggers,
          test_any_thread_may_send_triggers,
          test_forked_child_sends_nothing,
          test_triggers_that_wait_are_bounded_and_make_room_in_time,
          test_bad_names_are_refused)
