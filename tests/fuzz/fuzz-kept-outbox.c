/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * An outbox in which anything was changed: it is refused, or what is in it lies in its cells, each of which one batch
 * has at most, and it works: batches are pushed and put, also where the row was full, and a second process finds it
 * whole.
 */

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "fuzz.h"
#include "keep/outbox.h"
#include "shared/fd.h"

#define HEAD_BYTES    4096 /* more than its numbers and entries take */
#define N_BEFORE_MAX  70
#define N_BATCHES_MAX 8

static void push(Outbox *box, size_t n_bytes) {
        static const uint8_t elsewhere[1];
        uint8_t *cell = outbox_borrow(box);

        if (outbox_n_batches(box) == OUTBOX_BATCHES_MAX)
                return;
        if (cell)
                memset(cell, 1, n_bytes);
        outbox_push(box,
                    &(OutboxBatch){
                            .data = cell ? cell : elsewhere,
                            .n_bytes = n_bytes,
                            .is_end = n_bytes == 1,
                            .n_packets = outbox_n_packets(box) + 1,
                    });
}

static void put(Outbox *box) {
        OutboxBatch batch;
        uint64_t n_moved;

        if (outbox_n_batches(box) == 0)
                return;
        batch = outbox_batch(box, 0);
        outbox_announce(box, batch.n_bytes);
        outbox_confirm(box, batch.n_bytes);
        FUZZ_CHECK(outbox_moved(box, &n_moved));
        outbox_put(box, outbox_written(box, NULL) + batch.n_bytes, false);
        if (batch.data)
                outbox_give_back(box, batch.data);
}

/* As its users read it. */
static size_t read_all(const Outbox *box) {
        size_t sum = 0;

        FUZZ_CHECK(outbox_n_batches(box) <= OUTBOX_BATCHES_MAX);
        for (size_t i = 0; i < outbox_n_batches(box); i++) {
                const OutboxBatch batch = outbox_batch(box, i);

                if (!batch.data)
                        continue;
                FUZZ_CHECK(outbox_has(box, batch.data));
                FUZZ_CHECK(batch.n_bytes <= OUTBOX_CELL_BYTES);
                for (size_t k = 0; k < i; k++)
                        FUZZ_CHECK(outbox_batch(box, k).data != batch.data);
                if (batch.n_bytes > 0)
                        sum += batch.data[0] + batch.data[batch.n_bytes - 1];
        }
        return sum;
}

static void make(Outbox *box, FuzzInput *input) {
        const unsigned n = fuzz_take(input) % N_BEFORE_MAX;

        FUZZ_CHECK(outbox_new(box) == 0);
        for (unsigned i = 0; i < n; i++) {
                const uint8_t what = fuzz_take(input);

                push(box, 1 + what % 16);
                if (what & 0x80)
                        put(box);
        }
}

/* Its numbers, and the entries of the row. */
static void scribble(const Outbox *box, FuzzInput *input) {
        while (input->n_left > 4) {
                const uint16_t at = fuzz_take_16(input) % HEAD_BYTES;
                const uint8_t *bytes;
                const size_t n = fuzz_take_bytes(input, 1 + fuzz_take(input) % 8, &bytes);

                FUZZ_CHECK(pwrite(box->fd, bytes, n, at) == (ssize_t)n);
        }
}

static int find(Outbox *ret, int fd) {
        const int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
        const int r = outbox_find(ret, copy);

        FUZZ_CHECK(r == 0 || r == -EBADMSG);
        if (r != 0)
                fd_close(copy);
        return r;
}

static void use(Outbox *box) {
        read_all(box);
        for (unsigned i = 0; i < N_BATCHES_MAX; i++) {
                put(box);
                push(box, 16);
                read_all(box);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
        FuzzInput input = { data, n_bytes };
        Outbox box, found, again;

        make(&box, &input);
        scribble(&box, &input);
        if (find(&found, box.fd) == 0) {
                use(&found);
                outbox_deinit(&found);
                FUZZ_CHECK(find(&again, box.fd) == 0);
                read_all(&again);
                outbox_deinit(&again);
        }
        outbox_deinit(&box);
        return 0;
}
