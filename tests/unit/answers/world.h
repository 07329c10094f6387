/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * World: a small trace that a test makes, and the questions that it asks of it
 */

#include "answers/answer.h"

/* Names of states, as the kernel has them. */
#define RUNNING  "Running"
#define RUNNABLE "R"
#define SLEEPING "S"
#define BLOCKED  "D"

typedef struct World {
        TraceStore *store;
        Answer *answer; /* the last one */
} World;

/* With the idle task. */
void world_init(World *world);
void world_deinit(World *world);

/* Rows; what they are called later. */
uint32_t world_process(World *world, int pid, const char *name);
uint32_t world_thread(World *world, int tid, const char *name, uint32_t upid);
uint32_t world_track(World *world, uint32_t utid);
uint32_t world_slice(World *world, uint32_t track, const char *name, int64_t ts, int64_t dur);
void world_run(World *world, uint32_t cpu, uint32_t utid, int64_t ts, int64_t dur);
/* `waker` may be TRACE_NONE. */
uint32_t world_state(World *world,
                     uint32_t utid,
                     const char *state,
                     int64_t ts,
                     int64_t dur,
                     uint32_t waker);
uint32_t world_runs(World *world, uint32_t cpu, uint32_t utid, int64_t ts, int64_t dur);
void world_counter(World *world, uint32_t upid, const char *name, int64_t ts, double value);
/* Of a CPU's frequency; the track is what world_clock_track() made. */
uint32_t world_clock_track(World *world, uint32_t cpu);
void world_clock(World *world, uint32_t track, int64_t ts, double khz);
void world_metadata(World *world, const char *name, const char *text);
void world_log(World *world, int64_t ts, unsigned priority, const char *text);

/* About all of it; sets world->answer. 0, or an outcome. */
int world_ask(World *world, const char *question, const char *slice);
/* Likewise, and of a range. */
int world_ask_between(World *world,
                      const char *question,
                      const char *slice,
                      int64_t start,
                      int64_t end);

/* Of the answer: a fact's or a cell's number, text or word, by its key. */
int64_t world_fact(const World *world, const char *key);
const char *world_fact_text(const World *world, const char *key);
int64_t world_number(const World *world, size_t row, const char *key);
const char *world_text(const World *world, size_t row, const char *key);
double world_real(const World *world, size_t row, const char *key);
