/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <systemd/sd-event.h>
#include <unistd.h>

#include "shared/fd.h"
#include "sink.h"

/* One output and the loop it reports to. */
typedef struct Fixture {
        sd_event *event;
        Output *output;
        char path[32];
        int fd; /* our own view of what is written */
        struct rlimit limit_before;
} Fixture;

static const OutputOps *ops = &sink_output_ops;

static void on_changed(void *userdata) {
}

static void fixture_init(Fixture *fixture) {
        *fixture = (Fixture){ .path = "/tmp/test-sink.XXXXXX" };
        sink_ignore_signals();
        ck_assert_int_ge(sd_event_new(&fixture->event), 0);
        fixture->fd = mkstemp(fixture->path);
        ck_assert_int_ge(fixture->fd, 0);
        ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &fixture->limit_before), 0);
}

/* Files can get no larger. Until the end of the test: the next one may run in the same process. */
static void limit_files(const Fixture *fixture, rlim_t n_bytes) {
        const struct rlimit limit = { n_bytes, fixture->limit_before.rlim_max };

        ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void fixture_deinit(Fixture *fixture) {
        ops->close(fixture->output);
        sd_event_unref(fixture->event);
        fd_close(fixture->fd);
        unlink(fixture->path);
        ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &fixture->limit_before), 0);
}

static int try_open(Fixture *fixture, int fd) {
        const char *why = NULL;
        int r;

        ck_assert_int_ge(fd, 0);
        r = ops->open(&fixture->output, fixture->event, getuid(), fd, on_changed, NULL, &why);
        if (r == OUTPUT_E_UNUSABLE)
                ck_assert_ptr_nonnull(why);
        if (r)
                close(fd);
        return r;
}

static void push(Fixture *fixture, char fill, size_t n) {
        Bytes bytes = {};

        ck_assert_int_eq(bytes_reserve(&bytes, n), 0);
        memset(bytes.data, fill, n);
        bytes.n = n;
        ops->push(fixture->output, &bytes);
        bytes_deinit(&bytes);
}

/* A batch of packets of 1000 bytes, in trace file framing. */
static void push_packets(Fixture *fixture, size_t n_packets) {
        Bytes bytes = {};

        ck_assert_int_eq(bytes_reserve(&bytes, n_packets * 1000), 0);
        memset(bytes.data, 'x', n_packets * 1000);
        for (size_t i = 0; i < n_packets; i++)
                memcpy(bytes.data + i * 1000, "\x0a\xe5\x07", 3);
        bytes.n = n_packets * 1000;
        ops->push(fixture->output, &bytes);
        bytes_deinit(&bytes);
}

static void wait_until_done(Fixture *fixture) {
        ops->finish(fixture->output);
        for (int i = 0; i < 100 && !ops->is_done(fixture->output); i++)
                sd_event_run(fixture->event, 100000);
        ck_assert(ops->is_done(fixture->output));
}

static off_t written(const Fixture *fixture) {
        struct stat st;

        ck_assert_int_eq(fstat(fixture->fd, &st), 0);
        return st.st_size;
}

START_TEST(test_what_is_pushed_is_written_in_order) {
        char data[5] = {};
        Fixture fixture;

        fixture_init(&fixture);
        ck_assert_int_eq(try_open(&fixture, open(fixture.path, O_WRONLY | O_CLOEXEC)), 0);
        push(&fixture, 'a', 2);
        push(&fixture, 'b', 2);
        wait_until_done(&fixture);
        ck_assert_int_eq(ops->error(fixture.output), 0);
        ck_assert_uint_eq(ops->n_written(fixture.output), 4);
        ck_assert_int_eq(pread(fixture.fd, data, 4, 0), 4);
        ck_assert_str_eq(data, "aabb");
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_file_that_gets_too_large_ends_with_a_whole_batch) {
        Fixture fixture;

        fixture_init(&fixture);
        limit_files(&fixture, 100000);
        ck_assert_int_eq(try_open(&fixture, open(fixture.path, O_WRONLY | O_CLOEXEC)), 0);
        push(&fixture, 'a', 60000);
        push(&fixture, 'b', 60000);
        wait_until_done(&fixture);
        ck_assert_int_eq(ops->error(fixture.output), -EFBIG);
        ck_assert_int_eq(written(&fixture), 60000);
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_whole_packets_of_a_batch_stay_when_the_rest_does_not_fit) {
        Fixture fixture;

        fixture_init(&fixture);
        limit_files(&fixture, 50500);
        ck_assert_int_eq(try_open(&fixture, open(fixture.path, O_WRONLY | O_CLOEXEC)), 0);
        push_packets(&fixture, 20);
        push_packets(&fixture, 60);
        wait_until_done(&fixture);
        ck_assert_int_eq(ops->error(fixture.output), -EFBIG);
        ck_assert_int_eq(written(&fixture), 50000);
        ck_assert_uint_eq(ops->n_written(fixture.output), 50000);
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_appending_cuts_back_to_where_it_began) {
        Fixture fixture;

        fixture_init(&fixture);
        ck_assert_int_eq(ftruncate(fixture.fd, 70000), 0);
        limit_files(&fixture, 100000);
        ck_assert_int_eq(try_open(&fixture, open(fixture.path, O_WRONLY | O_APPEND | O_CLOEXEC)),
                         0);
        push(&fixture, 'a', 60000);
        wait_until_done(&fixture);
        ck_assert_int_lt(ops->error(fixture.output), 0);
        ck_assert_int_eq(written(&fixture), 70000);
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_closed_pipe_is_an_error_and_no_death) {
        Fixture fixture;
        int fds[2];

        fixture_init(&fixture);
        ck_assert_int_eq(pipe2(fds, O_CLOEXEC), 0);
        close(fds[0]);
        ck_assert_int_eq(try_open(&fixture, fds[1]), 0);
        push(&fixture, 'a', 10);
        wait_until_done(&fixture);
        ck_assert_int_eq(ops->error(fixture.output), -EPIPE);
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_pipe_that_nobody_reads_fills_the_queue_and_is_closed_at_once) {
        Fixture fixture;
        int fds[2];

        fixture_init(&fixture);
        ck_assert_int_eq(pipe2(fds, O_CLOEXEC), 0);
        ck_assert_int_eq(try_open(&fixture, fds[1]), 0);
        for (int i = 0; i < 64 && ops->room(fixture.output) > 0; i++)
                push(&fixture, 'a', 1 << 20);
        ck_assert_uint_eq(ops->room(fixture.output), 0);
        ck_assert(!ops->is_done(fixture.output));
        fixture.output = ops->close(fixture.output);
        close(fds[0]);
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_descriptors_that_cannot_be_written_are_refused) {
        Fixture fixture;

        fixture_init(&fixture);
        ck_assert_int_eq(try_open(&fixture, open(fixture.path, O_RDONLY | O_CLOEXEC)),
                         OUTPUT_E_UNUSABLE);
        ck_assert_int_eq(try_open(&fixture, open(fixture.path, O_PATH | O_CLOEXEC)),
                         OUTPUT_E_UNUSABLE);
        ck_assert_int_eq(try_open(&fixture, open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
                         OUTPUT_E_UNUSABLE);
        ck_assert_int_eq(try_open(&fixture, open("/tmp", O_PATH | O_CLOEXEC)), OUTPUT_E_UNUSABLE);
        fixture_deinit(&fixture);
}
END_TEST

/* A terminal says that it can be written to, and then blocks amidst a write. */
static int open_terminal(int *ret_master) {
        *ret_master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
        ck_assert_int_ge(*ret_master, 0);
        ck_assert_int_eq(grantpt(*ret_master), 0);
        ck_assert_int_eq(unlockpt(*ret_master), 0);
        return open(ptsname(*ret_master), O_RDWR | O_NOCTTY | O_CLOEXEC);
}

START_TEST(test_writes_that_hang_are_charged_to_their_user_until_they_end) {
        int masters[SINK_WORKERS_PER_UID_MAX];
        Fixture fixture;
        int r, fds[2];

        fixture_init(&fixture);
        for (size_t i = 0; i < SINK_WORKERS_PER_UID_MAX; i++) {
                ck_assert_int_eq(try_open(&fixture, open_terminal(&masters[i])), 0);
                /* Newlines become two bytes each, so that the room does not fit evenly. */
                push(&fixture, '\n', 1001);
                push(&fixture, '\n', 1u << 20);
                usleep(20000); /* so that it hangs */
                fixture.output = ops->close(fixture.output);
        }
        ck_assert_int_eq(pipe(fds), 0);
        ck_assert_int_eq(try_open(&fixture, dup(fds[1])), OUTPUT_E_LIMIT);

        for (size_t i = 0; i < SINK_WORKERS_PER_UID_MAX; i++)
                close(masters[i]);
        for (int n = 0; n < 500 && (r = try_open(&fixture, dup(fds[1]))) == OUTPUT_E_LIMIT; n++)
                usleep(10000);
        ck_assert_int_eq(r, 0);
        close(fds[0]);
        close(fds[1]);
        fixture_deinit(&fixture);
}
END_TEST

TEST_MAIN("bus-sink",
          test_what_is_pushed_is_written_in_order,
          test_file_that_gets_too_large_ends_with_a_whole_batch,
          test_whole_packets_of_a_batch_stay_when_the_rest_does_not_fit,
          test_appending_cuts_back_to_where_it_began,
          test_closed_pipe_is_an_error_and_no_death,
          test_pipe_that_nobody_reads_fills_the_queue_and_is_closed_at_once,
          test_descriptors_that_cannot_be_written_are_refused,
          test_writes_that_hang_are_charged_to_their_user_until_they_end)
