/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * bench-scale: the service with many producers, much data and impatient clients, as whole processes
 *
 *      main.c          options, the table of subjects
 *      die.c           the end of a program that cannot measure
 *      world.c         a private service, in the way that `desktrace record --standalone` or the session bus has it
 *      fleet.c         producers: processes with libdesktrace that do as they are told (producer.c, order.h), or such
 *                      as speak Perfetto's protocol (producer-foreign.c)
 *      recording.c     a session of the service, as a client has it
 *      measure.c       clocks, CPU, memory, floors
 *      trace-count.c   which events are in a trace, by the index that each has
 *      report.c        the table
 *      kernel.c        context switches as a load, their floor, and how many are in a trace
 *      rows-*.c        what is measured
 *
 * What cannot be measured ends the program: there is no row without a figure.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <systemd/sd-bus.h>

#include "order.h"
#include "shared/macro.h"

#define MIB (1024.0 * 1024.0)

typedef struct World {
        unsigned n_runs; /* of what is short; what takes seconds is run less often */
        bool is_quick;   /* a small version of everything: does it work at all? */
        bool on_bus; /* a D-Bus session bus and desktraced --user, else a socket and --standalone */
        char directory[64]; /* on tmpfs */
        char socket[96];
        char foreign_socket[96]; /* Perfetto's, for producers */
        char address[128];       /* of the bus */
        size_t n_producers;      /* of all fleets */
        pid_t service;
        pid_t broker;
        sd_bus *bus; /* ours, as a client */
} World;

/*
 * die.c
 */

/* `r` is a negative errno, or 0 when `what` says it all. */
_Noreturn void die(const char *what, int r);

/*
 * world.c
 */

void world_init(World *world);
void world_deinit(World *world);

/* A fresh service and our connection to it. */
void world_start_service(World *world);
void world_end_service(World *world);
/* The service is gone in the middle of its work. */
void world_kill_service(World *world);

void world_connect(const World *world, sd_bus **ret);
/* In a child between fork() and exec(): who it shall find. */
void world_set_environment(const World *world);
/* One of our programs, by its path in the build tree. */
void world_program_path(char ret[static 4096], const char *variable, const char *in_build);

/*
 * fleet.c
 */

typedef struct Member {
        pid_t pid;
        int fd;
} Member;

typedef struct Fleet {
        World *world;
        Member *members;
        size_t n;
} Fleet;

/* Starts n producers and waits until the service knows them; 0 KiB is the service's default. */
void fleet_start(Fleet *fleet, World *world, size_t n, unsigned memory_kib);
/* The same with producers of Perfetto's protocol, which know ORDER_PING, ORDER_CALL and ORDER_EMIT. */
void fleet_start_foreign(Fleet *fleet, World *world, size_t n, unsigned memory_kib);
void fleet_end(Fleet *fleet);

void fleet_order(Fleet *fleet, const Order *order);
/* The sum of all answers; ns and event_ps are the largest. */
Answer fleet_await(Fleet *fleet);
Answer fleet_do(Fleet *fleet, const Order *order);

/*
 * recording.c
 */

typedef struct Recording {
        World *world;
        char path[64];
} Recording;

typedef struct RecordingOptions {
        const char *sources; /* data_sources as text; NULL: track_event */
        unsigned buffer_kib;
        int output_fd;      /* -1: none. The service gets a duplicate */
        unsigned period_ms; /* of writes into the output while recording; 0: only at the end */
        bool compress;
        bool partial; /* without the sources that this machine does not have */
} RecordingOptions;

/* All data sources have started when it returns. */
void recording_start(Recording *recording, World *world, const RecordingOptions *options);
/* Returns how many producers did not answer, or -ETIMEDOUT when it failed because of them. */
int recording_flush(Recording *recording);
int recording_stop(Recording *recording);
void recording_read_into(Recording *recording, int fd);
void recording_free(Recording *recording);
void recording_clone(Recording *recording, Recording *ret);
uint64_t recording_number(Recording *recording, const char *property);

/*
 * measure.c
 */

uint64_t now_ns(void);
void sleep_ms(unsigned ms);
/* CPU time of all threads of a process, those that have ended included. */
uint64_t process_cpu_ns(pid_t pid);
/* Times that its threads were switched to. */
uint64_t process_n_wakeups(pid_t pid);

typedef struct Memory {
        double private_kib; /* anonymous, in the proportion that is its own */
        double shared_kib; /* pages of the memfds that it has mapped or open, no matter who else has them */
} Memory;

Memory process_memory(pid_t pid);

/* A file on tmpfs without a name. */
int file_new(const World *world);
uint64_t file_bytes(int fd);

/* The floors: milliseconds to copy that many bytes in memory, and to write them into a new file on tmpfs. */
double memcpy_ms(uint64_t n_bytes);
double write_ms(const World *world, uint64_t n_bytes);

/*
 * trace-count.c
 */

typedef struct TraceCount {
        uint64_t n_events;
        uint64_t n_missing;  /* between the first and the last that are there, in each thread */
        uint64_t n_end;      /* indices behind the last one, of all threads */
        uint64_t n_disorder; /* events that came twice, or late */
        uint64_t n_bytes;    /* of the file */
        bool is_torn;        /* the file ends in the middle of a packet */
} TraceCount;

void trace_count(TraceCount *ret, int fd);

/* Events that were emitted and ought to be in a trace that ends with the last one: in a ring the oldest may be
 * forgotten. */
uint64_t trace_count_lost(const TraceCount *count, uint64_t n_emitted);

/*
 * kernel.c
 */

typedef enum KernelLoad {
        LOAD_YIELD, /* two threads on one CPU give it to each other: as many switches as it can */
        LOAD_FUTEX, /* and wake each other */
} KernelLoad;

/* NULL, or why this machine cannot be measured. */
const char *kernel_why_not(void);

/* On CPU 0, until it is ended. */
pid_t kernel_load_start(KernelLoad load);
void kernel_load_end(pid_t pid);

/* The probes of the private service; waits until it knows them. */
pid_t kernel_probes_start(World *world);
void kernel_probes_end(pid_t pid);

/* CPU milliseconds for a million records of the load when pages are only read, as often as the probes do; pages of so
 * many KiB, or 0 for those that the probes have. */
double kernel_floor_ms(unsigned duration_ms,
                       KernelLoad load,
                       const char *const *events,
                       unsigned page_kib);

typedef struct KernelCount {
        uint64_t n_events;
        uint64_t n_recorded; /* that the kernel counted meanwhile */
        uint64_t n_losses;   /* marks of loss in the trace */
} KernelCount;

void kernel_count(KernelCount *ret, int fd);

/*
 * report.c
 */

#define SAMPLES_MAX 64

typedef struct Samples {
        double values[SAMPLES_MAX];
        size_t n;
} Samples;

void samples_add(Samples *samples, double value);
double samples_min(const Samples *samples);
double samples_median(const Samples *samples);
double samples_max(const Samples *samples);

typedef struct Row {
        const char *what;
        const char *unit;
        const Samples *samples;
        double at_most;  /* the goal, for the median; 0: none, unless `is_zero` */
        double at_least; /* or this one; 0: none */
        bool is_zero;    /* the goal is 0 */
        double floor;    /* in the same unit, of the same run; 0: none */
        const char *floor_name;
        const char *peer; /* Perfetto's figure, recorded elsewhere */
} Row;

void report_head(const World *world);
void report_subject(const char *name);
void report(const Row *row);
/* A sentence under the rows. */
void report_note(const char *format, ...) _printf_(1, 2);

/*
 * rows-*.c
 */

void rows_start(World *world);
void rows_flush(World *world);
void rows_foreign(World *world);
void rows_stalled(World *world);
void rows_memory(World *world);
void rows_idle(World *world);
void rows_readout(World *world);
void rows_stop(World *world);
void rows_many(World *world);
void rows_threads(World *world);
void rows_sessions(World *world);
void rows_stream(World *world);
void rows_kill(World *world);
void rows_snapshot(World *world);
void rows_kernel(World *world);
void rows_cost(World *world);
