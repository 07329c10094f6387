/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * What bench-scale tells its producers to do, over a socket that is the producer's standard input
 *
 * Each order is answered once, when it is carried out. A producer ends when the socket does.
 *
 * Each event carries an index, which counts up from 0 in each thread, so that a trace shows which events are missing.
 * An order to run makes new threads: one such order in a session, or their indices could not be told apart.
 */

#include <stdint.h>

#define ORDER_THREADS_MAX 8

typedef enum OrderKind {
        ORDER_PING,   /* nothing: the floor of anything that asks every producer */
        ORDER_CALL,   /* asks the service something that needs no work; only of foreign ones */
        ORDER_EMIT,   /* n_events at once, by the main thread */
        ORDER_SLICES, /* n_events slices that have nothing but a name, by the main thread */
        ORDER_RUN,    /* n_threads that emit for duration_ns, `rate` events a second in all */
        ORDER_BURST, /* n_events, a pause, and again, for duration_ns: what an event costs the application */
} OrderKind;

typedef struct Order {
        uint32_t kind;
        uint32_t n_threads;
        uint32_t n_text;  /* bytes of a text in each event; 0: none */
        uint32_t n_batch; /* events between two looks at the clock of a paced thread */
        uint64_t n_events;
        uint64_t rate; /* 0: as fast as it goes */
        uint64_t duration_ns;
} Order;

typedef struct Answer {
        uint64_t n_emitted;
        uint64_t ns;       /* the time that it took */
        uint64_t event_ps; /* of a burst: picoseconds of an event, the median burst's */
} Answer;
