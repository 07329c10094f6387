/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * An X server that says anything. Nothing is read behind its messages, limits hold, and what is written is well-formed,
 * with as many ends as beginnings.
 *
 * The input is all that the server says; what it is asked is read and forgotten. libxcb reserves as much memory as a
 * message claims to need, so libFuzzer wants -malloc_limit_mb=20000.
 */

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <xcb/xcb.h>

#include "bridges/x/x-listener.h"
#include "bridges/x/x-recorder.h"
#include "fuzz-slices.h"
#include "fuzz.h"

#define NOW_NS      UINT64_C(100000000000)
#define INPUT_BYTES 65536 /* what a socket surely takes */
#define QUIET_MS    5

static int64_t n_open;
static int client;

/* In place of that of libxcb. */
xcb_connection_t *xcb_connect(const char *display, int *ret_screen) {
        return xcb_connect_to_fd(client, NULL);
}

static int check_packet(PacketSink *sink, const void *packet, size_t n_bytes) {
        fuzz_check_packet(packet, n_bytes, &n_open);
        return 0;
}

/* libxcb wants to ask first, and forgets what it has read when the server leaves: so that comes when nothing more is
 * asked. Until the listener has closed its side. */
static void play_server(int server, const uint8_t *data, size_t n_bytes) {
        struct pollfd asks = { .fd = server, .events = POLLIN };
        uint8_t asked[4096];

        FUZZ_CHECK(read(server, asked, sizeof(asked)) > 0);
        FUZZ_CHECK(send(server, data, n_bytes, MSG_NOSIGNAL) == (ssize_t)n_bytes);
        while (poll(&asks, 1, QUIET_MS) > 0 && read(server, asked, sizeof(asked)) > 0)
                ;
        shutdown(server, SHUT_WR);
        while (read(server, asked, sizeof(asked)) > 0)
                ;
        close(server);
}

static void record(XListener *listener) {
        PacketSink sink = { .write = check_packet };
        PacketWriter packets;
        XRecorder recorder;
        TrackWriter tracks;
        size_t n = 0;
        XFrame frame;

        n_open = 0;
        packet_writer_init(&packets, &sink);
        track_writer_init(&tracks, &packets, "fuzz");
        FUZZ_CHECK(x_recorder_init(&recorder, &tracks) == 0);
        for (; x_listener_take(listener, &frame); n++)
                x_recorder_take(&recorder, &frame, NOW_NS);
        FUZZ_CHECK(n <= X_FRAMES_MAX);
        FUZZ_CHECK(n_open == 0 || packets.n_dropped > 0);
        x_recorder_deinit(&recorder);
        track_writer_deinit(&tracks);
        packet_writer_deinit(&packets);
}

/* Where a setup has no room for a request, libxcb waits for itself for ever; that costs one of the few threads. */
static bool has_request_length(const uint8_t *data, size_t n_bytes) {
        xcb_setup_t setup;

        if (n_bytes < sizeof(setup))
                return false;
        memcpy(&setup, data, sizeof(setup));
        return setup.length * 4 + 8u >= sizeof(setup) && setup.maximum_request_length >= 1024;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
        XListener *listener;
        int r, sockets[2];

        if (n_bytes > INPUT_BYTES || !has_request_length(data, n_bytes))
                return 0;
        FUZZ_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) == 0);
        client = sockets[0];
        /* The thread of the one before may not have ended yet. */
        while ((r = x_listener_start(&listener)) == -EBUSY)
                usleep(100);
        FUZZ_CHECK(r == 0);
        play_server(sockets[1], data, n_bytes);
        record(listener);
        x_listener_stop(listener);
        return 0;
}
