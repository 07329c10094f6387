/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "test.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "host/packet-list.h"
#include "probes/points/frame-writer.h"
#include "probes/points/main-loops.h"
#include "probes/points/point-ring.h"
#include "shared/macro.h"

#define MS    UINT64_C(1000000)
#define START (1000 * MS)

/*
 * Frames
 */

static Frames frames;
static uint64_t now_ns;

static void begin_frames(void) {
        ck_assert_int_eq(frames_init(&frames), 0);
        now_ns = START;
}

static bool add(pid_t pid, uint64_t surface, uint64_t refresh_ns, Frame *ret) {
        const FrameKey key = { .pid = pid, .point = &frames, .surface = surface };

        return frames_add(&frames, &key, now_ns, refresh_ns, ret);
}

/* The next frame of the one surface, so much later. */
static Frame next(uint64_t interval_ns) {
        Frame frame;

        now_ns += interval_ns;
        ck_assert(add(1, 1, 0, &frame));
        return frame;
}

static void many(unsigned n, uint64_t interval_ns) {
        while (n-- > 0)
                ck_assert_uint_eq(next(interval_ns).n_missed, 0);
}

START_TEST(test_a_frame_is_as_long_as_the_interval_before_it) {
        Frame frame;

        begin_frames();
        frame = next(0);
        ck_assert(!frame.has_begin);
        ck_assert_uint_eq(frame.number, 1);
        frame = next(16 * MS);
        ck_assert(frame.has_begin);
        ck_assert_uint_eq(frame.begin_ns, START);
        ck_assert_uint_eq(frame.number, 2);
        frames_deinit(&frames);
}
END_TEST

START_TEST(test_a_late_frame_says_how_many_were_missed) {
        begin_frames();
        many(10, 16 * MS);
        ck_assert_uint_eq(next(24 * MS).n_missed, 0);
        ck_assert_uint_eq(next(33 * MS).n_missed, 1);
        many(1, 16 * MS);
        ck_assert_uint_eq(next(50 * MS).n_missed, 2);
        frames_deinit(&frames);
}
END_TEST

START_TEST(test_a_film_with_few_frames_is_not_late) {
        begin_frames();
        many(60, 40 * MS);
        ck_assert_uint_eq(next(80 * MS).n_missed, 1);
        frames_deinit(&frames);
}
END_TEST

START_TEST(test_a_pause_is_not_late) {
        Frame frame;

        begin_frames();
        many(10, 16 * MS);
        frame = next(2000 * MS);
        ck_assert(!frame.has_begin);
        ck_assert_uint_eq(frame.n_missed, 0);
        many(3, 16 * MS);
        frames_deinit(&frames);
}
END_TEST

START_TEST(test_the_refresh_of_the_display_counts_if_it_is_known) {
        Frame frame;

        begin_frames();
        for (unsigned i = 0; i < 10; i++, now_ns += 7 * MS)
                ck_assert(add(1, 1, 6944444, &frame));
        now_ns += 7 * MS;
        ck_assert(add(1, 1, 6944444, &frame));
        ck_assert_uint_eq(frame.n_missed, 1);
        now_ns += 14 * MS;
        ck_assert(add(1, 1, 0, &frame)); /* usual where nobody says */
        ck_assert_uint_eq(frame.n_missed, 0);
        frames_deinit(&frames);
}
END_TEST

START_TEST(test_frames_are_counted_each_second) {
        unsigned n = 0;

        begin_frames();
        for (unsigned i = 0; i <= 300; i++) {
                Frame frame = next(10 * MS);

                if (frame.fps < 0)
                        continue;
                ck_assert_int_eq(frame.fps, 100);
                n++;
        }
        ck_assert_uint_eq(n, 3);
        frames_deinit(&frames);
}
END_TEST

START_TEST(test_a_process_with_many_surfaces_does_not_take_those_of_others) {
        Frame frame;

        begin_frames();
        ck_assert(add(2, 1, 0, &frame));
        for (uint64_t surface = 1; surface <= 4 * FRAME_RUNS_MAX; surface++) {
                now_ns++;
                ck_assert(add(1, surface, 0, &frame));
                ck_assert_uint_ge(frame.ordinal, 1);
                ck_assert_uint_le(frame.ordinal, FRAME_RUNS_OF_ONE);
        }
        ck_assert(add(2, 1, 0, &frame));
        ck_assert_uint_eq(frame.number, 2);
        frames_deinit(&frames);
}
END_TEST

START_TEST(test_surfaces_are_told_apart_and_bounded) {
        Frame frame;

        begin_frames();
        ck_assert(add(1, 70, 0, &frame));
        ck_assert_uint_eq(frame.ordinal, 1);
        ck_assert(add(1, 80, 0, &frame));
        ck_assert_uint_eq(frame.ordinal, 2);
        ck_assert(add(2, 70, 0, &frame));
        ck_assert_uint_eq(frame.ordinal, 1);
        ck_assert(!add(1, 70, 0, &frame)); /* at the same time */
        for (uint64_t surface = 1000; surface < 1000 + 2 * FRAME_RUNS_MAX; surface++, now_ns++)
                ck_assert(add(3, surface, 0, &frame));
        frames_deinit(&frames);
}
END_TEST

/*
 * Main loops
 */

#define THREAD 7

static MainLoops loops;

static bool turn(uint64_t wait_ns, uint64_t work_ns, uint64_t *ret_ns) {
        now_ns += wait_ns;
        main_loops_wake(&loops, THREAD, now_ns);
        now_ns += work_ns;
        return main_loops_wait(&loops, THREAD, now_ns, ret_ns);
}

static void begin_loop(void) {
        uint64_t begin_ns;

        now_ns = START;
        ck_assert_int_eq(main_loops_init(&loops, 50 * MS), 0);
        for (unsigned i = 0; i < LOOP_TURNS_MIN; i++)
                ck_assert(!turn(MS, 100 * MS, &begin_ns)); /* not known as a loop yet */
}

START_TEST(test_a_long_turn_is_a_stall_and_a_long_wait_is_none) {
        uint64_t begin_ns;

        begin_loop();
        ck_assert(!turn(5000 * MS, 49 * MS, &begin_ns));
        ck_assert(turn(10 * MS, 50 * MS, &begin_ns));
        ck_assert_uint_eq(begin_ns, now_ns - 50 * MS);
        main_loops_deinit(&loops);
}
END_TEST

START_TEST(test_a_thread_that_left_its_loop_did_not_stall) {
        uint64_t begin_ns;

        begin_loop();
        ck_assert(!turn(MS, LOOP_TURN_MAX_NS + 1, &begin_ns));
        ck_assert(!turn(MS, 100 * MS, &begin_ns));
        main_loops_deinit(&loops);
}
END_TEST

START_TEST(test_nothing_is_concluded_across_a_loss) {
        uint64_t begin_ns;

        begin_loop();
        main_loops_wake(&loops, THREAD, now_ns);
        main_loops_forget(&loops);
        ck_assert(!main_loops_wait(&loops, THREAD, now_ns + 100 * MS, &begin_ns));
        main_loops_deinit(&loops);
}
END_TEST

START_TEST(test_other_threads_do_not_take_the_place_of_one_that_is_seen_again_and_again) {
        uint64_t begin_ns, other_ns;

        begin_loop();
        for (pid_t tid = 100; tid < 100 + 3 * LOOP_THREADS_MAX; tid++) {
                main_loops_wake(&loops, tid, now_ns);
                ck_assert(!main_loops_wait(&loops, tid, now_ns + MS, &other_ns));
                ck_assert(turn(MS, 60 * MS, &begin_ns));
        }
        ck_assert(turn(MS, 60 * MS, &begin_ns));
        main_loops_deinit(&loops);
}
END_TEST

/*
 * How many records there may be
 */

START_TEST(test_a_turn_that_comes_late_makes_up_for_it) {
        static const struct {
                unsigned ms, n_turns;
        } rests[] = { { 0, 1 }, { 100, 1 }, { 200, 2 }, { 60000, POINT_TURNS_LATE } };

        for (size_t i = 0; i < ARRAY_SIZE(rests); i++) {
                const size_t n = POINT_TURN_MAX * (POINT_TURNS_LATE + 1),
                             n_kept = POINT_TURN_MAX * rests[i].n_turns;
                PointRing ring = { .n_records = n, .rests_ns = START };

                ring.records = calloc(n, sizeof(*ring.records));
                ring.records[n - 1].site = 7;
                point_ring_limit(&ring, START + rests[i].ms * MS);
                ck_assert_uint_eq(ring.n_records, n_kept);
                ck_assert_uint_eq(ring.n_lost, n - n_kept);
                ck_assert_uint_eq(ring.records[n_kept - 1].site, 7); /* the oldest are dropped */
                free(ring.records);
        }
}
END_TEST

/*
 * In the trace
 */

static PacketList list;
static ProgramTracks programs;
static FrameWriter writer;

static void begin_writer(void) {
        list = (PacketList)PACKET_LIST_INIT;
        programs = (ProgramTracks){};
        ck_assert_int_eq(program_tracks_init(&programs, &list.sink, "linux.test"), 0);
        programs.names.are_foreign = false; /* they are this process, in whatever pid namespace */
        ck_assert_int_eq(frame_writer_init(&writer, &programs), 0);
}

static void end_writer(void) {
        frame_writer_deinit(&writer);
        program_tracks_deinit(&programs);
        packet_list_deinit(&list);
}

/* Begins with that name. */
static size_t count(const char *name) {
        WireReader event;
        size_t n = 0;

        for (size_t i = 0; packet_list_find(&list, PACKET_TRACK_EVENT, i, &event); i++)
                n += message_uint(event, 9) == 1 && message_has_text(event, 23, name);
        return n;
}

START_TEST(test_swaps_of_a_program_that_commits_are_the_same_frames) {
        const Point swap = { .meaning = POINT_SWAP, .label = "swap", .surface = -1 },
                    commit = { .meaning = POINT_FRAME, .label = "commit", .surface = -1 };

        begin_writer();
        frame_writer_finish(&writer, &swap, getpid(), 1, START);
        frame_writer_finish(&writer, &swap, getpid(), 1, START + 16 * MS);
        ck_assert_uint_eq(count("frame"), 1);
        frame_writer_finish(&writer, &commit, getpid(), 3, START + 20 * MS);
        frame_writer_finish(&writer, &swap, getpid(), 1, START + 32 * MS);
        frame_writer_finish(&writer, &commit, getpid(), 3, START + 36 * MS);
        ck_assert_uint_eq(count("frame"), 2);
        end_writer();
}
END_TEST

static uint64_t clock_ns(clockid_t clock) {
        struct timespec now;

        clock_gettime(clock, &now);
        return (uint64_t)now.tv_sec * 1000 * MS + (uint64_t)now.tv_nsec;
}

/* The end of the last slice; 0: there is none. */
static uint64_t last_end(void) {
        uint64_t at_ns = 0;

        for (size_t i = 0; i < list.n; i++) {
                WireReader packet, event;

                wire_reader_init(&packet, list.packets[i].data, list.packets[i].n);
                if (packet_list_payload(&list, i, PACKET_TRACK_EVENT, &event) &&
                    message_uint(event, 9) == 2)
                        at_ns = message_uint(packet, PACKET_TIMESTAMP);
        }
        return at_ns;
}

static void present(const Point *point, clockid_t clock, uint64_t ago_ns) {
        uint64_t at_ns = clock_ns(clock) - ago_ns;
        PointRecord record = { .at_ns = clock_ns(CLOCK_BOOTTIME),
                               .numbers = { at_ns / (1000 * MS), at_ns % (1000 * MS) } };

        frame_writer_present(&writer, point, getpid(), &record);
}

START_TEST(test_a_frame_ends_when_the_compositor_showed_it) {
        const Point point = { .meaning = POINT_PRESENTED,
                              .label = "presented",
                              .process = -1,
                              .surface = -1,
                              .refresh = -1,
                              .seconds = 0,
                              .nanoseconds = 1,
                              .n_arguments = 2,
                              .arguments = { { .type = POINT_U32, .slot = 0 },
                                             { .type = POINT_U32, .slot = 1 } } };
        uint64_t expected;

        begin_writer();
        present(&point, CLOCK_MONOTONIC, 40 * MS);
        ck_assert_uint_eq(last_end(), 0);
        expected = clock_ns(CLOCK_BOOTTIME) - 20 * MS;
        present(&point, CLOCK_MONOTONIC, 20 * MS);
        ck_assert_uint_ge(last_end(), expected - MS);
        ck_assert_uint_le(last_end(), clock_ns(CLOCK_BOOTTIME) - 20 * MS + MS);
        ck_assert_uint_eq(count("frame"), 1);
        present(&point, CLOCK_MONOTONIC, 3600 * 1000 * MS); /* no time that could be meant */
        ck_assert_uint_eq(count("frame"), 1);
        end_writer();
}
END_TEST

static void *stall_here(void *unused) {
        frame_writer_stall(&writer, gettid(), START, START + 60 * MS);
        return unused;
}

START_TEST(test_only_the_first_thread_has_a_main_loop) {
        pthread_t thread;

        begin_writer();
        ck_assert_int_eq(pthread_create(&thread, NULL, stall_here, NULL), 0);
        ck_assert_int_eq(pthread_join(thread, NULL), 0);
        ck_assert_uint_eq(count("stall"), 0);
        frame_writer_stall(&writer, getpid(), START, START + 60 * MS);
        ck_assert_uint_eq(count("stall"), 1);
        ck_assert_uint_eq(last_end(), START + 60 * MS);
        end_writer();
}
END_TEST

TEST_MAIN("points-frames",
          test_a_frame_is_as_long_as_the_interval_before_it,
          test_a_late_frame_says_how_many_were_missed,
          test_a_film_with_few_frames_is_not_late,
          test_a_pause_is_not_late,
          test_the_refresh_of_the_display_counts_if_it_is_known,
          test_frames_are_counted_each_second,
          test_a_process_with_many_surfaces_does_not_take_those_of_others,
          test_surfaces_are_told_apart_and_bounded,
          test_a_long_turn_is_a_stall_and_a_long_wait_is_none,
          test_a_thread_that_left_its_loop_did_not_stall,
          test_nothing_is_concluded_across_a_loss,
          test_other_threads_do_not_take_the_place_of_one_that_is_seen_again_and_again,
          test_a_turn_that_comes_late_makes_up_for_it,
          test_swaps_of_a_program_that_commits_are_the_same_frames,
          test_a_frame_ends_when_the_compositor_showed_it,
          test_only_the_first_thread_has_a_main_loop)
