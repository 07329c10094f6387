/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* World: libdesktrace in this program, with the service's end here as well, so that no other thread disturbs */

#include <errno.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "desktrace/track-event.h"
#include "lib.h"
#include "lib/connection.h"
#include "lib/source-private.h"
#include "lib/track.h"
#include "shared/fd.h"
#include "shared/names.h"
#include "smb/smb-reader.h"

DT_CATEGORY(bench, "bench", "What is measured");
DT_CATEGORY_TAGGED(off, "off", "What is not recorded", "debug");

#define PAGES_BYTES (4u << 20)
#define RING_BYTES  (1u << 20)

static struct {
        Connection *connection;
        SmbArea service;
        uint8_t n_sessions;
} world;

void world_floor(unsigned n) {
        static _Thread_local uint8_t ring[RING_BYTES];
        size_t at = 0;

        for (uint64_t i = 0; i < n; i++) {
                uint64_t words[4] = { track_now_ns(), i, i, i };

                memcpy(ring + at, words, sizeof(words));
                at = (at + sizeof(words)) % RING_BYTES;
                bench_use(ring);
        }
}

static void emit_off(unsigned n) {
        for (unsigned i = 0; i < n; i++)
                DT_INSTANT(off, "never", DT_INT("i", i));
}

static void emit_instant(unsigned n) {
        for (unsigned i = 0; i < n; i++)
                DT_INSTANT(bench, "an instant");
}

static void emit_slice(unsigned n) {
        for (unsigned i = 0; i < n / 2; i++) {
                DT_SLICE_BEGIN(bench, "a slice");
                DT_SLICE_END(bench);
        }
}

static void emit_args(unsigned n) {
        for (unsigned i = 0; i < n; i++)
                DT_INSTANT(bench,
                           "with arguments",
                           DT_INT("number", i),
                           DT_STRING("text", "sixteen letters."));
}

static void emit_counter(unsigned n) {
        for (unsigned i = 0; i < n; i++)
                DT_COUNTER(bench, "a counter", i);
}

void world_integer(unsigned n) {
        for (unsigned i = 0; i < n; i++)
                DT_INSTANT(bench, "with an integer", DT_INT("number", i));
}

const Burst world_bursts[_SHAPE_N] = {
        [SHAPE_OFF] = emit_off,   [SHAPE_INSTANT] = emit_instant, [SHAPE_SLICE] = emit_slice,
        [SHAPE_ARGS] = emit_args, [SHAPE_COUNTER] = emit_counter,
};

void world_drain(void) {
        SmbCommit commit;
        SmbChunk chunk;

        while (smb_next_commit(&world.service, &commit) == 0)
                if (!commit.is_patch &&
                    smb_take_chunk(&world.service, commit.page, commit.chunk, &chunk) == 0)
                        smb_release_chunk(&world.service, &chunk);
        smb_take_rescan(&world.service);
        if (smb_n_dropped(&world.service) > 0)
                abort(); /* a dropped event is cheap */
}

/* A session that records all categories but those tagged "debug". */
static int start_session(void) {
        const uint8_t number = ++world.n_sessions;
        const uint8_t config[] = { 0x10, number }; /* target_buffer */
        const char *error = NULL;
        int r;

        r = instance_new(world.connection, number, "track_event", config, sizeof(config), &error);
        if (r < 0)
                return r;
        track_lock();
        track_sessions[number - 1].started = true;
        track_apply_categories();
        track_unlock();
        return 0;
}

void world_add_sessions(unsigned n) {
        while (n-- > 0)
                if (start_session() < 0)
                        abort();
}

int world_init(void) {
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
        return start_session();
}
