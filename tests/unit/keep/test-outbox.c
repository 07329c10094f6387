/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What waits in an outbox, and how far its output has come, is what the next process finds. */

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "keep/outbox.h"
#include "shared/fd.h"
#include "test.h"

/* As the next process has it. */
static void find(Outbox *ret, const Outbox *box) {
        ck_assert_int_eq(outbox_find(ret, fcntl(box->fd, F_DUPFD_CLOEXEC, 3)), 0);
}

static void push(Outbox *box, const char *text, uint64_t n_packets, bool is_end) {
        uint8_t *cell = outbox_borrow(box);

        ck_assert_ptr_nonnull(cell);
        memcpy(cell, text, strlen(text));
        outbox_push(box,
                    &(OutboxBatch){ .data = cell,
                                    .n_bytes = strlen(text),
                                    .n_packets = n_packets,
                                    .said = 10 * n_packets,
                                    .is_end = is_end });
}

static void check_batch(const Outbox *box, size_t i, const char *text) {
        const OutboxBatch batch = outbox_batch(box, i);

        ck_assert_uint_eq(batch.n_bytes, strlen(text));
        ck_assert(memcmp(batch.data, text, strlen(text)) == 0);
}

START_TEST(test_next_process_finds_what_was_not_put) {
        Outbox box, found;

        ck_assert_int_eq(outbox_new(&box), 0);
        outbox_begin(&box, 7);
        push(&box, "one", 1, false);
        push(&box, "two", 3, false);
        push(&box, "three", 4, true);
        outbox_give_back(&box, outbox_batch(&box, 0).data);
        outbox_put(&box, 300, false);

        find(&found, &box);
        ck_assert_uint_eq(outbox_n_batches(&found), 2);
        check_batch(&found, 0, "two");
        check_batch(&found, 1, "three");
        ck_assert(outbox_batch(&found, 1).is_end && !outbox_batch(&found, 0).is_end);
        ck_assert_uint_eq(outbox_batch(&found, 0).n_packets_before, 1);
        ck_assert_uint_eq(outbox_began_at(&found), 7);
        ck_assert_uint_eq(outbox_written(&found, NULL), 300);
        ck_assert_uint_eq(outbox_n_packets(&found), 4);
        ck_assert_uint_eq(outbox_said(&found), 40);
        ck_assert_uint_eq(outbox_batch(&found, 0).said, 30);
        ck_assert(outbox_has_end(&found));
        outbox_deinit(&found);
        outbox_deinit(&box);
}
END_TEST

/* A batch that was being read when the process was killed is none. */
START_TEST(test_what_was_not_pushed_is_not_there) {
        Outbox box, found;

        ck_assert_int_eq(outbox_new(&box), 0);
        memset(outbox_borrow(&box), 'x', OUTBOX_CELL_BYTES);
        find(&found, &box);
        ck_assert_uint_eq(outbox_n_batches(&found), 0);
        ck_assert_uint_eq(outbox_n_packets(&found), 0);
        ck_assert_uint_eq(outbox_written(&found, NULL), 0);
        outbox_deinit(&found);
        outbox_deinit(&box);
}
END_TEST

START_TEST(test_cells_in_use_are_lent_to_nobody) {
        Outbox box, found;
        uint8_t *cell;

        ck_assert_int_eq(outbox_new(&box), 0);
        push(&box, "one", 1, false);
        push(&box, "two", 2, false);
        find(&found, &box);
        cell = outbox_borrow(&found);
        ck_assert_ptr_eq(outbox_borrow(&found), cell);
        ck_assert(cell != outbox_batch(&found, 0).data && cell != outbox_batch(&found, 1).data);
        for (int i = 2; i < OUTBOX_BATCHES_MAX; i++)
                push(&found, "more", 3, false);
        ck_assert_ptr_null(outbox_borrow(&found));
        outbox_give_back(&found, outbox_batch(&found, 0).data);
        ck_assert_ptr_eq(outbox_borrow(&found), outbox_batch(&found, 0).data);
        outbox_deinit(&found);
        outbox_deinit(&box);
}
END_TEST

START_TEST(test_batch_that_lay_elsewhere_is_known_to_be_lost) {
        Outbox box, found;
        const uint8_t large = 0;

        ck_assert_int_eq(outbox_new(&box), 0);
        push(&box, "one", 10, false);
        outbox_push(&box, &(OutboxBatch){ .data = &large, .n_bytes = 1u << 20, .n_packets = 12 });
        find(&found, &box);
        ck_assert_ptr_null(outbox_batch(&found, 1).data);
        ck_assert_uint_eq(outbox_batch(&found, 1).n_packets_before, 10);
        ck_assert_uint_eq(outbox_n_packets(&found), 12);
        outbox_deinit(&found);
        outbox_deinit(&box);
}
END_TEST

START_TEST(test_piece_of_a_pipe_is_there_or_nobody_knows) {
        Outbox box;
        uint64_t n;

        ck_assert_int_eq(outbox_new(&box), 0);
        push(&box, "one", 1, false);
        push(&box, "two", 2, false);
        ck_assert(outbox_moved(&box, &n) && n == 0);
        outbox_announce(&box, 2);
        ck_assert(!outbox_moved(&box, &n));
        outbox_confirm(&box, 2);
        ck_assert(outbox_moved(&box, &n) && n == 2);
        outbox_put(&box, 3, false);
        ck_assert(outbox_moved(&box, &n) && n == 0);
        outbox_announce(&box, 1);
        ck_assert(!outbox_moved(&box, &n));
        outbox_deinit(&box);
}
END_TEST

START_TEST(test_full_output_is_remembered) {
        bool is_full;
        Outbox box;

        ck_assert_int_eq(outbox_new(&box), 0);
        for (int i = 0; i < 3 * OUTBOX_BATCHES_MAX; i++) {
                push(&box, "batch", 1, false);
                outbox_give_back(&box, outbox_batch(&box, 0).data);
                outbox_put(&box, (uint64_t)i, i == 3 * OUTBOX_BATCHES_MAX - 1);
        }
        ck_assert_uint_eq(outbox_written(&box, &is_full), 3 * OUTBOX_BATCHES_MAX - 1);
        ck_assert(is_full);
        outbox_deinit(&box);
}
END_TEST

/* Any byte of the head may be another: then it is refused, or each of its batches lies within the file. */
START_TEST(test_damaged_outbox_is_refused_or_within_bounds) {
        Outbox box, found;
        size_t n_refused = 0;

        ck_assert_int_eq(outbox_new(&box), 0);
        push(&box, "one", 1, false);
        push(&box, "two", 2, false);
        for (off_t at = 0; at < 200; at++) {
                uint8_t byte, other;

                ck_assert_int_eq(pread(box.fd, &byte, 1, at), 1);
                other = byte ^ 0xc1;
                ck_assert_int_eq(pwrite(box.fd, &other, 1, at), 1);
                if (outbox_find(&found, box.fd) == 0) {
                        for (size_t i = 0; i < outbox_n_batches(&found); i++) {
                                const OutboxBatch batch = outbox_batch(&found, i);

                                ck_assert(!batch.data || outbox_has(&found, batch.data));
                                ck_assert(!batch.data || batch.n_bytes <= OUTBOX_CELL_BYTES);
                        }
                        found.fd = -1;
                        outbox_deinit(&found);
                } else {
                        n_refused++;
                }
                ck_assert_int_eq(pwrite(box.fd, &byte, 1, at), 1);
        }
        ck_assert_uint_gt(n_refused, 20);
        outbox_deinit(&box);
}
END_TEST

START_TEST(test_file_that_is_no_outbox_is_refused_and_stays) {
        Outbox found;
        int fd;

        ck_assert_int_lt(outbox_find(&found, -1), 0);
        ck_assert_int_eq(fd_new_sealed_memfd(&fd, "small", 100), 0);
        ck_assert_int_lt(outbox_find(&found, fd), 0);
        fd_close(fd);
        ck_assert_int_eq(fd_new_sealed_memfd(&fd, "large", 64u << 20), 0);
        ck_assert_int_lt(outbox_find(&found, fd), 0);
        ck_assert_int_ge(fcntl(fd, F_GETFD), 0);
        fd_close(fd);
}
END_TEST

TEST_MAIN("outbox",
          test_next_process_finds_what_was_not_put,
          test_what_was_not_pushed_is_not_there,
          test_cells_in_use_are_lent_to_nobody,
          test_batch_that_lay_elsewhere_is_known_to_be_lost,
          test_piece_of_a_pipe_is_there_or_nobody_knows,
          test_full_output_is_remembered,
          test_damaged_outbox_is_refused_or_within_bounds,
          test_file_that_is_no_outbox_is_refused_and_stays)
