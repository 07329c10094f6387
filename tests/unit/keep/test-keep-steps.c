/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A session's state and its outbox between any two instructions: what another process would find if this one were
 * killed there. The processor traps after each instruction (the trap flag of x86), and the handler looks at what
 * has been written.
 */

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>

#include "buffer/mapping.h"
#include "keep/kept-state.h"
#include "keep/outbox.h"
#include "shared/fd.h"
#include "test.h"

#define N_WRITES        4
#define N_BATCHES       5
#define LOOKED_AT_BYTES (sizeof(KeptSession) + 64) /* a record with a short config */

static void (*look)(void);
static unsigned n_looks;

static void on_trap(int signal_number) {
        n_looks++;
        look();
}

static void set_trap_flag(bool on) {
        unsigned long flags = __builtin_ia32_readeflags_u64();

        __builtin_ia32_writeeflags_u64(on ? flags | 0x100 : flags & ~0x100ul);
}

static void watch_steps(void (*deed)(void), void (*looker)(void)) {
        look = looker;
        n_looks = 0;
        signal(SIGTRAP, on_trap);
        set_trap_flag(true);
        deed();
        set_trap_flag(false);
        printf("# %u instructions\n", n_looks);
        ck_assert_uint_gt(n_looks, 100);
}

/*
 * The state
 */

static KeptState state, seen_state; /* one file, mapped twice */
static volatile uint64_t being_written, last_seen;
static unsigned n_torn, n_changes;
static size_t half_bytes;
static uint8_t last[3][LOOKED_AT_BYTES];

/* Most instructions change nothing in the file: neither its head nor the beginning of either half. */
static bool state_has_changed(void) {
        const uint8_t *file = (const uint8_t *)seen_state.head;
        const uint8_t *const places[] = { file,
                                          file + MAPPING_ALIGNMENT,
                                          file + MAPPING_ALIGNMENT + half_bytes };
        bool has_changed = false;

        for (size_t i = 0; i < ARRAY_SIZE(places); i++)
                if (memcmp(last[i], places[i], LOOKED_AT_BYTES) != 0) {
                        memcpy(last[i], places[i], LOOKED_AT_BYTES);
                        has_changed = true;
                }
        return has_changed;
}

/* Each record has a config of another length. */
static void write_states(void) {
        static const char config[] = "a config";

        for (uint64_t id = 2; id <= N_WRITES; id++) {
                KeptSession session = { .id = id, .n_config = (uint32_t)(id % sizeof(config)) };

                being_written = id;
                kept_state_write(&state, &session, config, NULL);
        }
}

static void look_at_state(void) {
        KeptSession session;
        uint8_t *bytes = NULL;

        if (!state_has_changed())
                return;
        n_changes++;
        if (kept_state_read(&seen_state, &session, &bytes) != 0 || session.id < last_seen ||
            session.id > being_written || session.id + 1 < being_written ||
            session.n_config != session.id % sizeof("a config"))
                n_torn++;
        else
                last_seen = session.id;
        free(bytes);
}

START_TEST(test_state_is_whole_after_each_instruction) {
        const KeptSession first = { .id = 1, .n_config = 1 };
        struct stat st;

        ck_assert_int_eq(kept_state_new(&state), 0);
        ck_assert_int_eq(kept_state_write(&state, &first, "a", NULL), 0);
        being_written = last_seen = 1;
        ck_assert_int_eq(kept_state_find(&seen_state, fcntl(state.fd, F_DUPFD_CLOEXEC, 3)), 0);
        ck_assert_int_eq(fstat(state.fd, &st), 0);
        half_bytes = ((size_t)st.st_size - MAPPING_ALIGNMENT) / 2;
        watch_steps(write_states, look_at_state);
        printf("# %u times the file has changed\n", n_changes);
        ck_assert_uint_ge(n_changes, 3 * (N_WRITES - 1));
        ck_assert_uint_eq(n_torn, 0);
        ck_assert_uint_eq(last_seen, N_WRITES);
        kept_state_deinit(&seen_state);
        kept_state_deinit(&state);
}
END_TEST

/*
 * The outbox
 */

static Outbox box;
static volatile uint64_t n_pushed, n_put;
static unsigned n_wrong;

/* A batch is there from when it is pushed until it is put, when the output is longer by it. */
static void use_outbox(void) {
        uint8_t *cells[N_BATCHES + 1];

        for (uint64_t i = 1; i <= N_BATCHES; i++) {
                cells[i] = outbox_borrow(&box);
                memset(cells[i], (int)i, i);
                n_pushed = i;
                outbox_push(&box, &(OutboxBatch){ .data = cells[i], .n_bytes = i, .n_packets = i });
                if (i == 1)
                        continue; /* so one or two wait */
                outbox_announce(&box, i - 1);
                outbox_confirm(&box, i - 1);
                n_put = i - 1;
                outbox_put(&box, (i - 1) * i / 2, false);
                outbox_give_back(&box, cells[i - 1]);
        }
}

static bool batch_is(const OutboxBatch *batch, uint64_t number) {
        for (size_t i = 0; i < batch->n_bytes; i++)
                if (batch->data[i] != number)
                        return false;
        return batch->n_bytes == number && batch->n_packets == number &&
               batch->n_packets_before == number - 1;
}

/* What is written and what waits are all that was pushed, without a gap. */
static bool outbox_is_whole(const Outbox *seen) {
        const uint64_t n_written = outbox_written(seen, NULL), n_packets = outbox_n_packets(seen);
        uint64_t first = 1;

        while (first * (first + 1) / 2 <= n_written)
                first++;
        if (first * (first - 1) / 2 != n_written || first < n_put || first > n_put + 1 ||
            n_packets > n_pushed || n_packets + 1 < n_pushed ||
            first + outbox_n_batches(seen) != n_packets + 1)
                return false;
        for (size_t i = 0; i < outbox_n_batches(seen); i++) {
                const OutboxBatch batch = outbox_batch(seen, i);

                if (!batch_is(&batch, first + i))
                        return false;
        }
        return true;
}

static void look_at_outbox(void) {
        const int fd = fcntl(box.fd, F_DUPFD_CLOEXEC, 3);
        Outbox seen;

        if (outbox_find(&seen, fd) != 0) {
                n_wrong++;
                fd_close(fd);
                return;
        }
        n_wrong += !outbox_is_whole(&seen);
        outbox_deinit(&seen);
}

START_TEST(test_outbox_is_whole_after_each_instruction) {
        Outbox found = OUTBOX_INIT;

        box = (Outbox)OUTBOX_INIT;
        ck_assert_int_eq(outbox_new(&box), 0);
        watch_steps(use_outbox, look_at_outbox);
        ck_assert_uint_eq(n_wrong, 0);
        ck_assert_int_eq(outbox_find(&found, fcntl(box.fd, F_DUPFD_CLOEXEC, 3)), 0);
        ck_assert_uint_eq(outbox_n_batches(&found), 1);
        outbox_deinit(&found);
        outbox_deinit(&box);
}
END_TEST

TEST_MAIN("keep-steps",
          test_state_is_whole_after_each_instruction,
          test_outbox_is_whole_after_each_instruction)
