/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* An output that begins with what another one writes: the clone of a session that streams into a file. */

#include "test.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <systemd/sd-event.h>
#include <unistd.h>

#include "shared/fd.h"
#include "sink.h"

/* The original, which writes into `fd`. */
typedef struct Fixture {
        sd_event *event;
        Output *output;
        int fd;
} Fixture;

static const OutputOps *ops = &sink_output_ops;

static void on_changed(void *userdata) {
}

static void fixture_init(Fixture *fixture) {
        *fixture = (Fixture){ .fd = memfd_create("original", MFD_CLOEXEC) };
        sink_ignore_signals();
        ck_assert_int_ge(fixture->fd, 0);
        ck_assert_int_ge(sd_event_new(&fixture->event), 0);
}

static void fixture_deinit(Fixture *fixture) {
        ops->close(fixture->output);
        sd_event_unref(fixture->event);
        fd_close(fixture->fd);
}

/* The descriptor stays the caller's. */
static Output *open_output(const Fixture *fixture, int fd, uid_t user) {
        const OutputOptions options = { .user = user };
        Output *output;
        const char *why;

        ck_assert_int_eq(ops->open(&output,
                                   fixture->event,
                                   fcntl(fd, F_DUPFD_CLOEXEC, 0),
                                   &options,
                                   on_changed,
                                   NULL,
                                   &why),
                         0);
        return output;
}

static void push_text(Output *output, const char *text) {
        Bytes bytes = {};

        ck_assert_int_eq(bytes_append(&bytes, text, strlen(text)), 0);
        ck_assert_int_eq(ops->push(output, &bytes, false), 0);
        bytes_deinit(&bytes);
}

static void push_much(Output *output) {
        static char text[100000];

        memset(text, 'a', sizeof(text) - 1);
        for (unsigned i = 0; i < 4; i++)
                push_text(output, text);
}

/* The same file, opened again. */
static int open_as(int fd, int flags) {
        char path[32];
        int again;

        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        again = open(path, flags | O_CLOEXEC);
        ck_assert_int_ge(again, 0);
        return again;
}

static void finish_output(Output *output) {
        ops->finish(output);
        while (!ops->is_done(output))
                usleep(1000);
        ck_assert_int_eq(ops->error(output), 0);
        ops->close(output);
}

static void assert_text(int fd, const char *expected) {
        _cleanup_(freep) char *text = NULL;
        size_t n;

        ck_assert_int_eq(lseek(fd, 0, SEEK_SET), 0);
        ck_assert_int_eq(fd_read_all(&text, &n, fd, 1 << 20), 0);
        ck_assert_uint_eq(n, strlen(expected));
        ck_assert_mem_eq(text, expected, n);
}

/* Where packets are framed as in a file: field 1, of bytes. */
#define PIECE(text) "\x0a\x03" text

static void copy_file(int flags, uid_t uid, const char *expected) {
        Fixture fixture;
        Output *copy;
        int original, fd;

        fixture_init(&fixture);
        fd = memfd_create("copy", MFD_CLOEXEC);
        original = open_as(fixture.fd, flags);
        fixture.output = open_output(&fixture, original, getuid());
        close(original);
        push_text(fixture.output, PIECE("one"));
        push_text(fixture.output, PIECE("two"));
        copy = open_output(&fixture, fd, uid);
        ops->copy(copy, fixture.output); /* whatever of it is written by now */
        push_text(fixture.output, PIECE("own"));
        push_text(copy, PIECE("new"));
        finish_output(copy);
        finish_output(TAKE(fixture.output));
        assert_text(fd, expected);
        assert_text(fixture.fd, PIECE("one") PIECE("two") PIECE("own"));
        close(fd);
        fixture_deinit(&fixture);
}

START_TEST(test_copy_has_what_was_pushed_before_it_and_nothing_else) {
        for (unsigned i = 0; i < 100; i++)
                copy_file(O_RDWR, getuid(), PIECE("one") PIECE("two") PIECE("new"));
}
END_TEST

START_TEST(test_copy_begins_behind_a_file_that_cannot_be_read) {
        copy_file(O_WRONLY, getuid(), PIECE("new"));
}
END_TEST

/* The one who opened the file can make a read of it hang, and choose what is in it. */
START_TEST(test_copy_is_not_made_of_another_users_file) {
        copy_file(O_RDWR, getuid() + 1, PIECE("new"));
}
END_TEST

START_TEST(test_copy_that_is_abandoned_is_forgotten) {
        int ends[2], fd = memfd_create("copy", MFD_CLOEXEC);
        Fixture fixture;
        Output *copy;

        fixture_init(&fixture);
        fixture.output = open_output(&fixture, fixture.fd, getuid());
        push_much(fixture.output);
        copy = open_output(&fixture, fd, getuid());
        ops->copy(copy, fixture.output);
        ops->close(copy);
        finish_output(TAKE(fixture.output));
        /* The original of one that goes on may end first. */
        ck_assert_int_eq(pipe(ends), 0);
        fixture.output = open_output(&fixture, fixture.fd, getuid());
        push_much(fixture.output);
        copy = open_output(&fixture, ends[1], getuid());
        ops->copy(copy, fixture.output);
        ops->close(TAKE(fixture.output));
        ops->close(copy);
        close(ends[0]);
        close(ends[1]);
        close(fd);
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_copy_of_a_file_that_became_shorter_has_what_is_left) {
        int fd = memfd_create("copy", MFD_CLOEXEC);
        Fixture fixture;
        Output *copy;

        fixture_init(&fixture);
        fixture.output = open_output(&fixture, fixture.fd, getuid());
        push_text(fixture.output, PIECE("one"));
        while (ops->n_written(fixture.output) == 0)
                usleep(1000);
        ck_assert_int_eq(ftruncate(fixture.fd, 0), 0);
        copy = open_output(&fixture, fd, getuid());
        ops->copy(copy, fixture.output);
        push_text(copy, PIECE("new"));
        finish_output(copy);
        assert_text(fd, PIECE("new"));
        close(fd);
        fixture_deinit(&fixture);
}
END_TEST

TEST_MAIN("sink-copy",
          test_copy_has_what_was_pushed_before_it_and_nothing_else,
          test_copy_begins_behind_a_file_that_cannot_be_read,
          test_copy_is_not_made_of_another_users_file,
          test_copy_that_is_abandoned_is_forgotten,
          test_copy_of_a_file_that_became_shorter_has_what_is_left)
