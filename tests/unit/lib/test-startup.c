/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../test.h"
#include "shared/macro.h"
#include "track-world.h"

#define N_THREADS     4
#define NUMBERS_MAX   200000
#define SMALL_BYTES   65536
#define MANY          5000
#define DRAIN_WAIT_US 500

static uint64_t now_ns(void) {
        struct timespec now;

        clock_gettime(CLOCK_BOOTTIME, &now);
        return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Ends the last session, before which it gets what was kept for it, and reads it. */
static void end_and_read(World *world) {
        ck_assert_int_eq(fake_stop(&world->fake, world->n_sessions), 0);
        fake_drain(&world->fake);
}

static void await_category_off(const dt_category *category) {
        for (unsigned i = 0; dt_category_enabled(category); i++) {
                ck_assert_uint_lt(i, 10000);
                usleep(1000);
        }
}

static void
check_event(const TraceEvent *event, unsigned type, const char *name, const char *args) {
        ck_assert_ptr_nonnull(event);
        ck_assert_uint_eq(event->type, type);
        ck_assert_str_eq(event->name, name);
        ck_assert_str_eq(event->args, args);
}

/*
 * What was kept
 */

START_TEST(test_events_from_before_a_session_come_into_it_as_they_were) {
        static const dt_track parent = DT_TRACK("parent", 1);
        static const dt_track track = { "queue", NULL, 7, &parent };
        char name[] = "changes", value[] = "goes";
        uint64_t begin_ns = now_ns(), end_ns;
        const TraceTrack *thread, *queue;
        World *world;
        Trace *trace;

        ck_assert_int_eq(dt_startup_record(NULL), 0);
        dt_thread_set_name("main one");
        DT_SLICE_BEGIN(render, name, DT_INT("number", 1), DT_STRING("text", value));
        memset(name, 'x', sizeof(name) - 1);
        memset(value, 'y', sizeof(value) - 1);
        DT_INSTANT_ON(net,
                      &track,
                      "packet",
                      DT_STRING_INTERNED("state", "sent"),
                      DT_DICT("size", DT_INT("x", 1), DT_ARRAY("list", DT_BOOL("b", 1))));
        DT_COUNTER(render, "count", 42);
        DT_SLICE_END_WITH(render, DT_DOUBLE("late", 0.5));
        end_ns = now_ns();

        world = world_new();
        trace = world->trace;
        world_record(world, NULL, NULL);
        end_and_read(world);
        ck_assert_uint_eq(trace->n_events, 4);
        check_event(&trace->events[0], BEGIN, "changes", "number=1 text=goes");
        check_event(&trace->events[1], INSTANT, "packet", "state=#sent size={x=1 list=[true]}");
        ck_assert_uint_eq(trace->events[2].type, COUNTER);
        ck_assert_int_eq(trace->events[2].int_value, 42);
        check_event(&trace->events[3], END, "", "late=0.5");
        for (unsigned i = 0; i < 4; i++) {
                ck_assert_uint_ge(trace->events[i].ns, begin_ns);
                ck_assert_uint_le(trace->events[i].ns, end_ns);
                begin_ns = trace->events[i].ns;
        }
        thread = trace_track(trace, trace->events[0].uuid);
        ck_assert_str_eq(thread->thread_name, "main one");
        ck_assert_int_eq(thread->tid, gettid());
        queue = trace_track(trace, trace->events[1].uuid);
        ck_assert_str_eq(queue->name, "queue");
        ck_assert_str_eq(trace_track(trace, queue->parent)->name, "parent");
        world_free(world);
}
END_TEST

/* Everything that an event can have besides annotations. */
START_TEST(test_whatever_an_event_has_is_kept) {
        static const dt_track counter = DT_COUNTER_TRACK("bytes", "B");
        World *world;

        ck_assert_int_eq(dt_startup_record(NULL), 0);
        DT_INSTANT(render,
                   "all",
                   DT_FLOW(7),
                   DT_FLOW_END(8),
                   DT_AT(1000),
                   DT_HERE,
                   DT_LOG(DT_LOG_INFO, "a line"),
                   DT_CORRELATION_TEXT("together"),
                   DT_ALSO_CATEGORY(net),
                   DT_ALSO_COUNT(&counter, 5),
                   DT_POINTER("p", &counter),
                   DT_STRING("nothing", NULL),
                   DT_RAW("\x60\x01", 2));
        DT_INSTANT(render, "next");
        world = world_new();
        world_record(world, NULL, NULL);
        DT_INSTANT(render,
                   "all",
                   DT_FLOW(7),
                   DT_FLOW_END(8),
                   DT_AT(1000),
                   DT_HERE,
                   DT_LOG(DT_LOG_INFO, "a line"),
                   DT_CORRELATION_TEXT("together"),
                   DT_ALSO_CATEGORY(net),
                   DT_ALSO_COUNT(&counter, 5),
                   DT_POINTER("p", &counter),
                   DT_STRING("nothing", NULL),
                   DT_RAW("\x60\x01", 2));
        end_and_read(world);
        ck_assert_uint_eq(world->trace->n_events, 3);
        ck_assert_uint_eq(world->trace->events[0].ns, 1000);
        ck_assert_str_eq(world->trace->events[2].name, "all");
        ck_assert_str_eq(world->trace->events[0].category, world->trace->events[2].category);
        ck_assert_ptr_nonnull(strstr(world->trace->events[0].args, "a line"));
        world_free(world);
}
END_TEST

static void *emit_and_end(void *userdata) {
        dt_thread_set_name(userdata);
        DT_INSTANT(render, userdata);
        return NULL;
}

START_TEST(test_threads_that_have_ended_keep_their_names_and_tracks) {
        static const char *const names[] = { "first", "second", "third" };
        World *world;

        ck_assert_int_eq(dt_startup_record(NULL), 0);
        for (unsigned i = 0; i < ARRAY_SIZE(names); i++) {
                pthread_t thread;

                pthread_create(&thread, NULL, emit_and_end, (void *)names[i]);
                pthread_join(thread, NULL);
        }
        world = world_new();
        world_record(world, NULL, NULL);
        end_and_read(world);
        for (unsigned i = 0; i < ARRAY_SIZE(names); i++) {
                const TraceEvent *event = trace_event(world->trace, INSTANT, names[i]);

                ck_assert_str_eq(trace_track(world->trace, event->uuid)->thread_name, names[i]);
        }
        world_free(world);
}
END_TEST

START_TEST(test_slices_that_are_open_end_in_the_session) {
        World *world;

        ck_assert_int_eq(dt_startup_record(NULL), 0);
        DT_SLICE_BEGIN(render, "outer");
        DT_SLICE_BEGIN(net, "inner");
        world = world_new();
        world_record(world, "render", "*");
        DT_SLICE_END(net);
        DT_INSTANT(render, "before the hand-over");
        end_and_read(world);
        world_record(world, "render", "*"); /* to which nothing was handed over */
        DT_SLICE_END(render);
        end_and_read(world);
        ck_assert_uint_eq(trace_n_events(world->trace, BEGIN, "outer"), 1);
        ck_assert_uint_eq(world->trace->n_events, 2);
        world_free(world);
}
END_TEST

/* Two sessions that the library takes for one occasion, the second one for `categories`. The library waits 10 ms for
 * the second (STARTUP_GATHER_NS): false if this machine took longer, as then it comes too late for what was kept. */
static bool record_together(World *world, const char *categories) {
        struct timespec begin, end;

        clock_gettime(CLOCK_MONOTONIC, &begin);
        world_record(world, NULL, NULL);
        world_record(world, NULL, categories);
        clock_gettime(CLOCK_MONOTONIC, &end);
        if ((end.tv_sec - begin.tv_sec) * INT64_C(1000000000) + end.tv_nsec - begin.tv_nsec <
            10000000)
                return true;
        test_skip("the second session came too late");
        end_and_read(world);
        world_free(world);
        return false;
}

START_TEST(test_a_slice_ends_on_the_track_that_it_began_on) {
        World *world;
        uint64_t uuid;

        ck_assert_int_eq(dt_startup_record(NULL), 0);
        DT_SLICE_BEGIN(render, "outer");
        world = world_new();
        if (!record_together(world, "net"))
                return;
        ck_assert_int_eq(fake_stop(&world->fake, 1), 0); /* now both have it */
        DT_SLICE_END(render);
        DT_SLICE_END(render); /* which nothing has begun */
        end_and_read(world);
        ck_assert_uint_eq(trace_n_events(world->trace, BEGIN, "outer"), 2);
        ck_assert_uint_eq(world->trace->n_events, 3);
        uuid = world->trace->events[0].uuid;
        ck_assert_uint_eq(world->trace->events[2].uuid, uuid);
        ck_assert_uint_eq(world->trace->events[2].type, END);
        world_free(world);
}
END_TEST

/*
 * What a session wants
 */

static bool has_leaked;

static void look_for_secrets(Stream *stream, const uint8_t *packet, size_t n_bytes) {
        has_leaked |= memmem(packet, n_bytes, "secret", 6) != NULL;
}

START_TEST(test_nothing_of_what_a_session_does_not_want_comes_into_it) {
        static const dt_track track = DT_TRACK("secret track", 0);
        World *world;

        ck_assert_int_eq(dt_startup_record(NULL), 0);
        DT_SLICE_BEGIN(net, "secret slice", DT_STRING_INTERNED("secret name", "secret value"));
        DT_SLICE_BEGIN(render, "wanted");
        DT_INSTANT_ON(net, &track, "secret event");
        DT_COUNTER(net, "secret counter", 1);
        DT_SLICE_END(render);
        DT_SLICE_END(net);
        world = world_new();
        world_record(world, "render", "*");
        end_and_read(world);
        ck_assert_uint_eq(world->trace->n_events, 2);
        check_event(&world->trace->events[0], BEGIN, "wanted", "");
        ck_assert_uint_eq(world->trace->events[1].type, END);
        world_free(world);
}
END_TEST

START_TEST(test_its_names_do_not_either) {
        static const dt_track track = DT_TRACK("secret track", 0);
        World *world;

        ck_assert_int_eq(dt_startup_record(NULL), 0);
        DT_SLICE_BEGIN(net, "secret slice", DT_STRING_INTERNED("secret name", "secret value"));
        DT_INSTANT_ON(net, &track, "secret event");
        DT_INSTANT(render, "wanted");
        world = world_new();
        for (unsigned i = 0; i < SMB_NATIVE_WRITERS_MAX; i++)
                world->fake.streams[i].on_packet = look_for_secrets;
        world_record(world, "render", "*");
        end_and_read(world);
        ck_assert_uint_gt(fake_n_packets(&world->fake), 0);
        ck_assert(!has_leaked);
        world_free(world);
}
END_TEST

START_TEST(test_a_session_that_wants_none_of_it_leaves_it_to_others) {
        World *world;

        ck_assert_int_eq(dt_startup_record(&(dt_startup_options){ .categories = "render" }), 0);
        ck_assert(dt_category_enabled(&render) && !dt_category_enabled(&net));
        DT_INSTANT(render, "kept");
        world = world_new();
        world_record(world, "net", "*");
        DT_INSTANT(net, "now");
        end_and_read(world);
        ck_assert_uint_eq(world->trace->n_events, 1);
        ck_assert_str_eq(world->trace->events[0].name, "now");
        world_record(world, "render", "*");
        end_and_read(world);
        ck_assert_uint_eq(trace_n_events(world->trace, INSTANT, "kept"), 1);
        world_free(world);
}
END_TEST

START_TEST(test_sessions_that_come_together_all_get_it_and_later_ones_do_not) {
        World *world;

        ck_assert_int_eq(dt_startup_record(NULL), 0);
        DT_INSTANT(render, "kept");
        world = world_new();
        if (!record_together(world, "net"))
                return;
        end_and_read(world);
        world_record(world, NULL, NULL);
        DT_INSTANT(render, "live");
        end_and_read(world);
        ck_assert_int_eq(fake_stop(&world->fake, 1), 0);
        fake_drain(&world->fake);
        ck_assert_uint_eq(trace_n_events(world->trace, INSTANT, "kept"), 2);
        ck_assert_uint_eq(trace_n_events(world->trace, INSTANT, "live"), 2);
        world_free(world);
}
END_TEST

START_TEST(test_a_session_gets_it_without_being_asked_anything_more) {
        World *world;

        ck_assert_int_eq(dt_startup_record(NULL), 0);
        DT_INSTANT(render, "kept");
        world = world_new();
        world_record(world, NULL, NULL);
        for (unsigned i = 0; world->trace->n_events == 0; i++) {
                ck_assert_uint_lt(i, 10000);
                usleep(1000);
                world_read(world);
        }
        ck_assert_uint_eq(trace_n_events(world->trace, INSTANT, "kept"), 1);
        world_free(world);
}
END_TEST

/*
 * Exactly once
 */

typedef struct Emitter {
        pthread_t thread;
        unsigned number, n_emitted;
        atomic_bool *ends;
} Emitter;

static uint8_t n_seen[N_THREADS][NUMBERS_MAX];

static void on_numbered(Stream *stream, const uint8_t *packet, size_t n_bytes) {
        static Trace *trace;
        unsigned thread, number;

        if (!trace)
                trace = calloc(1, sizeof(*trace));
        trace->only_last = true;
        trace->n_events = 0;
        trace_packet(trace, (unsigned)stream->user, packet, n_bytes);
        if (trace->n_events == 0 || trace->events[0].type != INSTANT)
                return;
        ck_assert_int_eq(sscanf(trace->events[0].args, "thread=%u number=%u", &thread, &number), 2);
        ck_assert(thread < N_THREADS && number < NUMBERS_MAX);
        n_seen[thread][number]++;
}

static void *emit_numbers(void *userdata) {
        Emitter *emitter = userdata;

        while (!atomic_load(emitter->ends) && emitter->n_emitted < NUMBERS_MAX) {
                DT_SLICE(render, "around");
                DT_INSTANT(net,
                           "numbered",
                           DT_UINT("thread", emitter->number),
                           DT_UINT("number", emitter->n_emitted));
                emitter->n_emitted++;
                if (emitter->n_emitted % 64 == 0)
                        usleep(100);
        }
        return NULL;
}

static uint64_t count_received(const Emitter emitters[static N_THREADS]) {
        uint64_t n_received = 0;

        for (unsigned i = 0; i < N_THREADS; i++)
                for (unsigned number = 0; number < NUMBERS_MAX; number++) {
                        ck_assert_uint_le(n_seen[i][number], number < emitters[i].n_emitted);
                        n_received += n_seen[i][number];
                }
        return n_received;
}

/* Threads emit before, while and after it is handed over. */
static void hand_over_while_threads_emit(size_t bytes) {
        Emitter emitters[N_THREADS];
        atomic_bool ends = false;
        uint64_t n_emitted = 0;
        World *world;

        ck_assert_int_eq(dt_startup_record(&(dt_startup_options){ .bytes = bytes }), 0);
        for (unsigned i = 0; i < N_THREADS; i++) {
                emitters[i] = (Emitter){ .number = i, .ends = &ends };
                pthread_create(&emitters[i].thread, NULL, emit_numbers, &emitters[i]);
        }
        usleep(20000);
        world = world_new();
        for (unsigned i = 0; i < SMB_NATIVE_WRITERS_MAX; i++)
                world->fake.streams[i].on_packet = on_numbered;
        world_record(world, "net", "*");
        for (unsigned i = 0; i < 200; i++) {
                fake_drain(&world->fake);
                usleep(DRAIN_WAIT_US);
        }
        atomic_store(&ends, true);
        for (unsigned i = 0; i < N_THREADS; i++) {
                pthread_join(emitters[i].thread, NULL);
                n_emitted += emitters[i].n_emitted;
        }
        end_and_read(world);
        ck_assert_uint_eq(count_received(emitters) + smb_n_dropped(&world->fake.area), n_emitted);
        world_free(world);
}

START_TEST(test_each_event_comes_once_while_threads_go_on) {
        hand_over_while_threads_emit(0);
}
END_TEST

START_TEST(test_each_event_comes_once_or_is_counted_when_there_is_no_room) {
        hand_over_while_threads_emit(SMALL_BYTES);
}
END_TEST

/* Events that are wanted, before and behind those that fill the memory; and how many of them are kept. */
static void
record_losses(unsigned n_before, unsigned n_behind, unsigned at_least, unsigned at_most) {
        unsigned n_marks = 0;
        World *world;

        ck_assert_int_eq(dt_startup_record(&(dt_startup_options){ .bytes = SMALL_BYTES }), 0);
        for (unsigned i = 0; i < n_before + MANY + n_behind; i++)
                if (i < n_before || i >= n_before + MANY)
                        DT_INSTANT(render, "wanted");
                else
                        DT_INSTANT(net, "not wanted");
        world = world_new();
        world_record(world, "render", "*");
        end_and_read(world);
        ck_assert_uint_eq(world->trace->n_events + smb_n_dropped(&world->fake.area),
                          n_before + n_behind);
        for (unsigned i = 0; i < ARRAY_SIZE(world->trace->sequences); i++)
                n_marks += world->trace->sequences[i] ? world->trace->sequences[i]->n_lost : 0;
        ck_assert_uint_eq(n_marks, 1);
        ck_assert_uint_ge(world->trace->n_events, at_least);
        ck_assert_uint_le(world->trace->n_events, at_most);
        world_free(world);
}

START_TEST(test_what_finds_no_room_is_counted_and_marked) {
        record_losses(MANY, 0, 1, MANY - 1);
}
END_TEST

START_TEST(test_a_loss_behind_a_single_event_is_marked) {
        record_losses(1, 1, 1, 1);
}
END_TEST

/* Others have all pages but the first. */
static void leave_one_page(Fake *fake) {
        for (uint32_t page = 1; page < fake->area.n_pages; page++)
                atomic_store(&smb_page(&fake->area, page)->state,
                             (uint32_t)SMB_LAYOUT_DIV1 << 28 | SMB_CHUNK_BEING_WRITTEN);
}

static void fill_startup_memory(void) {
        char text[1000];

        memset(text, 'x', sizeof(text));
        text[sizeof(text) - 1] = '\0';
        for (unsigned i = 0; i < MANY; i++)
                DT_INSTANT(net, "large", DT_STRING("text", text));
        for (unsigned i = 0; i < MANY; i++)
                DT_INSTANT(net, "small");
}

/* One chunk takes what the thread is called and its events to the last fragment, and there is no other for the mark. */
START_TEST(test_a_mark_that_finds_no_room_is_not_one_more_loss) {
        enum { N_DESCRIPTORS = 3, N_EVENTS = SMB_FRAGMENTS_MAX - N_DESCRIPTORS };
        World *world;

        ck_assert_int_eq(dt_startup_record(&(dt_startup_options){ .bytes = 1 << 20 }), 0);
        for (unsigned i = 0; i < N_EVENTS; i++)
                DT_INSTANT(render, "wanted");
        fill_startup_memory();
        DT_INSTANT(render, "wanted");
        world = world_new_of_pages(32768);
        leave_one_page(&world->fake);
        world_record(world, "render", "*");
        end_and_read(world);
        ck_assert_uint_eq(fake_n_packets(&world->fake), SMB_FRAGMENTS_MAX);
        ck_assert_uint_eq(world->trace->n_events, N_EVENTS);
        ck_assert_uint_eq(smb_n_dropped(&world->fake.area), 1);
        world_free(world);
}
END_TEST

START_TEST(test_an_event_that_is_too_long_loses_its_arguments) {
        enum { N_ARGS = 20 };
        char text[DT_TEXT_BYTES_MAX];
        dt_arg args[N_ARGS];
        World *world;

        memset(text, 'x', sizeof(text));
        text[sizeof(text) - 1] = '\0';
        for (unsigned i = 0; i < N_ARGS; i++)
                args[i] = dt_arg_string("text", text);
        ck_assert_int_eq(dt_startup_record(NULL), 0);
        dt_instant(&render, NULL, "long", args, N_ARGS);
        dt_instant(&render, NULL, "fits", args, 3);
        world = world_new();
        world_record(world, NULL, NULL);
        end_and_read(world);
        check_event(trace_event(world->trace, INSTANT, "long"), INSTANT, "long", "");
        ck_assert_uint_gt(trace_event(world->trace, INSTANT, "fits")->n_packet, DT_TEXT_BYTES_MAX);
        world_free(world);
}
END_TEST

/*
 * The end without a session
 */

START_TEST(test_it_ends_when_nobody_comes_in_time) {
        World *world = world_new();

        ck_assert_int_eq(dt_startup_record(&(dt_startup_options){ .timeout_ms = 10 }), 0);
        DT_INSTANT(render, "too early");
        await_category_off(&render);
        world_record(world, NULL, NULL);
        DT_INSTANT(render, "in time");
        end_and_read(world);
        ck_assert_uint_eq(world->trace->n_events, 1);
        ck_assert_str_eq(world->trace->events[0].name, "in time");
        ck_assert_int_eq(dt_startup_record(NULL), -EALREADY);
        world_free(world);
}
END_TEST

START_TEST(test_it_ends_without_the_librarys_thread_when_its_memory_is_full) {
        const dt_startup_options options = { .bytes = SMALL_BYTES, .timeout_ms = 1 };

        ck_assert_int_eq(dt_startup_record(&options), 0);
        for (unsigned i = 0; dt_category_enabled(&render); i++) {
                ck_assert_uint_lt(i, 10 * MANY);
                DT_INSTANT(render, "nobody comes");
                usleep(10);
        }
        DT_INSTANT(render, "off");
}
END_TEST

START_TEST(test_options_out_of_range_are_refused) {
        World *world;

        ck_assert_int_eq(dt_startup_record(&(dt_startup_options){ .bytes = 1 }), -EINVAL);
        ck_assert_int_eq(
                dt_startup_record(&(dt_startup_options){ .bytes = DT_STARTUP_BYTES_MAX + 1u }),
                -EINVAL);
        ck_assert_int_eq(dt_startup_record(&(dt_startup_options){
                                 .timeout_ms = DT_STARTUP_TIMEOUT_MAX_MS + 1 }),
                         -EINVAL);
        world = world_new();
        world_record(world, NULL, NULL);
        ck_assert_int_eq(dt_startup_record(NULL), -EBUSY);
        world_free(world);
}
END_TEST

START_TEST(test_options_at_the_ends_of_the_range_are_taken) {
        const dt_startup_options most = { .bytes = DT_STARTUP_BYTES_MAX,
                                          .timeout_ms = DT_STARTUP_TIMEOUT_MAX_MS };

        ck_assert_int_eq(dt_startup_record(&most), 0);
        ck_assert(dt_category_enabled(&render));
}
END_TEST

START_TEST(test_categories_are_named_as_in_a_config) {
        static const struct {
                const char *categories;
                bool render, net, noisy;
        } cases[] = {
                { NULL, true, true, false },
                { "", true, true, false },
                { "render", true, false, false },
                { "render*", true, false, false },
                { "render.noisy", false, false, true },
                { "-net", true, false, false },
                { "*,-render", false, true, false },
                { "#gpu", false, false, true },
                { "*,-#none", true, true, true },
                { ",,net,,-", false, true, false },
                { "-*", false, false, false },
        };

        for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
                const dt_startup_options options = { .categories = cases[i].categories };
                int status;
                pid_t pid = fork();

                if (pid == 0)
                        _exit(dt_startup_record(&options) != 0 ||
                              dt_category_enabled(&render) != cases[i].render ||
                              dt_category_enabled(&net) != cases[i].net ||
                              dt_category_enabled(&noisy) != cases[i].noisy);
                ck_assert_int_eq(waitpid(pid, &status, 0), pid);
                ck_assert_msg(status == 0, "\"%s\"", cases[i].categories);
        }
}
END_TEST

/*
 * Fork
 */

START_TEST(test_a_daemon_that_forks_first_is_recorded_and_brings_nothing_along) {
        World *world;
        int status;
        pid_t pid;

        ck_assert_int_eq(dt_startup_record(NULL), 0);
        DT_SLICE_BEGIN(render, "of the parent");
        pid = fork();
        if (pid > 0) {
                ck_assert_int_eq(waitpid(pid, &status, 0), pid);
                ck_assert_int_eq(status, 0);
                ck_assert(dt_category_enabled(&render)); /* the parent goes on */
                return;
        }
        if (dt_category_enabled(&render))
                _exit(1);
        world = world_new();
        world_record(world, NULL, NULL);
        DT_SLICE_END(render);
        DT_INSTANT(render, "of the child");
        end_and_read(world);
        _exit(world->trace->n_events != 1 ||
              trace_track(world->trace, world->trace->events[0].uuid)->tid != getpid());
}
END_TEST

START_TEST(test_a_child_of_a_recorded_program_leaves_it_alone) {
        World *world;
        int status;
        pid_t pid;

        ck_assert_int_eq(dt_startup_record(NULL), 0);
        DT_INSTANT(render, "of the parent");
        world = world_new();
        pid = fork();
        if (pid == 0) {
                DT_INSTANT(render, "of the child");
                _exit(0);
        }
        ck_assert_int_eq(waitpid(pid, &status, 0), pid);
        ck_assert_int_eq(status, 0);
        world_record(world, NULL, NULL);
        end_and_read(world);
        ck_assert_uint_eq(world->trace->n_events, 1);
        world_free(world);
}
END_TEST

TEST_MAIN_FORKED("startup",
                 test_events_from_before_a_session_come_into_it_as_they_were,
                 test_whatever_an_event_has_is_kept,
                 test_threads_that_have_ended_keep_their_names_and_tracks,
                 test_slices_that_are_open_end_in_the_session,
                 test_a_slice_ends_on_the_track_that_it_began_on,
                 test_nothing_of_what_a_session_does_not_want_comes_into_it,
                 test_its_names_do_not_either,
                 test_a_session_that_wants_none_of_it_leaves_it_to_others,
                 test_sessions_that_come_together_all_get_it_and_later_ones_do_not,
                 test_a_session_gets_it_without_being_asked_anything_more,
                 test_each_event_comes_once_while_threads_go_on,
                 test_each_event_comes_once_or_is_counted_when_there_is_no_room,
                 test_what_finds_no_room_is_counted_and_marked,
                 test_a_loss_behind_a_single_event_is_marked,
                 test_a_mark_that_finds_no_room_is_not_one_more_loss,
                 test_an_event_that_is_too_long_loses_its_arguments,
                 test_it_ends_when_nobody_comes_in_time,
                 test_it_ends_without_the_librarys_thread_when_its_memory_is_full,
                 test_options_out_of_range_are_refused,
                 test_options_at_the_ends_of_the_range_are_taken,
                 test_categories_are_named_as_in_a_config,
                 test_a_daemon_that_forks_first_is_recorded_and_brings_nothing_along,
                 test_a_child_of_a_recorded_program_leaves_it_alone)
