/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Doorbells: the eventfds of all producers, behind one source of the event loop
 *
 * When hundreds of producers answer a flush, one turn of the loop serves many of them rather than one. A producer that
 * rings too often is ignored until its interval is over; whatever it has rung for is looked at then.
 */

#include <stdint.h>
#include <systemd/sd-event.h>

#include "shared/list.h"

#define DOORBELL_INTERVAL_NS (UINT64_C(10) * 1000000)
#define DOORBELL_BURST       16 /* in an interval; an awake producer is drained in any case */
#define DOORBELLS_PER_TURN   64

typedef struct Doorbell Doorbell;

typedef struct Doorbells {
        sd_event *event;
        int fd; /* epoll */
        sd_event_source *source;
        List muted;                         /* Doorbell, the longest one first */
        Doorbell *turn[DOORBELLS_PER_TURN]; /* that have rung and have not been answered yet */
        size_t n_turn;
} Doorbells;

/* Embedded. All zeros with fd = -1 is a doorbell that was not made. */
struct Doorbell {
        Doorbells *doorbells;
        int fd;
        void (*rang)(Doorbell *doorbell);
        uint64_t interval_began_ns;
        unsigned n_rings; /* in this interval */
        List muted_link;
};

int doorbells_init(Doorbells *doorbells, sd_event *event);
void doorbells_deinit(Doorbells *doorbells);

/* BOOTTIME; UINT64_MAX: none. */
uint64_t doorbells_deadline(const Doorbells *doorbells);
void doorbells_tick(Doorbells *doorbells, uint64_t now_ns);

/* Makes an eventfd and listens to it. `rang` must not close the doorbell of its own call. */
int doorbell_open(Doorbell *doorbell, Doorbells *doorbells, void (*rang)(Doorbell *doorbell));
void doorbell_close(Doorbell *doorbell);
