/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Writes that do not return: as to a file system of a user that has stopped answering
 *
 * A terminal that nobody reads stands in for that file system: it says that it can be written to, and blocks in the
 * middle of a write. The service refuses terminals, so the check is replaced here by one that takes everything.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-event.h>
#include <unistd.h>

#include "shared/fd.h"
#include "shared/macro.h"
#include "sink-descriptor.h"
#include "sink.h"
#include "test.h"

#define LINES 1001 /* each becomes two bytes, so that the room does not fit evenly */

static const OutputOps *ops = &sink_output_ops;

const char *sink_why_unusable(int fd, bool *ret_is_regular) {
        *ret_is_regular = false;
        return NULL;
}

int sink_check_file_system(int fd) {
        return 0;
}

static void on_changed(void *userdata) {
}

static int try_open(Output **ret, sd_event *event, int fd) {
        const OutputOptions options = { .user = getuid() };
        const char *why = NULL;
        int r;

        ck_assert_int_ge(fd, 0);
        r = ops->open(ret, event, fd, &options, on_changed, NULL, &why);
        if (r)
                close(fd);
        return r;
}

static int open_terminal(int *ret_master) {
        *ret_master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
        ck_assert_int_ge(*ret_master, 0);
        ck_assert_int_eq(grantpt(*ret_master), 0);
        ck_assert_int_eq(unlockpt(*ret_master), 0);
        return open(ptsname(*ret_master), O_RDWR | O_NOCTTY | O_CLOEXEC);
}

static void push_lines(Output *output, size_t n) {
        Bytes batch = {};

        ck_assert_int_eq(bytes_reserve(&batch, n), 0);
        memset(batch.data, '\n', n);
        batch.n = n;
        ck_assert_int_eq(ops->push(output, &batch, false), 0);
}

/* A writer that makes no progress for a while is taken to hang: a short pause may also be a busy machine's. */
static void wait_until_it_hangs(Output *output) {
        uint64_t n = 0;

        for (unsigned n_looks = 0; n_looks < 5; n_looks++) {
                if (n <= LINES || n != ops->n_moved(output))
                        n_looks = 0;
                n = ops->n_moved(output);
                usleep(30000);
        }
}

START_TEST(test_writes_that_hang_are_charged_to_their_user_until_they_end) {
        int r, fds[2], masters[SINK_WORKERS_PER_USER_MAX];
        sd_event *event = NULL;
        Output *output;

        ck_assert_int_ge(sd_event_new(&event), 0);
        for (size_t i = 0; i < SINK_WORKERS_PER_USER_MAX; i++) {
                ck_assert_int_eq(try_open(&output, event, open_terminal(&masters[i])), 0);
                push_lines(output, LINES);
                push_lines(output, 1u << 20);
                wait_until_it_hangs(output);
                ops->close(output);
        }
        ck_assert_int_eq(pipe(fds), 0);
        ck_assert_int_eq(try_open(&output, event, dup(fds[1])), OUTPUT_E_LIMIT);

        for (size_t i = 0; i < SINK_WORKERS_PER_USER_MAX; i++)
                close(masters[i]);
        for (int n = 0; n < 500 && (r = try_open(&output, event, dup(fds[1]))) == OUTPUT_E_LIMIT;
             n++)
                usleep(10000);
        ck_assert_int_eq(r, 0);
        ops->close(output);
        close(fds[0]);
        close(fds[1]);
        sd_event_unref(event);
}
END_TEST

/* An output into a pipe that nobody reads yet, and a batch that is being written to it. */
static Output *open_full_pipe(sd_event *event, int *ret_reader, size_t n_first) {
        Output *output;
        int fds[2];

        ck_assert_int_eq(pipe(fds), 0);
        ck_assert_int_eq(try_open(&output, event, fds[1]), 0);
        ck_assert_uint_eq(ops->room(output), SINK_QUEUE_BYTES_MAX);
        push_lines(output, n_first);
        while (ops->n_moved(output) == 0)
                usleep(1000);
        *ret_reader = fds[0];
        return output;
}

static void read_lines(int reader, size_t n) {
        static char lines[1 << 16];

        while (n > 0) {
                const ssize_t n_read = read(reader, lines, MIN(n, sizeof(lines)));

                ck_assert_int_gt(n_read, 0);
                n -= (size_t)n_read;
        }
}

static void wait_for_room(Output *output) {
        for (int i = 0; i < 1000 && ops->room(output) < SINK_QUEUE_BYTES_MAX; i++)
                usleep(10000);
        ck_assert_uint_eq(ops->room(output), SINK_QUEUE_BYTES_MAX);
}

START_TEST(test_bytes_that_wait_are_limited) {
        sd_event *event = NULL;
        Output *output;
        int reader;

        ck_assert_int_ge(sd_event_new(&event), 0);
        output = open_full_pipe(event, &reader, 1u << 20);
        push_lines(output, SINK_QUEUE_BYTES_MAX - (1u << 20) - 1);
        ck_assert_uint_eq(ops->room(output), 1);
        push_lines(output, 1);
        ck_assert_uint_eq(ops->room(output), 0);
        read_lines(reader, SINK_QUEUE_BYTES_MAX);
        wait_for_room(output);
        ops->close(output);
        close(reader);
        sd_event_unref(event);
}
END_TEST

/* Returns how many pieces of memory the output has kept. */
static size_t n_spares(Output *output) {
        Bytes spares[SINK_BATCHES_MAX] = {};
        size_t n = 0;

        for (size_t i = 0; i < SINK_BATCHES_MAX; i++) {
                ops->borrow(output, &spares[i]);
                n += spares[i].n_allocated > 0;
        }
        for (size_t i = 0; i < SINK_BATCHES_MAX; i++)
                bytes_deinit(&spares[i]);
        return n;
}

START_TEST(test_batches_that_wait_and_memory_that_is_kept_are_limited) {
        sd_event *event = NULL;
        Bytes batch = {};
        Output *output;
        int reader;

        ck_assert_int_ge(sd_event_new(&event), 0);
        output = open_full_pipe(event, &reader, 1u << 20);
        for (size_t i = 0; i < SINK_BATCHES_MAX; i++) {
                ck_assert_uint_gt(ops->room(output), 0);
                push_lines(output, 1);
        }
        ck_assert_uint_eq(ops->room(output), 0);
        ck_assert_int_eq(bytes_append(&batch, "\n", 1), 0);
        ck_assert_int_eq(ops->push(output, &batch, false), -ENOBUFS);
        ck_assert_uint_eq(batch.n, 1); /* it is still the caller's */

        read_lines(reader, (1u << 20) + SINK_BATCHES_MAX);
        wait_for_room(output);
        ck_assert_uint_eq(n_spares(output), SINK_SPARES_MAX);
        ck_assert_int_eq(ops->push(output, &batch, false), 0);
        read_lines(reader, 1);
        bytes_deinit(&batch);
        ops->close(output);
        close(reader);
        sd_event_unref(event);
}
END_TEST

TEST_MAIN("bus-sink-hang",
          test_writes_that_hang_are_charged_to_their_user_until_they_end,
          test_bytes_that_wait_are_limited,
          test_batches_that_wait_and_memory_that_is_kept_are_limited)
