/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Zooms into the Mandelbrot set, with three threads that share the rows of each frame: something to record that
 * keeps a machine busy.
 *
 *      mandelbrot-desktrace [--seconds N] [--quiet]
 *
 * Shows in a trace: frames on the main thread, rows with their cost on the workers, arrows from the frame to its rows,
 * the frame rate as a counter, and how long the main thread waits. A frame that takes much longer than the one before
 * sends the trigger "slow-frame", for a flight recorder that waits for it. Prints the last frame, unless told not to.
 */

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <desktrace/track-event.h>
#include <desktrace/trigger.h>

DT_CATEGORY(frames, "mandelbrot.frames", "Frames and their rate");
DT_CATEGORY(rows, "mandelbrot.rows", "Rows of frames, on the workers");

#define N_WORKERS   3
#define WIDTH       320
#define HEIGHT      96
#define DEPTH_MAX   1000
#define SHOW_STEP_X 4
#define SHOW_STEP_Y 4
#define SLOW_FRAME  2 /* times the one before */
#define CENTER_X    (-0.743643887)
#define CENTER_Y    0.131825904

static const dt_track frame_rate = DT_COUNTER_TRACK("frame rate", "Hz");

static struct {
        pthread_mutex_t lock;
        pthread_cond_t more, finished;
        unsigned number, next_row, n_finished; /* of the frame at hand */
        double scale;
        bool over;
        unsigned short depths[HEIGHT][WIDTH];
} frame = { .lock = PTHREAD_MUTEX_INITIALIZER,
            .more = PTHREAD_COND_INITIALIZER,
            .finished = PTHREAD_COND_INITIALIZER,
            .next_row = HEIGHT };

static double now(void) {
        struct timespec time;

        clock_gettime(CLOCK_MONOTONIC, &time);
        return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static unsigned depth_at(double cx, double cy) {
        double x = 0, y = 0;
        unsigned depth = 0;

        while (x * x + y * y < 4 && depth < DEPTH_MAX) {
                double next_x = x * x - y * y + cx;

                y = 2 * x * y + cy;
                x = next_x;
                depth++;
        }
        return depth;
}

static void render_row(unsigned row, unsigned number, double scale) {
        double cy = CENTER_Y + ((double)row / HEIGHT - 0.5) * scale;
        uint64_t cost = 0;

        DT_SLICE_BEGIN(rows, "row", DT_UINT("row", row), DT_FLOW(dt_flow_id(number)));
        for (unsigned column = 0; column < WIDTH; column++) {
                double cx = CENTER_X + ((double)column / WIDTH - 0.5) * scale * 2;
                unsigned depth = depth_at(cx, cy);

                frame.depths[row][column] = (unsigned short)depth;
                cost += depth;
        }
        DT_INSTANT(rows, "row done", DT_UINT("iterations", cost));
        DT_SLICE_END(rows);
}

static void *work(void *name) {
        dt_thread_set_name(name);
        pthread_mutex_lock(&frame.lock);
        while (!frame.over) {
                unsigned row = frame.next_row, number = frame.number;
                double scale = frame.scale;

                if (row == HEIGHT) {
                        pthread_cond_wait(&frame.more, &frame.lock);
                        continue;
                }
                frame.next_row++;
                pthread_mutex_unlock(&frame.lock);
                render_row(row, number, scale);
                pthread_mutex_lock(&frame.lock);
                if (++frame.n_finished == HEIGHT)
                        pthread_cond_signal(&frame.finished);
        }
        pthread_mutex_unlock(&frame.lock);
        return NULL;
}

static void render_frame(unsigned number, double scale) {
        DT_SLICE(frames,
                 "frame",
                 DT_UINT("number", number),
                 DT_DOUBLE("scale", scale),
                 DT_FLOW(dt_flow_id(number)));

        pthread_mutex_lock(&frame.lock);
        frame.number = number;
        frame.scale = scale;
        frame.next_row = frame.n_finished = 0;
        pthread_cond_broadcast(&frame.more);
        DT_SLICE_BEGIN(frames, "wait for workers");
        while (frame.n_finished < HEIGHT)
                pthread_cond_wait(&frame.finished, &frame.lock);
        DT_SLICE_END(frames);
        pthread_mutex_unlock(&frame.lock);
}

static void render(double seconds) {
        double start = now(), last = start, scale = 3, took_before = 1;

        for (unsigned number = 1; last < start + seconds; number++) {
                double end;

                render_frame(number, scale);
                end = now();
                DT_COUNTER_DOUBLE_ON(frames, &frame_rate, 1 / (end - last));
                if (end - last > SLOW_FRAME * took_before)
                        dt_trigger("slow-frame");
                took_before = end - last;
                last = end;
                scale = scale > 1e-4 ? scale * 0.97 : 3;
        }
}

static void show(void) {
        static const char shades[] = " .:-=+*#%@";

        for (unsigned row = 0; row < HEIGHT; row += SHOW_STEP_Y) {
                for (unsigned column = 0; column < WIDTH; column += SHOW_STEP_X)
                        putchar(shades[frame.depths[row][column] * (sizeof(shades) - 2) /
                                       DEPTH_MAX]);
                putchar('\n');
        }
}

int main(int argc, char **argv) {
        static char names[N_WORKERS][16] = { "worker 1", "worker 2", "worker 3" };
        pthread_t workers[N_WORKERS];
        bool quiet = false;
        double seconds = 5;

        for (int i = 1; i < argc; i++) {
                if (strcmp(argv[i], "--seconds") == 0 && i + 1 < argc)
                        seconds = atof(argv[++i]);
                quiet |= strcmp(argv[i], "--quiet") == 0;
        }
        dt_init(NULL);
        for (unsigned i = 0; i < N_WORKERS; i++)
                if (pthread_create(&workers[i], NULL, work, names[i]) != 0)
                        return EXIT_FAILURE;
        render(seconds);

        pthread_mutex_lock(&frame.lock);
        frame.over = true;
        pthread_cond_broadcast(&frame.more);
        pthread_mutex_unlock(&frame.lock);
        for (unsigned i = 0; i < N_WORKERS; i++)
                pthread_join(workers[i], NULL);
        if (!quiet)
                show();
        return EXIT_SUCCESS;
}
