/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* linux.program_points: what programs do that know nothing about tracing, by points in the libraries that they use */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "probes/ftrace/ftrace-check.h"
#include "probes/points/point-finder.h"
#include "probes/points/point-folders.h"
#include "probes/points/point-ring.h"
#include "probes/points/point-writer.h"
#include "probes/points/program-points-probe.h"
#include "shared/log.h"
#include "shared/thread.h"

#define POINTS_PERIOD_NS (100 * PROBE_NS_PER_MS)
#define FINDER_PERIOD_NS (500 * PROBE_NS_PER_MS)
#define FINDER_SHARE \
        20 /* one part of a CPU's time, as there may be very many programs with very long lists */

typedef struct ProgramPoints {
        PointSelection selection;
        PointRing *ring;
        PointFinder finder;
        PointWriter writer;
        bool has_finder, has_writer;
        uint64_t find_ns; /* when to look for programs next */
        bool recording;
} ProgramPoints;

static void *program_points_free(void *userdata) {
        ProgramPoints *points = userdata;

        if (!points)
                return NULL;
        if (points->has_finder)
                point_finder_deinit(&points->finder);
        if (points->has_writer)
                point_writer_deinit(&points->writer);
        point_ring_free(points->ring);
        point_selection_deinit(&points->selection);
        free(points);
        return NULL;
}

static void program_points_freep(ProgramPoints **points) {
        program_points_free(*points);
}

/*
 * Setting up
 */

/* Looks at what programs have mapped. */
typedef struct Look {
        PointFinder *finder;
        uint64_t now_ns;
        pthread_t thread;
        bool has_thread;
} Look;

static void *look_run(void *userdata) {
        const Look *look = userdata;

        point_finder_look(look->finder, look->now_ns);
        return NULL;
}

static void look_begin(Look *look, PointFinder *finder) {
        *look = (Look){ .finder = finder, .now_ns = probe_now_ns() };
        look->has_thread = thread_start(&look->thread, NULL, look_run, look) == 0;
}

/* Without a thread this is done right now. */
static void look_end(Look *look) {
        if (look->has_thread)
                pthread_join(look->thread, NULL);
        else
                look_run(look);
}

/* Where the kernel does not know these calls, only stalls are missing. */
static int add_waits(ProgramPoints *points, ProbeNotes *notes) {
        char *error = NULL;
        int r;

        r = point_ring_add_waits(points->ring, &error);
        if (r == PROBE_E_REFUSED)
                probe_note(notes, "%s", error);
        free(error);
        return r == PROBE_E_REFUSED ? 0 : r;
}

static int prepare_ring(ProgramPoints *points, const ProbeSetup *setup, char **ret_error) {
        const ProgramPointsConfig *config = setup->config->program_points_config;
        uint64_t stall_ns = config ? config->stall_ms * PROBE_NS_PER_MS : 0;
        int r;

        r = point_ring_new(&points->ring, ret_error);
        if (r != 0)
                return r;
        points->has_writer = true;
        r = point_writer_init(&points->writer, setup->sink, &points->ring->events, stall_ns);
        if (r == 0 && stall_ns > 0)
                r = add_waits(points, setup->notes);
        return r;
}

/* A new ring mostly waits for the kernel's processors to pass a certain point. Meanwhile we look at programs. */
static int prepare(ProgramPoints *points, const ProbeSetup *setup, char **ret_error) {
        Look look;
        int r;

        r = point_selection_init(
                &points->selection, setup->config->program_points_config, setup->notes, ret_error);
        if (r != 0)
                return r;
        r = point_finder_init(&points->finder, &points->selection);
        if (r < 0)
                return r;
        points->has_finder = true;
        look_begin(&look, &points->finder);
        r = prepare_ring(points, setup, ret_error);
        look_end(&look);
        return r;
}

static int program_points_setup(void **ret, const ProbeSetup *setup, char **ret_error) {
        _cleanup_(program_points_freep) ProgramPoints *points = NULL;
        uint64_t now_ns = probe_now_ns();
        int r;

        points = calloc(1, sizeof(*points));
        if (!points)
                return -ENOMEM;
        r = prepare(points, setup, ret_error);
        if (r != 0)
                return r;
        point_finder_begin(&points->finder, &points->ring->events, setup->notes);
        log_info("linux.program_points: %u points in %u libraries",
                 points->finder.n_probes,
                 points->finder.n_files);
        if (!points->ring->events.can_return)
                probe_note(
                        setup->notes,
                        "what takes time is only marked where it begins: Linux 6.11 to 6.13 kill "
                        "some sandboxed programs whose returns are probed");
        if (points->writer.programs.names.are_foreign)
                probe_note(setup->notes,
                           "programs get no names, because this is a pid namespace: record outside "
                           "of the container");
        points->find_ns = now_ns + FINDER_PERIOD_NS;
        *ret = TAKE(points);
        return 0;
}

static int program_points_check(char **ret_error) {
        int r = ftrace_check(ret_error);

        if (r == 0 && !point_machine_is_known(point_machine()))
                return probe_refuse(
                        ret_error,
                        "arguments of functions can only be found on x86-64, AArch64 and "
                        "RISC-V with 64 bits");
        return r;
}

static int add_name(char ***names, size_t *n, const Point *point) {
        char **more = reallocarray(*names, *n + 2, sizeof(*more));

        if (!more)
                return -ENOMEM;
        *names = more;
        more[*n + 1] = NULL;
        if (asprintf(&more[*n], "%s/%s", point->group, point->name) < 0) {
                more[*n] = NULL;
                return -ENOMEM;
        }
        (*n)++;
        return 0;
}

static int program_points_names(char ***ret) {
        PointTable table = {};
        size_t n = 0;
        int r;

        *ret = calloc(1, sizeof(char *));
        r = *ret ? point_folders_read(&table, NULL) : -ENOMEM;
        for (size_t i = 0; r == 0 && i < table.n_points; i++)
                r = add_name(ret, &n, &table.points[i]);
        point_table_deinit(&table);
        if (r < 0) {
                probe_names_free(*ret);
                *ret = NULL;
        }
        return r;
}

static int program_points_start(void *userdata, char **ret_error) {
        ProgramPoints *points = userdata;
        int r;

        r = point_ring_start(points->ring, ret_error);
        points->recording = r == 0;
        return r;
}

/* Takes everything that happened before `until_ns`. */
static void drain(ProgramPoints *points, uint64_t until_ns) {
        PointRing *ring = points->ring;
        size_t n = 0;

        point_ring_read(ring);
        point_ring_limit(ring, probe_now_ns());
        if (ring->n_lost > 0)
                point_writer_lose(&points->writer, ring->n_lost, MIN(until_ns, probe_now_ns()));
        ring->n_lost = 0;
        for (; n < ring->n_records && ring->records[n].at_ns < until_ns; n++)
                point_writer_take(&points->writer, &ring->records[n]);
        point_ring_consume(ring, n);
        ring->rests_ns = probe_now_ns();
}

/* Looks for new programs, as often as the cost allows. On a busy machine a look may take long and cost little. */
static void find(ProgramPoints *points, uint64_t now_ns) {
        const uint64_t begun_ns = probe_cpu_ns();
        const bool more = point_finder_go_on(&points->finder, now_ns);
        const uint64_t cost_ns = probe_cpu_ns() - begun_ns;

        points->find_ns = now_ns + MAX(more ? 0 : FINDER_PERIOD_NS, FINDER_SHARE * cost_ns);
}

static uint64_t program_points_poll(void *userdata, uint64_t now_ns) {
        ProgramPoints *points = userdata;

        if (!points->recording)
                return PROBE_NEVER;
        drain(points, now_ns);
        if (now_ns >= points->find_ns)
                find(points, probe_now_ns());
        return probe_next_on_grid(now_ns, POINTS_PERIOD_NS);
}

static void program_points_flush(void *userdata, uint64_t now_ns) {
        drain(userdata, now_ns);
}

static void program_points_stop(void *userdata, uint64_t now_ns) {
        ProgramPoints *points = userdata;

        point_ring_stop(points->ring);
        points->recording = false;
        drain(points, UINT64_MAX);
        point_writer_end(&points->writer, now_ns);
}

static void program_points_clear(void *userdata) {
        ProgramPoints *points = userdata;

        point_writer_clear(&points->writer);
}

const ProbeOps program_points_probe_ops = {
        .name = "linux.program_points",
        .packet_fields = (const uint32_t[]){ PACKET_TRACK_EVENT, PACKET_TRACK_DESCRIPTOR, 0 },
        .records =
                "frames and work of programs that were not changed for it, by probe points in the "
                "libraries that they use; no contents",
        .reads = "points.d, /proc/PID/maps and mountinfo, these libraries, a tracefs instance of "
                 "its own with "
                 "uprobes",
        .needs = "CAP_CHECKPOINT_RESTORE, CAP_DAC_OVERRIDE, CAP_SYS_PTRACE",
        .refuses =
                "the kernel has no uprobes: use one that is built as distributions do; the machine "
                "is "
                "not x86-64, AArch64 or RISC-V: record with uprobe_events; points.d has no file: "
                "install desktrace completely",
        .check = program_points_check,
        .names = program_points_names,
        .setup = program_points_setup,
        .start = program_points_start,
        .poll = program_points_poll,
        .flush = program_points_flush,
        .stop = program_points_stop,
        .clear_incremental_state = program_points_clear,
        .free = program_points_free,
};
