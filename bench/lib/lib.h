/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * bench-lib: what an event costs the thread that emits it
 *
 *      main.c           the table: everything takes turns in one run, and is compared with what ran beside it
 *      world.c          libdesktrace, with the service's end in this program, so that no other thread disturbs
 *      threads.c        two threads at once
 *      instructions.c   user-space instructions, counted one by one
 *      peer.c           finds peers; each is a module of its own, so that none is needed
 *      peer-lttng.c     LTTng-UST
 */

#include <stdbool.h>
#include <stddef.h>

#include "bench.h"

#define EVENTS_MAX 10000 /* in a burst: what fits into everybody's memory */

/* The shapes of events. Those of all programs have the same fields. */
typedef enum Shape {
        SHAPE_OFF,     /* nobody records it */
        SHAPE_INSTANT, /* nothing but a name */
        SHAPE_SLICE,   /* begin and end in turn; each is an event */
        SHAPE_ARGS,    /* a name, an integer and a text of 16 bytes */
        SHAPE_COUNTER, /* an integer */
        _SHAPE_N,
} Shape;

/* Emits `n` events, at most EVENTS_MAX. */
typedef void (*Burst)(unsigned n);

/*
 * world.c
 */

/* 0, or a negative errno. One session records. */
int world_init(void);
/* As many sessions that want the same. */
void world_add_sessions(unsigned n);
/* The service's turn: takes everything, so that there is room for the next burst. */
void world_drain(void);

extern const Burst world_bursts[_SHAPE_N];

/* The clock, and a store of 32 bytes. */
void world_floor(unsigned n);
/* An instant with an integer. */
void world_integer(unsigned n);

/*
 * threads.c
 */

/* The rate of two threads that do the same at once, of that of one. */
double threads_ratio(Burst burst, unsigned n);

/*
 * instructions.c
 */

/* Of one event, in user space, the clock's included; negative when this machine does not let us count. */
double instructions_of(Burst burst);

/*
 * peer.c
 */

/* What the module of a peer exports as `peer`. */
typedef struct Peer {
        const char *name;
        const char *(*begin)(void); /* NULL: it records. Else why not */
        void (*end)(void);          /* also when begin() failed */
        Burst bursts[_SHAPE_N];
} Peer;

/* NULL, when it is not there or does not run; a line says so, by its name. */
const Peer *peer_begin(const char *module, const char *name);
