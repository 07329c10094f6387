/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * What scripts rely on: exit statuses, the command line, files that are not clobbered.
 */

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/exit-status.h"
#include "client/invocation.h"
#include "client/output-file.h"
#include "client/process.h"
#include "client/record-request.h"
#include "test.h"

static ExitStatus run_nothing(Invocation *invocation) {
        return STATUS_OK;
}

static const Verb verb = { "verb",
                           "",
                           "",
                           VERB_USES_BUS | VERB_SHOWS_DATA | VERB_RUNS_COMMAND,
                           run_nothing };

static ExitStatus parse(Invocation *invocation, const char *const argv[]) {
        _cleanup_(freep) char *name = NULL;

        invocation_init(invocation, &name, argv);
        invocation->verb = &verb;
        return invocation_parse(invocation, NULL);
}

START_TEST(test_bus_errors_have_the_documented_exit_status) {
        static const struct {
                const char *name;
                ExitStatus status;
        } cases[] = {
                { "org.desktrace.Tracing1.Error.BadConfig", 2 },
                { "org.desktrace.Tracing1.Error.NotAuthorized", 3 },
                { "org.desktrace.Tracing1.Error.AuthorizationNeeded", 4 },
                { "org.desktrace.Tracing1.Error.NoSuchSource", 5 },
                { "org.desktrace.Tracing1.Error.NoSuchSession", 5 },
                { "org.desktrace.Tracing1.Error.LimitExceeded", 7 },
                { "org.freedesktop.DBus.Error.ServiceUnknown", 8 },
                { "org.freedesktop.DBus.Error.NoReply", 8 },
                { "org.desktrace.Tracing1.Error.Timeout", 9 },
                { "org.example.Unheard", 1 },
                { NULL, 1 },
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
                ck_assert_int_eq(exit_status_of_bus_error(cases[i].name), cases[i].status);
}
END_TEST

START_TEST(test_every_exit_status_is_explained) {
        for (int i = 0; i < _STATUS_N; i++)
                ck_assert_ptr_nonnull(exit_status_text((ExitStatus)i));
        ck_assert_ptr_null(exit_status_text(_STATUS_N));
}
END_TEST

START_TEST(test_bus_errors_lose_their_decorations) {
        static const struct {
                const char *name, *message, *sentence;
        } cases[] = {
                { "a.b.C", "GDBus.Error:a.b.C: it broke", "it broke" },
                { "a.b.C", "it broke", "it broke" },
                { "a.b.C", "a.b.C: it broke", "it broke" },
                { "a.b.C", "", "a.b.C" },
                { "a.b.C", "\033[2J", "?[2J" },
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                sd_bus_error error = SD_BUS_ERROR_MAKE_CONST(cases[i].name, cases[i].message);
                g_autofree char *sentence = bus_error_sentence(&error);

                ck_assert_str_eq(sentence, cases[i].sentence);
        }
}
END_TEST

START_TEST(test_what_is_behind_two_dashes_is_the_command) {
        const char *const argv[] = { "desktrace", "--user", "verb", "event", "--",
                                     "make",      "--user", "--",   NULL };
        Invocation invocation;

        ck_assert_int_eq(parse(&invocation, argv), STATUS_OK);
        ck_assert_int_eq(invocation.bus, BUS_CHOICE_USER);
        ck_assert_str_eq(invocation.arguments[0], "event");
        ck_assert_ptr_null(invocation.arguments[1]);
        ck_assert_str_eq(invocation.command[0], "make");
        ck_assert_str_eq(invocation.command[1], "--user");
        ck_assert_str_eq(invocation.command[2], "--");
        ck_assert_ptr_null(invocation.command[3]);
        invocation_deinit(&invocation);
}
END_TEST

START_TEST(test_wrong_options_are_usage_errors) {
        const char *const cases[][5] = {
                { "desktrace", "verb", "--usr", NULL },
                { "desktrace", "verb", "--json=prety", NULL },
                { "desktrace", "verb", "-Z", NULL },
                { "desktrace", "verb", "--user", "--system", NULL },
                { "desktrace", "verb", "--standalone", NULL }, /* of other verbs */
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                Invocation invocation;

                ck_assert_msg(parse(&invocation, cases[i]) == STATUS_USAGE, "%s", cases[i][2]);
                invocation_deinit(&invocation);
        }
}
END_TEST

START_TEST(test_json_needs_no_mode_and_takes_no_argument_for_one) {
        const struct {
                const char *argv[5];
                JsonMode mode;
                const char *argument; /* that is left */
        } cases[] = {
                { { "desktrace", "verb", "--json=pretty", "x" }, JSON_PRETTY, "x" },
                { { "desktrace", "verb", "--json", "off", "x" }, JSON_OFF, "x" },
        };
        const char *const bare[] = { "desktrace", "verb", "--json", "x", NULL };
        Invocation invocation;

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                const char *argv[6] = { 0 };

                memcpy(argv, cases[i].argv, sizeof(cases[i].argv));
                ck_assert_int_eq(parse(&invocation, argv), STATUS_OK);
                ck_assert_int_eq(invocation.json, cases[i].mode);
                ck_assert_str_eq(invocation.arguments[0], cases[i].argument);
                invocation_deinit(&invocation);
        }
        ck_assert_int_eq(parse(&invocation, bare), STATUS_OK);
        ck_assert_int_ne(invocation.json, JSON_OFF);
        ck_assert_str_eq(invocation.arguments[0], "x");
        invocation_deinit(&invocation);
}
END_TEST

/* A directory of its own for each test. */
static char *enter_directory(void) {
        char *directory = g_dir_make_tmp("desktrace-test-XXXXXX", NULL);

        ck_assert_ptr_nonnull(directory);
        ck_assert_int_eq(chdir(directory), 0);
        return directory;
}

static void leave_directory(char *directory) {
        ck_assert_int_eq(chdir("/"), 0);
        ck_assert_int_eq(rmdir(directory), 0); /* nothing was left behind */
        g_free(directory);
}

static void check_content(const char *path, const char *expected) {
        g_autofree char *content = NULL;

        ck_assert(g_file_get_contents(path, &content, NULL, NULL));
        ck_assert_str_eq(content, expected);
}

START_TEST(test_an_existing_file_is_not_clobbered) {
        char *directory = enter_directory();
        OutputFile output;

        ck_assert(g_file_set_contents("x", "old", -1, NULL));
        ck_assert_int_eq(output_file_open(&output, "x", false), -EEXIST);
        output_file_deinit(&output);
        check_content("x", "old");
        unlink("x");
        leave_directory(directory);
}
END_TEST

START_TEST(test_replacing_happens_at_the_end_or_not_at_all) {
        char *directory = enter_directory();
        OutputFile output;

        ck_assert(g_file_set_contents("x", "old", -1, NULL));
        ck_assert_int_eq(output_file_open(&output, "x", true), 0);
        ck_assert_int_eq(write(output.fd, "new", 3), 3);
        check_content("x", "old");
        output_file_deinit(&output);
        check_content("x", "old");

        ck_assert_int_eq(output_file_open(&output, "x", true), 0);
        ck_assert_int_eq(write(output.fd, "new", 3), 3);
        ck_assert_int_eq(output_file_commit(&output), 0);
        output_file_deinit(&output);
        check_content("x", "new");
        unlink("x");
        leave_directory(directory);
}
END_TEST

START_TEST(test_a_discarded_file_is_gone_and_a_kept_one_is_not) {
        char *directory = enter_directory();
        OutputFile output;

        ck_assert_int_eq(output_file_open(&output, "x", false), 0);
        output_file_deinit(&output);
        ck_assert_int_ne(access("x", F_OK), 0);
        ck_assert_int_eq(output_file_open(&output, "x", false), 0);
        ck_assert_int_eq(output_file_commit(&output), 0);
        output_file_deinit(&output);
        ck_assert_int_eq(access("x", F_OK), 0);
        unlink("x");
        leave_directory(directory);
}
END_TEST

START_TEST(test_devices_are_written_to_and_never_removed) {
        OutputFile output;

        ck_assert_int_eq(output_file_open(&output, "/dev/null", true), 0);
        output_file_deinit(&output);
        ck_assert_int_eq(access("/dev/null", W_OK), 0);
        ck_assert_int_eq(output_file_open(&output, "/tmp", true), -EISDIR);
        output_file_deinit(&output);
        ck_assert_int_eq(output_file_open(&output, "/nowhere/x", true), -ENOENT);
        output_file_deinit(&output);
}
END_TEST

START_TEST(test_a_program_that_is_not_there_is_told) {
        const char *const missing[] = { "/nowhere/program", NULL }, *const forbidden[] = {
                "/etc/passwd", NULL
        };
        ProcessSpec spec = { .argv = missing };
        pid_t pid;

        ck_assert_int_eq(process_spawn(&pid, &spec), -ENOENT);
        spec.argv = forbidden;
        ck_assert_int_eq(process_spawn(&pid, &spec), -EACCES);
}
END_TEST

START_TEST(test_a_helper_gets_its_sockets_as_from_systemd) {
        const char *const argv[] = { "/bin/sh",
                                     "-c",
                                     "[ \"$LISTEN_FDS\" = 2 ] && [ \"$LISTEN_PID\" = $$ ] && "
                                     "[ \"$LISTEN_FDNAMES\" = one:two ] && "
                                     "[ \"$DESKTRACE_SOCKET\" = /s ] && "
                                     "[ -z \"$DESKTRACE_WAIT\" ] && "
                                     "echo yes >&4; exec sleep 100",
                                     NULL };
        const ProcessVariable variables[] = { { "DESKTRACE_SOCKET", "/s", false }, { 0 } };
        ProcessSocket sockets[] = { { -1, "one" }, { -1, "two" } };
        const ProcessSpec spec = { .argv = argv,
                                   .variables = variables,
                                   .listen = sockets,
                                   .n_listen = 2,
                                   .is_helper = true };
        char text[8] = "";
        pid_t pid, helper;
        int fds[2];

        ck_assert_int_eq(pipe2(fds, O_CLOEXEC), 0);
        sockets[0].fd = fds[0];
        sockets[1].fd = fds[1];
        ck_assert_int_eq(process_spawn(&pid, &spec), 0);
        ck_assert_int_eq(read(fds[0], text, sizeof(text) - 1), 4);
        ck_assert_str_eq(text, "yes\n");
        helper = pid;
        ck_assert_int_eq(process_end(&pid, 1000), 128 + SIGTERM);
        ck_assert_int_eq(pid, 0);
        ck_assert_int_eq(kill(helper, 0), -1);
        ck_assert_int_eq(process_end(&pid, 1000), 0);
        close(fds[0]);
        close(fds[1]);
}
END_TEST

static int status_of(const ProcessSpec *spec) {
        int status;
        pid_t pid;

        ck_assert_int_eq(process_spawn(&pid, spec), 0);
        ck_assert_int_eq(waitpid(pid, &status, 0), pid);
        return process_exit_status(status);
}

START_TEST(test_a_command_is_told_to_wait_unless_the_user_says_otherwise) {
        const char *const argv[] = { "/bin/sh", "-c", "exit $((DESKTRACE_WAIT))", NULL };
        const ProcessVariable variables[] = { { "DESKTRACE_SOCKET", NULL, false },
                                              { "DESKTRACE_WAIT", "120", true },
                                              { 0 } };
        const ProcessSpec spec = { .argv = argv, .variables = variables };

        unsetenv("DESKTRACE_WAIT");
        ck_assert_int_eq(status_of(&spec), 120);
        setenv("DESKTRACE_WAIT", "7", 1);
        ck_assert_int_eq(status_of(&spec), 7);
        unsetenv("DESKTRACE_WAIT");
}
END_TEST

static bool request_wants(const char *event, const char *text) {
        _cleanup_(record_request_deinit) RecordRequest request;
        ConfigError error = { 0 };

        record_request_init(&request);
        if (event)
                ck_assert_int_eq(record_request_add_event(&request, event), STATUS_OK);
        if (text)
                ck_assert_int_eq(config_new_from_text(&request.config, text, &error), 0);
        return record_request_wants_track_events(&request);
}

START_TEST(test_a_command_keeps_from_its_start_what_is_recorded_of_it) {
#define SOURCE(rules)                                                          \
        "buffers { size_kb: 64 } data_sources { config { name: 'track_event' " \
        "track_event_config { " rules " } } }"
        static const struct {
                const char *event, *text, *categories;
        } cases[] = {
                { "cat:render", NULL, "render" },
                { "track_event", NULL, "*" },
                { NULL, SOURCE(""), "*" },
                { NULL, SOURCE("enabled_categories: 'a*' disabled_categories: '*'"), "a*,-*" },
                { NULL, SOURCE("disabled_categories: 'a' enabled_tags: 'debug'"), "-a,#debug,*" },
                { NULL, SOURCE("disabled_tags: 'x'"), "-#x,*" },
                { NULL, SOURCE("disabled_tags: '*'"), "*,#*" },
                { NULL, SOURCE("enabled_categories: 'a,b' disabled_categories: '*'"), "*,#*" },
                { "cat:b", SOURCE("disabled_categories: '*'"), "*,#*" },
                { "linux.sys_stats", NULL, NULL },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                _cleanup_(record_request_deinit) RecordRequest request;
                g_autofree char *categories = NULL;
                ConfigError error = { 0 };

                record_request_init(&request);
                if (cases[i].event)
                        ck_assert_int_eq(record_request_add_event(&request, cases[i].event),
                                         STATUS_OK);
                if (cases[i].text)
                        ck_assert_int_eq(
                                config_new_from_text(&request.config, cases[i].text, &error), 0);
                categories = record_request_startup_categories(&request);
                ck_assert_pstr_eq(categories, cases[i].categories);
        }
#undef SOURCE
}
END_TEST

START_TEST(test_a_command_waits_only_for_what_it_can_offer) {
        ck_assert(request_wants("cat:render", NULL));
        ck_assert(request_wants("track_event", NULL));
        ck_assert(request_wants(
                NULL, "buffers { size_kb: 64 } data_sources { config { name: 'track_event' } }"));
        ck_assert(!request_wants("linux.sys_stats", NULL));
        ck_assert(!request_wants(
                NULL, "buffers { size_kb: 64 } data_sources { config { name: 'linux.ftrace' } }"));
        ck_assert(!request_wants(NULL, NULL));
}
END_TEST

START_TEST(test_a_helper_that_ignores_the_term_signal_is_killed) {
        const char *const argv[] = {
                "/bin/sh", "-c", "trap '' TERM; echo >&3; while :; do sleep 1; done", NULL
        };
        ProcessSocket written = { -1, "written" };
        const ProcessSpec spec = {
                .argv = argv, .listen = &written, .n_listen = 1, .is_helper = true
        };
        char newline;
        int fds[2];
        pid_t pid;

        ck_assert_int_eq(pipe2(fds, O_CLOEXEC), 0);
        written.fd = fds[1];
        ck_assert_int_eq(process_spawn(&pid, &spec), 0);
        ck_assert_int_eq(read(fds[0], &newline, 1), 1); /* now it ignores it */
        ck_assert_int_eq(process_end(&pid, 100), 128 + SIGKILL);
        ck_assert_int_eq(pid, 0);
        close(fds[0]);
        close(fds[1]);
}
END_TEST

TEST_MAIN("client",
          test_bus_errors_have_the_documented_exit_status,
          test_every_exit_status_is_explained,
          test_bus_errors_lose_their_decorations,
          test_what_is_behind_two_dashes_is_the_command,
          test_wrong_options_are_usage_errors,
          test_json_needs_no_mode_and_takes_no_argument_for_one,
          test_an_existing_file_is_not_clobbered,
          test_replacing_happens_at_the_end_or_not_at_all,
          test_a_discarded_file_is_gone_and_a_kept_one_is_not,
          test_devices_are_written_to_and_never_removed,
          test_a_program_that_is_not_there_is_told,
          test_a_helper_gets_its_sockets_as_from_systemd,
          test_a_command_is_told_to_wait_unless_the_user_says_otherwise,
          test_a_command_keeps_from_its_start_what_is_recorded_of_it,
          test_a_command_waits_only_for_what_it_can_offer,
          test_a_helper_that_ignores_the_term_signal_is_killed)
