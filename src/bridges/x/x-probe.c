/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* org.x.present: when an X server has shown the frames of windows */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bridges/x/x-probe.h"
#include "bridges/x/x-recorder.h"
#include "shared/monotonic.h"

#define SOURCE_NAME        "org.x.present"
#define CLOCK_ID_MONOTONIC 3
#define PERIOD_NS          (100 * PROBE_NS_PER_MS)

typedef struct X {
        PacketWriter packets;
        TrackWriter tracks;
        XRecorder recorder;
        XListener *listener;
        bool is_told; /* the reason why it does not listen */
        uint64_t n_lost, n_left_out;
} X;

static void *x_free(void *userdata) {
        X *x = userdata;

        if (!x)
                return NULL;
        x_listener_stop(x->listener);
        x_recorder_deinit(&x->recorder);
        track_writer_deinit(&x->tracks);
        packet_writer_deinit(&x->packets);
        free(x);
        return NULL;
}

static int x_check(char **ret_error) {
        if (!x_listener_is_built())
                return probe_refuse(ret_error,
                                    "desktrace-bridges was built without libxcb: build it with "
                                    "xcb-present and xcb-res");
        if (!getenv("DISPLAY"))
                return probe_refuse(ret_error,
                                    "this session has no X server ($DISPLAY): start "
                                    "desktrace-bridges where it has one");
        return 0;
}

static int x_setup(void **ret, const ProbeSetup *setup, char **ret_error) {
        X *x = calloc(1, sizeof(*x));
        int r;

        if (!x)
                return -ENOMEM;
        packet_writer_init(&x->packets, setup->sink);
        track_writer_init(&x->tracks, &x->packets, SOURCE_NAME);
        x->tracks.clock_id = CLOCK_ID_MONOTONIC;
        r = x_recorder_init(&x->recorder, &x->tracks);
        if (r < 0) {
                x_free(x);
                return r;
        }
        *ret = x;
        return 0;
}

static int x_start(void *userdata, char **ret_error) {
        const int r = x_listener_start(&((X *)userdata)->listener);

        if (r == -EBUSY)
                return probe_refuse(ret_error,
                                    "%d recordings wait for an X server that does not answer: end "
                                    "these, or desktrace-bridges",
                                    X_LISTENERS_MAX);
        return r;
}

static const char *explain(XState state) {
        switch (state) {
        case X_CONNECTING:
                return "the X server has not answered";
        case X_NO_DISPLAY:
                return "no X server can be reached at $DISPLAY, or it does not let us in";
        case X_NO_PRESENT:
                return "the X server does not have the extension Present";
        case X_ENDED:
                return "the X server has ended";
        default:
                return NULL;
        }
}

/* Reported once, as nothing else will come. `is_last` is also true for a server that may still answer. */
static void tell_state(X *x, uint64_t now_ns, bool is_last) {
        const XState state = x_listener_state(x->listener);

        if (x->is_told || state == X_LISTENING || (state == X_CONNECTING && !is_last))
                return;
        x->is_told = true;
        x_recorder_tell(&x->recorder, now_ns, "not recorded", explain(state));
}

static void tell_losses(X *x, uint64_t now_ns) {
        uint64_t n_lost, n_left_out;

        x_listener_count(x->listener, &n_lost, &n_left_out);
        if (n_lost != x->n_lost)
                x_recorder_count(&x->recorder, now_ns, "lost", "frames", n_lost - x->n_lost);
        if (n_left_out != x->n_left_out)
                x_recorder_count(
                        &x->recorder, now_ns, "left out", "windows", n_left_out - x->n_left_out);
        x->n_lost = n_lost;
        x->n_left_out = n_left_out;
}

/* Takes at most as many as may wait at a time: with a faster server this would never end. */
static void take(X *x, bool is_last) {
        const uint64_t now_ns = monotonic_ns();
        XFrame frame;

        for (size_t i = 0; i < X_FRAMES_MAX && x_listener_take(x->listener, &frame); i++)
                x_recorder_take(&x->recorder, &frame, now_ns);
        tell_losses(x, now_ns);
        tell_state(x, now_ns, is_last);
}

static uint64_t x_poll(void *userdata, uint64_t now_ns) {
        take(userdata, false);
        return ((X *)userdata)->is_told ? PROBE_NEVER : probe_next_on_grid(now_ns, PERIOD_NS);
}

static void x_flush(void *userdata, uint64_t now_ns) {
        take(userdata, false);
}

static void x_stop(void *userdata, uint64_t now_ns) {
        X *x = userdata;

        take(x, true);
        x->listener = x_listener_stop(x->listener);
}

static void x_clear(void *userdata) {
        track_writer_clear(&((X *)userdata)->tracks);
}

const ProbeOps x_probe_ops = {
        .name = SOURCE_NAME,
        .packet_fields = (const uint32_t[]){ PACKET_TRACK_EVENT, PACKET_TRACK_DESCRIPTOR, 0 },
        .records = "frames of X11 windows that use X Present, when they were shown, which were "
                   "late, and how many a second",
        .reads = "events of X Present for all windows at $DISPLAY",
        .refuses = "this session has no X server: start desktrace-bridges where it has one; "
                   "desktrace-bridges was built without libxcb: build it with xcb-present and "
                   "xcb-res",
        .check = x_check,
        .setup = x_setup,
        .start = x_start,
        .poll = x_poll,
        .flush = x_flush,
        .stop = x_stop,
        .clear_incremental_state = x_clear,
        .free = x_free,
};
