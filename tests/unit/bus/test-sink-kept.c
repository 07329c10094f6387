/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* An output whose process is killed, and the process that goes on with it: of both there is a sink here. */

#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <systemd/sd-event.h>
#include <unistd.h>

#include "keep/outbox.h"
#include "shared/fd.h"
#include "sink-kept.h"
#include "sink.h"

#define BATCH_BYTES 1000

static const OutputOps *ops = &sink_output_ops;

static void on_changed(void *userdata) {
}

static Output *open_output(sd_event *event, int fd, int *outbox) {
        const OutputOptions options = { .user = getuid(), .is_kept = true, .outbox = outbox };
        Output *output = NULL;
        const char *why;

        ck_assert_int_eq(ops->open(&output, event, fd, &options, on_changed, NULL, &why), 0);
        return output;
}

/* One packet, of the number, which fills a batch. */
static void fill(uint8_t packet[BATCH_BYTES], uint8_t number) {
        memset(packet, number, BATCH_BYTES);
        memcpy(packet, "\x0a\xe5\x07", 3);
}

static void push(Output *output, uint8_t number) {
        uint8_t packet[BATCH_BYTES];
        Bytes bytes = {};

        fill(packet, number);
        ops->borrow(output, &bytes);
        ck_assert_int_eq(bytes_append(&bytes, packet, sizeof(packet)), 0);
        ops->note_read(output, number, 100 + number);
        ck_assert_int_eq(ops->push(output, &bytes, false), 0);
}

static void check_file(int fd, uint8_t n) {
        uint8_t packet[BATCH_BYTES], wanted[BATCH_BYTES];
        struct stat st;

        ck_assert_int_eq(fstat(fd, &st), 0);
        ck_assert_int_eq(st.st_size, n * BATCH_BYTES);
        for (uint8_t i = 0; i < n; i++) {
                fill(wanted, i + 1);
                ck_assert_int_eq(pread(fd, packet, sizeof(packet), i * BATCH_BYTES), BATCH_BYTES);
                ck_assert(memcmp(packet, wanted, sizeof(packet)) == 0);
        }
}

static void wait_until_done(sd_event *event, Output *output) {
        ops->finish(output);
        for (int i = 0; i < 100 && !ops->is_done(output); i++)
                sd_event_run(event, 100000);
        ck_assert(ops->is_done(output));
}

/* As a process leaves it that was killed after n_pushed batches, of which n_put are put. */
static int left_outbox(uint8_t n_pushed, uint8_t n_put) {
        Outbox box;
        int fd;

        ck_assert_int_eq(outbox_new(&box), 0);
        outbox_begin(&box, 0);
        for (uint8_t i = 1; i <= n_pushed; i++) {
                uint8_t *cell = outbox_borrow(&box);

                fill(cell, i);
                outbox_push(&box,
                            &(OutboxBatch){ .data = cell,
                                            .n_bytes = BATCH_BYTES,
                                            .n_packets = i,
                                            .said = 100 + i });
        }
        for (uint8_t i = 1; i <= n_put; i++)
                outbox_put(&box, i * BATCH_BYTES, false);
        fd = fcntl(box.fd, F_DUPFD_CLOEXEC, 3);
        outbox_deinit(&box);
        return fd;
}

typedef struct Fixture {
        sd_event *event;
        Output *output;
        int file, outbox;
} Fixture;

static void fixture_init(Fixture *fixture) {
        sink_ignore_signals();
        ck_assert_int_ge(sd_event_new(&fixture->event), 0);
        fixture->file = memfd_create("file", MFD_CLOEXEC);
        ck_assert_int_ge(fixture->file, 0);
}

static void fixture_deinit(Fixture *fixture) {
        ops->close(fixture->output);
        sd_event_unref(fixture->event);
        fd_close(fixture->file);
        fd_close(fixture->outbox);
}

static int again(int fd) {
        return fcntl(fd, F_DUPFD_CLOEXEC, 3);
}

START_TEST(test_what_was_pushed_is_written_by_the_next_process) {
        Fixture f = {};

        fixture_init(&f);
        f.outbox = left_outbox(5, 0);
        f.output = open_output(f.event, again(f.file), &f.outbox);
        ck_assert_int_eq(f.outbox, -1);
        ck_assert_uint_eq(ops->n_packets(f.output), 5);
        ck_assert_uint_eq(ops->said(f.output), 105);
        push(f.output, 6);
        wait_until_done(f.event, f.output);
        check_file(f.file, 6);
        fixture_deinit(&f);
}
END_TEST

/* What was written and not said is cut off, and written again. */
START_TEST(test_nothing_is_in_a_file_twice) {
        Fixture f = {};
        uint8_t packet[BATCH_BYTES];

        fixture_init(&f);
        for (uint8_t i = 1; i <= 3; i++) {
                fill(packet, i);
                ck_assert_int_eq(write(f.file, packet, sizeof(packet)), BATCH_BYTES);
        }
        ck_assert_int_eq(write(f.file, packet, 77), 77);
        f.outbox = left_outbox(4, 2);
        f.output = open_output(f.event, again(f.file), &f.outbox);
        wait_until_done(f.event, f.output);
        check_file(f.file, 4);
        ck_assert_uint_eq(ops->n_written(f.output), 4 * BATCH_BYTES);
        fixture_deinit(&f);
}
END_TEST

static void check_pipe(int fd, uint8_t first, size_t skip) {
        uint8_t packet[BATCH_BYTES], wanted[BATCH_BYTES];

        fill(wanted, first);
        ck_assert_int_eq(read(fd, packet, BATCH_BYTES - skip), (ssize_t)(BATCH_BYTES - skip));
        ck_assert(memcmp(packet, wanted + skip, BATCH_BYTES - skip) == 0);
}

/* Opens the outbox once more, as the process that is killed has it. */
static void say_moved(int fd, uint64_t announced, uint64_t confirmed) {
        Outbox box;

        ck_assert_int_eq(outbox_find(&box, again(fd)), 0);
        outbox_announce(&box, announced);
        outbox_confirm(&box, confirmed);
        outbox_deinit(&box);
}

START_TEST(test_pipe_goes_on_within_a_batch) {
        Fixture f = {};
        int fds[2];

        fixture_init(&f);
        ck_assert_int_eq(pipe2(fds, O_CLOEXEC), 0);
        f.outbox = left_outbox(2, 0);
        say_moved(f.outbox, 300, 300);
        f.output = open_output(f.event, fds[1], &f.outbox);
        wait_until_done(f.event, f.output);
        check_pipe(fds[0], 1, 300);
        check_pipe(fds[0], 2, 0);
        fd_close(fds[0]);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_pipe_of_which_nobody_knows_fails) {
        Fixture f = {};
        int fds[2];

        fixture_init(&f);
        ck_assert_int_eq(pipe2(fds, O_CLOEXEC), 0);
        f.outbox = left_outbox(2, 0);
        say_moved(f.outbox, 600, 300);
        f.output = open_output(f.event, fds[1], &f.outbox);
        wait_until_done(f.event, f.output);
        ck_assert_int_eq(ops->error(f.output), -EINTR);
        fd_close(fds[0]);
        fixture_deinit(&f);
}
END_TEST

/* The first one is still writing, as it were, when the second one is there. */
START_TEST(test_descriptors_for_the_store_are_there_when_the_file_was_looked_at) {
        Fixture f = {};
        int fd = -1, outbox = -1;

        fixture_init(&f);
        f.outbox = -1;
        f.output = open_output(f.event, again(f.file), NULL);
        for (int i = 0; i < 100 && !ops->files(f.output, &fd, &outbox); i++)
                sd_event_run(f.event, 100000);
        ck_assert_int_ge(fd, 0);
        ck_assert_int_ge(outbox, 0);
        fd_close(fd);
        ck_assert(!ops->files(f.output, &fd, &outbox));
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_outbox_that_is_none_is_refused) {
        Fixture f = {};
        OutputOptions options = { .user = getuid(), .is_kept = true, .outbox = &f.outbox };
        const char *why;
        int fd;

        fixture_init(&f);
        fd = again(f.file);
        f.outbox = again(f.file);
        ck_assert_int_eq(ops->open(&f.output, f.event, fd, &options, on_changed, NULL, &why),
                         -EBADMSG);
        ck_assert_int_ge(f.outbox, 0);
        fd_close(fd);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_files_of_which_closing_may_take_long_are_not_kept) {
        int fds[2], memfd = memfd_create("file", MFD_CLOEXEC),
                    proc = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);

        ck_assert_int_eq(pipe2(fds, O_CLOEXEC), 0);
        ck_assert(sink_may_be_kept(fds[1]) && sink_may_be_kept(memfd));
        ck_assert(!sink_may_be_kept(proc));
        ck_assert(!sink_may_be_kept(-1));
        fd_close(fds[0]);
        fd_close(fds[1]);
        fd_close(memfd);
        fd_close(proc);
}
END_TEST

TEST_MAIN("sink-kept",
          test_what_was_pushed_is_written_by_the_next_process,
          test_nothing_is_in_a_file_twice,
          test_pipe_goes_on_within_a_batch,
          test_pipe_of_which_nobody_knows_fails,
          test_descriptors_for_the_store_are_there_when_the_file_was_looked_at,
          test_outbox_that_is_none_is_refused,
          test_files_of_which_closing_may_take_long_are_not_kept)
