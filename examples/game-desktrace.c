/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A game engine: a loop with fixed steps, jobs on worker threads, assets that load while it runs, and a GPU whose times
 * are known only frames later.
 *
 *      game-desktrace [--seconds N]
 *
 * Shows in a trace: which steps and jobs a frame consists of, arrows from a frame to its jobs and to the GPU, all
 * events of a frame by their correlation id, rows for the GPU and for each asset, and counters.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <desktrace/track-event.h>

DT_CATEGORY(game, "game", "Frames, steps and what they count");
DT_CATEGORY(jobs, "game.jobs", "Jobs, on the workers");
DT_CATEGORY(gpu, "game.gpu", "What the GPU did, by its own times");
DT_CATEGORY(assets, "game.assets", "Assets that are loaded meanwhile");

#define N_WORKERS   2
#define N_JOBS      6
#define STEP_NS     UINT64_C(8000000)
#define FRAMES_LATE 2 /* until the GPU says when it did a frame */
#define ASSET_EVERY 10

/* What dt_flow_id() gets: numbers of frames, and these. */
#define JOB_IDS   (UINT64_C(1) << 32)
#define ASSET_IDS (UINT64_C(1) << 40)

static const dt_track gpu_queue = DT_TRACK("GPU queue", 0);
static const dt_track gpu_frame_time = DT_COUNTER_TRACK("GPU frame time", NULL);
static const dt_track frame_rate = DT_COUNTER_TRACK("frame rate", "Hz");
static dt_lanes loading = DT_LANES("asset");

static struct {
        pthread_barrier_t begin, end;
        atomic_uint next;
        uint64_t frame, first_id;
        const char *name; /* NULL: the game is over */
} batch = { .first_id = JOB_IDS };

static uint64_t now_ns(void) {
        struct timespec now;

        clock_gettime(CLOCK_BOOTTIME, &now); /* the clock of DT_AT() */
        return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void work_for_us(unsigned us) {
        for (uint64_t end = now_ns() + us * 1000; now_ns() < end;)
                ;
}

/*
 * Jobs: a batch of them is done when all threads have come to its end, the main thread included.
 */

static void run_jobs(void) {
        for (unsigned i; (i = atomic_fetch_add(&batch.next, 1)) < N_JOBS;) {
                DT_SLICE(jobs,
                         batch.name,
                         DT_UINT("job", i),
                         DT_FLOW_END(dt_flow_id(batch.first_id + i)),
                         DT_CORRELATION(dt_flow_id(batch.frame)));
                work_for_us(160 + 40 * i);
        }
}

static void run_batch(uint64_t frame, const char *name) {
        batch.next = 0;
        batch.frame = frame;
        batch.name = name;
        batch.first_id += N_JOBS;
        for (unsigned i = 0; i < N_JOBS; i++)
                DT_INSTANT(jobs, "queue", DT_FLOW(dt_flow_id(batch.first_id + i)));
        pthread_barrier_wait(&batch.begin);
        run_jobs();
        DT_SLICE(jobs, "wait for workers");
        pthread_barrier_wait(&batch.end);
}

static void *work(void *name) {
        dt_thread_set_name(name);
        for (;;) {
                pthread_barrier_wait(&batch.begin);
                if (!batch.name)
                        return NULL;
                run_jobs();
                pthread_barrier_wait(&batch.end);
        }
}

/*
 * Assets: begun here, ended there, and several at once; so each has a row of its own
 */

typedef struct Asset {
        uint64_t number;
        dt_track lane;
} Asset;

static pthread_t loader;
static bool is_loading;

static void *load(void *userdata) {
        const Asset *asset = userdata;
        const struct timespec disk = { .tv_nsec = 30000000 };

        dt_thread_set_name("loader");
        DT_SLICE(assets, "read", DT_FLOW_END(dt_flow_id(ASSET_IDS + asset->number)));
        nanosleep(&disk, NULL);
        DT_SLICE_END_ON_WITH(assets, &asset->lane, DT_INT("bytes", 1 << 20));
        dt_lane_return(&loading, &asset->lane);
        return NULL;
}

static void end_load(void) {
        if (is_loading)
                pthread_join(loader, NULL);
        is_loading = false;
}

static void begin_load(uint64_t number) {
        static Asset asset;

        end_load();
        asset = (Asset){ number, dt_lane_take(&loading) };
        DT_SLICE_BEGIN_ON(assets,
                          &asset.lane,
                          "load",
                          DT_STRING_INTERNED("kind", number % 2 ? "texture" : "mesh"),
                          DT_FLOW(dt_flow_id(ASSET_IDS + number)));
        is_loading = pthread_create(&loader, NULL, load, &asset) == 0;
}

/*
 * The GPU: does frames one after the other, behind the CPU's back. A real one tells its times by timestamp queries,
 * which are converted to CLOCK_BOOTTIME.
 */

typedef struct GpuTimes {
        uint64_t begin_ns, end_ns;
} GpuTimes;

static void submit(uint64_t frame) {
        static GpuTimes times[FRAMES_LATE + 1], last;
        const uint64_t id = dt_flow_id(frame - FRAMES_LATE);
        GpuTimes *slot = &times[frame % (FRAMES_LATE + 1)];

        DT_SLICE(game, "submit", DT_FLOW(dt_flow_id(frame)));
        slot->begin_ns = now_ns();
        if (slot->begin_ns < last.end_ns)
                slot->begin_ns = last.end_ns;
        slot->end_ns = slot->begin_ns + 3000000 + frame % 5 * 500000;
        last = *slot;
        if (frame <= FRAMES_LATE)
                return;
        slot = &times[(frame - FRAMES_LATE) % (FRAMES_LATE + 1)];
        DT_SLICE_BEGIN_ON(gpu,
                          &gpu_queue,
                          "draw",
                          DT_AT(slot->begin_ns),
                          DT_FLOW_END(id),
                          DT_CORRELATION(id));
        DT_SLICE_END_ON_WITH(gpu, &gpu_queue, DT_AT(slot->end_ns));
        DT_COUNTER_ON(gpu, &gpu_frame_time, (int64_t)(slot->end_ns - slot->begin_ns));
}

static uint64_t run_frame(uint64_t number, uint64_t behind_ns) {
        const uint64_t id = dt_flow_id(number);

        DT_SLICE(game, "frame", DT_UINT("number", number), DT_FLOW(id), DT_CORRELATION(id));
        for (; behind_ns >= STEP_NS; behind_ns -= STEP_NS) {
                DT_SLICE(game, "step");
                run_batch(number, "physics");
        }
        run_batch(number, "cull");
        submit(number);
        if (number % ASSET_EVERY == 1)
                begin_load(number / ASSET_EVERY);
        return behind_ns;
}

static void play(double seconds) {
        const uint64_t end_ns = now_ns() + (uint64_t)(seconds * 1e9);
        const struct timespec rest = { .tv_nsec = 4000000 };
        uint64_t before_ns = now_ns(), behind_ns = 0, now;

        for (uint64_t number = 1; (now = now_ns()) < end_ns; number++) {
                if (number > 1)
                        DT_COUNTER_DOUBLE_ON(game, &frame_rate, 1e9 / (double)(now - before_ns));
                DT_COUNTER(game, "entities", (int64_t)(100 + number % 50));
                behind_ns += now - before_ns;
                before_ns = now;
                behind_ns = run_frame(number, behind_ns < 4 * STEP_NS ? behind_ns : STEP_NS);
                nanosleep(&rest, NULL); /* for the display */
        }
}

int main(int argc, char **argv) {
        static char names[N_WORKERS][16] = { "job thread 1", "job thread 2" };
        const dt_track_details time = { .size = sizeof(time), .unit = DT_UNIT_TIME_NS };
        pthread_t workers[N_WORKERS];
        double seconds = 5;

        if (argc == 3 && strcmp(argv[1], "--seconds") == 0)
                seconds = atof(argv[2]);
        dt_init(NULL);
        dt_track_describe(&gpu_frame_time, &time);
        dt_thread_set_name("game loop");
        pthread_barrier_init(&batch.begin, NULL, N_WORKERS + 1);
        pthread_barrier_init(&batch.end, NULL, N_WORKERS + 1);
        for (unsigned i = 0; i < N_WORKERS; i++)
                if (pthread_create(&workers[i], NULL, work, names[i]) != 0)
                        return EXIT_FAILURE;
        play(seconds);
        end_load();
        batch.name = NULL;
        pthread_barrier_wait(&batch.begin);
        for (unsigned i = 0; i < N_WORKERS; i++)
                pthread_join(workers[i], NULL);
        return EXIT_SUCCESS;
}
