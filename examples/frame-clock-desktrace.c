/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A frame clock, without a toolkit: each frame goes through its phases, is handed to a compositor, and is seen at the
 * next refresh of the display. gtk-desktrace.c is the same with GTK's own clock.
 *
 *      frame-clock-desktrace [--seconds N]
 *
 * Shows in a trace: phases within frames, an arrow from each frame to the moment when it is seen, its rate and
 * how long it took as counters, and frames that came too late.
 */

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <desktrace/track-event.h>
#include <desktrace/trigger.h>

DT_CATEGORY(frames, "frames", "Frames, their phases and what became of them");
DT_CATEGORY(drawing, "drawing", "What is drawn in a frame");

#define REFRESH_NS       UINT64_C(16666667)
#define SLOW_FRAME_EVERY 12
#define N_WIDGETS        4

static const dt_track display = DT_TRACK("display", 0);
static const dt_track frame_rate = DT_COUNTER_TRACK("frame rate", "Hz");
static const dt_track frame_time = DT_COUNTER_TRACK("frame time", NULL);

/* The frame that the compositor is to show next. */
static struct {
        pthread_mutex_t lock;
        pthread_cond_t changed;
        uint64_t number; /* 0: none */
        bool over;
} handed = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static uint64_t now_ns(void) {
        struct timespec now;

        clock_gettime(CLOCK_BOOTTIME, &now); /* the clock of DT_AT() */
        return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void sleep_until(uint64_t ns) {
        struct timespec then = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) };

        clock_nanosleep(CLOCK_BOOTTIME, TIMER_ABSTIME, &then, NULL);
}

static void work_for_us(unsigned us) {
        for (uint64_t end = now_ns() + us * 1000; now_ns() < end;)
                ;
}

/*
 * The program
 */

static void draw_widgets(unsigned us) {
        static const char *const widgets[N_WIDGETS] = { "header bar", "list", "image", "button" };

        for (unsigned i = 0; i < N_WIDGETS; i++) {
                DT_SLICE(drawing, "draw", DT_STRING_INTERNED("widget", widgets[i]));
                work_for_us(us / N_WIDGETS);
        }
}

static void run_frame(uint64_t number) {
        static const struct {
                const char *name;
                unsigned us;
        } phases[] = {
                { "before-paint", 50 }, { "update", 400 }, { "layout", 300 }, { "paint", 2000 }
        };
        const bool is_slow = number % SLOW_FRAME_EVERY == 0;
        const uint64_t id = dt_flow_id(number);

        DT_SLICE(frames, "frame", DT_UINT("number", number), DT_FLOW(id), DT_CORRELATION(id));
        for (unsigned i = 0; i < sizeof(phases) / sizeof(phases[0]); i++) {
                DT_SLICE(frames, phases[i].name);
                if (i == 3)
                        draw_widgets(is_slow ? 8 * phases[i].us : phases[i].us);
                else
                        work_for_us(phases[i].us);
        }
        DT_SLICE(frames, "after-paint", DT_FLOW(id));
        pthread_mutex_lock(&handed.lock);
        handed.number = number;
        pthread_cond_signal(&handed.changed);
        pthread_mutex_unlock(&handed.lock);
}

static void run_clock(double seconds) {
        const uint64_t end_ns = now_ns() + (uint64_t)(seconds * 1e9);
        uint64_t tick_ns = now_ns(), took_ns, number = 0;

        while ((tick_ns += REFRESH_NS) < end_ns) {
                sleep_until(tick_ns);
                run_frame(++number);
                took_ns = now_ns() - tick_ns;
                DT_COUNTER_ON(frames, &frame_time, (int64_t)took_ns);
                if (took_ns <= REFRESH_NS)
                        continue;
                DT_INSTANT(frames, "missed", DT_UINT("frame", number));
                dt_trigger("missed-frame"); /* for a flight recorder, see desktrace(1) */
                tick_ns += took_ns / REFRESH_NS * REFRESH_NS;
        }
}

/*
 * The other side
 */

static void present(uint64_t number) {
        static uint64_t shown_ns;
        uint64_t refresh_ns = (now_ns() / REFRESH_NS + 1) * REFRESH_NS;

        DT_SLICE(frames, "compose", DT_FLOW(dt_flow_id(number)));
        work_for_us(300);
        sleep_until(refresh_ns);
        /* When the display showed it, which is known only now. */
        DT_INSTANT_ON(
                frames, &display, "presented", DT_AT(refresh_ns), DT_FLOW_END(dt_flow_id(number)));
        if (shown_ns && refresh_ns > shown_ns)
                DT_COUNTER_DOUBLE_ON(frames, &frame_rate, 1e9 / (double)(refresh_ns - shown_ns));
        shown_ns = refresh_ns;
}

static void *compose(void *userdata) {
        dt_thread_set_name("compositor");
        pthread_mutex_lock(&handed.lock);
        while (!handed.over) {
                uint64_t number = handed.number;

                handed.number = 0;
                if (number == 0) {
                        pthread_cond_wait(&handed.changed, &handed.lock);
                        continue;
                }
                pthread_mutex_unlock(&handed.lock);
                present(number);
                pthread_mutex_lock(&handed.lock);
        }
        pthread_mutex_unlock(&handed.lock);
        return NULL;
}

int main(int argc, char **argv) {
        const dt_track_details time = { .size = sizeof(time), .unit = DT_UNIT_TIME_NS };
        pthread_t compositor;
        double seconds = 5;

        if (argc == 3 && strcmp(argv[1], "--seconds") == 0)
                seconds = atof(argv[2]);
        dt_init(NULL);
        dt_track_describe(&frame_time, &time);
        dt_thread_set_name("frame clock");
        if (pthread_create(&compositor, NULL, compose, NULL) != 0)
                return EXIT_FAILURE;
        run_clock(seconds);
        pthread_mutex_lock(&handed.lock);
        handed.over = true;
        pthread_cond_signal(&handed.changed);
        pthread_mutex_unlock(&handed.lock);
        pthread_join(compositor, NULL);
        return EXIT_SUCCESS;
}
