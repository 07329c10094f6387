/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * What an event costs its thread, against what it cannot be without: reading the clock and storing 32 bytes.
 *
 * The service's end is in this program: it takes chunks back between bursts of events, so that no other thread
 * disturbs the figures.
 */

#include <errno.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench.h"
#include "desktrace/track-event.h"
#include "lib/connection.h"
#include "lib/source-private.h"
#include "lib/track.h"
#include "shared/fd.h"
#include "shared/names.h"
#include "smb/smb-reader.h"
#include "wire/wire-writer.h"

DT_CATEGORY(bench, "bench", "What is measured");
DT_CATEGORY_TAGGED(off, "off", "What is not recorded", "debug");

#define N_EVENTS    10000 /* in a burst: fits into the memory */
#define PAGES_BYTES (4u << 20)
#define RING_BYTES  (1u << 20)
#define N_SESSIONS  5

static struct {
        Connection *connection;
        SmbArea service;
        uint8_t ring[RING_BYTES];
} world;

static void run_floor(void *userdata) {
        size_t at = 0;

        for (uint64_t i = 0; i < N_EVENTS; i++) {
                uint64_t words[4] = { track_now_ns(), i, i, i };

                memcpy(world.ring + at, words, sizeof(words));
                at = (at + sizeof(words)) % RING_BYTES;
                bench_use(world.ring);
        }
}

static void run_off(void *userdata) {
        for (int64_t i = 0; i < N_EVENTS; i++)
                DT_INSTANT(off, "never", DT_INT("i", i));
}

static void run_instant(void *userdata) {
        for (unsigned i = 0; i < N_EVENTS; i++)
                DT_INSTANT(bench, "an instant");
}

static void run_slice(void *userdata) {
        for (unsigned i = 0; i < N_EVENTS / 2; i++) {
                DT_SLICE_BEGIN(bench, "a slice");
                DT_SLICE_END(bench);
        }
}

static void run_integer(void *userdata) {
        for (unsigned i = 0; i < N_EVENTS; i++)
                DT_INSTANT(bench, "with an integer", DT_INT("number", i));
}

static void run_args(void *userdata) {
        for (unsigned i = 0; i < N_EVENTS; i++)
                DT_INSTANT(bench,
                           "with arguments",
                           DT_INT("number", i),
                           DT_STRING("text", "sixteen letters."));
}

static void run_counter(void *userdata) {
        for (unsigned i = 0; i < N_EVENTS; i++)
                DT_COUNTER(bench, "a counter", i);
}

static void drain(void) {
        SmbCommit commit;
        SmbChunk chunk;

        while (smb_next_commit(&world.service, &commit) == 0)
                if (!commit.is_patch &&
                    smb_take_chunk(&world.service, commit.page, commit.chunk, &chunk) == 0)
                        smb_release_chunk(&world.service, &chunk);
        smb_take_rescan(&world.service);
}

/* Nanoseconds of one event in the best burst. */
static double best_ns(void (*run)(void *userdata)) {
        uint64_t best = UINT64_MAX;

        for (unsigned i = 0; i < 20 * BENCH_RUNS; i++) {
                uint64_t took = bench_run_ns(run, NULL);

                best = took < best ? took : best;
                drain();
        }
        if (smb_n_dropped(&world.service) > 0)
                abort(); /* a dropped event is cheap */
        return (double)best / N_EVENTS;
}

/* A session that records all categories but those tagged "debug". */
static int start_session(uint8_t number) {
        const uint8_t config[] = { 0x10, number }; /* target_buffer */
        const char *error = NULL;
        int r;

        r = instance_new(world.connection, number, "track_event", config, sizeof(config), &error);
        if (r < 0)
                return r;
        track_session_switch(&track_sessions[number - 1], true);
        return 0;
}

static int make_world(void) {
        _cleanup_(fd_closep) int memory_fd = -1, doorbell_fd = -1;
        size_t n_bytes = smb_native_bytes(PAGES_BYTES, SMB_PAGE_BYTES_DEFAULT);
        void *memory;
        int r;

        setenv(TRACING_ENV_SOCKET, "/nonexistent", 1);
        r = dt_init(NULL);
        if (r < 0)
                return r;
        r = fd_new_sealed_memfd(&memory_fd, "bench", n_bytes);
        if (r < 0)
                return r;
        doorbell_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        memory = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory_fd, 0);
        if (memory == MAP_FAILED)
                return -errno;
        smb_area_create(&world.service, memory, PAGES_BYTES, SMB_PAGE_BYTES_DEFAULT);
        r = connection_new(&world.connection, CONNECTION_SOCKET, 1);
        if (r < 0)
                return r;
        r = memory_new(&world.connection->memory, memory_fd, doorbell_fd, -1);
        if (r < 0)
                return r;
        return start_session(1);
}

static bool report(const char *what, double ns, double floor_ns, double at_most) {
        bool ok = ns <= at_most * floor_ns;

        printf("%-52s %8.1f ns  %8.2f x floor  (at most %.1f)%s\n",
               what,
               ns,
               ns / floor_ns,
               at_most,
               ok ? "" : " MISSED");
        return ok;
}

/* Several sessions that want the same, of what one costs. */
static bool report_sessions(const char *what, void (*run)(void *userdata), double at_most) {
        double one_ns = best_ns(run), ratio;
        bool ok;

        for (uint8_t number = 2; number <= N_SESSIONS; number++)
                if (start_session(number) < 0)
                        abort();
        ratio = best_ns(run) / one_ns;
        ok = ratio <= at_most;
        printf("%-52s %8.1f ns  %8.2f x one    (at most %.1f)%s\n",
               what,
               ratio * one_ns,
               ratio,
               at_most,
               ok ? "" : " MISSED");
        return ok;
}

int main(void) {
        static const struct {
                const char *what;
                void (*run)(void *userdata);
                double at_most; /* times the floor: half of what LTTng-UST 2.13 needs, 0.6 with arguments */
        } events[] = {
                { "an event that is off", run_off, 0.1 },
                { "instant", run_instant, 2.0 },
                { "slice, each end", run_slice, 2.0 },
                { "instant with an integer and a text of 16", run_args, 3.0 },
                { "counter", run_counter, 2.0 },
        };
        bool ok = true;
        double floor_ns;
        int r;

        r = make_world();
        if (r < 0) {
                fprintf(stderr, "bench-lib: %s\n", strerror(-r));
                return EXIT_FAILURE;
        }
        floor_ns = best_ns(run_floor);
        printf("%-52s %8.1f ns\n", "floor: clock and 32 bytes", floor_ns);
        for (size_t i = 0; i < ARRAY_SIZE(events); i++)
                ok &= report(events[i].what, best_ns(events[i].run), floor_ns, events[i].at_most);
        ok &= report_sessions("instant with an integer, in five sessions", run_integer, 2.0);
        return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
