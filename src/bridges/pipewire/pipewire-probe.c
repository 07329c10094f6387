/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* org.pipewire.profiler: cycles of PipeWire's graph, from its profiler */

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bridges/pipewire/cycle-recorder.h"
#include "bridges/pipewire/pipewire-link.h"
#include "bridges/pipewire/pipewire-probe.h"
#include "shared/monotonic.h"

#define SOURCE_NAME        "org.pipewire.profiler"
#define CLOCK_ID_MONOTONIC 3
#define PERIOD_NS          (1000 * PROBE_NS_PER_MS) /* for another look for a PipeWire */
#define STOPPING_NS        (100 * PROBE_NS_PER_MS)
/* PipeWire reports its cycles a second late. */
#define TAIL_NS INT64_C(1500000000)
#define QUIET_NS \
        INT64_C(2500000000) /* after this long without cycles nothing runs and nothing will come */

typedef struct Pipewire {
        PacketWriter packets;
        TrackWriter tracks;
        CycleRecorder recorder;
        PipewireLink *link;
        PipewireState told; /* the state of the link that was written */
        int64_t heard_ns;   /* when cycles were reported */
        int64_t last_ns;    /* when the last reported cycle began */
        int64_t stopped_ns; /* 0: it records */
} Pipewire;

static void *pipewire_free(void *userdata) {
        Pipewire *pipewire = userdata;

        if (!pipewire)
                return NULL;
        pipewire_link_free(pipewire->link);
        cycle_recorder_deinit(&pipewire->recorder);
        track_writer_deinit(&pipewire->tracks);
        packet_writer_deinit(&pipewire->packets);
        free(pipewire);
        return NULL;
}

/* Returns false only if certainly no PipeWire runs; the user may have named another socket. */
static bool may_run(void) {
        const char *runtime = getenv("XDG_RUNTIME_DIR");
        char path[PATH_MAX];

        if (getenv("PIPEWIRE_REMOTE") || getenv("PIPEWIRE_RUNTIME_DIR") || !runtime)
                return true;
        snprintf(path, sizeof(path), "%s/pipewire-0", runtime);
        return access(path, F_OK) == 0;
}

static int pipewire_check(char **ret_error) {
        if (!pipewire_link_is_built())
                return probe_refuse(ret_error,
                                    "desktrace-bridges was built without libpipewire: build it "
                                    "with libpipewire-0.3");
        if (!may_run())
                return probe_refuse(ret_error,
                                    "no PipeWire runs in this session: start pipewire.service");
        return 0;
}

static void on_profile(void *userdata, const void *data, size_t n) {
        Pipewire *pipewire = userdata;
        const int64_t now_ns = (int64_t)monotonic_ns();
        const int64_t last_ns = cycle_recorder_take(&pipewire->recorder, data, n, now_ns);

        if (last_ns == 0)
                return;
        pipewire->heard_ns = now_ns;
        pipewire->last_ns = MAX(pipewire->last_ns, last_ns);
}

static int make_parts(Pipewire *pipewire, const ProbeSetup *setup) {
        int r;

        packet_writer_init(&pipewire->packets, setup->sink);
        track_writer_init(&pipewire->tracks, &pipewire->packets, SOURCE_NAME);
        pipewire->tracks.clock_id = CLOCK_ID_MONOTONIC;
        r = cycle_recorder_init(&pipewire->recorder, &pipewire->tracks);
        return r < 0 ? r
                     : pipewire_link_new(
                               &pipewire->link, &pipewire->recorder.nodes, on_profile, pipewire);
}

static int pipewire_setup(void **ret, const ProbeSetup *setup, char **ret_error) {
        Pipewire *pipewire = calloc(1, sizeof(*pipewire));
        int r;

        if (!pipewire)
                return -ENOMEM;
        r = make_parts(pipewire, setup);
        if (r < 0) {
                pipewire_free(pipewire);
                return r == -ENOMEM ? r
                                    : probe_refuse(ret_error,
                                                   "libpipewire does not find its modules: "
                                                   "install PipeWire completely");
        }
        *ret = pipewire;
        return 0;
}

static int open_link(Pipewire *pipewire) {
        pipewire->heard_ns = (int64_t)monotonic_ns(); /* from now on it may report something */
        return pipewire_link_open(pipewire->link);
}

static int pipewire_start(void *userdata, char **ret_error) {
        int r;

        r = open_link(userdata);
        if (r < 0)
                return probe_refuse(ret_error,
                                    "no PipeWire runs in this session (%s): start pipewire.service",
                                    strerror(-r));
        return 0;
}

static int pipewire_fd(void *userdata) {
        return pipewire_link_fd(((Pipewire *)userdata)->link);
}

/* Writes each state once, until it changes. */
static void tell_state(Pipewire *pipewire) {
        const PipewireState state = pipewire_link_state(pipewire->link);
        const int64_t now_ns = (int64_t)monotonic_ns();

        if (state == pipewire->told || state == PIPEWIRE_ASKED)
                return;
        if (state == PIPEWIRE_CLOSED)
                cycle_recorder_tell(&pipewire->recorder, now_ns, "PipeWire has ended", NULL);
        else if (state == PIPEWIRE_NO_PROFILER)
                cycle_recorder_tell(&pipewire->recorder,
                                    now_ns,
                                    "not recorded",
                                    "PipeWire was started without its profiler: load "
                                    "libpipewire-module-profiler in pipewire.conf");
        pipewire->told = state;
}

static uint64_t pipewire_poll(void *userdata, uint64_t now_ns) {
        Pipewire *pipewire = userdata;

        pipewire_link_turn(pipewire->link);
        tell_state(pipewire);
        if (pipewire->stopped_ns > 0)
                return now_ns + STOPPING_NS;
        if (pipewire_link_state(pipewire->link) == PIPEWIRE_CLOSED)
                (void)open_link(pipewire);
        return probe_next_on_grid(now_ns, PERIOD_NS);
}

static void pipewire_flush(void *userdata, uint64_t now_ns) {
        pipewire_link_turn(((Pipewire *)userdata)->link);
}

/* A PipeWire that has not answered by now has nothing to report. */
static void pipewire_stop(void *userdata, uint64_t now_ns) {
        Pipewire *pipewire = userdata;

        pipewire_link_turn(pipewire->link);
        tell_state(pipewire);
        pipewire->stopped_ns = (int64_t)monotonic_ns();
        pipewire->recorder.until_ns = pipewire->stopped_ns;
        if (pipewire_link_state(pipewire->link) == PIPEWIRE_ASKED)
                cycle_recorder_tell(&pipewire->recorder,
                                    pipewire->stopped_ns,
                                    "not recorded",
                                    "PipeWire has not answered");
}

/* If anything runs, the last second is reported later. */
static bool pipewire_is_stopping(void *userdata) {
        const Pipewire *pipewire = userdata;
        const int64_t now_ns = (int64_t)monotonic_ns();

        return pipewire->stopped_ns > 0 &&
               pipewire_link_state(pipewire->link) == PIPEWIRE_LISTENING &&
               pipewire->last_ns < pipewire->stopped_ns &&
               now_ns < pipewire->stopped_ns + TAIL_NS &&
               pipewire->stopped_ns < pipewire->heard_ns + QUIET_NS;
}

static void pipewire_clear(void *userdata) {
        track_writer_clear(&((Pipewire *)userdata)->tracks);
}

const ProbeOps pipewire_probe_ops = {
        .name = SOURCE_NAME,
        .packet_fields = (const uint32_t[]){ PACKET_TRACK_EVENT, PACKET_TRACK_DESCRIPTOR, 0 },
        .records = "cycles of PipeWire's graph: how long each node waited and was busy, deadlines, "
                   "load and xruns, without what is heard or seen",
        .reads = "the profiler of the PipeWire of the session",
        .refuses = "no PipeWire runs in this session: start pipewire.service; "
                   "desktrace-bridges was built without libpipewire: build it with libpipewire-0.3",
        .check = pipewire_check,
        .setup = pipewire_setup,
        .start = pipewire_start,
        .fd = pipewire_fd,
        .poll = pipewire_poll,
        .flush = pipewire_flush,
        .stop = pipewire_stop,
        .is_stopping = pipewire_is_stopping,
        .clear_incremental_state = pipewire_clear,
        .free = pipewire_free,
};
