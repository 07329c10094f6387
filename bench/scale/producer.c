/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * bench-scale-producer: an application with libdesktrace that emits what it is told to
 *
 * Usage: bench-scale-producer SHARED-MEMORY-KB
 */

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <desktrace/track-event.h>

#include "order.h"

DT_CATEGORY(bench, "bench", "Events with an index");

#define NS_PER_SEC     UINT64_C(1000000000)
#define TEXT_BYTES_MAX 4096
#define POOL_BYTES \
        (8u << 20) /* of texts: no compressor sees the same one twice in what it looks back on */
#define SATURATED_BATCH 256
#define BURSTS_MAX      4096
#define BURST_PAUSE_NS  30000000 /* the service takes everything meanwhile */

typedef struct Run {
        const Order *order;
        pthread_t thread;
        uint64_t begin_ns;
        uint64_t n_emitted;
} Run;

/* As many texts of one length as there is room for, each with its NUL. */
typedef struct Pool {
        char *texts;
        size_t n;
        size_t n_bytes; /* of each, with the NUL */
} Pool;

static Pool pool;
static uint64_t main_index;

static uint64_t now_ns(void) {
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t)now.tv_sec * NS_PER_SEC + (uint64_t)now.tv_nsec;
}

static void sleep_until(uint64_t ns) {
        struct timespec until = {
                .tv_sec = (time_t)(ns / NS_PER_SEC),
                .tv_nsec = (long)(ns % NS_PER_SEC),
        };

        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) != 0)
                ;
}

/*
 * Texts, as a log has them: zstd makes about a quarter of them
 */

static uint32_t random_next(void) {
        static uint32_t state = 2463534242;

        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        return state;
}

static size_t put_word(char *to, size_t room) {
        static const char *const words[] = {
                "GET",     "connection", "from", "user",    "opened", "closed", "error", "file",
                "request", "took",       "ms",   "session", "cache",  "hit",    "miss",  "retry",
        };
        uint32_t random = random_next();
        char word[32];
        int n;

        if (random % 5 == 0)
                n = snprintf(word, sizeof(word), "%x ", (unsigned)(random >> 16));
        else
                n = snprintf(word, sizeof(word), "%s ", words[random >> 8 & 15]);
        room = room < (size_t)n ? room : (size_t)n;
        memcpy(to, word, room);
        return room;
}

static void pool_fill(size_t n_text) {
        if (n_text == 0 || n_text > TEXT_BYTES_MAX || pool.n_bytes == n_text + 1)
                return;
        pool.texts = pool.texts ? pool.texts : malloc(POOL_BYTES);
        if (!pool.texts)
                abort();
        pool.n_bytes = n_text + 1;
        pool.n = POOL_BYTES / pool.n_bytes;
        for (size_t i = 0; i < pool.n; i++) {
                char *text = pool.texts + i * pool.n_bytes;

                for (size_t at = 0; at < n_text;)
                        at += put_word(text + at, n_text - at);
                text[n_text] = 0;
        }
}

static void emit_text(uint64_t index) {
        DT_INSTANT(bench,
                   "event",
                   DT_UINT("i", index),
                   DT_STRING("text", pool.texts + index % pool.n * pool.n_bytes));
}

/* Returns the index behind the last one. */
static uint64_t emit(uint64_t index, uint64_t n, bool has_text) {
        if (has_text)
                for (; n > 0; n--, index++)
                        emit_text(index);
        else
                for (; n > 0; n--, index++)
                        DT_INSTANT(bench, "event", DT_UINT("i", index));
        return index;
}

static void emit_slices(uint64_t n) {
        for (; n > 0; n--) {
                DT_SLICE_BEGIN(bench, "slice");
                DT_SLICE_END(bench);
        }
}

/* Batch by batch, each at the time when its first event is due. */
static void run_paced(Run *run) {
        const Order *order = run->order;
        uint64_t rate = order->rate / order->n_threads;
        uint64_t n_total = (uint64_t)((__uint128_t)rate * order->duration_ns / NS_PER_SEC);

        while (run->n_emitted < n_total) {
                uint64_t n = n_total - run->n_emitted;

                sleep_until(run->begin_ns +
                            (uint64_t)((__uint128_t)run->n_emitted * NS_PER_SEC / rate));
                n = n < order->n_batch ? n : order->n_batch;
                run->n_emitted = emit(run->n_emitted, n, order->n_text > 0);
        }
}

static void *run_thread(void *userdata) {
        Run *run = userdata;

        if (run->order->rate > 0)
                run_paced(run);
        else
                while (now_ns() < run->begin_ns + run->order->duration_ns)
                        run->n_emitted =
                                emit(run->n_emitted, SATURATED_BATCH, run->order->n_text > 0);
        return NULL;
}

static void carry_out_run(const Order *order, Answer *answer) {
        Run runs[ORDER_THREADS_MAX];
        uint64_t begin_ns = now_ns();

        for (uint32_t i = 0; i < order->n_threads; i++) {
                runs[i] = (Run){ .order = order, .begin_ns = begin_ns };
                if (pthread_create(&runs[i].thread, NULL, run_thread, &runs[i]) != 0)
                        abort();
        }
        for (uint32_t i = 0; i < order->n_threads; i++) {
                pthread_join(runs[i].thread, NULL);
                answer->n_emitted += runs[i].n_emitted;
        }
}

static int compare_ns(const void *a, const void *b) {
        uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

        return (left > right) - (left < right);
}

static void carry_out_burst(const Order *order, Answer *answer) {
        static uint64_t bursts[BURSTS_MAX];
        uint64_t end_ns = now_ns() + order->duration_ns;
        size_t n = 0;

        while (n < BURSTS_MAX && (n == 0 || now_ns() < end_ns)) {
                uint64_t begin_ns = now_ns();

                main_index = emit(main_index, order->n_events, order->n_text > 0);
                bursts[n++] = now_ns() - begin_ns;
                answer->n_emitted += order->n_events;
                sleep_until(now_ns() + BURST_PAUSE_NS);
        }
        qsort(bursts, n, sizeof(bursts[0]), compare_ns);
        answer->event_ps = bursts[n / 2] * 1000 / order->n_events;
}

static void carry_out(const Order *order, Answer *answer) {
        uint64_t begin_ns;

        pool_fill(order->n_text);
        begin_ns = now_ns();
        switch (order->kind) {
        case ORDER_PING:
        case ORDER_CALL:
                break;
        case ORDER_EMIT:
                main_index = emit(main_index, order->n_events, order->n_text > 0);
                answer->n_emitted = order->n_events;
                break;
        case ORDER_SLICES:
                emit_slices(order->n_events);
                answer->n_emitted = 2 * order->n_events;
                break;
        case ORDER_RUN:
                carry_out_run(order, answer);
                break;
        case ORDER_BURST:
                carry_out_burst(order, answer);
                break;
        }
        answer->ns = now_ns() - begin_ns;
}

int main(int argc, char *argv[]) {
        dt_options options = {
                .shared_memory_bytes = argc > 1 ? strtoul(argv[1], NULL, 10) * 1024 : 0,
        };
        Order order;

        if (dt_init(&options) < 0)
                return EXIT_FAILURE;
        while (read(STDIN_FILENO, &order, sizeof(order)) == (ssize_t)sizeof(order)) {
                Answer answer = { 0 };

                carry_out(&order, &answer);
                if (write(STDIN_FILENO, &answer, sizeof(answer)) != (ssize_t)sizeof(answer))
                        return EXIT_FAILURE;
        }
        return EXIT_SUCCESS;
}
