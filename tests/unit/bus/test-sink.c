/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <systemd/sd-event.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "shared/fd.h"
#include "shared/macro.h"
#include "sink-file.h"
#include "sink.h"
#include "wire/wire-reader.h"

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

static int try_open_with(Fixture *fixture, int fd, const OutputOptions *with) {
        OutputOptions options = *with;
        const char *why = NULL;
        int r;

        ck_assert_int_ge(fd, 0);
        options.user = getuid();
        r = ops->open(&fixture->output, fixture->event, fd, &options, on_changed, NULL, &why);
        if (r == OUTPUT_E_UNUSABLE)
                ck_assert_ptr_nonnull(why);
        if (r)
                close(fd);
        return r;
}

static int try_open(Fixture *fixture, int fd) {
        return try_open_with(fixture, fd, &(OutputOptions){});
}

static void open_file_with(Fixture *fixture, const OutputOptions *options) {
        ck_assert_int_eq(try_open_with(fixture, open(fixture->path, O_WRONLY | O_CLOEXEC), options),
                         0);
}

static void push(Fixture *fixture, char fill, size_t n) {
        Bytes bytes = {};

        ck_assert_int_eq(bytes_reserve(&bytes, n), 0);
        memset(bytes.data, fill, n);
        bytes.n = n;
        ops->push(fixture->output, &bytes, false);
        bytes_deinit(&bytes);
}

#define PACKET_BYTES 1000 /* with its frame */

/* Behind what there is. No codec makes it much smaller. */
static void add_packet(Bytes *bytes) {
        uint8_t packet[PACKET_BYTES] = { 0x0a, 0xe5, 0x07 };
        static uint64_t noise = 1;

        for (size_t i = 3; i < sizeof(packet); i++) {
                noise = noise * UINT64_C(6364136223846793005) + 1442695040888963407;
                packet[i] = (uint8_t)(noise >> 56);
        }
        ck_assert_int_eq(bytes_append(bytes, packet, sizeof(packet)), 0);
}

/* With nothing but a synchronisation marker in it. */
static void add_marker(Bytes *bytes) {
        ck_assert_int_eq(bytes_append(bytes,
                                      "\x0a\x13\xa2\x02\x10\x82\x47\x7a\x76\xb2\x8d\x42\xba\x81"
                                      "\xdc\x33\x32\x6d\x57\xa0\x79",
                                      21),
                         0);
}

/* Keeps what was pushed, to be compared. */
static void push_all(Fixture *fixture, Bytes *bytes, Bytes *all, bool is_end) {
        if (all)
                ck_assert_int_eq(bytes_append(all, bytes->data, bytes->n), 0);
        ck_assert_int_eq(ops->push(fixture->output, bytes, is_end), 0);
        bytes_deinit(bytes);
}

static void push_packets(Fixture *fixture, size_t n_packets) {
        Bytes bytes = {};

        while (n_packets-- > 0)
                add_packet(&bytes);
        ops->push(fixture->output, &bytes, false);
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

static Bytes read_back(const Fixture *fixture) {
        Bytes bytes = {};

        ck_assert_int_eq(bytes_reserve(&bytes, (size_t)written(fixture) + 1), 0);
        bytes.n = (size_t)pread(fixture->fd, bytes.data, bytes.n_allocated, 0);
        return bytes;
}

#define COMPRESSED_DEFLATE 50
#define COMPRESSED_ZSTD    133

static void unpack(const WireField *field, Bytes *out) {
        static uint8_t room[4 << 20];
        size_t n = sizeof(room);
        uLongf n_deflate = sizeof(room);

        if (field->number == COMPRESSED_ZSTD) {
                n = ZSTD_decompress(room, n, field->data, field->n_bytes);
                ck_assert(!ZSTD_isError(n));
        } else {
                ck_assert_int_eq(uncompress(room, &n_deflate, field->data, field->n_bytes), Z_OK);
                n = n_deflate;
        }
        ck_assert_int_eq(bytes_append(out, room, n), 0);
}

/* A trace as it was before it was compressed, and how many packets were. Fails when it is no trace. */
static Bytes unpacked(const Bytes *trace, uint32_t number, size_t *ret_n_compressed) {
        WireReader reader, packet;
        WireField frame, field;
        Bytes out = {};
        int r;

        *ret_n_compressed = 0;
        wire_reader_init(&reader, trace->data, trace->n);
        while ((r = wire_read(&reader, &frame)) > 0) {
                ck_assert_uint_eq(frame.number, 1);
                wire_reader_init_field(&packet, &frame);
                if (wire_read(&packet, &field) > 0 && field.number == number) {
                        unpack(&field, &out);
                        (*ret_n_compressed)++;
                } else {
                        ck_assert_int_eq(bytes_append(&out, frame.raw, frame.n_raw), 0);
                }
        }
        ck_assert_int_eq(r, 0);
        return out;
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

/* By the thread: to close a file may take as long as to write it. */
START_TEST(test_output_is_closed_before_it_is_done) {
        Fixture fixture;
        char data[8];
        int fds[2];

        fixture_init(&fixture);
        ck_assert_int_eq(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
        ck_assert_int_eq(try_open(&fixture, fds[1]), 0);
        push(&fixture, 'a', 4);
        wait_until_done(&fixture);
        ck_assert_int_eq(ops->error(fixture.output), 0);
        ck_assert_int_eq(read(fds[0], data, sizeof(data)), 4);
        ck_assert_int_eq(read(fds[0], data, sizeof(data)), 0); /* the end, not EAGAIN */
        close(fds[0]);
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
        const int socket_types[] = { SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET };
        Fixture fixture;
        int fds[2];

        fixture_init(&fixture);
        ck_assert_int_eq(try_open(&fixture, open(fixture.path, O_RDONLY | O_CLOEXEC)),
                         OUTPUT_E_UNUSABLE);
        ck_assert_int_eq(try_open(&fixture, open(fixture.path, O_PATH | O_CLOEXEC)),
                         OUTPUT_E_UNUSABLE);
        ck_assert_int_eq(try_open(&fixture, open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
                         OUTPUT_E_UNUSABLE);
        ck_assert_int_eq(try_open(&fixture, open("/tmp", O_PATH | O_CLOEXEC)), OUTPUT_E_UNUSABLE);
        ck_assert_int_eq(try_open(&fixture, open("/dev/null", O_WRONLY | O_CLOEXEC)),
                         OUTPUT_E_UNUSABLE);
        for (unsigned i = 0; i < ARRAY_SIZE(socket_types); i++) {
                ck_assert_int_eq(socketpair(AF_UNIX, socket_types[i] | SOCK_CLOEXEC, 0, fds), 0);
                ck_assert_int_eq(try_open(&fixture, fds[0]), OUTPUT_E_UNUSABLE);
                close(fds[1]);
        }
        ck_assert_int_eq(try_open(&fixture, eventfd(0, EFD_CLOEXEC)), OUTPUT_E_UNUSABLE);
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_memfds_are_written_to) {
        Fixture fixture;

        fixture_init(&fixture);
        ck_assert_int_eq(try_open(&fixture, memfd_create("test", MFD_CLOEXEC)), 0);
        push_packets(&fixture, 3);
        wait_until_done(&fixture);
        ck_assert_int_eq(ops->error(fixture.output), 0);
        fixture_deinit(&fixture);
}
END_TEST

/* Harmless whatever happens: the name of a thread. */
START_TEST(test_files_of_the_kernel_are_not_written_to) {
        Fixture fixture;
        int fd = open("/proc/self/comm", O_RDWR | O_CLOEXEC);

        fixture_init(&fixture);
        ck_assert_int_eq(try_open(&fixture, fd),
                         0); /* a regular file, for all that is known by then */
        push_packets(&fixture, 3);
        wait_until_done(&fixture);
        ck_assert_int_eq(ops->error(fixture.output), -EPERM);
        ck_assert_uint_eq(ops->n_moved(fixture.output), 0);
        fixture_deinit(&fixture);
}
END_TEST

/* Pushes two batches, of which the second begins with a marker, and compares. */
static void check_compression(Codec codec, uint32_t number) {
        const OutputOptions options = { .compression = { .codec = codec } };
        Bytes batch = {}, all = {}, trace, plain;
        Fixture fixture;
        size_t n;

        fixture_init(&fixture);
        open_file_with(&fixture, &options);
        for (int i = 0; i < 200; i++)
                ck_assert_int_eq(bytes_append(&batch, "\x0a\x07packet.", 9), 0);
        push_all(&fixture, &batch, &all, false);
        add_marker(&batch);
        add_packet(&batch);
        push_all(&fixture, &batch, &all, false);
        wait_until_done(&fixture);
        ck_assert_int_eq(ops->error(fixture.output), 0);
        trace = read_back(&fixture);
        ck_assert_uint_lt(trace.n, all.n - 1000);
        ck_assert_uint_eq(ops->n_written(fixture.output), trace.n);
        plain = unpacked(&trace, number, &n);
        ck_assert_uint_eq(n, 2);
        ck_assert_uint_eq(plain.n, all.n);
        ck_assert_mem_eq(plain.data, all.data, all.n);
        bytes_deinit(&plain);
        bytes_deinit(&trace);
        bytes_deinit(&all);
        fixture_deinit(&fixture);
}

START_TEST(test_each_batch_is_one_packet_that_holds_it_compressed) {
        check_compression(CODEC_ZSTD, COMPRESSED_ZSTD);
        check_compression(CODEC_DEFLATE, COMPRESSED_DEFLATE);
}
END_TEST

START_TEST(test_markers_are_found_in_compressed_files) {
        const OutputOptions options = { .compression = { .codec = CODEC_ZSTD } };
        Bytes batch = {}, trace;
        Fixture fixture;

        fixture_init(&fixture);
        open_file_with(&fixture, &options);
        add_packet(&batch);
        push_all(&fixture, &batch, NULL, false);
        add_marker(&batch);
        push_all(&fixture, &batch, NULL, false); /* nothing but a marker */
        add_marker(&batch);
        for (int i = 0; i < 10; i++)
                add_packet(&batch);
        push_all(&fixture, &batch, NULL, false);
        wait_until_done(&fixture);
        trace = read_back(&fixture);
        for (size_t at = 0, n = 0; n < 2; n++) {
                const uint8_t *marker = memmem(
                        trace.data + at, trace.n - at, "\x81\xdc\x33\x32\x6d\x57\xa0\x79", 8);
                Bytes rest, plain;
                size_t n_compressed;

                ck_assert_ptr_nonnull(marker);
                at = (size_t)(marker - trace.data) + 8;
                rest = (Bytes){ .data = trace.data + at, .n = trace.n - at };
                plain = unpacked(&rest, COMPRESSED_ZSTD, &n_compressed);
                ck_assert_uint_eq(n_compressed, 1);
                ck_assert_uint_eq(plain.n, 10 * PACKET_BYTES + (n == 0 ? 21 : 0));
                bytes_deinit(&plain);
        }
        bytes_deinit(&trace);
        fixture_deinit(&fixture);
}
END_TEST

/* Any level: of the codec, beyond its limits, fast and small. */
START_TEST(test_levels_are_followed_as_far_as_they_go) {
        static const int levels[] = { -5, 0, 1, 19, 1000, INT32_MIN };
        size_t n_first = 0;

        for (size_t i = 0; i < ARRAY_SIZE(levels); i++) {
                const OutputOptions options = { .compression = { CODEC_ZSTD, levels[i] } };
                Bytes batch = {};
                Fixture fixture;

                fixture_init(&fixture);
                open_file_with(&fixture, &options);
                for (uint32_t n = 0; n < 10000; n++) {
                        char text[32];

                        snprintf(text, sizeof(text), "\x0a\x0c%012u", n * n);
                        bytes_append(&batch, text, 14);
                }
                ck_assert_uint_eq(batch.n, 140000);
                push_all(&fixture, &batch, NULL, false);
                wait_until_done(&fixture);
                ck_assert_int_eq(ops->error(fixture.output), 0);
                if (i == 0)
                        n_first = (size_t)written(&fixture);
                else if (levels[i] > 0)
                        ck_assert_uint_lt(written(&fixture), n_first);
                fixture_deinit(&fixture);
        }
}
END_TEST

/* Fills it, and says how the trace ends. Returns what is in the file. */
static Bytes fill_up(Fixture *fixture, const OutputOptions *options) {
        Bytes end = {};

        fixture_init(fixture);
        open_file_with(fixture, options);
        for (int i = 0; i < 100 && !ops->is_full(fixture->output); i++) {
                push_packets(fixture, 20);
                sd_event_run(fixture->event, 100000);
        }
        ck_assert(ops->is_full(fixture->output));
        push_packets(fixture, 1); /* was on its way */
        ck_assert_int_eq(bytes_append(&end,
                                      "\x0a\x03"
                                      "end",
                                      5),
                         0);
        push_all(fixture, &end, NULL, true);
        wait_until_done(fixture);
        ck_assert_int_eq(ops->error(fixture->output), 0);
        ck_assert_uint_le(written(fixture), options->max_bytes);
        return read_back(fixture);
}

START_TEST(test_full_file_holds_what_fits_and_the_end) {
        const OutputOptions options = { .max_bytes = 400000 };
        const size_t n_fit = (400000 - SINK_END_BYTES) / PACKET_BYTES;
        Fixture fixture;
        Bytes trace;

        trace = fill_up(&fixture, &options);
        ck_assert_uint_eq(trace.n, n_fit * PACKET_BYTES + 5);
        ck_assert_mem_eq(trace.data + trace.n - 3, "end", 3);
        bytes_deinit(&trace);
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_what_counts_of_a_compressed_file_is_what_is_in_it) {
        const OutputOptions options = {
                .compression = { .codec = CODEC_ZSTD },
                .max_bytes = 400000,
        };
        Fixture fixture;
        Bytes trace, plain;
        size_t n;

        trace = fill_up(&fixture, &options);
        ck_assert_uint_ge(trace.n, options.max_bytes - SINK_END_BYTES - 20 * PACKET_BYTES);
        plain = unpacked(&trace, COMPRESSED_ZSTD, &n);
        ck_assert_uint_eq(plain.n % PACKET_BYTES, 5);
        ck_assert_mem_eq(plain.data + plain.n - 3, "end", 3);
        bytes_deinit(&plain);
        bytes_deinit(&trace);
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_small_limit_keeps_room_for_the_end) {
        const OutputOptions options = { .max_bytes = 2400 };
        Fixture fixture;
        Bytes trace;

        trace = fill_up(&fixture, &options);
        ck_assert_uint_eq(trace.n, PACKET_BYTES + 5);
        bytes_deinit(&trace);
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_output_that_gets_full_with_its_last_batch_awaits_the_end) {
        const OutputOptions options = { .max_bytes = 10000 };
        Fixture fixture;
        Bytes end = {};

        fixture_init(&fixture);
        open_file_with(&fixture, &options);
        push_packets(&fixture, 20);
        ops->finish(fixture.output);
        for (int i = 0; i < 100 && !ops->is_full(fixture.output); i++)
                sd_event_run(fixture.event, 100000);
        ck_assert(ops->is_full(fixture.output));
        ck_assert(!ops->is_done(fixture.output));
        ck_assert_int_eq(bytes_append(&end,
                                      "\x0a\x03"
                                      "end",
                                      5),
                         0);
        push_all(&fixture, &end, NULL, true);
        wait_until_done(&fixture);
        ck_assert_uint_eq(written(&fixture), 7 * PACKET_BYTES + 5);
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_memory_of_written_batches_is_used_again) {
        Bytes batch = {}, again = {};
        Fixture fixture;

        fixture_init(&fixture);
        open_file_with(&fixture, &(OutputOptions){});
        ops->borrow(fixture.output, &again);
        ck_assert_ptr_null(again.data);
        add_packet(&batch);
        push_all(&fixture, &batch, NULL, false);
        wait_until_done(&fixture);
        ops->borrow(fixture.output, &again);
        ck_assert_uint_ge(again.n_allocated, PACKET_BYTES);
        ck_assert_uint_eq(again.n, 0);
        bytes_deinit(&again);
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_syncing_what_cannot_be_synced_is_no_failure) {
        const OutputOptions options = { .syncs = true };
        Fixture fixture;
        int fds[2];

        fixture_init(&fixture);
        open_file_with(&fixture, &options);
        push_packets(&fixture, 3);
        wait_until_done(&fixture);
        ck_assert_int_eq(ops->error(fixture.output), 0);
        ck_assert_uint_eq(written(&fixture), 3 * PACKET_BYTES);
        fixture.output = ops->close(fixture.output);

        ck_assert_int_eq(pipe2(fds, O_CLOEXEC), 0);
        ck_assert_int_eq(try_open_with(&fixture, fds[1], &options), 0);
        push_packets(&fixture, 3);
        wait_until_done(&fixture);
        ck_assert_int_eq(ops->error(fixture.output), 0);
        close(fds[0]);
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_output_that_is_given_up_is_done_and_has_failed) {
        Fixture fixture;
        int fds[2];

        fixture_init(&fixture);
        ck_assert_int_eq(pipe2(fds, O_CLOEXEC), 0);
        ck_assert_int_eq(try_open(&fixture, fds[1]), 0);
        push_packets(&fixture, 200);
        for (int i = 0; i < 100 && ops->n_moved(fixture.output) < 65536; i++)
                usleep(10000);
        ck_assert_uint_eq(ops->n_moved(fixture.output), 65536); /* what a pipe holds */
        ck_assert(!ops->is_done(fixture.output));
        ops->give_up(fixture.output, -ETIMEDOUT);
        ck_assert(ops->is_done(fixture.output));
        ck_assert_int_eq(ops->error(fixture.output), -ETIMEDOUT);
        close(fds[0]);
        fixture_deinit(&fixture);
}
END_TEST

TEST_MAIN("bus-sink",
          test_what_is_pushed_is_written_in_order,
          test_file_that_gets_too_large_ends_with_a_whole_batch,
          test_whole_packets_of_a_batch_stay_when_the_rest_does_not_fit,
          test_appending_cuts_back_to_where_it_began,
          test_output_is_closed_before_it_is_done,
          test_closed_pipe_is_an_error_and_no_death,
          test_pipe_that_nobody_reads_fills_the_queue_and_is_closed_at_once,
          test_descriptors_that_cannot_be_written_are_refused,
          test_memfds_are_written_to,
          test_files_of_the_kernel_are_not_written_to,
          test_each_batch_is_one_packet_that_holds_it_compressed,
          test_markers_are_found_in_compressed_files,
          test_levels_are_followed_as_far_as_they_go,
          test_full_file_holds_what_fits_and_the_end,
          test_what_counts_of_a_compressed_file_is_what_is_in_it,
          test_small_limit_keeps_room_for_the_end,
          test_output_that_gets_full_with_its_last_batch_awaits_the_end,
          test_memory_of_written_batches_is_used_again,
          test_syncing_what_cannot_be_synced_is_no_failure,
          test_output_that_is_given_up_is_done_and_has_failed)
