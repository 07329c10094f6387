/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Recorder: the sessions that record this program's heap, and the thread that writes their dumps */

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "heap/dump.h"
#include "heap/recorder.h"
#include "shared/list.h"
#include "shared/macro.h"
#include "shared/monotonic.h"
#include "shared/thread.h"

#define THREAD_STACK_BYTES (256u << 10)
#define NS_PER_MS          UINT64_C(1000000)
#define NS_PER_SEC         UINT64_C(1000000000)
#define REPLIES_MAX        4 /* how many flushes can wait for one dump */

struct Recording {
        DumpSink sink;
        List link;
        dt_instance *instance;
        dt_writer *writer;
        HeapSettings settings;
        Dump dump;
        unsigned session;
        uint64_t next_ns; /* when the next dump is due; UINT64_MAX: never */
        dt_reply *flushes[REPLIES_MAX];
        unsigned n_flushes;
        dt_reply *stop;
        bool is_writing; /* a thread is writing a dump and does not hold the lock */
        bool is_over;    /* it does not count anymore */
        bool is_doomed;  /* the instance is gone, so the thread must free this */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t
        changed; /* an order has arrived, or a dump has been written; waits use CLOCK_MONOTONIC */
static List recordings = LIST_INIT(recordings);
static bool has_thread;
static bool is_finishing; /* the program is ending, so the thread takes no more orders */

/* A session that is already counting, for the first recording that comes. */
static bool is_early;
static unsigned early_session;
static uint64_t early_interval;

/*
 * Dumps
 */

static bool sink_begins(DumpSink *sink) {
        return dt_writer_begins(container_of(sink, Recording, sink)->writer);
}

static void sink_write(DumpSink *sink, const void *packet, size_t n_bytes) {
        (void)dt_writer_write(container_of(sink, Recording, sink)->writer, packet, n_bytes);
}

static uint64_t clock_ns(clockid_t clock) {
        struct timespec now;

        clock_gettime(clock, &now);
        return (uint64_t)now.tv_sec * NS_PER_SEC + (uint64_t)now.tv_nsec;
}

/* The caller holds the lock. It is released while the dump is written, so that other threads can give orders. */
static void write_dump(Recording *recording) {
        const DumpTimes times = {
                .now_ns = clock_ns(CLOCK_BOOTTIME),
                .monotonic_ns = clock_ns(CLOCK_MONOTONIC_COARSE),
                .start_monotonic_ns = profile_started_ns(recording->session),
        };

        if (recording->is_over)
                return;
        recording->is_writing = true;
        pthread_mutex_unlock(&lock);
        (void)dump_write(&recording->dump, recording->session, &recording->settings, &times);
        dt_writer_flush(recording->writer);
        pthread_mutex_lock(&lock);
        recording->is_writing = false;
        pthread_cond_broadcast(&changed);
}

/* Ends the counting. What has been written stays. */
static void end_recording(Recording *recording) {
        if (recording->is_over)
                return;
        recording->is_over = true;
        profile_stop(recording->session);
}

static void note(Recording *recording, const char *format, uint64_t n) {
        char text[256];

        if (n == 0)
                return;
        snprintf(text, sizeof(text), format, n);
        (void)dt_instance_add_note(recording->instance, text);
}

/* Notes in the trace what is missing from it, while there is still an instance to do so with. */
static void note_losses(Recording *recording) {
        ProfileLosses losses;

        if (recording->is_doomed)
                return;
        profile_losses(&losses);
        note(recording,
             N_("%" PRIu64 " samples of the heap found no room and are not counted: a larger "
                "sampling_interval_bytes takes fewer."),
             losses.n_without_address);
        note(recording,
             N_("%" PRIu64 " samples of the heap are counted under [others], as there are too many "
                "different call stacks."),
             losses.n_without_site);
}

/*
 * The thread
 */

static bool has_orders(const Recording *recording) {
        return recording->is_doomed || recording->n_flushes > 0 || recording->stop;
}

/* Answers the flushes that came before the dump began. Later ones wait for the next dump. */
static void answer(Recording *recording, unsigned n_flushes, dt_reply *stop) {
        for (unsigned i = 0; i < n_flushes; i++)
                dt_reply_done(recording->flushes[i], NULL);
        recording->n_flushes -= n_flushes;
        memmove(recording->flushes,
                recording->flushes + n_flushes,
                recording->n_flushes * sizeof(*recording->flushes));
        if (!stop)
                return;
        note_losses(recording);
        end_recording(recording);
        recording->stop = NULL;
        dt_reply_done(stop, NULL);
}

static void run_orders(Recording *recording, uint64_t now_ns) {
        const unsigned n_flushes = recording->n_flushes;
        dt_reply *const stop = recording->stop;
        const bool is_due = now_ns >= recording->next_ns;

        if (!is_due && n_flushes == 0 && !stop)
                return;
        if (is_due)
                recording->next_ns = now_ns + recording->settings.dump_interval_ms * NS_PER_MS;
        write_dump(recording);
        answer(recording, n_flushes, stop);
}

static void free_recording(Recording *recording) {
        answer(recording, recording->n_flushes, recording->stop);
        end_recording(recording);
        list_unlink(&recording->link);
        dt_writer_free(recording->writer);
        dump_deinit(&recording->dump);
        free(recording);
}

static void wait_until(uint64_t until_ns) {
        const struct timespec until = {
                .tv_sec = (time_t)(until_ns / NS_PER_SEC),
                .tv_nsec = (long)(until_ns % NS_PER_SEC),
        };

        if (until_ns == UINT64_MAX)
                pthread_cond_wait(&changed, &lock);
        else
                pthread_cond_timedwait(&changed, &lock, &until);
}

/* The first recording that has something to do. If that is NULL, *ret_until_ns is when the next one will. */
static Recording *find_work(uint64_t now_ns, uint64_t *ret_until_ns) {
        Recording *recording;

        *ret_until_ns = UINT64_MAX;
        if (is_finishing)
                return NULL;
        list_for_each (recording, &recordings, link) {
                if (has_orders(recording) || now_ns >= recording->next_ns)
                        return recording;
                *ret_until_ns = MIN(*ret_until_ns, recording->next_ns);
        }
        return NULL;
}

static void *run(void *userdata _unused_) {
        heap_thread.is_inside = true;
        pthread_setname_np(pthread_self(), "desktrace-heap");
        pthread_mutex_lock(&lock);
        for (;;) {
                const uint64_t now_ns = monotonic_ns();
                uint64_t until_ns;
                Recording *recording = find_work(now_ns, &until_ns);

                if (!recording)
                        wait_until(until_ns);
                else if (recording->is_doomed)
                        free_recording(recording);
                else
                        run_orders(recording, now_ns);
        }
        return NULL;
}

/* Holds the lock. */
static void init_changed(void) {
        static bool is_done;
        pthread_condattr_t attributes;

        if (is_done)
                return;
        pthread_condattr_init(&attributes);
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
        pthread_cond_init(&changed, &attributes);
        pthread_condattr_destroy(&attributes);
        is_done = true;
}

/* The caller holds the lock. Thread-local variables lie on the thread's stack, and a program may have any number of
 * them. */
static int start_thread(void) {
        pthread_attr_t attributes;
        pthread_t thread;
        int r;

        if (has_thread)
                return 0;
        init_changed();
        pthread_attr_init(&attributes);
        pthread_attr_setstacksize(&attributes, THREAD_STACK_BYTES);
        r = thread_start(&thread, &attributes, run, NULL);
        if (r == -EINVAL)
                r = thread_start(&thread, NULL, run, NULL);
        pthread_attr_destroy(&attributes);
        if (r < 0)
                return r;
        pthread_detach(thread);
        has_thread = true;
        return 0;
}

/*
 * Orders
 */

int recorder_start_early(uint64_t interval) {
        int r;

        pthread_mutex_lock(&lock);
        init_changed();
        r = profile_start(&early_session, interval);
        is_early = r == 0;
        early_interval = interval;
        pthread_mutex_unlock(&lock);
        return r;
}

/* The caller holds the lock. The first recording with the same settings takes over what was counted since the
 * program's start. */
static int begin_session(Recording *recording) {
        const HeapSettings *settings = &recording->settings;

        if (is_early && !settings->no_startup && settings->interval == early_interval) {
                is_early = false;
                recording->dump.from_startup = true;
                recording->session = early_session;
                return 0;
        }
        return profile_start(&recording->session, settings->interval);
}

static int init_recording(Recording *recording, dt_instance *instance, const HeapProcess *process) {
        int r;

        r = dump_init(&recording->dump, &recording->sink, process);
        if (r < 0)
                return r;
        r = dt_writer_new(&recording->writer, instance, DT_FULL_STALL);
        if (r < 0)
                return r;
        r = begin_session(recording);
        if (r < 0)
                return r;
        r = start_thread();
        if (r < 0)
                end_recording(recording);
        return r;
}

int recorder_add(Recording **ret,
                 dt_instance *instance,
                 const HeapSettings *settings,
                 const HeapProcess *process) {
        _cleanup_(freep) Recording *recording = calloc(1, sizeof(*recording));
        int r;

        if (!recording)
                return -ENOMEM;
        recording->sink = (DumpSink){ .begins = sink_begins, .write = sink_write };
        recording->instance = instance;
        recording->settings = *settings;
        recording->next_ns = UINT64_MAX;
        if (settings->dump_interval_ms > 0)
                recording->next_ns = monotonic_ns() + (settings->dump_phase_ms > 0
                                                               ? settings->dump_phase_ms
                                                               : settings->dump_interval_ms) *
                                                              NS_PER_MS;
        pthread_mutex_lock(&lock);
        r = init_recording(recording, instance, process);
        if (r == 0) {
                list_append(&recordings, &recording->link);
                pthread_cond_broadcast(&changed);
                *ret = TAKE(recording);
        }
        pthread_mutex_unlock(&lock);
        if (r < 0) {
                dt_writer_free(recording->writer);
                dump_deinit(&recording->dump);
        }
        return r;
}

/* The service does not send more flushes than this at a time. Any further one is answered at once. */
void recorder_flush(Recording *recording, dt_reply *reply) {
        pthread_mutex_lock(&lock);
        if (recording->n_flushes < REPLIES_MAX && !is_finishing)
                recording->flushes[recording->n_flushes++] = TAKE(reply);
        pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&lock);
        if (reply)
                dt_reply_done(reply, NULL);
}

void recorder_stop(Recording *recording, dt_reply *reply) {
        pthread_mutex_lock(&lock);
        if (!is_finishing)
                recording->stop = TAKE(reply);
        pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&lock);
        if (reply)
                dt_reply_done(reply, NULL);
}

void recorder_remove(Recording *recording) {
        pthread_mutex_lock(&lock);
        recording->is_doomed = true;
        pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&lock);
}

static void finish_one(Recording *recording) {
        while (recording->is_writing)
                pthread_cond_wait(&changed, &lock);
        if (recording->is_doomed)
                return;
        recording->dump.at_exit = true;
        note_losses(recording);
        write_dump(recording);
        answer(recording, recording->n_flushes, recording->stop);
}

void recorder_finish(uint64_t deadline_ns) {
        static _Atomic bool has_begun;
        Recording *recording;

        /* A signal handler may end the program once more while it is ending. */
        if (atomic_exchange(&has_begun, true))
                return;
        heap_thread.is_inside = true;
        pthread_mutex_lock(&lock);
        while (is_early && monotonic_ns() < deadline_ns)
                wait_until(deadline_ns);
        is_finishing = true;
        list_for_each (recording, &recordings, link)
                finish_one(recording);
        pthread_mutex_unlock(&lock);
}
