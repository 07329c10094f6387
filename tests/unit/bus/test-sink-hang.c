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

TEST_MAIN("bus-sink-hang", test_writes_that_hang_are_charged_to_their_user_until_they_end)
