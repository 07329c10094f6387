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

#define NS_PER_SEC      UINT64_C(1000000000)
#define TEXT_BYTES_MAX  4096
#define SATURATED_BATCH 256
#define BURSTS_MAX      4096
#define BURST_PAUSE_NS  30000000 /* the service takes everything meanwhile */

typedef struct Run {
        const Order *order;
        pthread_t thread;
        uint64_t begin_ns;
        uint64_t n_emitted;
} Run;

static char text[TEXT_BYTES_MAX + 1];
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

/* Returns the index behind the last one. */
static uint64_t emit(uint64_t index, uint64_t n, const char *words) {
        for (; n > 0; n--, index++)
                if (words)
                        DT_INSTANT(bench, "event", DT_UINT("i", index), DT_STRING("text", words));
                else
                        DT_INSTANT(bench, "event", DT_UINT("i", index));
        return index;
}

static const char *order_text(const Order *order) {
        size_t n = order->n_text < TEXT_BYTES_MAX ? order->n_text : TEXT_BYTES_MAX;

        return n > 0 ? text + TEXT_BYTES_MAX - n : NULL;
}

/* Batch by batch, each at the time when its first event is due. */
static void run_paced(Run *run, const char *words) {
        const Order *order = run->order;
        uint64_t rate = order->rate / order->n_threads;
        uint64_t n_total = (uint64_t)((__uint128_t)rate * order->duration_ns / NS_PER_SEC);

        while (run->n_emitted < n_total) {
                uint64_t n = n_total - run->n_emitted;

                sleep_until(run->begin_ns +
                            (uint64_t)((__uint128_t)run->n_emitted * NS_PER_SEC / rate));
                n = n < order->n_batch ? n : order->n_batch;
                run->n_emitted = emit(run->n_emitted, n, words);
        }
}

static void *run_thread(void *userdata) {
        Run *run = userdata;
        const char *words = order_text(run->order);

        if (run->order->rate > 0)
                run_paced(run, words);
        else
                while (now_ns() < run->begin_ns + run->order->duration_ns)
                        run->n_emitted = emit(run->n_emitted, SATURATED_BATCH, words);
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

                main_index = emit(main_index, order->n_events, order_text(order));
                bursts[n++] = now_ns() - begin_ns;
                answer->n_emitted += order->n_events;
                sleep_until(now_ns() + BURST_PAUSE_NS);
        }
        qsort(bursts, n, sizeof(bursts[0]), compare_ns);
        answer->event_ps = bursts[n / 2] * 1000 / order->n_events;
}

static void carry_out(const Order *order, Answer *answer) {
        uint64_t begin_ns = now_ns();

        switch (order->kind) {
        case ORDER_PING:
                break;
        case ORDER_EMIT:
                main_index = emit(main_index, order->n_events, order_text(order));
                answer->n_emitted = order->n_events;
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

        for (size_t i = 0; i < TEXT_BYTES_MAX; i++)
                text[i] = "a log line of some program "[i * 7 % 27];
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
