/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Recordings that begin, are flushed, and end while threads allocate: each order is answered once, and what a
 * recording has is freed
 *
 * The functions of libdesktrace that the recorder calls are here, so there is no service, and sanitizers can watch.
 */

#include <stdatomic.h>
#include <unistd.h>

#include "heap/churn.h"
#include "heap/recorder.h"
#include "shared/monotonic.h"

#define N_RECORDINGS 24
#define N_FLUSHES    6 /* more than wait for one dump */
#define WAIT_US      500

struct dt_reply {
        atomic_uint n_done;
};
struct dt_instance {
        atomic_uint n_packets, n_written_out, n_notes;
        atomic_bool is_freed;
};
struct dt_writer {
        dt_instance *instance;
        bool has_begun;
};

int dt_instance_add_note(dt_instance *instance, const char *text) {
        ck_assert_ptr_nonnull(text);
        instance->n_notes++;
        return 0;
}

void dt_reply_done(dt_reply *reply, const char *error) {
        ck_assert_ptr_null(error);
        reply->n_done++;
}

int dt_writer_new(dt_writer **ret, dt_instance *instance, dt_full_policy policy) {
        ck_assert_int_eq(policy, DT_FULL_STALL);
        *ret = calloc(1, sizeof(**ret));
        ck_assert_ptr_nonnull(*ret);
        (*ret)->instance = instance;
        return 0;
}

dt_writer *dt_writer_free(dt_writer *writer) {
        if (writer)
                writer->instance->is_freed = true;
        free(writer);
        return NULL;
}

bool dt_writer_begins(dt_writer *writer) {
        const bool begins = !writer->has_begun;

        writer->has_begun = true;
        return begins;
}

int dt_writer_write(dt_writer *writer, const void *packet, size_t n_bytes) {
        ck_assert_ptr_nonnull(packet);
        ck_assert_uint_gt(n_bytes, 0);
        ck_assert(!writer->instance->is_freed);
        writer->instance->n_packets++;
        return 0;
}

void dt_writer_flush(dt_writer *writer) {
        writer->instance->n_written_out++;
}

static const HeapProcess process = { .pid = 1, .name = "test" };
static atomic_bool is_over;

static void *allocate_and_free(void *thread) {
        while (!is_over)
                churn((unsigned)(uintptr_t)thread, 2 * CHURN_LIVE);
        return NULL;
}

static void wait_for(const dt_reply *reply) {
        while (reply->n_done == 0)
                usleep(WAIT_US);
}

/* Some of them dump on their own, all the time. */
static Recording *add(dt_instance *instance, unsigned number) {
        const HeapSettings settings = {
                .interval = 1024u << number % 4,
                .dump_interval_ms = number % 2,
                .is_meant = true,
                .wants_all_heaps = true,
        };
        Recording *recording;

        ck_assert_int_eq(recorder_add(&recording, instance, &settings, &process), 0);
        return recording;
}

/* The service may be told that the session is gone while its flushes wait, and so may we. */
static void record_once(unsigned number) {
        dt_instance instance = {};
        dt_reply flushes[N_FLUSHES] = {}, stop = {};
        const bool leaves_early = number % 3 == 0;
        Recording *recording = add(&instance, number);

        for (unsigned i = 0; i < N_FLUSHES; i++)
                recorder_flush(recording, &flushes[i]);
        if (!leaves_early) {
                wait_for(&flushes[0]);
                recorder_stop(recording, &stop);
                wait_for(&stop);
                ck_assert_uint_gt(instance.n_packets, 0);
                ck_assert_uint_gt(instance.n_written_out, 0);
        }
        recorder_remove(recording);
        while (!instance.is_freed)
                usleep(WAIT_US);
        for (unsigned i = 0; i < N_FLUSHES; i++)
                ck_assert_uint_eq(flushes[i].n_done, 1);
        ck_assert_uint_eq(stop.n_done, !leaves_early);
}

static void *record(void *first) {
        for (unsigned i = (unsigned)(uintptr_t)first; i < N_RECORDINGS; i += 2)
                record_once(i);
        return NULL;
}

START_TEST(test_every_order_is_answered_once_while_threads_allocate) {
        pthread_t threads[CHURN_THREADS], recorders[2];

        ck_assert_int_eq(profile_init(), 0);
        churn_start(threads, allocate_and_free);
        for (unsigned i = 0; i < 2; i++)
                ck_assert_int_eq(pthread_create(&recorders[i], NULL, record, (void *)(uintptr_t)i),
                                 0);
        for (unsigned i = 0; i < 2; i++)
                ck_assert_int_eq(pthread_join(recorders[i], NULL), 0);
        is_over = true;
        churn_join(threads);
}
END_TEST

/* The first recording with the interval takes over what was counted from the start. The program's end writes what all
 * have, and answers who waits; who comes later is answered at once. This is the last test, as in a program. */
START_TEST(test_the_end_of_the_program_writes_what_is_there) {
        dt_instance instances[2] = {};
        dt_reply flushes[2] = {}, stops[2] = {};
        Recording *recordings[2];

        is_over = false;
        ck_assert_int_eq(profile_init(), 0);
        ck_assert_int_eq(recorder_start_early(1024), 0);
        for (unsigned i = 0; i < 10 * CHURN_LIVE; i++)
                churn_allocate(churn_address(0, i));
        for (unsigned i = 0; i < 2; i++)
                recordings[i] = add(&instances[i], 2 * i);
        recorder_flush(recordings[0], &flushes[0]);
        recorder_finish(monotonic_ns());
        recorder_finish(monotonic_ns());
        ck_assert_uint_eq(flushes[0].n_done, 1);
        for (unsigned i = 0; i < 2; i++) {
                const unsigned n_packets = instances[i].n_packets;

                ck_assert_uint_gt(n_packets, 0);
                recorder_stop(recordings[i], &stops[i]);
                ck_assert_uint_eq(stops[i].n_done, 1);
                ck_assert_uint_eq(instances[i].n_packets, n_packets);
        }
        recorder_flush(recordings[1], &flushes[1]);
        ck_assert_uint_eq(flushes[1].n_done, 1);
}
END_TEST

TEST_MAIN("heap-recorder",
          test_every_order_is_answered_once_while_threads_allocate,
          test_the_end_of_the_program_writes_what_is_there)
