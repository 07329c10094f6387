/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A kept buffer between any two instructions: what another process would find if this one were killed there.
 *
 * The processor traps after each instruction (the trap flag of x86). The handler keeps a picture of the files whenever
 * the index has changed; afterwards each picture is adopted.
 */

#include <signal.h>

#include "buffer-deeds.h"

#define N_PICTURES_MAX 6000
#define N_PLACES       16
#define N_SEQUENCES    8
#define N_RECORDS      (N_SEGMENTS * (SEGMENT_BYTES / TRACE_BUFFER_RECORD_BYTES))
#define N_HEAD         2048

typedef struct Picture {
        Progress progress;
        uint8_t head[N_HEAD];
        Record records[N_RECORDS];
        Sequence sequences[N_SEQUENCES];
        uint8_t places[N_PLACES][SEGMENT_BYTES];
} Picture;

typedef struct Camera {
        BufferIndexFile file;
        Sequence *sequences;
        uint8_t *segments;
        size_t n_place;
        const Progress *progress;
        Picture *pictures; /* the last one is compared with */
        unsigned n_pictures;
        unsigned n_instructions;
} Camera;

static Camera camera;

static bool index_has_changed(const Picture *last) {
        return memcmp(last->head, camera.file.head, camera.file.n_head) != 0 ||
               memcmp(last->records, camera.file.records, sizeof(last->records)) != 0 ||
               memcmp(last->sequences, camera.sequences, sizeof(last->sequences)) != 0;
}

static void camera_take(void) {
        Picture *picture = &camera.pictures[camera.n_pictures++];

        picture->progress = *camera.progress;
        memcpy(picture->head, camera.file.head, camera.file.n_head);
        memcpy(picture->records, camera.file.records, sizeof(picture->records));
        memcpy(picture->sequences, camera.sequences, sizeof(picture->sequences));
        for (size_t i = 0; i < N_PLACES; i++)
                memcpy(picture->places[i], camera.segments + i * camera.n_place, SEGMENT_BYTES);
}

static void on_trap(int signal_number) {
        camera.n_instructions++;
        if (camera.n_pictures < N_PICTURES_MAX &&
            (camera.n_pictures == 0 || index_has_changed(&camera.pictures[camera.n_pictures - 1])))
                camera_take();
}

static void set_trap_flag(bool on) {
        unsigned long flags = __builtin_ia32_readeflags_u64();

        __builtin_ia32_writeeflags_u64(on ? flags | 0x100 : flags & ~0x100ul);
}

/* Maps all places that will be used, before they are. */
static void camera_init(const World *world) {
        BufferShape shape;
        void *memory;

        camera = (Camera){ .progress = world->progress, .n_place = MAPPING_ALIGNMENT };
        ck_assert_int_eq(
                buffer_index_find(&camera.file, fcntl(world->index_fd, F_DUPFD_CLOEXEC, 3), &shape),
                0);
        ck_assert_uint_le(camera.file.n_head, N_HEAD);
        ck_assert_int_eq(mapping_new(&memory,
                                     N_SEQUENCES * sizeof(Sequence),
                                     world->index_fd,
                                     camera.file.sequences_at),
                         0);
        camera.sequences = memory;
        ck_assert_int_eq(fd_grow_memfd(world->segments_fd, N_PLACES * camera.n_place), 0);
        ck_assert_int_eq(mapping_new(&memory, N_PLACES * camera.n_place, world->segments_fd, 0), 0);
        camera.segments = memory;
}

static void camera_deinit(void) {
        buffer_index_deinit(&camera.file);
        mapping_free(camera.sequences, N_SEQUENCES * sizeof(Sequence));
        mapping_free(camera.segments, N_PLACES * camera.n_place);
}

/* The files as they are on the picture. */
static void develop(World *world, const Picture *picture) {
        world_make_files(world);
        camera_init(world);
        *world->progress = picture->progress;
        memcpy(camera.file.head, picture->head, camera.file.n_head);
        memcpy(camera.file.records, picture->records, sizeof(picture->records));
        memcpy(camera.sequences, picture->sequences, sizeof(picture->sequences));
        for (size_t i = 0; i < N_PLACES; i++)
                memcpy(camera.segments + i * camera.n_place, picture->places[i], SEGMENT_BYTES);
        camera_deinit();
}

static void take_pictures(World *world, Picture *pictures) {
        TraceBuffer *buffer;

        world_make_files(world);
        camera_init(world);
        camera.pictures = pictures;
        buffer = world_adopt(world);
        signal(SIGTRAP, on_trap);
        set_trap_flag(true);
        live(world->progress, buffer);
        set_trap_flag(false);
        trace_buffer_free(buffer);
        camera_deinit();
}

START_TEST(test_buffer_is_whole_after_each_instruction) {
        static World world;
        Picture *pictures;
        unsigned n_pictures;

        pictures = mmap(NULL,
                        N_PICTURES_MAX * sizeof(*pictures),
                        PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                        -1,
                        0);
        ck_assert(pictures != MAP_FAILED);
        world_init(&world);
        take_pictures(&world, pictures);
        n_pictures = camera.n_pictures;
        printf("# %u pictures of %u instructions\n", n_pictures, camera.n_instructions);
        ck_assert_uint_gt(n_pictures, 10 * ARRAY_SIZE(deeds));
        ck_assert_uint_lt(n_pictures, N_PICTURES_MAX);
        for (unsigned i = 0; i < n_pictures; i++) {
                _cleanup_(trace_buffer_freep) TraceBuffer *adopted = NULL;

                develop(&world, &pictures[i]);
                adopted = world_adopt(&world);
                world_check(&world, adopted);
        }
}
END_TEST

TEST_MAIN("buffer-steps", test_buffer_is_whole_after_each_instruction)
