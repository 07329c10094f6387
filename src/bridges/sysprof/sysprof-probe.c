/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Sysprof probe: data source org.gnome.sysprof */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bridges/sysprof/compositor.h"
#include "bridges/sysprof/sysprof-probe.h"

#define SOURCE_NAME        "org.gnome.sysprof"
#define CLOCK_ID_MONOTONIC 3
#define PERIOD_NS          (50 * PROBE_NS_PER_MS)

typedef struct Sysprof {
        PacketWriter packets;
        TrackWriter tracks;
        CaptureRecorder recorder;
        CaptureTaker taker;
        bool has_taker, is_told;
        Compositor compositor;
} Sysprof;

/* One pair of sockets for each process of the bridges. */
static CaptureControl *control;

void sysprof_probe_set_control(CaptureControl *value) {
        control = value;
}

static int64_t monotonic_ns(void) {
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void *sysprof_free(void *userdata) {
        Sysprof *sysprof = userdata;

        if (!sysprof)
                return NULL;
        if (sysprof->has_taker)
                capture_control_detach(control, &sysprof->taker);
        compositor_deinit(&sysprof->compositor);
        capture_recorder_deinit(&sysprof->recorder);
        track_writer_deinit(&sysprof->tracks);
        packet_writer_deinit(&sysprof->packets);
        free(sysprof);
        return NULL;
}

static int sysprof_check(char **ret_error) {
        return control ? 0 : manager_bus_check(MANAGER_BUS_USER, ret_error);
}

static int sysprof_setup(void **ret, const ProbeSetup *setup, char **ret_error) {
        Sysprof *sysprof = calloc(1, sizeof(*sysprof));
        int r;

        if (!sysprof)
                return -ENOMEM;
        sysprof->compositor = (Compositor)COMPOSITOR_INIT;
        packet_writer_init(&sysprof->packets, setup->sink);
        track_writer_init(&sysprof->tracks, &sysprof->packets, SOURCE_NAME);
        sysprof->tracks.clock_id = CLOCK_ID_MONOTONIC;
        r = capture_recorder_init(&sysprof->recorder, &sysprof->tracks);
        if (r < 0) {
                sysprof_free(sysprof);
                return r;
        }
        *ret = sysprof;
        return 0;
}

/* Bridges that have a socket speak only for the programs that were started with its other end; the session's own
 * bridges speak for the compositor. */
static int sysprof_start(void *userdata, char **ret_error) {
        Sysprof *sysprof = userdata;

        if (!control)
                return compositor_begin(&sysprof->compositor, ret_error);
        capture_control_attach(control, &sysprof->taker);
        sysprof->has_taker = true;
        return 0;
}

static int sysprof_fd(void *userdata) {
        const Sysprof *sysprof = userdata;

        return sysprof->has_taker ? -1 : manager_bus_fd(&sysprof->compositor.bus);
}

static void take_rings(Sysprof *sysprof, int64_t now_ns) {
        CapturePiece piece;
        uint64_t n_lost;
        Bytes pieces;

        capture_control_take(control, &sysprof->taker, &pieces, &n_lost);
        for (size_t at = 0; at < pieces.n; at += sizeof(piece) + (size_t)piece.n_bytes) {
                memcpy(&piece, pieces.data + at, sizeof(piece));
                capture_recorder_take(&sysprof->recorder,
                                      piece.stream,
                                      pieces.data + at + sizeof(piece),
                                      (size_t)piece.n_bytes,
                                      now_ns);
        }
        if (n_lost > 0)
                capture_recorder_lost(&sysprof->recorder, now_ns, n_lost);
        bytes_deinit(&pieces);
}

/* Reported once, also if there is no compositor at all. */
static void tell_failure(Sysprof *sysprof, int64_t now_ns) {
        const TrackArgument argument = { "because", sysprof->compositor.why, 0 };

        if (sysprof->is_told || !sysprof->compositor.why[0] ||
            sysprof->compositor.state != COMPOSITOR_NONE)
                return;
        sysprof->is_told = true;
        track_instant(&sysprof->tracks,
                      track_group(&sysprof->tracks, 0, "sysprof"),
                      (uint64_t)now_ns,
                      "the compositor is not recorded",
                      &argument,
                      1);
}

static bool take(Sysprof *sysprof) {
        const int64_t now_ns = monotonic_ns();
        bool has_more = false;

        if (sysprof->has_taker)
                take_rings(sysprof, now_ns);
        else
                has_more = compositor_poll(&sysprof->compositor, &sysprof->recorder, now_ns);
        capture_recorder_write(&sysprof->recorder);
        tell_failure(sysprof, now_ns);
        return has_more;
}

static uint64_t sysprof_poll(void *userdata, uint64_t now_ns) {
        Sysprof *sysprof = userdata;

        if (take(sysprof))
                return now_ns;
        return sysprof->has_taker || sysprof->compositor.state != COMPOSITOR_NONE
                       ? probe_next_on_grid(now_ns, PERIOD_NS)
                       : PROBE_NEVER;
}

static void sysprof_flush(void *userdata, uint64_t now_ns) {
        (void)take(userdata);
}

static void sysprof_stop(void *userdata, uint64_t now_ns) {
        Sysprof *sysprof = userdata;

        if (!sysprof->has_taker)
                compositor_stop(&sysprof->compositor);
        (void)take(sysprof);
}

static bool sysprof_is_stopping(void *userdata) {
        return compositor_is_stopping(&((Sysprof *)userdata)->compositor);
}

static void sysprof_clear(void *userdata) {
        track_writer_clear(&((Sysprof *)userdata)->tracks);
}

const ProbeOps sysprof_probe_ops = {
        .name = SOURCE_NAME,
        .packet_fields = (const uint32_t[]){ PACKET_TRACK_EVENT, PACKET_TRACK_DESCRIPTOR, 0 },
        .records = "marks and counters of mutter, gnome-shell, and of programs with GTK 4, newer "
                   "GLib or libsoup that are started by record -- COMMAND",
        .reads = "org.gnome.Sysprof3.Profiler on the session bus, rings of programs that have "
                 "$SYSPROF_CONTROL_FD",
        .refuses = "there is no session bus: log in to a session that has one",
        .check = sysprof_check,
        .setup = sysprof_setup,
        .start = sysprof_start,
        .fd = sysprof_fd,
        .poll = sysprof_poll,
        .flush = sysprof_flush,
        .stop = sysprof_stop,
        .is_stopping = sysprof_is_stopping,
        .clear_incremental_state = sysprof_clear,
        .free = sysprof_free,
};
