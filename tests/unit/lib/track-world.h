/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * A program with three categories, a service that records it, and what a viewer makes of its packets
 */

#include "desktrace/track-event.h"
#include "fake-service.h"
#include "trace.h"

DT_CATEGORY_DECLARE(render);
DT_CATEGORY_DECLARE(net);
DT_CATEGORY_DECLARE(noisy); /* off unless it is named */

enum {
        BEGIN = 1,
        END = 2,
        INSTANT = 3,
        COUNTER = 4,
        STATE = 5,
};

typedef struct World {
        Fake fake;
        Trace *trace;
        unsigned n_sessions; /* ever: their numbers */
        uint32_t page_bytes; /* of its memory */
} World;

World *world_new(void);
World *world_new_of_pages(uint32_t page_bytes);
void world_free(World *world);

/* A service that comes after the last one has gone, with an empty trace. */
void world_serve(World *world);

/* A session with the number world->n_sessions that enables one category or pattern and disables another; NULL: none. */
int try_session(World *world, const char *enabled, const char *disabled);

/* The same, started. Returns its number. */
uint64_t world_record(World *world, const char *enabled, const char *disabled);

/* Flushes the last session, or all, and reads what there is. */
void world_read(World *world);
void world_read_all(World *world);
